/* SPDX-License-Identifier: MIT */
/* Destinations that must have a message, that cannot any more, and that are too slow for the
 * others. */
#include "support/many.h"
#include "support/test.h"

static struct many many;

static uint32_t had_it[MANY_MESSAGES]; /* destinations, when its outcome was told */

static void note_who_has_it(struct many *all, uint32_t message)
{
	had_it[message] = 0;
	for (uint32_t i = 0; i < all->count; i++)
		had_it[message] += all->end[i].seen[message];
}

/* Open, each ray with so many times the delay of the one before. */
static void begin_staggered(const char *config, uint32_t count)
{
	static const char *const ray[] = { "delay 5ms", "delay 100ms", "delay 400ms",
					   "delay 1600ms" };

	many_prepare(&many, config, count, ray[0], 1);
	many.on_outcome = note_who_has_it;
	for (uint32_t i = 0; i < count; i++) {
		many_link(&many, i, ray[i]);
		assert_true(many_add(&many, i) > 0);
	}
	many_run(&many, 20 * NOPAL_SECOND);
}

static void begin(const char *config, uint32_t count)
{
	many_open(&many, config, count, "delay 10ms", 1);
	many.on_outcome = note_who_has_it;
	many_run(&many, NOPAL_SECOND);
}

/* ------------------------------------------------------------------- so many */

/* Each message's outcome comes with the ack of the last one that is needed. */
static void check_so_many(const char *config, uint32_t needed)
{
	begin_staggered(config, 4);
	for (int i = 0; i < 3; i++) {
		many_send_bytes(&many, 3000, 0);
		many_run(&many, 20 * NOPAL_SECOND);
	}
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(had_it[i], needed);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(many.end[i].delivered, 3);
	many_close(&many);
}

TEST(test_all_any_and_so_many)
{
	check_so_many(MANY_RELIABLE("fan_out {}"), 4);
	check_so_many(MANY_RELIABLE("fan_out { acks = 1 }"), 1);
	check_so_many(MANY_RELIABLE("fan_out { acks = 2 }"), 2);
	check_so_many(MANY_RELIABLE("fan_out { acks = 3 }"), 3);
	check_so_many(MANY_RELIABLE("fan_out { acks = 4 }"), 4);
}

/* Later outcomes of the others change nothing. */
TEST(test_a_outcome_is_for_good)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 }"), 4);
	many_cut(&many, 2);
	many_cut(&many, 3);
	many_send(&many);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	nopal_destination_remove(many.group, 1, true);
	many_run(&many, 200 * NOPAL_SECOND); /* the silent ones end */
	assert_int_equal(many.end[2].ended + many.end[3].ended, 2);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	many_close(&many);
}

/* --------------------------------------------------------------- not so many */

TEST(test_more_than_there_are_is_missing_at_once)
{
	begin(MANY_RELIABLE("fan_out { acks = 4 }"), 3);
	many_send(&many);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_LOST);
	many_run(&many, NOPAL_SECOND); /* it went there all the same */
	assert_int_equal(many.end[0].delivered, 1);
	assert_int_equal(many.outcome_count[0], 1);
	many_close(&many);
}

static uint32_t ended_ones(void)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < many.count; i++)
		ended += many.end[i].ended;
	return ended;
}

/* Two of three are not reached at all: the message is missing in the turn in which the second is
 * given up, while the third has just the first of many bytes. */
TEST(test_missing_as_soon_as_so_many_cannot)
{
	uint32_t before = 0;

	many_prepare(&many, MANY_RELIABLE("fan_out { acks = 2 }"), 3, "delay 10ms", 1);
	many_cut(&many, 1);
	many_cut(&many, 2);
	for (uint32_t i = 0; i < 3; i++)
		many_add(&many, i);
	many_send(&many);
	while (!many.outcome_count[0] && nopal_sim_step(many.world))
		if (!many.outcome_count[0])
			before = ended_ones();
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_LOST);
	assert_true(before < 2);
	assert_int_equal(ended_ones(), 2);
	assert_int_equal(many.end[0].delivered, 1);
	many_close(&many);
}

/* Whoever was open and ended may have it, without that we know. */
TEST(test_of_who_died_nobody_can_say)
{
	begin(MANY_RELIABLE("fan_out {}"), 3);
	many_link(&many, 1, "fwd: delay 10ms rev: loss 100%");
	many_cut(&many, 2);
	many_send(&many);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_UNKNOWN);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.end[2].delivered, 0);
	assert_int_equal(ended_ones(), 2);
	many_close(&many);
}

static void check_plain(const char *config, enum nopal_outcome outcome)
{
	begin(config, 3);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], outcome);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].delivered, 1);
	many_close(&many);
}

TEST(test_without_acks_nobody_can_say)
{
	check_plain(MANY_PLAIN("fan_out {}"), NOPAL_OUTCOME_UNKNOWN);
	check_plain(MANY_PLAIN("fan_out { acks = 2 }"), NOPAL_OUTCOME_UNKNOWN);
	check_plain(MANY_PLAIN("fan_out { acks = 4 }"), NOPAL_OUTCOME_LOST);
}

/* ----------------------------------------------------- one alone, and removed */

TEST(test_one_alone_is_enough_where_it_is_named)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 }"), 3);
	many_send_bytes(&many, 0, 2);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(had_it[0], 1);
	assert_int_equal(many.end[1].delivered, 1);
	many_cut(&many, 1);
	many_send_bytes(&many, 0, 2);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_int_equal(many.outcome_count[1], 1);
	assert_int_equal(many.outcome[1], NOPAL_OUTCOME_UNKNOWN);
	many_send_bytes(&many, 0, 2); /* it has ended */
	assert_int_equal(many.outcome[2], NOPAL_OUTCOME_LOST);
	many_close(&many);
}

/* All: those that stay.  So many: who leaves in good order may get it still. */
static void check_removed(const char *config, enum nopal_outcome outcome)
{
	begin(config, 3);
	many_cut(&many, 2);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 0);
	nopal_destination_remove(many.group, 3, false);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], outcome);
	assert_int_equal(had_it[0], 2);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 1);
	many_close(&many);
}

TEST(test_who_was_removed_is_not_waited_for)
{
	check_removed(MANY_RELIABLE("fan_out {}"), NOPAL_OUTCOME_DELIVERED);
	check_removed(MANY_RELIABLE("fan_out { acks = 3 }"), NOPAL_OUTCOME_UNKNOWN);
}

/* A destination removed in good order before it opened gets the message all the same. */
TEST(test_who_was_removed_early_may_get_it)
{
	many_prepare(&many, MANY_RELIABLE("fan_out { acks = 2 }"), 2, "delay 10ms", 1);
	many_link(&many, 1, "delay 300ms");
	many_add(&many, 0);
	many_add(&many, 1);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	many_send(&many);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	nopal_destination_remove(many.group, 2, false);
	assert_int_equal(many.end[1].opened, 0);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_UNKNOWN);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.outcome_count[0], 1);
	many_close(&many);
}

TEST(test_of_all_removed_nobody_can_say)
{
	begin(MANY_RELIABLE("fan_out {}"), 2);
	many_cut(&many, 0);
	many_send(&many);
	nopal_destination_remove(many.group, 1, true);
	assert_int_equal(many.outcome_count[0], 0);
	nopal_destination_remove(many.group, 2, false);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_UNKNOWN);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.ended, 0);
	many_close(&many);
}

/* Their layer is the same; the rule is the group's. */
TEST(test_an_answer_is_for_one_whatever_the_rule)
{
	many_open(&many, MANY_RELIABLE("fan_out { acks = 2 }"), 3, "delay 10ms", 1);
	many.echo = true;
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_send(&many), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.answers, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct nopal_counters *counters = nopal_session_counters(many.end[i].session);

		assert_int_equal(counters->messages_arrived, 1);
		assert_int_equal(counters->messages_missing, 0);
	}
	many_close(&many);
}

TEST(test_a_group_without_destinations)
{
	many_prepare(&many, MANY_RELIABLE("fan_out {}"), 2, "delay 10ms", 1);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 0); /* it is not open */
	many_add(&many, 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	nopal_destination_remove(many.group, 1, false);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[0].ended, 1);
	many_send(&many);
	assert_int_equal(many.outcome_count[1], 1);
	assert_int_equal(many.outcome[1], NOPAL_OUTCOME_LOST);
	many_add(&many, 1);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcome[2], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(many.end[1].delivered, 1);
	nopal_session_close(many.group);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end_code, NOPAL_UNDELIVERED); /* the second */
	many_close(&many);
}

/* ------------------------------------------------------------- who is too slow */

enum { FLOW = 400, FLOW_BYTES = 4000, SLOW = 2 };

/* A message each 5 ms, to two destinations in the neighbourhood and to one whose ray is `ray`. */
static void flow(const char *config, const char *ray)
{
	many_open(&many, config, 3, "rate 20mbit delay 10ms", 1);
	many_link(&many, SLOW, ray);
	many_run(&many, NOPAL_SECOND);
	for (int i = 0; i < FLOW; i++) {
		assert_int_equal(many_send_bytes(&many, FLOW_BYTES, 0), 0);
		many_run(&many, 5 * NOPAL_MILLISECOND);
	}
}

static int64_t undisturbed[2][FLOW];

static void flow_without_a_slow_one(const char *config)
{
	flow(config, "rate 20mbit delay 10ms");
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < FLOW; i++)
			undisturbed[end][i] = many.end[end].came_ns[i];
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], FLOW - 4);
	assert_int_equal(ended_ones(), 0);
	many_close(&many);
}

static void check_undisturbed(void)
{
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < FLOW; i++)
			assert_int_equal(many.end[end].came_ns[i], undisturbed[end][i]);
}

TEST(test_a_slow_one_leaves)
{
	const char *config = MANY_RELIABLE("fan_out { acks = 2 backlog = 64kB slow = leave }");

	flow_without_a_slow_one(config);
	flow(config, "rate 100kbit delay 10ms limit 20");
	assert_int_equal(many.end[SLOW].ended, 1);
	assert_int_equal(many.end[SLOW].end, NOPAL_RESOURCE);
	assert_true(many.end[SLOW].delivered < FLOW / 4);
	check_undisturbed();
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], FLOW - 4);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], FLOW);
	many_close(&many);
}

TEST(test_a_slow_one_misses_what_it_is_too_slow_for)
{
	const char *config = MANY_RELIABLE("fan_out { acks = 2 backlog = 20kB slow = skip }");
	uint32_t had;

	flow_without_a_slow_one(config);
	flow(config, "rate 400kbit delay 10ms");
	had = many.end[SLOW].delivered;
	assert_int_equal(many.end[SLOW].ended, 0);
	assert_in_range(had, 10, FLOW / 4);
	check_undisturbed();
	many_run(&many, 30 * NOPAL_SECOND); /* it catches up, and is in again */
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], FLOW);
	had = many.end[SLOW].delivered;
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[SLOW].delivered, had + 1);
	assert_int_equal(many.end[SLOW].wrong + many.end[SLOW].late, 0);
	many_close(&many);
}

/* However much waits: who is not behind the others is not too slow. */
TEST(test_a_burst_is_nobodys_fault)
{
	many_open(&many, MANY_RELIABLE("fan_out { acks = 1 backlog = 20kB }"), 3,
		  "rate 20mbit delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	for (int i = 0; i < 50; i++)
		assert_int_equal(many_send_bytes(&many, FLOW_BYTES, 0), 0);
	many_run(&many, 5 * NOPAL_SECOND);
	assert_int_equal(ended_ones(), 0);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 50);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].delivered, 50);
	many_close(&many);
}
