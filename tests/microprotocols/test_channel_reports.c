/* SPDX-License-Identifier: MIT */
/* Losses in a channel's reports, and requests for them, where repairs get lost and where
 * packets overtake each other. */
#include "support/many.h"
#include "support/rig.h"
#include "support/test.h"

static struct many many;

/* ------------------------------------------------------------------ reports */

static uint64_t told_missing, told_rows; /* by all reports */

static enum nopal_verdict a_listener_on_report(struct nopal_at at,
					       struct nopal_channel_report *report)
{
	(void)at;
	told_missing += report->missing;
	told_rows += report->rows;
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol a_listener = {
	.abi = NOPAL_ABI,
	.name = "a_listener",
	.family = "check",
	.summary = "hears what reports say",
	.many = true,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(CHANNEL_REPORT, a_listener_on_report),
						    { 0 } },
};

/* Two hear the channel, whose channel_repair has these keys. */
#define LISTEN(keys) listen_to_reports(MANY_CHANNEL("", keys, "fan_out {} a_listener {}"))

static void listen_to_reports(const char *config)
{
	rig_add(&a_listener);
	many_open(&many, config, 2, "delay 5ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	told_missing = 0;
	told_rows = 0;
}

static uint64_t transmissions(void)
{
	return nopal_session_counters(many.group)->transmissions;
}

/* Neither come by what left once nor by what left again: each that is lost counts. */
TEST(test_lost_repairs_are_told)
{
	uint64_t before;

	LISTEN("");
	many_send_some(&many, 5, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 1, true);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 1, false);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	for (int64_t asked = 1; asked <= 3; asked++) {
		while (many_shared(&many, 1, "channel_naks") < asked)
			many_run(&many, NOPAL_MILLISECOND / 4);
		before = transmissions();
		many_deafen(&many, 1, asked < 3);
		while (transmissions() == before)
			many_run(&many, NOPAL_MILLISECOND / 4);
		many_run(&many, NOPAL_MILLISECOND);
		many_deafen(&many, 1, false);
	}
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(transmissions(), 7 + 3);
	assert_int_equal(told_missing, 1 + 2);
	many_close(&many);
}

/* The path has just become longer than it is known to be: what is asked for on and on does not
 * leave once more for that. */
TEST(test_a_repair_has_its_time)
{
	LISTEN("again = 1ms backoff = 0ms");
	many_send_some(&many, 20, 100, 2 * NOPAL_MILLISECOND);
	told_missing = 0;
	many_deafen(&many, 1, true);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 1, false);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	many_link(&many, 1, "delay 6ms");
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(transmissions(), 23);
	assert_int_equal(told_missing, 1);
	many_close(&many);
}

/* Until it hears the channel all comes by its own session: that is no loss there. */
TEST(test_what_came_by_its_session_is_not_missing)
{
	rig_add(&a_listener);
	many_open(&many, MANY_CHANNEL("", "", "fan_out {} a_listener {}"), 2, "delay 20ms", 1);
	told_missing = 0;
	many_send_some(&many, 200, 1000, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many_hearing(&many), 2);
	assert_int_equal(told_missing, 0);
	many_close(&many);
}

/* Three in a row, and one. */
TEST(test_rows_are_told)
{
	LISTEN("");
	many_send_some(&many, 5, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 0, true);
	many_send_some(&many, 3, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 0, false);
	many_send_some(&many, 2, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 0, true);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 0, false);
	many_send_some(&many, 5, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(told_missing, 4);
	assert_int_equal(told_rows, 2);
	many_close(&many);
}

/* ------------------------------------------------------------------ reordering */

/* So many numbers left twice, and so many were told missing, where a path reorders and loses
 * nothing. */
static void check_reordering(const char *link, uint64_t max_repairs, uint64_t max_missing)
{
	LISTEN("");
	for (uint32_t i = 0; i < 2; i++)
		many_link(&many, i, link);
	many_send_some(&many, 1000, 1000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 2 * NOPAL_SECOND);
	many_all_have_all(&many);
	print_message("%s: 1000 numbers, %d repairs, %d naks, %d missing\n", link,
		      (int)(transmissions() - 1000), (int)many_sum(&many, "channel_naks"),
		      (int)told_missing);
	assert_in_range(transmissions() - 1000, 0, max_repairs);
	assert_in_range(told_missing, 0, max_missing);
	many_close(&many);
}

TEST(test_a_path_that_reorders_needs_no_repairs)
{
	check_reordering("delay 10ms reorder 20%", 20, 50);
	check_reordering("delay 10ms reorder 2%", 20, 50);
	check_reordering("delay 10ms 5ms", 20, 50);
}

/* A loss there is repaired all the same. */
TEST(test_losses_where_packets_overtake)
{
	LISTEN("");
	for (uint32_t i = 0; i < 2; i++)
		many_link(&many, i, "delay 10ms reorder 10% loss 2%");
	many_send_some(&many, 1000, 1000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 5 * NOPAL_SECOND);
	many_all_have_all(&many);
	print_message("reordered, and 2 %% lost at each of two: %d repairs\n",
		      (int)(transmissions() - 1000));
	assert_in_range(transmissions() - 1000, 20, 120);
	assert_in_range(told_missing, 20, 150);
	many_close(&many);
}
