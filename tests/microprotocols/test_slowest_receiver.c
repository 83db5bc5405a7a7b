/* SPDX-License-Identifier: MIT */
/* The rate of a channel is what the slowest that hears it can take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "many.h"

static struct many many;

#define WITH(keys)                                                             \
	MANY_CHANNEL("", "",                                                   \
		     "fan_out {} rate_cc {} slowest_receiver { " keys " }")

enum { BYTES = 50000, MS = 1000 };

/* Busy for so long: there is always something to send. */
static void keep_busy(int64_t duration_ns)
{
	int64_t end_ns = nopal_world_now(many.world) + duration_ns;

	while (nopal_world_now(many.world) < end_ns) {
		while (many.sent - many.fates[NOPAL_ARRIVED] < 20)
			assert_int_equal(many_send_bytes(&many, BYTES, 0), 0);
		many_run(&many, 10 * NOPAL_MILLISECOND);
	}
}

static int64_t rate(void)
{
	int64_t bps = 0;

	assert_true(nopal_session_shared(many.group, "sending_rate_bps", &bps));
	return bps;
}

/* Mbit/s of messages whose fate was told, over so long. */
static uint64_t goodput_kbps(int64_t duration_ns)
{
	uint32_t before = many.fates[NOPAL_ARRIVED];

	keep_busy(duration_ns);
	return (many.fates[NOPAL_ARRIVED] - before) * UINT64_C(8) * BYTES * MS /
	       (uint64_t)(duration_ns / NOPAL_MILLISECOND) / MS;
}

static void begin(const char *config, uint32_t count, const char *link)
{
	many_open(&many, config, count, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), count);
	for (uint32_t i = 0; i < count; i++)
		many_link(&many, i, link);
}

static void finish(void)
{
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many.fates[NOPAL_ARRIVED], many.sent);
	for (uint32_t i = 0; i < many.count; i++)
		assert_true(many_has(&many, i, 0, many.sent));
	many_close(&many);
}

static void test_the_slowest_sets_the_rate(void **state)
{
	uint64_t kbps;

	(void)state;
	begin(WITH(""), 3, "rate 50mbit delay 10ms limit 100");
	many_link(&many, 1, "rate 20mbit delay 10ms limit 100");
	many_link(&many, 2, "rate 5mbit delay 10ms limit 100");
	keep_busy(5 * NOPAL_SECOND);
	kbps = goodput_kbps(20 * NOPAL_SECOND);
	print_message("5, 20, 50 Mbit/s: %d kbit/s\n", (int)kbps);
	assert_in_range(kbps, 3500, 5000);
	assert_int_equal(many_hearing(&many), 3);
	finish();
}

static void test_when_the_slowest_goes_the_others_are_faster(void **state)
{
	uint64_t kbps;

	(void)state;
	begin(WITH(""), 3, "rate 20mbit delay 10ms limit 100");
	many_link(&many, 2, "rate 4mbit delay 10ms limit 100");
	keep_busy(5 * NOPAL_SECOND);
	assert_true(goodput_kbps(10 * NOPAL_SECOND) < 4500);
	nopal_destination_remove(many.group, (uint32_t)many.end[2].id, true);
	keep_busy(20 * NOPAL_SECOND);
	kbps = goodput_kbps(20 * NOPAL_SECOND);
	print_message("20 Mbit/s, and one of 4 went: %d kbit/s\n", (int)kbps);
	assert_in_range(kbps, 13000, 20000);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_true(many_has(&many, 0, 0, many.sent));
	many_close(&many);
}

/* A half percent at each, apart: no slower than one with that. */
static void test_losses_of_many_do_not_add_up(void **state)
{
	uint64_t one, many_of_them;

	(void)state;
	begin(WITH(""), 1, "rate 20mbit delay 10ms limit 100 loss 0.5%");
	keep_busy(5 * NOPAL_SECOND);
	one = goodput_kbps(20 * NOPAL_SECOND);
	finish();
	begin(WITH(""), 30, "rate 20mbit delay 10ms limit 100 loss 0.5%");
	keep_busy(5 * NOPAL_SECOND);
	many_of_them = goodput_kbps(20 * NOPAL_SECOND);
	finish();
	print_message("0.5 %% at one: %d kbit/s, at each of 30: %d\n", (int)one,
		      (int)many_of_them);
	assert_true(many_of_them * 2 > one);
}

/* The least rate is too fast for one: its own session serves it from then on. */
static void test_who_loses_too_much_leaves_the_channel(void **state)
{
	(void)state;
	begin(WITH("initial = 2Mbit least = 2Mbit"), 3,
	      "rate 20mbit delay 10ms limit 100");
	many_link(&many, 2, "rate 1mbit delay 10ms limit 20");
	keep_busy(20 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	many_run(&many, 100 * NOPAL_SECOND);
	keep_busy(2 * NOPAL_SECOND);
	assert_true(rate() > 4000000);
	many_run(&many, 100 * NOPAL_SECOND);
	finish();
}

static void test_least_and_most(void **state)
{
	(void)state;
	begin(WITH("initial = 3Mbit most = 3Mbit"), 2, "delay 10ms");
	keep_busy(5 * NOPAL_SECOND);
	assert_int_equal(rate(), 3000000);
	assert_in_range(goodput_kbps(5 * NOPAL_SECOND), 2700, 3000);
	finish();
	begin(WITH("initial = 8Mbit least = 8Mbit most = 10Mbit"), 2,
	      "delay 10ms loss 5%");
	keep_busy(10 * NOPAL_SECOND);
	assert_in_range(rate(), 8000000, 10000000);
	assert_int_equal(many_hearing(&many), 2); /* 5 %: not too much */
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_slowest_sets_the_rate),
		cmocka_unit_test(
			test_when_the_slowest_goes_the_others_are_faster),
		cmocka_unit_test(test_losses_of_many_do_not_add_up),
		cmocka_unit_test(test_who_loses_too_much_leaves_the_channel),
		cmocka_unit_test(test_least_and_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
