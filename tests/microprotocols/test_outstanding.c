/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "support/rig.h"

#include "../../microprotocols/status/outstanding.h"
#include "support/test.h"

static struct nopal_handle handle_of(uint64_t number)
{
	return (struct nopal_handle){ (uint32_t)number, 1 };
}

static void drop(struct outstanding *sent)
{
	nopal_free(NULL, sent->ring);
	nopal_free(NULL, sent->open);
}

TEST(test_nothing_has_left)
{
	struct outstanding sent = { 0 };

	outstanding_begin(&sent, 7);
	assert_false(outstanding_is_open(&sent, 6));
	assert_false(outstanding_is_open(&sent, 7));
	outstanding_advance(&sent);
	assert_int_equal(sent.base, 7);
	drop(&sent);
}

TEST(test_base_follows_the_first_open_number)
{
	struct outstanding sent = { 0 };

	outstanding_begin(&sent, 60);
	for (uint64_t number = 60; number < 70; number++)
		assert_int_equal(outstanding_add(NULL, &sent, number, handle_of(number)), 0);
	assert_int_equal(outstanding_take(&sent, 61).index, 61);
	assert_int_equal(sent.base, 60);
	assert_int_equal(outstanding_take(&sent, 60).index, 60);
	assert_int_equal(sent.base, 62);
	for (uint64_t number = 69; number >= 62; number--)
		outstanding_take(&sent, number);
	assert_int_equal(sent.base, 70);
	assert_int_equal(sent.end, 70);
	drop(&sent);
}

TEST(test_numbers_need_not_leave_in_order)
{
	struct outstanding sent = { 0 };

	outstanding_begin(&sent, 1);
	outstanding_add(NULL, &sent, 9, handle_of(9));
	assert_int_equal(sent.base, 9);
	outstanding_add(NULL, &sent, 3, handle_of(3));
	assert_int_equal(sent.base, 3);
	assert_false(outstanding_is_open(&sent, 5));
	assert_true(outstanding_is_open(&sent, 9));
	outstanding_take(&sent, 3);
	assert_int_equal(sent.base, 9);
	drop(&sent);
}

/* Against a plain array, over more than one turn of the ring. */
TEST(test_it_agrees_with_a_plain_list)
{
	enum { NUMBERS = 20000 };
	bool *open = calloc(NUMBERS, sizeof(*open));
	struct outstanding sent = { 0 };
	uint64_t first = 0, next = 0;

	srand(1);
	outstanding_begin(&sent, 0);
	for (unsigned step = 0; step < 100000 && next < NUMBERS; step++) {
		if (rand() % 2 && next - first < 300) {
			open[next] = true;
			outstanding_add(NULL, &sent, next, handle_of(next));
			next++;
		} else if (next > first) {
			uint64_t number = first + (uint64_t)rand() % (next - first);

			assert_int_equal(outstanding_is_open(&sent, number), open[number]);
			if (open[number])
				assert_int_equal(outstanding_take(&sent, number).index, number);
			open[number] = false;
		}
		while (first < next && !open[first])
			first++;
		assert_int_equal(sent.base, first);
		assert_int_equal(sent.end, next);
		if (first < next) {
			uint64_t word = outstanding_open(&sent, first);

			for (uint64_t i = 0; i < 64; i++)
				assert_int_equal(word >> i & 1,
						 first + i < next && open[first + i]);
		}
	}
	assert_true(sent.room <= 512);
	drop(&sent);
	free(open);
}
