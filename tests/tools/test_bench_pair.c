/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan/plan.h"
#include "load/pair.h"
#include "support/test.h"

/* A row says how its config is run. */
TEST(test_a_row_is_a_plan)
{
	struct nopal_plan *plan = bench_plan("bulk");

	assert_non_null(plan);
	assert_string_equal(nopal_plan_info(plan)->name, "bulk");
	assert_int_equal(strncmp(nopal_plan_runs(plan), "interpreted", 11), 0);
	nopal_plan_unref(plan);
	assert_null(bench_plan("no_such_config"));
}

/* Whether the config cuts its messages or not. */
TEST(test_a_coalesced_row_carries_several_messages)
{
	static const char *const rows[] = { "bulk+coalesce", "ctp_minimal+coalesce" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nopal_plan *plan = bench_plan(rows[i]);

		assert_non_null(plan);
		assert_non_null(strstr(nopal_plan_info(plan)->canonical, "coalesce"));
		nopal_plan_unref(plan);
	}
}

TEST(test_three_words_are_a_place)
{
	char *words[] = { "here", "there", "10.0.0.2" };
	struct bench_place place;

	assert_true(bench_place_of(0, words, &place));
	assert_null(place.here);
	assert_string_equal(place.address, "127.0.0.1");
	assert_true(bench_place_of(3, words, &place));
	assert_string_equal(place.there, "there");
	assert_string_equal(place.address, "10.0.0.2");
	assert_false(bench_place_of(2, words, &place));
}

TEST(test_addresses_of_both_families)
{
	struct nopal_address address;
	char text[NOPAL_ADDRESS_TEXT];

	assert_true(bench_address("127.0.0.1", 9, &address));
	assert_string_equal(nopal_address_format(&address, text), "127.0.0.1:9");
	assert_true(bench_address("::1", 9, &address));
	assert_string_equal(nopal_address_format(&address, text), "[::1]:9");
}
