/* SPDX-License-Identifier: MIT */
#include "engine/ring.h"
#include "support/test.h"

/* Whatever place the first element has when the ring is full, the order stays. */
TEST(test_a_ring_that_grows_keeps_its_order)
{
	for (uint32_t first = 0; first < 16; first++) {
		uint32_t *ring = NULL, head = 0, room = 0;

		assert_true(nopal__ring_grow(NULL, &ring, &head, &room, sizeof(*ring)));
		assert_int_equal(room, 16);
		head = first;
		for (uint32_t i = 0; i < 16; i++)
			ring[(head + i) % 16] = i;
		assert_true(nopal__ring_grow(NULL, &ring, &head, &room, sizeof(*ring)));
		assert_int_equal(room, 32);
		assert_int_equal(head, 0);
		for (uint32_t i = 0; i < 16; i++)
			assert_int_equal(ring[i], i);
		nopal_free(NULL, ring);
	}
}

TEST(test_a_ring_of_all_numbers_does_not_grow)
{
	uint32_t *ring = NULL, head = 0, room = UINT32_C(1) << 31;

	assert_false(nopal__ring_grow(NULL, &ring, &head, &room, sizeof(*ring)));
	assert_null(ring);
	assert_int_equal(room, UINT32_C(1) << 31);
}
