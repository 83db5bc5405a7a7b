/* SPDX-License-Identifier: MIT */
/* own_file.h -- a file of the test's own: set_up() makes it at `path`, empty. */
#ifndef NOPAL_TEST_OWN_FILE_H
#define NOPAL_TEST_OWN_FILE_H

extern char path[64];

int set_up(void **unused);
int tear_down(void **unused);

#endif
