/* SPDX-License-Identifier: MIT */
/*
 * test_pace -- no faster than a rate.
 */
#include "peer/pace.h"
#include "support/test.h"

TEST(test_a_rate_is_kept)
{
	struct pace pace = { .rate_bps = 8000 }; /* a byte a millisecond */

	pace_begin(&pace, 1000000, 50);
	assert_int_equal(pace_wait_ns(&pace, 1000000, 50), 0);
	assert_int_equal(pace_wait_ns(&pace, 1000000, 60), 10000000);
	assert_int_equal(pace_wait_ns(&pace, 11000000, 60), 0);
	assert_true(pace_wait_ns(&pace, 12000000, 60) < 0);
}

TEST(test_a_burst_goes_ahead)
{
	struct pace pace = { .rate_bps = 8000, .burst_bytes = 5 };

	pace_begin(&pace, 1, 0);
	assert_int_equal(pace_wait_ns(&pace, 1, 5), 0);
	assert_int_equal(pace_wait_ns(&pace, 1, 6), 1000000);
}

TEST(test_no_rate_is_no_wait)
{
	struct pace pace = { .rate_bps = 0 };

	pace_begin(&pace, 1, 0);
	assert_int_equal(pace_wait_ns(&pace, 1, UINT64_MAX), 0);
}
