/* SPDX-License-Identifier: MIT */
/*
 * test_ranges -- ranges beyond a gap: apart, in order, bounded.
 */
#include <string.h>

#include "file/ranges.h"
#include "support/test.h"

enum { PLACES = 64, ROUNDS = 20000 };

static struct ranges ranges;

static int ranges_none(void **state)
{
	(void)state;
	memset(&ranges, 0, sizeof(ranges));
	return 0;
}

EACH_TEST(ranges_none, NULL);

TEST(test_neighbours_join)
{
	assert_true(ranges_add(&ranges, 10, 20));
	assert_true(ranges_add(&ranges, 20, 30));
	assert_int_equal(ranges.count, 1);
	assert_int_equal(ranges.list[0].end, 30);
	assert_true(ranges_add(&ranges, 5, 8));
	assert_int_equal(ranges.count, 2);
	assert_int_equal(ranges.list[0].from, 5);
	ranges_drop_first(&ranges);
	assert_int_equal(ranges.count, 1);
	assert_int_equal(ranges.list[0].from, 10);
}

/* Every second one, and then those between: as many as there are gaps. */
TEST(test_what_touches_both_sides_makes_one)
{
	for (uint64_t i = 0; i < RANGES_MAX; i++)
		assert_true(ranges_add(&ranges, 20 * i, 20 * i + 10));
	for (uint64_t i = RANGES_MAX - 1; i-- > 0;) {
		assert_true(ranges_add(&ranges, 20 * i + 10, 20 * i + 20));
		assert_int_equal(ranges.count, i + 1);
	}
	assert_int_equal(ranges.list[0].end, 20 * RANGES_MAX - 10);
	assert_true(ranges_add(&ranges, 20 * RANGES_MAX - 5, 20 * RANGES_MAX));
	assert_true(ranges_add(&ranges, 20 * RANGES_MAX - 8, 20 * RANGES_MAX - 5));
	assert_int_equal(ranges.count, 2);
}

TEST(test_overlaps_are_refused)
{
	assert_true(ranges_add(&ranges, 10, 20));
	assert_false(ranges_add(&ranges, 10, 20));
	assert_false(ranges_add(&ranges, 15, 16));
	assert_false(ranges_add(&ranges, 5, 11));
	assert_false(ranges_add(&ranges, 19, 25));
	assert_false(ranges_add(&ranges, 5, 25));
	assert_true(ranges_add(&ranges, 5, 10));
}

TEST(test_they_are_bounded)
{
	for (uint64_t i = 0; i < RANGES_MAX; i++)
		assert_true(ranges_add(&ranges, 2 * i, 2 * i + 1));
	assert_false(ranges_add(&ranges, 2 * RANGES_MAX, 2 * RANGES_MAX + 1));
}

/* Against a map of places. */
TEST(test_as_a_map_would)
{
	bool taken[PLACES] = { false };
	uint64_t seed = 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned from, end;
		bool free = true;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		from = (unsigned)(seed >> 33) % (PLACES - 8);
		end = from + 1 + (unsigned)(seed >> 50) % 7;
		for (unsigned i = from; i < end; i++)
			free = free && !taken[i];
		assert_int_equal(ranges_add(&ranges, from, end), free);
		for (unsigned i = from; free && i < end; i++)
			taken[i] = true;
	}
}

/* Ranges that overlap, drawn at random: their bytes and their gaps are the map's. */
TEST(test_gaps_are_what_nobody_has)
{
	uint64_t seed = 3;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct range ranges[6], gap = { 0, 0 };
		bool taken[PLACES] = { false };
		unsigned count = round % 7, bytes = 0;

		for (unsigned i = 0; i < count; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1;
			ranges[i].from = (seed >> 33) % (PLACES - 16);
			ranges[i].end = ranges[i].from + 1 + (seed >> 50) % 15;
			for (uint64_t at = ranges[i].from; at < ranges[i].end; at++)
				taken[at] = true;
		}
		ranges_sort(ranges, count);
		for (unsigned i = 0; i < PLACES; i++)
			bytes += taken[i];
		assert_int_equal(ranges_bytes(ranges, count), bytes);
		while (ranges_gap(ranges, count, gap.end, PLACES, &gap)) {
			assert_true(gap.from < gap.end);
			for (uint64_t at = gap.from; at < gap.end; at++) {
				assert_false(taken[at]);
				bytes++;
			}
		}
		assert_int_equal(bytes, PLACES);
	}
}
