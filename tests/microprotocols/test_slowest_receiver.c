/* SPDX-License-Identifier: MIT */
/* The rate of a channel is what the slowest that hears it can take. */
#include "engine/turn.h"
#include "support/many.h"
#include "support/rig.h"
#include "support/suite.h"
#include "support/test.h"

static struct many many;

#define WITH(keys) MANY_CHANNEL("", "", "fan_out {} rate_cc {} slowest_receiver { " keys " }")

/* As configs/multicast has it: parity makes up for the most. */
#define PARITY                                                                                     \
	MANY_CHANNEL("", "",                                                                       \
		     "forward_error_correction { k = 16 n = 18 code = cauchy "                     \
		     "flush = 20ms } fan_out {} rate_cc {} slowest_receiver "                      \
		     "{}")

enum { BYTES = 50000, MS = 1000, PERCENT = 100, PERMILLE = 1000, TEXT = 96 };

/* Busy for so long: there is always something to send. */
static void keep_busy(int64_t duration_ns)
{
	int64_t end_ns = nopal_world_now(many.world) + duration_ns;

	while (nopal_world_now(many.world) < end_ns) {
		while (many.sent - many.outcomes[NOPAL_OUTCOME_DELIVERED] < 20)
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

/* Mbit/s of messages whose outcome was told, over so long. */
static uint64_t goodput_kbps(int64_t duration_ns)
{
	uint32_t before = many.outcomes[NOPAL_OUTCOME_DELIVERED];

	keep_busy(duration_ns);
	return (many.outcomes[NOPAL_OUTCOME_DELIVERED] - before) * UINT64_C(8) * BYTES * MS /
	       (uint64_t)(duration_ns / NOPAL_MILLISECOND) / MS;
}

static void finish(void)
{
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
	for (uint32_t i = 0; i < many.count; i++)
		assert_true(many_has(&many, i, 0, many.sent));
	many_close(&many);
}

TEST(test_the_slowest_sets_the_rate)
{
	uint64_t kbps;

	many_hear(&many, WITH(""), 3, "delay 10ms", "rate 50mbit delay 10ms limit 100");
	many_link(&many, 1, "rate 20mbit delay 10ms limit 100");
	many_link(&many, 2, "rate 5mbit delay 10ms limit 100");
	keep_busy(5 * NOPAL_SECOND);
	kbps = goodput_kbps(20 * NOPAL_SECOND);
	print_message("5, 20, 50 Mbit/s: %d kbit/s\n", (int)kbps);
	assert_in_range(kbps, 3500, 5000);
	assert_int_equal(many_hearing(&many), 3);
	finish();
}

TEST(test_when_the_slowest_goes_the_others_are_faster)
{
	uint64_t kbps;

	many_hear(&many, WITH(""), 3, "delay 10ms", "rate 20mbit delay 10ms limit 100");
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
TEST(test_losses_of_many_do_not_add_up)
{
	uint64_t one, many_of_them;

	many_hear(&many, WITH(""), 1, "delay 10ms", "rate 20mbit delay 10ms limit 100 loss 0.5%");
	keep_busy(5 * NOPAL_SECOND);
	one = goodput_kbps(20 * NOPAL_SECOND);
	finish();
	many_hear(&many, WITH(""), 30, "delay 10ms", "rate 20mbit delay 10ms limit 100 loss 0.5%");
	keep_busy(5 * NOPAL_SECOND);
	many_of_them = goodput_kbps(20 * NOPAL_SECOND);
	finish();
	print_message("0.5 %% at one: %d kbit/s, at each of 30: %d\n", (int)one, (int)many_of_them);
	assert_true(many_of_them * 2 > one);
}

/* The least rate is too fast for one: its own session serves it from then on. */
TEST(test_who_loses_too_much_leaves_the_channel)
{
	many_hear(&many, WITH("initial = 2Mbit least = 2Mbit"), 3, "delay 10ms",
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

TEST(test_min_and_max)
{
	many_hear(&many, WITH("initial = 3Mbit most = 3Mbit"), 2, "delay 10ms", "delay 10ms");
	keep_busy(5 * NOPAL_SECOND);
	assert_int_equal(rate(), 3000000);
	assert_in_range(goodput_kbps(5 * NOPAL_SECOND), 2700, 3000);
	finish();
	many_hear(&many, WITH("initial = 8Mbit least = 8Mbit most = 10Mbit"), 2, "delay 10ms",
		  "delay 10ms loss 5%");
	keep_busy(10 * NOPAL_SECOND);
	assert_in_range(rate(), 8000000, 10000000);
	assert_int_equal(many_hearing(&many), 2); /* 5 %: not too much */
	finish();
}

/* -------------------------------------------------------------- random losses */

/* Percent of 20 Mbit/s that the rate is, where all lose the same share. */
static int64_t rate_with_losses(uint32_t count, int percent)
{
	enum { STEPS = 100 };
	char link[TEXT];
	int64_t sum = 0;

	snprintf(link, sizeof(link),
		 "fwd: rate 20mbit delay 10ms limit 100 loss %d%% rev: delay 10ms", percent);
	many_hear(&many, PARITY, count, "delay 10ms", link);
	keep_busy(3 * NOPAL_SECOND);
	for (int i = 0; i < STEPS; i++) {
		keep_busy(50 * NOPAL_MILLISECOND);
		sum += rate();
	}
	assert_int_equal(many_hearing(&many), count);
	finish();
	return sum / STEPS * PERCENT / 20000000;
}

TEST(test_random_losses_change_little)
{
	static const int losses[] = { 0, 1, 2, 5 };
	static const uint32_t counts[] = { 3, 20 };

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
			int64_t percent = rate_with_losses(counts[c], losses[i]);

			print_message("%d %% at each of %u: %d %% of the link\n", losses[i],
				      counts[c], (int)percent);
			assert_in_range(percent, 65, 100);
		}
	}
}

/* ------------------------------------------------------------- one bottleneck */

static struct nopal_link_counters seen[2]; /* before and after, towards host 1 */

static void look(int64_t for_ns)
{
	assert_true(nopal_sim_link_counters(many.world, 0, 1, &seen[0]));
	keep_busy(for_ns);
	assert_true(nopal_sim_link_counters(many.world, 0, 1, &seen[1]));
}

static int64_t dropped_permille(void)
{
	return (int64_t)((seen[1].overflowed - seen[0].overflowed) * PERMILLE /
			 (seen[1].entered - seen[0].entered));
}

static int64_t queue_ms(void)
{
	return (seen[1].queue_delay_sum_ns - seen[0].queue_delay_sum_ns) /
	       (int64_t)(seen[1].entered - seen[0].entered) / NOPAL_MILLISECOND;
}

/* All lose one in a hundred; one has a link of 5 Mbit/s, then one of 50, and again 5. */
static void check_slow_link(const char *link, int64_t max_queue_ms)
{
	many_hear(&many, PARITY, 3, "delay 10ms",
		  "fwd: rate 50mbit delay 10ms limit 100 loss 1% rev: delay 10ms");
	many_link(&many, 0, link);
	keep_busy(5 * NOPAL_SECOND);
	look(10 * NOPAL_SECOND);
	print_message("%s: %d permille overflow, %d ms of queue, rate %d\n", link,
		      (int)dropped_permille(), (int)queue_ms(), (int)rate());
	assert_in_range(rate(), 2000000, 7000000);
	assert_in_range(dropped_permille(), 0, 30);
	assert_in_range(queue_ms(), 0, max_queue_ms);
	many_link(&many, 0, "rate 50mbit delay 10ms limit 100");
	keep_busy(10 * NOPAL_SECOND);
	assert_in_range(rate(), 15000000, 60000000);
	many_link(&many, 0, link);
	keep_busy(5 * NOPAL_SECOND);
	look(10 * NOPAL_SECOND);
	assert_in_range(rate(), 2000000, 7000000);
	assert_in_range(dropped_permille(), 0, 30);
	assert_int_equal(many_hearing(&many), 3);
	finish();
}

TEST(test_congestion_at_one_is_seen)
{
	check_slow_link("rate 5mbit delay 10ms limit 100", 120); /* of 240 */
	check_slow_link("rate 5mbit delay 10ms limit 300", 360); /* of 720 */
	check_slow_link("fwd: rate 5mbit delay 10ms limit 100 loss 2% rev: delay 10ms", 120);
}

/* No queue tells of it. */
TEST(test_congestion_where_the_queue_is_short)
{
	many_hear(&many, PARITY, 3, "delay 10ms", "rate 50mbit delay 10ms limit 100");
	many_link(&many, 0, "rate 20mbit delay 10ms limit 12");
	keep_busy(5 * NOPAL_SECOND);
	look(20 * NOPAL_SECOND);
	print_message("a queue of twelve: %d permille overflow, rate %d\n", (int)dropped_permille(),
		      (int)rate());
	assert_in_range(rate(), 8000000, 24000000);
	assert_in_range(dropped_permille(), 0, 60);
	assert_int_equal(many_hearing(&many), 3);
	finish();
}

/* -------------------------------------------------------------- a foreign flow */

static uint64_t interop_bytes;

static void interop_pump(struct nopal_session *session, void *user)
{
	static char bytes[64 << 10];

	(void)user;
	while (nopal_send(session, bytes, sizeof(bytes), 0) == 0)
		continue;
}

static void interop_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	(void)session, (void)user;
	interop_bytes += nopal_message_length(message);
}

static void *interop_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

/* From a host beside the sender's to the second destination's. */
static void interop_begin(const char *config)
{
	enum { FROM = 2, TO = 3, ALIAS = 9500 };
	static const struct nopal_callbacks sender = {
		.opened = interop_pump,
		.writable = interop_pump,
	};
	static const struct nopal_callbacks receiver = {
		.accepted = interop_accepted,
		.received = interop_received,
	};
	struct nopal_plan *plan = suite_plan(config);
	struct nopal_address peer;

	interop_bytes = 0;
	assert_int_equal(nopal_endpoint_allow(nopal_sim_endpoint(many.world, TO, ALIAS), plan, 0,
					      &receiver, NULL),
			 0);
	nopal_sim_address(TO, ALIAS, &peer);
	assert_non_null(nopal_open(nopal_sim_endpoint(many.world, FROM, ALIAS), plan, &peer,
				   &sender, NULL));
	nopal_plan_unref(plan);
}

/* Percent of the channel's bytes and its own that are a foreign flow's, behind one bottleneck. */
static uint64_t interop_share(const char *config, const char *bottleneck)
{
	uint64_t ours, its;

	many_open_dumbbell(&many, PARITY, 3, "", bottleneck, 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	interop_begin(config);
	keep_busy(5 * NOPAL_SECOND);
	ours = many.outcomes[NOPAL_OUTCOME_DELIVERED];
	its = interop_bytes;
	keep_busy(25 * NOPAL_SECOND);
	ours = (many.outcomes[NOPAL_OUTCOME_DELIVERED] - ours) * BYTES;
	its = interop_bytes - its;
	assert_int_equal(many_hearing(&many), 3);
	many_close(&many);
	print_message("%s beside the channel, %s: it has %d %%\n", config, bottleneck,
		      (int)(its * PERCENT / (its + ours)));
	return its * PERCENT / (its + ours);
}

TEST(test_beside_a_foreign_flow_neither_starves)
{
	assert_in_range(interop_share("bulk_cubic", "rate 20mbit delay 20ms limit 100"), 30, 70);
	assert_in_range(interop_share("bulk_cubic", "rate 20mbit delay 20ms limit 300"), 30, 70);
	assert_in_range(interop_share("bulk_cubic", "rate 20mbit delay 20ms limit 20"), 15, 70);
	assert_in_range(interop_share("bulk", "rate 20mbit delay 20ms limit 100"), 30, 85);
	assert_in_range(interop_share("bulk", "rate 20mbit delay 20ms limit 300"), 15, 85);
}

/* ------------------------------------------------- reports that a test makes up */

/* Of destination `index`, whose newest left a round trip ago. */
static void say(uint32_t index, uint64_t arrived, uint64_t missing, int64_t rtt_ns)
{
	struct nopal_session *bottom = &nopal__bottom(nopal__composite(many.group))->session;
	bool outermost = nopal__turn_begin(many.world);
	struct nopal_channel_report report = {
		.destination = nopal_destination_at(bottom, index),
		.arrived = arrived,
		.missing = missing,
		.rows = missing,
		.rtt_ns = rtt_ns,
		.sample_ns = rtt_ns,
		.left_ns = nopal_world_now(many.world) - rtt_ns,
	};

	nopal__touch(nopal__composite(many.group));
	nopal_raise_CHANNEL_REPORT(bottom, &report);
	nopal__turn_end(many.world, outermost);
}

static void joined(uint32_t index, bool does)
{
	struct nopal_session *bottom = &nopal__bottom(nopal__composite(many.group))->session;

	nopal_destination_joined(bottom, index, does);
}

/* A report of it moves the rate, or does not. */
static bool moves(uint32_t index)
{
	int64_t before;

	many_run(&many, 100 * NOPAL_MILLISECOND);
	before = rate();
	say(index, 100000, 0, 20 * NOPAL_MILLISECOND);
	return rate() != before;
}

/* A destination that goes is replaced if it stood for all; no other changes that. */
TEST(test_one_stands_for_all)
{
	many_hear(&many, WITH("most = 1000Gbit"), 4, "delay 10ms", "delay 10ms");
	assert_true(moves(1));
	assert_true(moves(1));
	assert_false(moves(0)); /* no slower than that by a fifth */
	assert_false(moves(2));
	joined(0, false);
	assert_false(moves(2));
	assert_true(moves(1));
	joined(1, false);
	assert_true(moves(2));
	assert_false(moves(3));
	many_close(&many);
}

/* The destination that stands for all is the slowest by the losses that are congestion alone. */
TEST(test_random_losses_make_nobody_the_slowest)
{
	int64_t before;

	many_hear(&many, WITH(""), 3, "delay 10ms", "delay 10ms");
	assert_true(moves(1));
	for (int i = 0; i < 200; i++) {
		many_run(&many, 20 * NOPAL_MILLISECOND);
		before = rate();
		say(2, 19, 1, 20 * NOPAL_MILLISECOND);
		assert_int_equal(rate(), before);
	}
	assert_true(moves(1));
	/* and now by a queue that stands: it is, from the report after that on */
	for (int i = 0; i < 4; i++) {
		many_run(&many, 30 * NOPAL_MILLISECOND);
		say(2, 19, 1, 40 * NOPAL_MILLISECOND);
	}
	assert_false(moves(1));
	assert_true(moves(2));
	many_close(&many);
}

/* A quarter is lost whatever the rate is: what was lost at faster ones does not count when the
 * least is reached. */
TEST(test_who_loses_at_the_min_rate_leaves)
{
	int at_least = 0;

	many_hear(&many, WITH("initial = 100Mbit most = 100Mbit least = 2Mbit"), 3, "delay 10ms",
		  "delay 10ms");
	for (int i = 0; i < 200 && many_hearing(&many) == 3; i++) {
		at_least += rate() < 4000000;
		many_run(&many, 30 * NOPAL_MILLISECOND);
		say(0, 15, 5, 20 * NOPAL_MILLISECOND);
	}
	assert_int_equal(many_hearing(&many), 2);
	assert_in_range(at_least, 5, 50);
	many_close(&many);
	many_hear(&many, WITH("initial = 2Mbit most = 2Mbit least = 2Mbit"), 3, "delay 10ms",
		  "delay 10ms");
	for (int i = 0; i < 200; i++) {
		many_run(&many, 30 * NOPAL_MILLISECOND);
		say(0, 19, 1, 20 * NOPAL_MILLISECOND);
	}
	assert_int_equal(many_hearing(&many), 3);
	many_close(&many);
}

/* A queue grew, the rate fell: what had left before tells of the queue once more, and that changes
 * nothing. */
TEST(test_what_left_before_is_no_news)
{
	int64_t fell_at = 0, rtt_ns = 20 * NOPAL_MILLISECOND;
	const int64_t step_ns = 10 * NOPAL_MILLISECOND;

	many_hear(&many, WITH("initial = 100Mbit"), 2, "delay 10ms", "delay 10ms");
	for (int i = 0; i < 40 && !fell_at; i++) { /* that ends the start */
		many_run(&many, step_ns);
		say(0, 2000, 0, rtt_ns += step_ns / 2);
		if (rate() < 100000000)
			fell_at = rate();
	}
	for (int64_t at_ns = 0; at_ns < 2 * rtt_ns; at_ns += step_ns) {
		many_run(&many, step_ns);
		if (at_ns < rtt_ns)
			rtt_ns += step_ns / 4;
		say(0, 2000, 0, rtt_ns);
		assert_true(rate() >= fell_at);
	}
	many_close(&many);
}

/* A sender of little learns nothing of a greater rate. */
TEST(test_it_does_not_outgrow_what_is_sent)
{
	many_hear(&many, WITH("initial = 1Mbit"), 2, "delay 10ms", "delay 10ms");
	for (int i = 0; i < 500; i++) {
		assert_int_equal(many_send_bytes(&many, 1000, 0), 0);
		many_run(&many, 10 * NOPAL_MILLISECOND);
	}
	assert_in_range(rate(), 1000000, 20000000);
	finish();
}
