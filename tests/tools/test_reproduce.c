/* SPDX-License-Identifier: MIT */
/*
 * bench/bench.c and reproduce/reproduce.c: the words of --rows, and the order of rows.
 */
#include <stdlib.h>

#include "bench/bench.h"
#include "reproduce/reproduce.h"
#include "support/test.h"

TEST(test_rows_are_wanted_by_whole_words)
{
	assert_true(reproduce_wanted(NULL, "tcp"));
	assert_true(reproduce_wanted("udp,tcp", "tcp"));
	assert_true(reproduce_wanted("tcp,udp", "tcp"));
	assert_false(reproduce_wanted("udp,tcpx", "tcp"));
	assert_false(reproduce_wanted("", "tcp"));
}

TEST(test_words_are_split)
{
	char **words = bench_split("a,,bc,");

	assert_string_equal(words[0], "a");
	assert_string_equal(words[1], "bc");
	assert_null(words[2]);
	free(words);
}

TEST(test_a_shuffle_is_an_order)
{
	enum { COUNT = 17 };
	int order[COUNT], seen[COUNT] = { 0 };

	bench_shuffle(order, COUNT);
	for (int i = 0; i < COUNT; i++)
		seen[order[i]]++;
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(seen[i], 1);
}
