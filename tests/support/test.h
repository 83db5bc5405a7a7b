/* SPDX-License-Identifier: MIT */
/*
 * test.h -- cmocka, and tests that list themselves: a test program is its tests, in the order of
 * the file, and has no main() of its own.
 *
 *     static int set_up(void **state) ...
 *     static int tear_down(void **state) ...
 *     EACH_TEST(set_up, tear_down);
 *
 *     TEST(test_a_sum_has_no_order)
 *     {
 *             assert_int_equal(sum(1, 2), sum(2, 1));
 *     }
 *
 * `state` is the argument of each test, which set_up may set. Where something has to be done
 * before all tests, a program has a main() that ends in tests_run().
 */
#ifndef NOPAL_TEST_TEST_H
#define NOPAL_TEST_TEST_H

/* cmocka.h names types of all of them and includes none */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* One of a program's tests, fixtures and groups. */
struct test_item {
	enum test_item_kind { TEST_ITEM, TEST_EACH, TEST_GROUP } kind;
	int place;		/* in the file */
	struct CMUnitTest test; /* a fixture or a group has no function */
	bool own_fixture;	/* EACH_TEST is not for this test */
	struct test_item *next;
};

/* Lists one; the caller keeps it. Called before main(), in any order. */
void tests_list(struct test_item *item);

/* Runs the listed tests, once for each group. Returns the number of failures, for main(). */
int tests_run(void);

/* The exit status of a program that cannot run here. */
enum { TEST_SKIPPED = 77 };

#define TEST_LIST(kind, unique, name, function, setup, teardown, own)                              \
	__attribute__((constructor)) static void unique(void)                                      \
	{                                                                                          \
		static struct test_item item = {                                                   \
			kind, __COUNTER__, { name, function, setup, teardown, NULL }, own, NULL    \
		};                                                                                 \
		tests_list(&item);                                                                 \
	}

#define TEST_DEFINE(setup, teardown, own, name)                                                    \
	static void name(void **state);                                                            \
	TEST_LIST(TEST_ITEM, name##_is_listed, #name, name, setup, teardown, own)                  \
	static void name(void **state __attribute__((unused)))

/* A test: its body follows. */
#define TEST(name) TEST_DEFINE(NULL, NULL, false, name)

/* The same between a setup and a teardown of its own, of which each may be NULL. */
#define TEST_WITH(setup, teardown, name) TEST_DEFINE(setup, teardown, true, name)

/* Each TEST() of the file runs between these two, of which each may be NULL. */
#define EACH_TEST(setup, teardown)                                                                 \
	TEST_LIST(TEST_EACH, each_test_is_listed, "", NULL, setup, teardown, false)

/* All tests of the file run once between these two. Where a file has several groups, the tests run
 * as often, and the name tells which time it is. */
#define ALL_TESTS(name, setup, teardown)                                                           \
	TEST_LIST(TEST_GROUP, all_tests_of_##name, #name, NULL, setup, teardown, false)

#endif
