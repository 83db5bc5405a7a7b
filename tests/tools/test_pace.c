/* SPDX-License-Identifier: MIT */
/*
 * test_pace -- no faster than a rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "peer/pace.h"

static void test_a_rate_is_kept(void **state)
{
	struct pace pace = { .rate_bps = 8000 }; /* a byte a millisecond */

	(void)state;
	pace_begin(&pace, 1000000, 50);
	assert_int_equal(pace_wait_ns(&pace, 1000000, 50), 0);
	assert_int_equal(pace_wait_ns(&pace, 1000000, 60), 10000000);
	assert_int_equal(pace_wait_ns(&pace, 11000000, 60), 0);
	assert_true(pace_wait_ns(&pace, 12000000, 60) < 0);
}

static void test_a_burst_goes_ahead(void **state)
{
	struct pace pace = { .rate_bps = 8000, .burst_bytes = 5 };

	(void)state;
	pace_begin(&pace, 1, 0);
	assert_int_equal(pace_wait_ns(&pace, 1, 5), 0);
	assert_int_equal(pace_wait_ns(&pace, 1, 6), 1000000);
}

static void test_no_rate_is_no_wait(void **state)
{
	struct pace pace = { .rate_bps = 0 };

	(void)state;
	pace_begin(&pace, 1, 0);
	assert_int_equal(pace_wait_ns(&pace, 1, UINT64_MAX), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rate_is_kept),
		cmocka_unit_test(test_a_burst_goes_ahead),
		cmocka_unit_test(test_no_rate_is_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
