/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/plan.h"
#include "segments.h"

static const char FILTER[] = "transport_driver {}\nfixed_size {}\n"
			     "sequenced_segments { window = 64 }\na_tap {}\n";
static const char NEEDED[] = "transport_driver {}\nfixed_size {}\n"
			     "sequenced_segments { window = 64 }\npositive_ack {}\nretransmit {}\n"
			     "a_tap {}\n";

enum { WINDOW = 64, NUMBER = 0 };

static uint32_t arrive_number(struct rig *rig, uint64_t number)
{
	struct rig_side *side = &rig->acceptor;
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, "x", 1);
	uint32_t before = side->delivered;

	nopal_set(one.segment, rig_part(side->session, "sequenced_segments"), NUMBER, number);
	arriving_end(&one);
	return side->delivered - before;
}

static void test_each_number_gets_in_once(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, 1), 0);
	assert_int_equal(arrive_number(&rig, 0), 0);
	assert_int_equal(arrive_number(&rig, 3), 1);
	assert_int_equal(arrive_number(&rig, 3), 0);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2), 0);
	rig_close(&rig);
}

static void test_duplicates_of_the_network_are_dropped(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FILTER, &(struct rig_options){ .link = "delay 10ms duplicate 100%" });
	for (int i = 0; i < 200; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	rig_close(&rig);
}

static void test_what_is_still_needed_is_not_given_up(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, NEEDED);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 0);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW - 1), 1);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 1);
	rig_close(&rig);
}

static void test_the_window_follows_where_nobody_resends(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 0); /* a stray? */
	assert_int_equal(arrive_number(&rig, WINDOW), 1);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 1);
	assert_int_equal(arrive_number(&rig, 2), 0); /* given up */
	assert_int_equal(arrive_number(&rig, 3), 1); /* not yet */
	rig_close(&rig);
}

/* One number from far ahead is a stray; a second from there is the stream. */
static void test_a_stream_comes_back_after_an_outage(void **state)
{
	const uint64_t far = UINT64_C(1) << 31;
	struct rig rig;

	(void)state;
	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, far), 0);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2 * far), 0);
	assert_int_equal(arrive_number(&rig, far + 3), 0);
	assert_int_equal(arrive_number(&rig, far + 5), 1);
	assert_int_equal(arrive_number(&rig, 3), 0);
	assert_int_equal(arrive_number(&rig, far + 6), 1);
	rig_close(&rig);
}

static void test_the_window_is_shared(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, FILTER, NULL);
	assert_int_equal(rig_shared(rig.opener.session, "segment_window"), WINDOW);
	rig_close(&rig);
}

/* All orders of six segments: each arrives, once. */
static void test_any_order_is_let_in(void **state)
{
	uint64_t order[6] = { 2, 3, 4, 5, 6, 7 };

	(void)state;
	for (unsigned turn = 0; turn < 720; turn += 7) {
		struct rig rig;
		unsigned rest = turn;

		rig_begin(&rig, NEEDED);
		for (unsigned i = 6; i > 1; i--) {
			uint64_t kept = order[i - 1];

			order[i - 1] = order[rest % i];
			order[rest % i] = kept;
			rest /= i;
		}
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(arrive_number(&rig, order[i]), 1);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(arrive_number(&rig, order[i]), 0);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_gets_in_once),
		cmocka_unit_test(test_duplicates_of_the_network_are_dropped),
		cmocka_unit_test(test_what_is_still_needed_is_not_given_up),
		cmocka_unit_test(test_the_window_follows_where_nobody_resends),
		cmocka_unit_test(test_a_stream_comes_back_after_an_outage),
		cmocka_unit_test(test_the_window_is_shared),
		cmocka_unit_test(test_any_order_is_let_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
