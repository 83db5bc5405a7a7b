/* SPDX-License-Identifier: MIT */
/* Messages of many to all: one order for all, whatever is lost, and whoever comes and goes. */
#include <errno.h>
#include <stdio.h>

#include "support/gathering.h"
#include "support/test.h"

static struct gathering all;

static int close_all(void **state)
{
	(void)state;
	gathering_close(&all);
	return 0;
}

EACH_TEST(NULL, close_all);

static const char config[] = GATHERING("total_order {}");
static const char unordered[] = GATHERING_OVER("", "total_order {}");

TEST(test_messages_of_all_come_to_all_in_one_order)
{
	gathering_open(&all, config, 3, "delay 10ms", 1);
	for (uint32_t i = 0; i <= 3; i++)
		assert_int_equal(gathering_say(&all, i), 0);
	gathering_settles(&all, NOPAL_SECOND, 4);
	for (uint32_t i = 0; i <= 3; i++)
		assert_int_equal(all.one[i].outcomes[NOPAL_OUTCOME_DELIVERED], 1);
}

/* ------------------------------------------------------------------ exhaustively */

enum { SENDERS = 3, EACH = 2, SPOKEN = SENDERS * EACH, INTERGATHERING_LEAVINGS = 90 };

static void swap(uint32_t *one, uint32_t *other)
{
	uint32_t kept = *one;

	*one = *other;
	*other = kept;
}

/* The next order of speakers, as in a dictionary; false: that was the last. */
static bool next_order(uint32_t order[SPOKEN])
{
	int at = SPOKEN - 2, other = SPOKEN - 1;

	while (at >= 0 && order[at] >= order[at + 1])
		at--;
	if (at < 0)
		return false;
	while (order[other] <= order[at])
		other--;
	swap(&order[at], &order[other]);
	for (int low = at + 1, high = SPOKEN - 1; low < high; low++, high--)
		swap(&order[low], &order[high]);
	return true;
}

/* The members speak in this order, so far apart; each ray loses the datagrams of the mask, of what
 * comes down and of what goes up. */
static void hear(const char *text, const uint32_t order[SPOKEN], unsigned mask, int64_t apart_ns)
{
	char words[64];

	gathering_open(&all, text, SENDERS, "delay 10ms", 1);
	for (uint32_t i = 1; i <= SENDERS; i++) {
		snprintf(words, sizeof(words), "delay 10ms loss mask 0x%x", mask >> (i - 1));
		gathering_down(&all, i, words);
		snprintf(words, sizeof(words), "delay 10ms loss mask 0x%x", mask ^ 0xffu >> i);
		gathering_up(&all, i, words);
	}
	for (uint32_t i = 0; i < SPOKEN; i++) {
		gathering_say(&all, order[i]);
		gathering_run(&all, apart_ns);
	}
	gathering_settles(&all, 10 * NOPAL_SECOND, SPOKEN);
	for (uint32_t i = 1; i <= SENDERS; i++)
		assert_int_equal(all.one[i].outcomes[NOPAL_OUTCOME_DELIVERED], EACH);
}

TEST(test_all_interleavings_with_losses_have_one_order)
{
	static const unsigned masks[] = { 0x00, 0x01, 0x02, 0x06, 0x2d, 0x55, 0xaa, 0xff };
	uint32_t order[SPOKEN] = { 1, 1, 2, 2, 3, 3 }, orders = 0;

	do {
		for (unsigned i = 0; i < sizeof(masks) / sizeof(*masks); i++)
			hear((orders + i) % 2 ? config : unordered, order, masks[i],
			     NOPAL_MILLISECOND);
		orders++;
	} while (next_order(order));
	assert_int_equal(orders, INTERGATHERING_LEAVINGS);
}

TEST(test_all_losses_have_one_order)
{
	static const uint32_t order[SPOKEN] = { 3, 1, 2, 2, 1, 3 };

	for (unsigned mask = 0; mask < 256; mask++)
		hear(mask % 2 ? config : unordered, order, mask, 4 * NOPAL_MILLISECOND);
}

/* ------------------------------------------------------------------------ at random */

TEST(test_a_long_talk_through_a_bad_network_has_one_order)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		gathering_open(&all, seed % 2 ? config : unordered, 4, "delay 5ms", seed);
		for (uint32_t i = 1; i <= 4; i++)
			gathering_link(&all, i, "delay 10ms 5ms loss 10% duplicate 5%");
		for (uint32_t i = 0; i < 200; i++) {
			assert_int_equal(gathering_say(&all, i * 7 % 5), 0);
			gathering_run(&all, i * 11 % 5 * NOPAL_MILLISECOND);
		}
		gathering_settles(&all, 60 * NOPAL_SECOND, 200);
	}
}

#define SELECTIVE                                                                                  \
	"sequenced_segments {} positive_ack { selective = on } retransmission_timer {} retransmit {}"

/* Whatever brings all, the order is the group's own. */
TEST(test_the_order_stands_on_sessions_of_many_kinds)
{
	static const char *const lower[] = {
		"sequenced_segments {} go_back_n {} checksum {}",
		SELECTIVE " windowed_flow {} windowed_cc {} tcp_congestion {} duplicate_ack {}",
		SELECTIVE " forward_error_correction { k = 4  n = 5 }",
		SELECTIVE " sequenced_messages {} compression {} header_compression {} "
			  "reliable_fifo {}",
	};
	char text[1024];

	for (size_t i = 0; i < sizeof(lower) / sizeof(*lower); i++) {
		snprintf(text, sizeof(text),
			 "layer \"group\" { transport_driver {} whole_messages {} fan_out {} "
			 "total_order {} }\nlayer \"low\" { multiplicity = per_destination "
			 "transport_driver {} virtual_circuit {} resize {} "
			 "rtt_estimation { timeout_min = 20ms } %s }\n",
			 lower[i]);
		gathering_open(&all, text, 3, "delay 10ms 5ms loss 10% reorder 5%", 1);
		all.length = 3000;
		for (uint32_t m = 0; m < 60; m++) {
			assert_int_equal(gathering_say(&all, m % 4), 0);
			gathering_run(&all, m % 3 * NOPAL_MILLISECOND);
		}
		gathering_settles(&all, 100 * NOPAL_SECOND, 60);
	}
}

static uint32_t answers;

/* Each says something again where it delivers: within the delivery of another message. */
static void answer(struct gathering_one *one, uint32_t who)
{
	if (who != one->index && answers) {
		answers--;
		gathering_say(&all, one->index);
	}
}

TEST(test_who_speaks_while_it_delivers_keeps_the_order)
{
	gathering_open(&all, config, 3, "delay 10ms", 1);
	all.on_delivery = answer;
	answers = 100;
	gathering_say(&all, 1);
	gathering_settles(&all, 60 * NOPAL_SECOND, 101);
}

TEST(test_long_messages_are_relayed)
{
	gathering_open(&all, config, 3, "delay 10ms loss 2%", 1);
	all.length = GATHERING_LONGEST;
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(gathering_say(&all, i % 4), 0);
	gathering_settles(&all, 60 * NOPAL_SECOND, 12);
}

/* ------------------------------------------------------------------- for one alone */

TEST(test_messages_for_one_alone_have_no_place)
{
	gathering_open(&all, config, 2, "delay 10ms", 1);
	gathering_say(&all, 1);
	assert_int_equal(gathering_whisper(&all, 1, 0), 0);
	assert_int_equal(gathering_whisper(&all, 0, 2), 0);
	gathering_say(&all, 2);
	gathering_run(&all, NOPAL_SECOND);
	assert_int_equal(all.one[0].privately, 1);
	assert_int_equal(all.one[1].privately, 0);
	assert_int_equal(all.one[2].privately, 1);
	assert_int_equal(all.one[0].entries, 2);
	assert_int_equal(all.one[0].log[1].place, 2);
	gathering_agrees(&all);
}

/* ----------------------------------------------------------------- coming and going */

TEST(test_one_that_comes_starts_at_the_next_place)
{
	int64_t id = 0, last = 0;

	gathering_prepare(&all, config, 3, "delay 10ms", 1);
	gathering_add(&all, 1);
	gathering_add(&all, 2);
	gathering_run(&all, NOPAL_SECOND);
	for (uint32_t i = 0; i < 6; i++)
		gathering_say(&all, i % 3);
	gathering_run(&all, NOPAL_SECOND);
	gathering_add(&all, 3);
	gathering_say(&all, 0);
	gathering_run(&all, NOPAL_SECOND);
	gathering_say(&all, 3);
	gathering_say(&all, 1);
	gathering_run(&all, NOPAL_SECOND);
	assert_int_equal(all.one[0].entries, 9);
	gathering_agrees_from(&all, 1, 0);
	gathering_agrees_from(&all, 2, 0);
	gathering_agrees_from(&all, 3, 6);
	assert_true(nopal_session_shared(all.one[3].session, "member_id", &id));
	assert_true(nopal_session_shared(all.one[3].session, "last_place", &last));
	assert_int_equal(id, all.one[3].id);
	assert_int_equal(last, 9);
}

/* Whatever the one that goes has said: it is in the order of all others, or of none. */
TEST(test_those_that_stay_agree_whoever_goes_and_when)
{
	for (uint32_t when = 0; when < 8; when++)
		for (int how = 0; how < GATHERING_LEAVINGS; how++) {
			gathering_open(&all, config, 3, "delay 10ms", 1);
			for (uint32_t i = 0; i < 8; i++) {
				if (i == when)
					gathering_leave(&all, 2, (enum gathering_leaving)how);
				if (all.one[1 + i % 3].session)
					gathering_say(&all, 1 + i % 3);
				gathering_run(&all, 7 * NOPAL_MILLISECOND);
			}
			gathering_run(&all, 60 * NOPAL_SECOND);
			assert_true(all.one[2].ended);
			gathering_agrees_from(&all, 1, 0);
			gathering_agrees_from(&all, 3, 0);
			assert_true(all.one[0].entries >= 5);
		}
}

TEST(test_a_hub_that_is_gone_takes_the_group_along)
{
	gathering_open(&all, config, 2, "delay 10ms", 1);
	gathering_say(&all, 2);
	gathering_run(&all, NOPAL_SECOND);
	for (uint32_t i = 1; i <= 2; i++)
		gathering_link(&all, i, "loss 100%");
	gathering_say(&all, 1);
	gathering_run(&all, 60 * NOPAL_SECOND);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_true(all.one[i].ended);
		assert_int_not_equal(all.one[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(all.one[i].entries, 1);
	}
	assert_int_equal(all.one[1].outcomes[NOPAL_OUTCOME_DELIVERED], 0);
}

/* ------------------------------------------------------------------------- outcomes */

/* Its message has left when the hub closes: nobody knows whether others have it. */
TEST(test_a_message_that_does_not_come_back_is_unknown)
{
	gathering_open(&all, config, 2, "delay 10ms", 1);
	gathering_say(&all, 1);
	gathering_run(&all, NOPAL_MILLISECOND);
	nopal_session_close(all.one[0].session);
	gathering_run(&all, 30 * NOPAL_SECOND);
	assert_true(all.one[1].ended);
	assert_int_equal(all.one[1].outcomes[NOPAL_OUTCOME_DELIVERED], all.one[1].entries);
	assert_int_equal(all.one[1].outcomes[NOPAL_OUTCOME_UNKNOWN], 1 - all.one[1].entries);
	gathering_agrees(&all);
}

/* A message that expires on its way to the hub has no place, and leaves no gap. */
TEST(test_a_message_that_expires_before_the_hub_is_lost)
{
	static const char deadlines[] = GATHERING_OVER("partial_reliability { deadline = 300ms }"
						       " reliable_fifo {}",
						       "total_order {}");
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(deadlines, "deadlines.conf", NULL, &problems);
	assert_null(plan); /* then nothing is there for sure */
	nopal_problems_fini(&problems);
	gathering_open(&all,
		       GATHERING_OVER("partial_reliability {} reliable_fifo {}", "total_order {}"),
		       2, "delay 10ms", 1);
	all.deadline_ns = 300 * NOPAL_MILLISECOND;
	gathering_up(&all, 1, "loss 100%");
	gathering_say(&all, 1);
	gathering_run(&all, NOPAL_SECOND);
	assert_int_equal(all.one[1].outcomes[NOPAL_OUTCOME_LOST], 1);
	gathering_up(&all, 1, "delay 10ms");
	gathering_say(&all, 1);
	gathering_say(&all, 2);
	gathering_run(&all, 10 * NOPAL_SECOND);
	assert_int_equal(all.one[1].outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(all.one[0].entries, 2);
	gathering_agrees(&all);
}

static void on_last_words(struct gathering_one *one, uint32_t who)
{
	(void)who;
	if (one->index == 0)
		nopal_session_close(one->session);
}

/* Messages that wait at the hub for a place are discarded with the end. */
TEST(test_a_message_that_waits_when_the_hub_closes_is_unknown)
{
	gathering_open(&all, GATHERING("total_order { window = 1B }"), 2, "delay 10ms", 1);
	all.on_delivery = on_last_words;
	gathering_say(&all, 1);
	gathering_say(&all, 1);
	gathering_say(&all, 2);
	gathering_run(&all, 30 * NOPAL_SECOND);
	gathering_agrees(&all);
	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(all.one[i].outcomes[NOPAL_OUTCOME_DELIVERED] +
					 all.one[i].outcomes[NOPAL_OUTCOME_UNKNOWN],
				 all.one[i].said);
	assert_true(all.one[1].outcomes[NOPAL_OUTCOME_DELIVERED] >= 1);
}

/* ---------------------------------------------------------------------------- bounds */

/* One relay at a time: the one with the long way sets the pace. */
TEST(test_a_window_keeps_relays_back_until_all_have_the_last)
{
	gathering_open(&all, GATHERING("total_order { window = 1B }"), 2, "delay 10ms", 1);
	gathering_link(&all, 2, "delay 500ms");
	for (uint32_t i = 0; i < 4; i++)
		gathering_say(&all, 1);
	gathering_run(&all, 100 * NOPAL_MILLISECOND);
	assert_int_equal(all.one[0].entries, 1);
	gathering_run(&all, 950 * NOPAL_MILLISECOND);
	assert_in_range(all.one[0].entries, 1, 2);
	gathering_settles(&all, 10 * NOPAL_SECOND, 4);
}

TEST(test_who_sends_more_than_may_wait_leaves)
{
	gathering_open(&all, GATHERING("total_order { window = 1B  waiting = 1kB }"), 2,
		       "delay 10ms", 1);
	gathering_link(&all, 2, "delay 500ms");
	for (uint32_t i = 0; i < 10; i++)
		gathering_say(&all, 1);
	gathering_run(&all, 10 * NOPAL_SECOND);
	assert_true(all.one[1].ended);
	assert_non_null(strstr(all.one[1].end_text, "wait for their place"));
	assert_in_range(all.one[0].entries, 1, 4);
	gathering_agrees_from(&all, 2, 0);
	gathering_say(&all, 2);
	gathering_run(&all, 10 * NOPAL_SECOND);
	gathering_agrees_from(&all, 2, 0);
}

/* Over sessions without an order: what follows a loss arrives before it. */
TEST(test_too_many_early_messages_end_the_session)
{
	gathering_open(&all, GATHERING_OVER("", "total_order { early = 2 }"), 1, "delay 10ms", 1);
	gathering_down(&all, 1, "delay 10ms loss mask 0x1");
	for (uint32_t i = 0; i < 4; i++)
		gathering_say(&all, 0);
	gathering_run(&all, 10 * NOPAL_SECOND);
	assert_true(all.one[1].ended);
	assert_int_equal(all.one[1].end, NOPAL_RESOURCE);
}

/* The order has no gaps: one that would be passed over for a while leaves for good. */
TEST(test_a_destination_that_would_be_skipped_leaves)
{
	static const char skips[] =
		"layer \"group\" { transport_driver {} whole_messages {} "
		"fan_out { backlog = 1kB  slow = skip } total_order {} }\n"
		"layer \"destination\" { multiplicity = per_destination\n"
		" transport_driver {} virtual_circuit {} resize {} sequenced_segments {}\n"
		" positive_ack {} retransmission_timer {} rtt_estimation {} retransmit {} }\n";

	gathering_open(&all, skips, 2, "delay 10ms", 1);
	gathering_link(&all, 2, "loss 100%");
	for (uint32_t i = 0; i < 40; i++) {
		gathering_say(&all, 0);
		gathering_run(&all, 50 * NOPAL_MILLISECOND);
	}
	gathering_run(&all, NOPAL_SECOND);
	gathering_agrees_from(&all, 1, 0);
	assert_int_equal(nopal_destinations(all.one[0].session, NULL, 0), 1);
}
