/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/own_file.h"

char path[64];

int set_up(void **unused)
{
	const char *folder = getenv("TMPDIR");
	int file;

	(void)unused;
	snprintf(path, sizeof(path), "%.40s/nopal-test-XXXXXX", folder ? folder : "/tmp");
	file = mkstemp(path);
	return file < 0 ? -1 : close(file);
}

int tear_down(void **unused)
{
	(void)unused;
	unlink(path);
	return 0;
}
