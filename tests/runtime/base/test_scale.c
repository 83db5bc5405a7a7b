/* SPDX-License-Identifier: MIT */
/* test_scale -- a * b / c against long division by hand. */
#include <nopal/microprotocol.h>
#include "support/test.h"

enum { ROUNDS = 100000, HALF_BITS = 32 };

static uint64_t state = 11;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 8 ^ state << 30) >> (state >> 58);
}

/* high:low = a * b, by halves. */
static void product(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
	uint64_t a1 = a >> HALF_BITS, a0 = (uint32_t)a;
	uint64_t b1 = b >> HALF_BITS, b0 = (uint32_t)b;
	uint64_t middle = a1 * b0 + (a0 * b0 >> HALF_BITS);
	uint64_t other = a0 * b1 + (uint32_t)middle;

	*high = a1 * b1 + (middle >> HALF_BITS) + (other >> HALF_BITS);
	*low = a * b;
}

/* Bit by bit. */
static uint64_t slow(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t high, low, rest = 0, quotient = 0;

	product(a, b, &high, &low);
	for (int bit = 127; bit >= 0; bit--) {
		uint64_t next = bit >= 64 ? high >> (bit - 64) & 1 : low >> bit & 1;
		uint64_t carry = rest >> 63;

		rest = rest << 1 | next;
		if (quotient >> 63)
			return UINT64_MAX;
		quotient <<= 1;
		if (carry || rest >= c) {
			rest -= c;
			quotient |= 1;
		}
	}
	return quotient;
}

TEST(agrees_with_long_division)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = draw(), b = draw(), c = draw() | 1;

		assert_true(nopal_scale(a, b, c) == slow(a, b, c));
	}
}

TEST(limits)
{
	assert_true(nopal_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_true(nopal_scale(UINT64_MAX, 2, 1) == UINT64_MAX);
	assert_true(nopal_scale(UINT64_MAX, 2, 4) == UINT64_MAX / 2);
	assert_true(nopal_scale(UINT64_C(1) << 32, UINT64_C(1) << 32, 1) == UINT64_MAX);
	assert_int_equal(nopal_scale(0, UINT64_MAX, 3), 0);
	assert_int_equal(nopal_scale(7, 3, 2), 10);
	assert_true(nopal_scale(1, 1, 0) == UINT64_MAX);
}
