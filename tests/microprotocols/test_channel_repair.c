/* SPDX-License-Identifier: MIT */
/* A loss of the channel is repaired, by few naks, and every copy has one outcome. */
#include "engine/composite.h"
#include "support/many.h"
#include "support/test.h"

static struct many many;

#define ALL "fan_out {}"

static uint32_t had_it[MANY_MESSAGES];

static void note_who_has_it(struct many *all, uint32_t message)
{
	had_it[message] = 0;
	for (uint32_t i = 0; i < all->count; i++)
		had_it[message] += all->end[i].seen[message];
}

/* ------------------------------------------------------------------- losses */

static void check_losses(const char *link, uint64_t seed)
{
	many_open(&many, MANY_CHANNEL("", "", ALL), 5, "delay 5ms", seed);
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < 5; i++)
		many_link(&many, i, link);
	many_send_some(&many, 200, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 20 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 200);
	assert_int_equal(many_hearing(&many), 5);
	assert_true(many_sum(&many, "channel_naks") > 0);
	many_close(&many);
}

TEST(test_losses_are_repaired)
{
	static const char *const links[] = {
		"fwd: delay 5ms loss 1% rev: delay 5ms",
		"fwd: delay 5ms loss 5% rev: delay 5ms",
		"delay 5ms loss 10%",
		"delay 5ms loss 20%",
		"delay 5ms 4ms loss 5% duplicate 10% reorder 20%",
		"delay 5ms loss gemodel 3% 30%",
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			check_losses(links[i], seed);
}

/* Nothing comes after the last: what is missing of it is heard of all the same. */
TEST(test_the_last_one_is_repaired)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 3, "delay 5ms", "delay 5ms");
	many_deafen(&many, 1, true);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 1, false);
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many_hearing(&many), 3);
	many_close(&many);
}

/* Without losses nobody asks, and no number leaves twice. */
TEST(test_nobody_asks_for_what_is_there)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 5, "delay 5ms", "delay 5ms");
	many_send_some(&many, 100, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(nopal_session_counters(many.group)->transmissions, 100);
	assert_int_equal(many_sum(&many, "channel_naks"), 0);
	many_close(&many);
}

/* A repair is for all that miss it: each lost number leaves once more. */
TEST(test_one_repair_for_all)
{
	many_hear(&many, MANY_CHANNEL("", "backoff = 100ms", ALL), 10, "delay 5ms", "delay 2ms");
	many_send_some(&many, 10, 100, 2 * NOPAL_MILLISECOND);
	for (uint32_t i = 0; i < 10; i++)
		many_deafen(&many, i, true);
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	for (uint32_t i = 0; i < 10; i++)
		many_deafen(&many, i, false);
	many_send_some(&many, 10, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(nopal_session_counters(many.group)->transmissions, 22);
	many_close(&many);
}

/* -------------------------------------------------------------- suppression */

/* Behind the bottleneck that lost it all miss the same: few ask. */
TEST(test_of_fifty_few_ask)
{
	enum { RECEIVERS = 50, LOSSES = 40 };
	int64_t naks, suppressed;

	many_open_dumbbell(&many, MANY_CHANNEL("", "backoff = 200ms", ALL), RECEIVERS, "",
			   "delay 2ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), RECEIVERS);
	for (int i = 0; i < LOSSES; i++) {
		many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
		many_deafen(&many, 0, true); /* the bottleneck */
		many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
		many_deafen(&many, 0, false);
		many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
		many_run(&many, NOPAL_SECOND);
	}
	many_all_have_all(&many);
	naks = many_sum(&many, "channel_naks");
	suppressed = many_sum(&many, "channel_naks_suppressed");
	print_message("%d losses at %d receivers: %d naks, %d suppressed\n", LOSSES, RECEIVERS,
		      (int)naks, (int)suppressed);
	assert_in_range(naks, LOSSES, 3 * LOSSES);
	assert_int_equal(naks + suppressed, LOSSES * RECEIVERS);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	many_close(&many);
}

TEST(test_losses_upstream_of_all)
{
	enum { RECEIVERS = 50 };

	many_open_dumbbell(&many, MANY_CHANNEL("", "backoff = 200ms", ALL), RECEIVERS, "",
			   "delay 2ms loss 5%", 1);
	many_run(&many, 5 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), RECEIVERS);
	many_send_some(&many, 400, 1000, 2 * NOPAL_MILLISECOND); /* some 20 are lost */
	many_run(&many, 20 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_in_range(many_sum(&many, "channel_naks"), 1, 100);
	assert_int_equal(many_hearing(&many), RECEIVERS);
	many_close(&many);
}

/* -------------------------------------------------------------- redundancy */

/* Of a block of 16, so many are lost on all ways; two can be made up for. */
static void check_blocks(uint32_t lost, bool asks)
{
	many_open(&many,
		  MANY_CHANNEL("", "",
			       ALL " forward_error_correction { k = 16 n = "
				   "18 code = cauchy flush = 1s }"),
		  3, "delay 5ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	for (uint32_t block = 0; block < 20; block++) {
		for (uint32_t i = 0; i < 16; i++) {
			for (uint32_t h = 0; h < 3; h++)
				many_deafen(&many, h, i > h && i <= h + lost);
			assert_int_equal(many_send_bytes(&many, 500, 0), 0);
		}
		many_run(&many, 100 * NOPAL_MILLISECOND);
	}
	many_run(&many, 5 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many_sum(&many, "channel_naks") > 0, asks);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	many_close(&many);
}

TEST(test_parity_saves_naks)
{
	check_blocks(1, false);
	check_blocks(2, false);
	check_blocks(3, true);
}

/* However much waits to leave, the parity of what has left is not behind it. */
TEST(test_parity_comes_in_time)
{
	many_hear(&many,
		  MANY_CHANNEL("", "backoff = 100ms",
			       ALL
			       " rate_cc {} slowest_receiver { initial = 10Mbit least = 10Mbit "
			       "most = 10Mbit } forward_error_correction { k = 16 n = 20 code = "
			       "cauchy flush = 20ms }"),
		  5, "delay 5ms", "fwd: delay 5ms loss 1% rev: delay 5ms");
	for (int i = 0; i < 300; i++)
		assert_int_equal(many_send_bytes(&many, 5000, 0), 0);
	many_run(&many, 20 * NOPAL_SECOND);
	many_all_have_all(&many);
	print_message("1200 segments, 1 %% lost at each of 5: %d naks\n",
		      (int)many_sum(&many, "channel_naks"));
	assert_true(many_sum(&many, "channel_naks") < 12);
	many_close(&many);
}

/* ------------------------------------------------------ those that fall out */

TEST(test_whose_channel_is_cut_gets_the_rest_by_its_session)
{
	many_hear(&many, MANY_CHANNEL("", "patience = 300ms", ALL), 4, "delay 5ms",
		  "delay 5ms loss 1%");
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 2, true);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	assert_int_equal(many_hearing(&many), 4); /* it may come again */
	many_run(&many, 2 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 10 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many_hearing(&many), 3);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	many_close(&many);
}

/* Shorter than patience: it stays. */
TEST(test_an_outage_of_the_channel)
{
	many_hear(&many, MANY_CHANNEL("", "patience = 2s", ALL), 4, "delay 5ms", "delay 5ms");
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 2, true);
	many_send_some(&many, 200, 5000, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 2, false);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 10 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many_hearing(&many), 4);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	many_close(&many);
}

/* A destination stopped receiving the channel; when another opens, it is found to receive again. */
TEST(test_back_to_the_channel)
{
	many_prepare(&many, MANY_CHANNEL("", "patience = 300ms", ALL), 3, "delay 5ms", 1);
	assert_true(many_add(&many, 0) > 0 && many_add(&many, 1) > 0);
	many_run(&many, NOPAL_SECOND);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_deafen(&many, 1, true);
	many_send_some(&many, 400, 5000, 2 * NOPAL_MILLISECOND);
	assert_int_equal(many_hearing(&many), 1);
	many_deafen(&many, 1, false);
	assert_true(many_add(&many, 2) > 0);
	many_send_some(&many, 100, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	assert_true(many_has(&many, 0, 0, many.sent));
	assert_true(many_has(&many, 1, 0, many.sent));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	many_close(&many);
}

TEST(test_one_that_dies)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 4, "delay 5ms", "delay 5ms loss 1%");
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 50);
	many_cut(&many, 3);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 100 * NOPAL_SECOND);
	assert_int_equal(many.end[3].ended, 1);
	many_send_some(&many, 50, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 5 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(many_has(&many, i, 0, 150));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 100);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_UNKNOWN], 50);
	many_close(&many);
}

/* Its application ends its session: what it had of the channel nobody can say. */
TEST(test_one_that_aborts)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 3, "delay 5ms", "delay 5ms");
	many_send_some(&many, 1, 100, 2 * NOPAL_MILLISECOND);
	nopal_session_abort(many.end[2].session, "enough");
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[2].ended, 1);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	many_send_some(&many, 5, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 5);
	many_close(&many);
}

/* Nobody waits for who was removed, from that moment on. */
static void check_removed(bool at_once)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 4, "delay 5ms", "delay 5ms");
	many_link(&many, 3, "fwd: delay 5ms rev: loss 100%");
	many_send_some(&many, 20, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 0);
	assert_int_equal(nopal_destination_remove(many.group, (uint32_t)many.end[3].id, at_once),
			 0);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	many_send_some(&many, 20, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 100 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 40);
	assert_int_equal(many.end[3].ended, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(many_has(&many, i, 0, 40));
	/* as long as it has not heard of its end it may hear what others get */
	assert_true(many_has(&many, 3, 0, at_once ? 20 : many.end[3].delivered));
	assert_true(many.end[3].delivered >= 20);
	many_close(&many);
}

TEST(test_removed)
{
	check_removed(true);
	check_removed(false);
}

/* In good order it gets what left for it before, whatever the channel lost. */
TEST(test_removed_in_good_order_it_gets_what_was_for_it)
{
	many_hear(&many, MANY_CHANNEL("", "", ALL), 3, "delay 5ms", "delay 5ms");
	many_deafen(&many, 2, true);
	many_send_some(&many, 20, 5000, 2 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_destination_remove(many.group, (uint32_t)many.end[2].id, false), 0);
	many_send_some(&many, 20, 5000, 2 * NOPAL_MILLISECOND);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.end[2].ended, 1);
	assert_true(many_has(&many, 2, 0, 20));
	assert_true(many_has(&many, 0, 0, 40));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 40);
	many_close(&many);
}

/* So much waits for one at its own session that it gets no copies: what it hears it has all the
 * same, and its outcome counts. */
TEST(test_one_that_is_paused_joined)
{
	many_hear(&many, MANY_CHANNEL("", "", "fan_out { backlog = 20kB slow = skip }"), 3,
		  "delay 5ms", "delay 5ms");
	many_link(&many, 1, "rate 200kbit delay 5ms");
	many.on_outcome = note_who_has_it;
	many_send_bytes(&many, 100000, (uint64_t)many.end[1].id);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	many_send_some(&many, 20, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 21);
	assert_true(many_has(&many, 0, 1, 21) && many_has(&many, 2, 1, 21));
	for (uint32_t m = 1; m < 21; m++)
		assert_int_equal(had_it[m], 3);
	many_close(&many);
}

/* A destination that is being removed says that it joined: nobody counts on it. */
TEST(test_one_that_is_removed_says_that_it_joined)
{
	many_hear(&many, MANY_CHANNEL("", "patience = 300ms", ALL), 3, "delay 5ms", "delay 5ms");
	many_link(&many, 1, "fwd: delay 5ms rev: delay 5ms loss 100%");
	assert_int_equal(nopal_destination_remove(many.group, (uint32_t)many.end[1].id, false), 0);
	nopal_destination_joined(&nopal__bottom(nopal__composite(many.group))->session, 1, true);
	assert_int_equal(many_hearing(&many), 2);
	many_send_some(&many, 100, 100, 2 * NOPAL_MILLISECOND);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_true(many_has(&many, 0, 0, 100) && many_has(&many, 2, 0, 100));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 100);
	many_close(&many);
}

/* ---------------------------------------------------------------- so many */

/* The outcome is told when so many have it; the others get it all the same. */
static void check_so_many(const char *config, uint32_t needed, const char *losses)
{
	static const char *const rays[] = { "delay 5ms", "delay 100ms", "delay 400ms",
					    "delay 1600ms" };
	char ray[64];

	many_prepare(&many, config, 4, rays[0], 1);
	many.on_outcome = note_who_has_it;
	for (uint32_t i = 0; i < 4; i++) {
		many_link(&many, i, rays[i]);
		assert_true(many_add(&many, i) > 0);
	}
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 4);
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(ray, sizeof(ray), "%s %s", rays[i], losses);
		many_link(&many, i, ray);
	}
	for (int i = 0; i < 20; i++) {
		many_send_bytes(&many, 3000, 0);
		many_run(&many, 2 * NOPAL_SECOND);
	}
	many_run(&many, 60 * NOPAL_SECOND);
	many_all_have_all(&many);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	for (int i = 0; i < 20; i++)
		if (*losses)
			assert_true(had_it[i] >= needed);
		else
			assert_int_equal(had_it[i], needed);
	many_close(&many);
}

TEST(test_so_many_have_it)
{
	static const char *const losses[] = { "", "loss 3%" };

	for (int i = 0; i < 2; i++) {
		check_so_many(MANY_CHANNEL("", "patience = 60s", "fan_out { acks = 1 }"), 1,
			      losses[i]);
		check_so_many(MANY_CHANNEL("", "patience = 60s", "fan_out { acks = 2 }"), 2,
			      losses[i]);
		check_so_many(MANY_CHANNEL("", "patience = 60s", "fan_out {}"), 4, losses[i]);
	}
}
