/* SPDX-License-Identifier: MIT */
/* test.c -- the tests of a program, listed by their places in the file, and run by cmocka. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

enum { TESTS_MAX = 256 };

static struct test_item *first;

void tests_list(struct test_item *item)
{
	struct test_item **at = &first;

	while (*at && (*at)->place < item->place)
		at = &(*at)->next;
	item->next = *at;
	*at = item;
}

/* The tests in their order, with the fixture of each. Returns their number; 0: too many. */
static size_t collect(struct CMUnitTest *tests)
{
	const struct test_item *each = NULL;
	size_t count = 0;

	for (const struct test_item *item = first; item; item = item->next)
		if (item->kind == TEST_EACH)
			each = item;
	for (const struct test_item *item = first; item; item = item->next) {
		if (item->kind != TEST_ITEM)
			continue;
		if (count == TESTS_MAX)
			return 0;
		tests[count] = item->test;
		if (each && !item->own_fixture) {
			tests[count].setup_func = each->test.setup_func;
			tests[count].teardown_func = each->test.teardown_func;
		}
		count++;
	}
	return count;
}

int tests_run(void)
{
	static struct CMUnitTest tests[TESTS_MAX];
	size_t count = collect(tests);
	bool grouped = false;
	int failed = 0;

	if (count == 0) {
		fprintf(stderr, "no tests, or more than %d (TESTS_MOST)\n", TESTS_MAX);
		return EXIT_FAILURE;
	}
	for (const struct test_item *item = first; item; item = item->next) {
		if (item->kind != TEST_GROUP)
			continue;
		grouped = true;
		failed += _cmocka_run_group_tests(item->test.name, tests, count,
						  item->test.setup_func, item->test.teardown_func);
	}
	if (!grouped)
		failed = _cmocka_run_group_tests(program_invocation_short_name, tests, count, NULL,
						 NULL);
	return failed;
}
