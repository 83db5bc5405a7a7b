/* SPDX-License-Identifier: MIT */
/* own_file.h -- a file of the test's own: set_up() makes it at `path`, empty. */
#ifndef NOPAL_TEST_OWN_FILE_H
#define NOPAL_TEST_OWN_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64];

static int set_up(void **unused)
{
	const char *folder = getenv("TMPDIR");
	int file;

	(void)unused;
	snprintf(path, sizeof(path), "%.40s/nopal-test-XXXXXX", folder ? folder : "/tmp");
	file = mkstemp(path);
	return file < 0 ? -1 : close(file);
}

static int tear_down(void **unused)
{
	(void)unused;
	unlink(path);
	return 0;
}

#endif
