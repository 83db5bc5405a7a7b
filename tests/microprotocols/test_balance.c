/* SPDX-License-Identifier: MIT */
/* Messages go to the least loaded, not all to the same one, and to another where one failed. */
#include "support/many.h"
#include "support/test.h"

enum { MESSAGES = 600, SHORT = 500 };

static struct many many;

static void begin(const char *config, uint32_t count)
{
	many_open(&many, config, count, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
}

/* A message each `space_ns`, then as long until all have their outcomes. */
static void flow(uint32_t messages, int64_t space_ns)
{
	for (uint32_t i = 0; i < messages; i++) {
		assert_int_equal(many_send_bytes(&many, SHORT, 0), 0);
		many_run(&many, space_ns);
	}
	many_run(&many, NOPAL_SECOND);
}

/* Destinations that have message `number`; none of them twice. */
static uint32_t havers(uint32_t number)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < many.count; i++) {
		assert_true(many.end[i].seen[number] <= 1);
		count += many.end[i].seen[number];
	}
	return count;
}

static void check_havers(uint32_t from, uint32_t copies)
{
	for (uint32_t i = from; i < many.sent; i++)
		assert_int_equal(havers(i), copies);
}

/* ------------------------------------------------------------------- the least */

static void begin_near_and_far(const char *config)
{
	begin(config, 3);
	many_link(&many, 0, "delay 5ms");
	many_link(&many, 1, "delay 20ms");
	many_link(&many, 2, "delay 80ms");
}

/* Of each two that are drawn the nearer one: two thirds, one third, and hardly ever the
 * farthest. */
TEST(test_the_nearest_gets_max)
{
	begin_near_and_far(MANY_RELIABLE("fan_out {} balance {}"));
	flow(MESSAGES, 250 * NOPAL_MILLISECOND);
	assert_in_range(many.end[0].delivered, MESSAGES * 55 / 100, MESSAGES * 80 / 100);
	assert_in_range(many.end[1].delivered, MESSAGES * 20 / 100, MESSAGES * 45 / 100);
	assert_true(many.end[2].delivered < MESSAGES * 5 / 100);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], MESSAGES);
	check_havers(0, 1);
	many_close(&many);
}

/* Quicker than they come back: what is under way counts, so that the far ones share in it. */
TEST(test_what_is_under_way_is_load)
{
	begin_near_and_far(MANY_RELIABLE("fan_out {} balance {}"));
	flow(MESSAGES, NOPAL_MILLISECOND);
	assert_true(many.end[2].delivered > MESSAGES * 3 / 100);
	assert_true(many.end[0].delivered > many.end[1].delivered);
	assert_true(many.end[1].delivered > many.end[2].delivered);
	many_close(&many);
}

/* In no stretch of the flow does everybody run to the same one. */
TEST(test_equals_share_equally)
{
	enum { ENDS = 4, STRETCH = 100 };
	uint32_t had[ENDS] = { 0 };

	begin(MANY_RELIABLE("fan_out {} balance {}"), ENDS);
	for (int stretch = 0; stretch < 6; stretch++) {
		flow(STRETCH, 2 * NOPAL_MILLISECOND);
		for (int i = 0; i < ENDS; i++) {
			assert_in_range(many.end[i].delivered - had[i], STRETCH / ENDS / 3,
					STRETCH / 2);
			had[i] = many.end[i].delivered;
		}
	}
	for (int i = 0; i < ENDS; i++)
		assert_in_range(had[i], MESSAGES / ENDS * 7 / 10, MESSAGES / ENDS * 13 / 10);
	many_close(&many);
}

/* ------------------------------------------------------------- what is known ages */

/* The far one comes near, and nobody knows until it is tried again: how many of the messages after
 * that go there. */
static uint32_t after_it_came_near(const char *config)
{
	uint32_t had;

	begin_near_and_far(config);
	flow(MESSAGES, 50 * NOPAL_MILLISECOND);
	had = many.end[2].delivered;
	assert_true(had < MESSAGES * 15 / 100);
	many_link(&many, 2, "delay 1ms");
	flow(MESSAGES, 50 * NOPAL_MILLISECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 2 * MESSAGES);
	had = many.end[2].delivered - had;
	many_close(&many);
	return had;
}

TEST(test_who_was_slow_is_tried_again)
{
	uint32_t quick, never;

	quick = after_it_came_near(MANY_RELIABLE("fan_out {} balance { memory = 1s }"));
	never = after_it_came_near(MANY_RELIABLE("fan_out {} balance { memory = 1000s }"));
	assert_true(quick > MESSAGES / 3);
	assert_true(never < MESSAGES / 20);
}

/* ------------------------------------------------------------------ who failed */

/* All that went to one that died goes to another. */
TEST(test_nothing_is_lost_with_one_that_died)
{
	begin(MANY_RELIABLE("fan_out {} balance {}"), 3);
	flow(30, 5 * NOPAL_MILLISECOND);
	many_cut(&many, 1);
	flow(30, 5 * NOPAL_MILLISECOND);
	many_run(&many, 200 * NOPAL_SECOND);
	flow(30, 5 * NOPAL_MILLISECOND);
	assert_int_equal(many.end[1].ended, 1);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 90);
	check_havers(0, 1);
	many_close(&many);
}

/* A destination whose budget is used up refuses what it is given. */
TEST(test_what_one_refuses_goes_to_another)
{
	const struct nopal_budget nothing = { .bytes = 1 };
	struct nopal_destination_info infos[4];

	begin(MANY_RELIABLE("fan_out { acks = 2 } balance { copies = 2 }"), 4);
	assert_int_equal(nopal_destinations(many.group, infos, 4), 4);
	nopal_session_set_budget((struct nopal_session *)(uintptr_t)infos[1].session, &nothing);
	flow(60, 5 * NOPAL_MILLISECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 60);
	assert_int_equal(many.end[1].delivered, 0);
	check_havers(0, 2);
	many_close(&many);
}

TEST(test_nobody_is_there)
{
	begin(MANY_RELIABLE("fan_out {} balance {}"), 1);
	nopal_destination_remove(many.group, 1, false);
	many_send(&many);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_LOST);
	many_run(&many, NOPAL_SECOND);
	many_send(&many);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_LOST], 2);
	many_close(&many);
}

TEST(test_attempts_end)
{
	begin(MANY_RELIABLE("fan_out {} balance { attempts = 0 }"), 4);
	many_cut(&many, 0);
	flow(60, NOPAL_MILLISECOND);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_true(many.outcomes[NOPAL_OUTCOME_UNKNOWN] > 5);
	assert_int_equal(
		many.outcomes[NOPAL_OUTCOME_DELIVERED] + many.outcomes[NOPAL_OUTCOME_UNKNOWN], 60);
	for (uint32_t i = 0; i < 60; i++)
		assert_int_equal(havers(i), many.outcome[i] == NOPAL_OUTCOME_DELIVERED);
	many_close(&many);
}

TEST(test_what_the_removed_had_goes_to_others)
{
	begin(MANY_RELIABLE("fan_out {} balance {}"), 3);
	many_cut(&many, 0);
	for (int i = 0; i < 30; i++)
		many_send(&many);
	many_run(&many, 15 * NOPAL_MILLISECOND);
	nopal_destination_remove(many.group, 1, true);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 30);
	assert_int_equal(many.end[1].delivered + many.end[2].delivered, 30);
	many_close(&many);
}

/* Nobody can say whether it arrived: so it does not go to others as well. */
TEST(test_the_unknown_is_not_repeated)
{
	begin(MANY_PLAIN("fan_out {} balance { copies = 2 }"), 4);
	flow(50, NOPAL_MILLISECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_UNKNOWN], 50);
	check_havers(0, 2);
	many_close(&many);
}

/* -------------------------------------------------------------- several at once */

static uint32_t had_it[MANY_MESSAGES];

static void note_who_has_it(struct many *all, uint32_t message)
{
	(void)all;
	had_it[message] = havers(message);
}

TEST(test_so_many_of_those_that_were_chosen)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 } balance { copies = 3 }"), 5);
	many.on_outcome = note_who_has_it;
	flow(100, 5 * NOPAL_MILLISECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 100);
	check_havers(0, 3);
	for (int i = 0; i < 100; i++)
		assert_in_range(had_it[i], 2, 3);
	many_close(&many);
}

/* In the place of each that died comes one that did not have the message: two acks are two
 * destinations. */
TEST(test_no_one_is_counted_twice)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 } balance { copies = 2 }"), 4);
	many.on_outcome = note_who_has_it;
	many_cut(&many, 1);
	many_cut(&many, 3);
	flow(60, 5 * NOPAL_MILLISECOND);
	many_run(&many, 200 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 60);
	for (int i = 0; i < 60; i++)
		assert_int_equal(had_it[i], 2);
	assert_int_equal(many.end[0].delivered, 60);
	assert_int_equal(many.end[2].delivered, 60);
	many_close(&many);
}

TEST(test_who_is_named_gets_it_whatever_its_load)
{
	begin_near_and_far(MANY_RELIABLE("fan_out {} balance {}"));
	for (int i = 0; i < 20; i++)
		many_send_bytes(&many, 0, 3);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[2].delivered, 20);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	many_close(&many);
}

/* Taken for lost, it has nobody else to go to. */
TEST(test_an_answer_goes_once)
{
	static const char config[] =
		"layer \"group\" { transport_driver {} whole_messages {} "
		"fan_out {} balance {} }\nlayer \"destination\" {\n"
		" multiplicity = per_destination\n transport_driver {} "
		"fixed_size {}\n sequenced_segments {} positive_ack {} retransmission_timer {}\n}\n";

	begin(config, 2);
	many_link(&many, 1, "delay 3s");
	many.echo = true;
	many_send_bytes(&many, 0, 2);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.answers, 1);
	many_close(&many);
}
