/* SPDX-License-Identifier: MIT */
/* However long a message is, it is one segment here, and comes whole from below. */
#include <errno.h>

#include "plan/plan.h"
#include "support/many.h"
#include "support/test.h"

#define GROUP MANY_RELIABLE("fan_out {}")

static struct many many;

TEST(test_each_message_is_one_segment)
{
	static const size_t length[] = { 0, 1, 1399, 1400, 1500, 70000, 400000 };
	const uint32_t count = sizeof(length) / sizeof(length[0]);
	const struct nopal_counters *counters;

	many_open(&many, GROUP, 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(many_send_bytes(&many, length[i], 0), 0);
	many_run(&many, 5 * NOPAL_SECOND);
	counters = nopal_session_counters(many.group);
	assert_int_equal(counters->transmissions, count);
	assert_int_equal(counters->resends, 0);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], count);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(many.end[i].delivered, count);
		assert_int_equal(many.end[i].wrong + many.end[i].late, 0);
	}
	many_close(&many);
}

/* An empty one, and one that comes in pieces, which the layer below lost some of. */
TEST(test_what_was_lost_on_the_way_comes_whole)
{
	many_open(&many, GROUP, 2, "delay 10ms loss 10% reorder 10%", 5);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(nopal_send(many.group, "", 0, 0), 0);
	many.sent++;
	for (int i = 0; i < 20; i++)
		assert_int_equal(many_send_bytes(&many, 20000, 0), 0);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 21);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(many.end[i].delivered, 20);
		assert_int_equal(many.end[i].wrong, 1); /* it has no number */
		assert_int_equal(many.end[i].late, 0);
	}
	many_close(&many);
}

TEST(test_the_longest_is_a_gibibyte_or_what_is_below)
{
	struct nopal_plan *plan = many_plan(GROUP);
	uint64_t limit = nopal_plan_info(plan)->message_limit;

	assert_true(limit > 65536 && limit <= 1 << 30);
	nopal_plan_unref(plan);
	plan = many_plan(MANY_PLAIN("fan_out {}"));
	limit = nopal_plan_info(plan)->message_limit;
	assert_true(limit > 1000 && limit < 1500); /* one datagram */
	nopal_plan_unref(plan);
}

/* A message that does not fit is refused at once, and one that just fits arrives. */
TEST(test_what_does_not_fit_below_is_refused)
{
	uint64_t limit;

	many_open(&many, MANY_PLAIN("fan_out {}"), 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	limit = nopal_plan_info(many.plan)->message_limit;
	assert_int_equal(many_send_bytes(&many, limit, 0), 0);
	assert_int_equal(many_send_bytes(&many, limit + 1, 0), -EMSGSIZE);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[0].delivered, 1);
	assert_int_equal(many.end[0].wrong, 0);
	many_close(&many);
}

/* An arriving one has no room at the listener: its session ends, and says why. */
TEST(test_no_room_for_what_arrived)
{
	const struct nopal_budget little = { .bytes = 100000 };

	many_open(&many, GROUP, 2, "delay 10ms", 1);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	nopal_session_set_budget(many.end[1].session, &little);
	many_send_bytes(&many, 300000, 0);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_int_equal(many.end[0].delivered, 2);
	assert_int_equal(many.end[1].delivered, 1);
	assert_null(many.end[1].session);
	assert_int_equal(many.outcome_count[1], 1);
	assert_int_not_equal(many.outcome[1], NOPAL_OUTCOME_DELIVERED);
	many_close(&many);
}
