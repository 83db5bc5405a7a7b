/* SPDX-License-Identifier: MIT */
/*
 * test_link_engine.c -- what a link does with datagrams.
 *
 * Rates of random faults lie within four standard deviations of the binomial distribution; a seed
 * gives the same on every machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/emulator/link_engine.h"
#include "io/sim/random.h"
#include <nopal/microprotocol.h>
#include "support/test.h"

enum { SEED = 7, MANY = 1000000, PAYLOAD = 1000 };

static struct nopal_link parsed(const char *text)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(text, &forward, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	return forward;
}

static void start(struct nopal__link_engine *engine, const char *words)
{
	struct nopal_link link = parsed(words);

	assert_int_equal(nopal__link_init(engine, &link, NOPAL__UDP_HEADER_BYTES, SEED), 0);
}

/* A datagram of `length` bytes, without marks or fragments. */
static unsigned enter(struct nopal__link_engine *engine, uint32_t length, int64_t now_ns,
		      struct nopal__link_copy ret[NOPAL__LINK_COPIES])
{
	return nopal__link_carry(engine, &(struct nopal__link_packet){ .length = length }, now_ns,
				 ret);
}

/* Sends `count` datagrams a microsecond apart. */
static void send_many(struct nopal__link_engine *engine, unsigned count)
{
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	for (unsigned i = 0; i < count; i++)
		enter(engine, PAYLOAD, i * NOPAL_MICROSECOND, out);
}

/* `seen` of MANY, where `ppm` of a million are due and events do not depend on each other: within
 * four deviations. */
static void assert_share(uint64_t seen, int64_t ppm)
{
	int64_t away = (int64_t)seen - ppm;

	assert_true(away * away <= 16 * ppm * (MANY - ppm) / MANY + 1);
}

TEST(an_ideal_link_is_instant)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "");
	assert_int_equal(enter(&engine, PAYLOAD, 5, out), 1);
	assert_int_equal(out[0].at_ns, 5);
	assert_false(out[0].corrupt);
	assert_int_equal(engine.counters.delivered_bytes, PAYLOAD);
	nopal__link_fini(&engine);
}

TEST(rate_is_exact_to_the_nanosecond)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	const uint64_t rate_bps = 7000000, bits = (PAYLOAD + 28) * 8;

	start(&engine, "rate 7mbit delay 3ms limit 100000");
	for (uint64_t i = 1; i <= 100000; i++) {
		uint64_t sent_ns = i * bits * NOPAL_SECOND / rate_bps;

		assert_int_equal(enter(&engine, PAYLOAD, 0, out), 1);
		assert_int_equal(out[0].at_ns, (int64_t)sent_ns + 3 * NOPAL_MILLISECOND);
	}
	nopal__link_fini(&engine);
}

TEST(an_idle_link_starts_afresh)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "rate 3mbit");
	enter(&engine, PAYLOAD, 0, out);
	assert_int_equal(out[0].at_ns, 2741333);
	enter(&engine, PAYLOAD, 10000000, out);
	assert_int_equal(out[0].at_ns, 12741333);
	assert_int_equal(engine.counters.queue_delay_peak_ns, 0);
	nopal__link_fini(&engine);
}

TEST(the_queue_has_its_limit)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	const int64_t each_ns = 1028 * 8 * 1000; /* at 1 Mbit/s */

	start(&engine, "rate 1mbit limit 3");
	for (int i = 0; i < 5; i++)
		enter(&engine, PAYLOAD, 0, out);
	assert_int_equal(engine.counters.overflowed, 2);
	assert_int_equal(engine.counters.queue_peak, 3);
	assert_int_equal(engine.counters.queue_delay_peak_ns, 2 * each_ns);
	assert_int_equal(engine.counters.queue_delay_sum_ns, 3 * each_ns);
	assert_int_equal(nopal__link_queued(&engine, each_ns - 1), 3);
	assert_int_equal(nopal__link_queued(&engine, each_ns), 2);
	assert_int_equal(enter(&engine, PAYLOAD, each_ns, out), 1);
	assert_int_equal(enter(&engine, PAYLOAD, each_ns, out), 0);
	nopal__link_fini(&engine);
}

TEST(the_queue_grows_to_a_large_limit)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "rate 8224bit limit 5000"); /* a datagram a second */
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 6000; i++)
			enter(&engine, PAYLOAD, round * 2500 * NOPAL_SECOND, out);
	assert_int_equal(engine.counters.queue_peak, 5000);
	assert_int_equal(engine.counters.delivered, 10000);
	assert_int_equal(out[0].at_ns, 10000 * NOPAL_SECOND);
	nopal__link_fini(&engine);
}

TEST(the_mtu_counts_headers)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "mtu 1000");
	assert_int_equal(enter(&engine, 972, 0, out), 1);
	assert_int_equal(enter(&engine, 973, 0, out), 0);
	assert_int_equal(enter(&engine, UINT32_MAX, 0, out), 0);
	assert_int_equal(engine.counters.too_big, 2);
	nopal__link_fini(&engine);
}

TEST(fragments_pass_where_one_packet_does_not)
{
	struct nopal_link link = {
		.mtu = 1300, .rate_bps = 8000000, .loss_model = NOPAL_LOSS_MASK, .loss_mask = 1 << 3
	};
	const struct nopal__link_packet whole = { .length = 1472 };
	const struct nopal__link_packet cut = { .length = 1472, .fragments = true };
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	nopal__link_init(&engine, &link, NOPAL__UDP_HEADER_BYTES, 1);
	assert_int_equal(nopal__link_carry(&engine, &whole, 0, out), 0);
	assert_int_equal(nopal__link_carry(&engine, &cut, 0, out), 1);
	/* two packets: 1500 bytes and one header more, at a byte a microsecond */
	assert_int_equal(out[0].at_ns, 1520 * NOPAL_MICROSECOND);
	/* the fourth packet is lost, and with it the third */
	assert_int_equal(nopal__link_carry(&engine, &cut, 0, out), 0);
	assert_int_equal(engine.counters.too_big, 1);
	assert_int_equal(engine.counters.lost, 1);
	link = (struct nopal_link){ .mtu = 68 };
	nopal__link_change(&engine, &link);
	assert_int_equal(nopal__link_carry(&engine, &cut, NOPAL_SECOND, out), 1);
	nopal__link_fini(&engine);
}

TEST(nothing_passes_a_link_that_is_down)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "down 10ns 20ns");
	assert_int_equal(enter(&engine, PAYLOAD, 9, out), 1);
	assert_int_equal(enter(&engine, PAYLOAD, 10, out), 0);
	assert_int_equal(enter(&engine, PAYLOAD, 19, out), 0);
	assert_int_equal(enter(&engine, PAYLOAD, 20, out), 1);
	assert_int_equal(engine.counters.lost, 2);
	nopal__link_fini(&engine);
}

TEST(what_is_lost_has_used_the_link)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "rate 1mbit loss mask 1");
	assert_int_equal(enter(&engine, PAYLOAD, 0, out), 0);
	assert_int_equal(enter(&engine, PAYLOAD, 0, out), 1);
	assert_int_equal(out[0].at_ns, 2 * 1028 * 8 * 1000);
	nopal__link_fini(&engine);
}

TEST(a_mask_loses_exactly_its_datagrams)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	const uint64_t mask = UINT64_C(0x8000000000000025);

	start(&engine, "loss mask 0x8000000000000025");
	for (unsigned i = 0; i < 130; i++)
		assert_int_equal(enter(&engine, PAYLOAD, i, out),
				 i < 64 && (mask >> i & 1) ? 0 : 1);
	assert_int_equal(engine.counters.lost, 4);
	nopal__link_fini(&engine);
}

TEST(faults_come_as_often_as_asked)
{
	struct nopal__link_engine engine;

	start(&engine, "loss 3% duplicate 2% corrupt 0.5%");
	send_many(&engine, MANY);
	assert_share(engine.counters.lost, 30000);
	assert_share(engine.counters.duplicated, 19400);
	assert_share(engine.counters.corrupted, 4947);
	assert_int_equal(engine.counters.entered, MANY);
	assert_int_equal(engine.counters.delivered,
			 MANY - engine.counters.lost + engine.counters.duplicated);
	nopal__link_fini(&engine);
}

TEST(nothing_and_everything_are_exact)
{
	struct nopal__link_engine engine;

	start(&engine, "loss 100%");
	send_many(&engine, 10000);
	assert_int_equal(engine.counters.lost, 10000);
	nopal__link_fini(&engine);
	start(&engine, "loss 0% duplicate 100% corrupt 100%");
	send_many(&engine, 10000);
	assert_int_equal(engine.counters.delivered, 20000);
	assert_int_equal(engine.counters.corrupted, 20000);
	nopal__link_fini(&engine);
}

/* Stationary: bad p/(p+r) of the time; runs of loss have the mean 1/r. */
TEST(gemodel_loses_in_bursts)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	uint64_t bursts = 0;
	bool was_lost = false;

	start(&engine, "loss gemodel 1% 24%");
	for (int i = 0; i < MANY; i++) {
		bool lost = !enter(&engine, PAYLOAD, i, out);

		bursts += lost && !was_lost;
		was_lost = lost;
	}
	/* p / (p + r) = 4 %; dependent draws: one part in thirty */
	assert_in_range(engine.counters.lost, 38700, 41300);
	assert_in_range(engine.counters.lost * 100 / bursts, 406, 428);
	nopal__link_fini(&engine);
	start(&engine, "loss gemodel 10% 30% 50% 2%");
	send_many(&engine, MANY);
	/* 1/4 of the time bad: 0.25 * 50 % + 0.75 * 2 % = 14 % */
	assert_in_range(engine.counters.lost, 137500, 142500);
	nopal__link_fini(&engine);
}

TEST(order_is_kept_without_jitter)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	int64_t last_ns = 0;

	start(&engine, "rate 90mbit delay 5ms loss 10% duplicate 10% limit 9");
	for (int i = 0; i < 100000; i++) {
		unsigned count = enter(&engine, PAYLOAD, i * INT64_C(80000), out);

		for (unsigned j = 0; j < count; j++) {
			assert_true(out[j].at_ns >= last_ns);
			last_ns = out[j].at_ns;
		}
	}
	nopal__link_fini(&engine);
}

TEST(reordered_datagrams_leave_at_once)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "delay 10ms reorder 25%");
	send_many(&engine, MANY);
	assert_share(engine.counters.reordered, 250000);
	nopal__link_fini(&engine);
	start(&engine, "delay 10ms reorder 100% gap 5");
	for (int i = 1; i <= 100; i++) {
		enter(&engine, PAYLOAD, i, out);
		assert_int_equal(out[0].at_ns, i % 5 ? i + 10 * NOPAL_MILLISECOND : i);
	}
	nopal__link_fini(&engine);
}

/* Mean and variance of MANY samples, in parts per thousand of a deviation. */
static void moments(enum nopal_distribution distribution, int64_t *ret_mean, int64_t *ret_variance)
{
	uint64_t stream = nopal__random_seed(SEED, 0);
	double sum = 0, squares = 0;

	for (int i = 0; i < MANY; i++) {
		double sample = (double)nopal__link_sample(&stream, distribution) /
				(double)NOPAL__SAMPLE_ONE;

		sum += sample;
		squares += sample * sample;
	}
	*ret_mean = (int64_t)(1000 * sum / MANY);
	*ret_variance = (int64_t)(1000 * squares / MANY);
}

TEST(distributions_have_their_moments)
{
	/* Pareto with shape 3 has no fourth moment: its variance is slow. */
	static const struct {
		enum nopal_distribution distribution;
		int64_t variance, within;
	} expected[] = {
		{ NOPAL_UNIFORM, 333, 2 },
		{ NOPAL_NORMAL, 1000, 5 },
		{ NOPAL_PARETO, 1000, 120 },
		{ NOPAL_PARETONORMAL, 625, 70 },
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		int64_t mean, variance;

		moments(expected[i].distribution, &mean, &variance);
		assert_in_range(mean + 5, 0, 10);
		assert_true(llabs(variance - expected[i].variance) <= expected[i].within);
	}
}

/* The cumulative distribution at -2, -1, 0, 1, 2 deviations. */
TEST(normal_is_close_to_normal)
{
	static const int64_t normal_ppm[] = { 22750, 158655, 500000, 841345, 977250 };
	uint64_t stream = nopal__random_seed(SEED, 1);
	int64_t below[5] = { 0 };

	for (int i = 0; i < MANY; i++) {
		int64_t sample = nopal__link_sample(&stream, NOPAL_NORMAL);

		for (int at = 0; at < 5; at++)
			below[at] += sample < (at - 2) * NOPAL__SAMPLE_ONE;
	}
	for (int at = 0; at < 5; at++)
		assert_true(llabs(below[at] - normal_ppm[at]) < 3000);
}

/* Pareto with shape 3: P(x > t) = t^-3; x = 1.5 + sample * 0.8660. */
TEST(pareto_has_its_tail)
{
	uint64_t stream = nopal__random_seed(SEED, 2);
	uint64_t beyond_two = 0, beyond_ten = 0;

	for (int i = 0; i < MANY; i++) {
		double x = 1.5 + 0.8660254 * (double)nopal__link_sample(&stream, NOPAL_PARETO) /
					 (double)NOPAL__SAMPLE_ONE;

		assert_true(x > 0.999 && x < 64.1);
		beyond_two += x > 2;
		beyond_ten += x > 10;
	}
	assert_share(beyond_two, 125000);
	assert_share(beyond_ten, 1000);
}

/* With correlation c a sample is kept with probability c. */
TEST(delays_are_correlated)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	uint64_t kept = 0;
	int64_t last_ns = -1;

	start(&engine, "delay 100ms 10ms 30%");
	for (int i = 0; i < MANY; i++) {
		enter(&engine, PAYLOAD, 0, out);
		assert_in_range(out[0].at_ns, 90 * NOPAL_MILLISECOND, 110 * NOPAL_MILLISECOND);
		kept += out[0].at_ns == last_ns;
		last_ns = out[0].at_ns;
	}
	assert_share(kept, 300000);
	nopal__link_fini(&engine);
}

TEST(a_delay_is_never_negative)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	start(&engine, "delay 1ms 50ms distribution normal");
	for (int64_t now_ns = 0; now_ns < 100000; now_ns++) {
		enter(&engine, PAYLOAD, now_ns, out);
		assert_true(out[0].at_ns >= now_ns);
	}
	nopal__link_fini(&engine);
}

/* Everything that comes out, as one number. */
static uint64_t run_hash(uint64_t seed, const char *words)
{
	struct nopal_link link = parsed(words);
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	struct nopal_hash hash;

	nopal__link_init(&engine, &link, NOPAL__UDP_HEADER_BYTES, seed);
	nopal_hash_init(&hash);
	for (int64_t i = 0; i < 10000; i++) {
		unsigned count = enter(&engine, PAYLOAD, i * 100000, out);

		nopal_hash_update(&hash, &count, sizeof(count));
		for (unsigned j = 0; j < count; j++) {
			nopal_hash_update(&hash, &out[j].at_ns, sizeof(out[j].at_ns));
			nopal_hash_update(&hash, &out[j].bit, sizeof(out[j].bit));
		}
	}
	nopal__link_fini(&engine);
	return nopal_hash_final(&hash);
}

TEST(a_seed_gives_one_sequence)
{
	static const char words[] = "rate 100mbit delay 20ms 3ms 10% distribution paretonormal "
				    "loss gemodel 1% 20% duplicate 1% corrupt 1% reorder 2% gap 3";

	assert_true(run_hash(1, words) == run_hash(1, words));
	assert_true(run_hash(1, words) != run_hash(2, words));
	/* The same on every compiler and machine. */
	assert_true(run_hash(1, words) == UINT64_C(0xdfd8f5864a462af4));
}

/* Another loss rate must not change the delays. */
TEST(purposes_have_streams_of_their_own)
{
	struct nopal__link_engine plain, lossy;
	struct nopal__link_copy one[NOPAL__LINK_COPIES];
	struct nopal__link_copy other[NOPAL__LINK_COPIES];

	start(&plain, "delay 20ms 5ms");
	start(&lossy, "delay 20ms 5ms corrupt 50%");
	for (int i = 0; i < 1000; i++) {
		enter(&plain, PAYLOAD, i, one);
		enter(&lossy, PAYLOAD, i, other);
		assert_int_equal(one[0].at_ns, other[0].at_ns);
	}
	nopal__link_fini(&plain);
	nopal__link_fini(&lossy);
}

TEST(unsound_numbers_are_refused)
{
	static const struct nopal_link unsound[] = {
		{ .delay_ns = -1 },	 { .jitter_ns = INT64_MAX },
		{ .loss = 1000001 },	 { .reorder = UINT32_MAX },
		{ .rate_bps = 1 },	 { .rate_bps = UINT64_MAX },
		{ .limit = UINT32_MAX }, { .mtu = 20 },
		{ .mtu = 100000 },
	};
	struct nopal__link_engine engine;

	for (size_t i = 0; i < sizeof(unsound) / sizeof(*unsound); i++)
		assert_int_equal(nopal__link_init(&engine, &unsound[i], 0, 0), -EINVAL);
}

TEST(changed_words_count_from_the_change)
{
	struct nopal__link_engine engine;
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	struct nopal_link link = parsed("rate 2mbit loss mask 01");

	start(&engine, "rate 1mbit");
	enter(&engine, PAYLOAD, 0, out);
	assert_int_equal(nopal__link_change(&engine, &link), 0);
	assert_int_equal(enter(&engine, PAYLOAD, 0, out), 1);
	assert_int_equal(out[0].at_ns, 8224000 + 4112000);
	assert_int_equal(enter(&engine, PAYLOAD, 0, out), 0);
	link.mtu = 1;
	assert_int_equal(nopal__link_change(&engine, &link), -EINVAL);
	assert_int_equal(engine.link.mtu, 1500);
	nopal__link_fini(&engine);
}
