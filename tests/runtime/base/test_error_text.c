/* SPDX-License-Identifier: MIT */
/*
 * test_error_text -- the version is that of the build, and each error that the pages of the
 * interface name has words of Nopal's own.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <nopal/nopal.h>
#include "support/test.h"

enum { ERRORS_LEAST = 15, ERRNO_LAST = 200 };

TEST(test_the_version_is_that_of_the_build)
{
	assert_string_equal(nopal_version(), NOPAL_BUILD_VERSION);
	assert_string_equal(nopal_version(), NOPAL_VERSION);
}

/* -EPIPE of `-EPIPE`; 0: there is none of this name. */
static int error_named(const char *name)
{
	for (int i = 1; i < ERRNO_LAST; i++) {
		const char *known = strerrorname_np(i);

		if (known && strcmp(known, name) == 0)
			return -i;
	}
	return 0;
}

static void mark_errors(const char *page, bool *named)
{
	FILE *file = fopen(page, "r");
	char line[200], name[32];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		for (char *at = strstr(line, "-E"); at; at = strstr(at + 1, "-E")) {
			int error = 0;

			if (sscanf(at + 1, "%31[A-Z0-9]", name) == 1)
				error = error_named(name);
			if (error)
				named[-error] = true;
		}
	}
	fclose(file);
}

TEST(test_errors_of_the_pages_have_own_words)
{
	bool named[ERRNO_LAST] = { false };
	unsigned count = 0;
	glob_t pages;

	assert_int_equal(glob(NOPAL_SOURCE_ROOT "/runtime/nopal/*.h", 0, NULL, &pages), 0);
	for (size_t i = 0; i < pages.gl_pathc; i++)
		mark_errors(pages.gl_pathv[i], named);
	globfree(&pages);
	for (int i = 1; i < ERRNO_LAST; i++) {
		if (!named[i])
			continue;
		count++;
		if (strcmp(nopal_strerror(-i), strerrordesc_np(i)) == 0)
			fail_msg("no words of Nopal's own for %s", strerrorname_np(i));
	}
	assert_true(count >= ERRORS_LEAST);
}

TEST(test_other_values_have_words_too)
{
	assert_string_equal(nopal_strerror(0), "no error");
	assert_string_equal(nopal_strerror(error_named("EMFILE")), strerrordesc_np(EMFILE));
	assert_string_equal(nopal_strerror(1), "an unknown error");
	assert_string_equal(nopal_strerror(-100000), "an unknown error");
	assert_string_equal(nopal_strerror(INT_MIN), "an unknown error");
}
