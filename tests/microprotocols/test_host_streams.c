/* SPDX-License-Identifier: MIT */
/* Several streams to one host: a message takes one of them, and goes by another where it breaks. */
#include <errno.h>

#include "support/many.h"

#define STREAMS(more) MANY_RELIABLE("fan_out {} host_streams {} " more)
#define MANY_SEGMENTS (1 << 18)
#define SLOW	      "rate 1mbit delay 10ms"

static struct many many;

/* Hosts of two streams each, ids 1 and 2, 3 and 4, ...; all open. */
static void begin(const char *config, uint32_t count, const char *link)
{
	many_prepare(&many, config, count, link, 1);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t s = 0; s < 2; s++)
			assert_int_equal(many_add(&many, i), 2 * i + s + 1);
	many_run(&many, NOPAL_SECOND);
}

static uint64_t given(uint32_t id)
{
	struct nopal_destination_info info[8];
	size_t count = nopal_destinations(many.group, info, 8);

	for (size_t i = 0; i < count; i++)
		if (info[i].id == id)
			return info[i].given_bytes;
	return 0;
}

static uint32_t times(uint32_t host, uint32_t message)
{
	return many.end[host].seen[message];
}

TEST(test_messages_take_turns_among_the_streams_of_a_host)
{
	begin(STREAMS(""), 2, SLOW);
	for (int i = 0; i < 4; i++)
		many_send_bytes(&many, 3000, 0);
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(given(id), 6000);
	many_run(&many, 5 * NOPAL_SECOND);
	for (uint32_t host = 0; host < 2; host++)
		for (uint32_t m = 0; m < 4; m++)
			assert_int_equal(times(host, m), 1);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 4);
	many_close(&many);
}

TEST(test_a_message_for_one_stream_takes_that)
{
	begin(STREAMS(""), 2, SLOW);
	for (int i = 0; i < 4; i++)
		many_send_bytes(&many, 3000, 2);
	assert_int_equal(given(2), 12000);
	assert_int_equal(given(1), 0);
	many_run(&many, 5 * NOPAL_SECOND);
	assert_int_equal(many.end[0].delivered, 4);
	assert_int_equal(many.end[1].delivered, 0);
	many_close(&many);
}

/* Two hosts are not three, whatever their streams. */
TEST(test_the_rule_counts_hosts)
{
	begin(MANY_RELIABLE("fan_out { acks = 3 } host_streams {}"), 2, "delay 10ms");
	many_send(&many);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_LOST);
	many_close(&many);
}

/* The second stream of host 0 ends with `how`, while it has half of the messages. */
static void end_one(void (*how)(void), uint32_t longest)
{
	begin(STREAMS(""), 2, SLOW);
	for (int i = 0; i < 8; i++)
		many_send_bytes(&many, 3000, 0);
	many_run(&many, 30 * NOPAL_MILLISECOND);
	how();
	many_run(&many, 20 * NOPAL_SECOND);
	for (uint32_t m = 0; m < 8; m++) {
		assert_in_range(times(0, m), 1, longest);
		assert_int_equal(times(1, m), 1);
	}
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 8);
	many_close(&many);
}

static void remove_it(void)
{
	assert_int_equal(nopal_destination_remove(many.group, 2, false), 0);
}

static void remove_it_at_once(void)
{
	assert_int_equal(nopal_destination_remove(many.group, 2, true), 0);
}

static void break_it(void)
{
	nopal_session_abort(many.end[0].session, "enough");
}

TEST(test_a_stream_that_is_removed_brings_what_it_was_given)
{
	end_one(remove_it, 1);
}

TEST(test_what_a_stream_had_not_brought_goes_by_another)
{
	end_one(remove_it_at_once, 2);
	end_one(break_it, 2);
}

TEST(test_all_streams_of_a_host_are_removed)
{
	begin(STREAMS(""), 2, SLOW);
	many_send_bytes(&many, MANY_SEGMENTS, 0);
	assert_int_equal(nopal_destination_remove_host(many.group, &many.end[0].address, true), 0);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(nopal_destinations(many.group, NULL, 0), 2);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(times(1, 0), 1);
	assert_int_equal(nopal_destination_remove_host(many.group, &many.end[0].address, true),
			 -ENOENT);
	assert_int_equal(many_add(&many, 0), 5);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(times(0, 1), 1);
	many_close(&many);
}

/* One after the other, in good order: with the last one nobody waits for either. */
TEST(test_with_its_last_stream_a_host_is_not_waited_for)
{
	begin(STREAMS(""), 2, SLOW);
	for (int i = 0; i < 4; i++)
		many_send_bytes(&many, 3000, 0);
	many_cut(&many, 0);
	assert_int_equal(nopal_destination_remove(many.group, 1, false), 0);
	assert_int_equal(nopal_destination_remove(many.group, 2, false), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 4);
	many_close(&many);
}

TEST(test_balanced_messages_take_one_stream_of_a_host)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 } host_streams {} balance { copies = 2 }"), 2,
	      SLOW);
	for (int i = 0; i < 4; i++)
		many_send_bytes(&many, 3000, 0);
	many_run(&many, 5 * NOPAL_SECOND);
	for (uint32_t host = 0; host < 2; host++)
		for (uint32_t m = 0; m < 4; m++)
			assert_int_equal(times(host, m), 1);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 4);
	many_close(&many);
}

TEST(test_with_a_channel_or_streams_above_it_is_refused)
{
	static const char *const wrong[] = {
		MANY_CHANNEL("", "", "fan_out {} host_streams {}"),
		"layer \"s\" { multiplicity = per_stream\n transport_driver {} whole_messages {} "
		"stream_end {} }\n" MANY_RELIABLE("fan_out {} host_streams {}"),
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct nopal_problems problems = { 0 };

		assert_null(nopal_plan_parse(wrong[i], "wrong", NULL, &problems));
		nopal_problems_fini(&problems);
	}
}

/* Without a session's id in its datagrams, an address has one session. */
TEST(test_without_ids_a_host_has_one_stream)
{
	static const char CONFIG[] =
		"layer \"group\" { transport_driver {} whole_messages {} fan_out {} host_streams {} "
		"}\nlayer \"destination\" { multiplicity = per_destination\n transport_driver {} "
		"fixed_size {} four_tuple {} }\n";

	many_prepare(&many, CONFIG, 1, "delay 10ms", 1);
	assert_int_equal(many_add(&many, 0), 1);
	assert_int_equal(many_add(&many, 0), -EEXIST);
	many_close(&many);
}
