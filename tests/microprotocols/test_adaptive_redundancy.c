/* SPDX-License-Identifier: MIT */
#include "support/blocks.h"
#include "erasure.h"
#include "support/segments.h"
#include "support/test.h"

enum { MILLION = 1000000, REPORT_BYTES = 8 };

static int64_t parity(void)
{
	return rig_shared(net.rig.opener.session, "parity_segments");
}

static int64_t loss_ppm(void)
{
	return rig_shared(net.rig.opener.session, "path_loss_ppm");
}

/* The peer reports that so many came up to packet `latest`. */
static void report(uint32_t latest, uint32_t came)
{
	uint8_t bytes[REPORT_BYTES];

	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(latest >> (24 - 8 * i));
		bytes[4 + i] = (uint8_t)(came >> (24 - 8 * i));
	}
	arrive_control(net.rig.opener.session, "adaptive_redundancy", 0, bytes, sizeof(bytes));
}

static uint64_t packets_sent(void)
{
	rig_awake(net.rig.opener.session);
	return nopal_next_packet_number(net.rig.opener.session);
}

static void send_packets(uint64_t count)
{
	uint64_t end = packets_sent() + count;

	while (packets_sent() < end)
		assert_int_equal(rig_send(&net.rig, "x"), 0);
}

/* ------------------------------------------------------------ what is needed */

static double root(double square)
{
	double guess = 1;

	for (int i = 0; i < 60; i++)
		guess = (guess + square / guess) / 2;
	return guess;
}

/* The share of segments that stays missing where `parity` is sent. */
static double left_over(double p, int sources, int parity)
{
	int others = sources + parity - 1;
	double chance = 1, too_many = 1;

	for (int j = 0; j < others; j++)
		chance *= 1 - p;
	for (int j = 0; j < parity; j++) {
		too_many -= chance;
		chance *= (others - j) * p / ((j + 1) * (1 - p));
	}
	return p * too_many;
}

static void check_needed(const char *config, int sources, double target, uint32_t lost)
{
	double p = lost / 1000.0;
	int needed = 0;

	p += root(p * (1 - p) / 256);

	capture_open(&net, config);
	send_packets(1200);
	report(1000, 1000 - lost);
	assert_int_equal(loss_ppm(), lost * 1000);
	while (needed < 40 && left_over(p, sources, needed) > target)
		needed++;
	assert_int_equal(parity(), needed);
	capture_close(&net);
}

TEST(test_the_min_parity_that_is_enough)
{
	static const uint32_t losses[] = { 0, 1, 10, 50, 100, 200 };
	char more[128];

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		for (int sources = 2; sources <= 22; sources += 5) {
			snprintf(more, sizeof(more),
				 "adaptive_redundancy { least = 0 most = 40 target = 0.1%% }\n");
			check_needed(fec_config(sources + 1, sources, more), sources, 0.001,
				     losses[i]);
		}
		check_needed(fec_config(11, 10,
					"adaptive_redundancy { least = 0 most = 40 "
					"target = 2% }\n"),
			     10, 0.02, losses[i]);
	}
}

TEST(test_bounds_hold)
{
	capture_open(&net, fec_config(5, 4, "adaptive_redundancy { least = 2 most = 3 }\n"));
	assert_int_equal(parity(), 255); /* nothing is known */
	send_packets(4000);
	report(1000, 1000);
	assert_int_equal(parity(), 2);
	report(2000, 1000);
	assert_int_equal(loss_ppm(), MILLION);
	assert_int_equal(parity(), 3);
	capture_close(&net);
}

/* The estimated loss rises within half of the memory, and falls within the memory. */
TEST(test_it_rises_faster_than_it_falls)
{
	int64_t up;

	capture_open(&net, fec_config(5, 4, "adaptive_redundancy { memory = 400 }\n"));
	send_packets(1000);
	report(100, 80);
	up = loss_ppm();
	assert_int_equal(up, 100000); /* half of 20 % */
	report(200, 180);
	assert_int_equal(loss_ppm(), up - up / 4);
	capture_close(&net);
}

TEST(test_reports_that_cannot_be)
{
	const uint8_t bytes[REPORT_BYTES + 1] = { 0, 0, 0, 50, 0, 0, 0, 10, 0 };
	int64_t known;

	capture_open(&net, fec_config(5, 4, "adaptive_redundancy {}\n"));
	send_packets(500);
	report(100, 90);
	known = loss_ppm();
	assert_true(known > 0);
	report(100, 10);		      /* the same again */
	report(50, 10);			      /* older */
	report((uint32_t)packets_sent(), 90); /* of what has not left */
	report(UINT32_MAX, 90);
	report(200, 900); /* more came than was sent */
	report(200, 10);  /* fewer than before */
	for (size_t length = 0; length <= sizeof(bytes); length++)
		if (length != REPORT_BYTES)
			arrive_control(net.rig.opener.session, "adaptive_redundancy", 0, bytes,
				       length);
	assert_int_equal(loss_ppm(), known);
	report(200, 190);
	assert_true(loss_ppm() < known);
	capture_close(&net);
}

/* ----------------------------------------------------------------- block by block */

/* Parity of the datagrams since the last send_block. */
static uint32_t parity_sent(uint32_t sources)
{
	return net.count - sources;
}

TEST(test_a_block_under_way_keeps_its_parity)
{
	if (!nopal__erasure_has_cauchy())
		skip();
	capture_open(&net, fec_config(7, 4,
				      "adaptive_redundancy {}\n"
				      "check_integrity {}\n"));
	send_packets(70);
	rig_run(&net.rig, NOPAL_SECOND); /* the block under way is closed */
	send_block(2);
	report(60, 60);
	assert_int_equal(parity(), 1);
	net.rig.acceptor.delivered = 0;
	rig_send(&net.rig, "third");
	rig_send(&net.rig, "fourth");
	assert_int_equal(parity_sent(4), 3);
	capture_pass(&net, 0); /* and all of it is good for a repair */
	pass_from(4, 7);
	assert_int_equal(net.rig.acceptor.delivered, 4);
	send_block(4);
	assert_int_equal(parity_sent(4), 1);
	pass_from(1, 5);
	assert_true(is_delivered(0));
	capture_close(&net);
}

TEST(test_a_block_may_have_no_parity)
{
	capture_open(&net, fec_config(5, 4, "adaptive_redundancy { least = 0 }\n"));
	send_packets(70);
	report(60, 60);
	assert_int_equal(parity(), 0);
	rig_run(&net.rig, NOPAL_SECOND); /* the block under way is closed */
	for (uint32_t round = 0; round < 10; round++) {
		send_block(4);
		assert_int_equal(parity_sent(4), 0);
		rig_run(&net.rig, NOPAL_SECOND);
		assert_int_equal(parity_sent(4), 0);
	}
	assert_int_equal(rig_awake(net.rig.opener.session)->segments.alive, 0);
	capture_close(&net);
}

/* ------------------------------------------------------------------- across a link */

struct phase {
	uint32_t sent, missing, parity;
};

/* So many messages over such a link; what came of all but the first of them. */
static struct phase cross(const char *link, uint32_t count, uint32_t settling)
{
	const struct nopal_counters *counters;
	uint64_t transmissions = 0;
	uint32_t delivered = 0;
	struct phase phase = { .sent = count - settling };

	net.rig.acceptor.delivered = 0;
	rig_change(&net.rig, link);
	for (uint32_t i = 0; i < count; i++) {
		if (i == settling) {
			rig_run(&net.rig, NOPAL_SECOND);
			delivered = net.rig.acceptor.delivered;
			transmissions = packets_sent();
		}
		assert_int_equal(rig_send(&net.rig, "x"), 0);
		rig_run(&net.rig, NOPAL_MILLISECOND);
	}
	rig_run(&net.rig, NOPAL_SECOND);
	counters = nopal_session_counters(net.rig.opener.session);
	assert_int_equal(counters->resends, 0);
	phase.missing = phase.sent - (net.rig.acceptor.delivered - delivered);
	phase.parity = (uint32_t)(packets_sent() - transmissions) - phase.sent;
	return phase;
}

static void add(struct phase *all, struct phase one)
{
	all->sent += one.sent;
	all->missing += one.missing;
	all->parity += one.parity;
}

/* `more` may bring acknowledgements: it is all the same. */
static void check_phases(const char *more)
{
	enum { COUNT = 3000, SETTLING = 600, K = 20 };
	char text[512];
	struct phase clean, lossy;

	snprintf(text, sizeof(text),
		 "adaptive_redundancy { target = 0.5%% }\ncheck_integrity {}\n"
		 "check_holds {}\n%s",
		 more);
	rig_begin(&net.rig, fec_config(K + 16, K, text));
	clean = cross("delay 10ms", COUNT, SETTLING);
	assert_int_equal(clean.missing, 0);
	assert_in_range(clean.parity, clean.sent / K, clean.sent / K + 1);
	assert_int_equal(parity(), 1);
	for (uint32_t percent = 1; percent <= 10; percent += 3) {
		char link[64];

		snprintf(link, sizeof(link), "delay 10ms loss %u%%", percent);
		lossy = cross(link, COUNT, SETTLING);
		for (int i = 0; i < 4; i++)
			add(&lossy, cross(link, COUNT, 0));
		assert_true(lossy.missing * 200 <= lossy.sent);
		assert_true(lossy.parity > lossy.sent / K);
		assert_true(lossy.parity <= lossy.sent / 2);
	}
	clean = cross("delay 10ms", COUNT, COUNT - 200);
	assert_int_equal(clean.missing, 0);
	assert_in_range(clean.parity, clean.sent / K, clean.sent / K + 1);
	rig_close(&net.rig);
}

TEST(test_redundancy_follows_the_loss)
{
	if (!nopal__erasure_has_cauchy())
		skip();
	check_phases("");
}

/* A rebuilt segment is acknowledged; its loss is seen all the same. */
TEST(test_acks_do_not_hide_the_loss)
{
	if (!nopal__erasure_has_cauchy())
		skip();
	check_phases("positive_ack { selective = on } retransmission_timer {}\nrtt_estimation {}\n"
		     "duplicate_ack {}\n");
}

/* Twice the same, and some out of order: neither a loss nor the want of one. */
TEST(test_duplicates_and_disorder_are_no_loss)
{
	rig_begin(&net.rig, fec_config(5, 4, "adaptive_redundancy {}\n"));
	cross("delay 10ms 5ms duplicate 30%", 2000, 0);
	assert_in_range(loss_ppm(), 0, 2000);
	cross("delay 10ms loss 10% duplicate 50%", 2000, 0);
	assert_in_range(loss_ppm(), 70000, 180000);
	rig_close(&net.rig);
}

/* A number from far away, which nothing vouches for, changes nothing; after an outage the peer is
 * found again. */
TEST(test_stray_numbers)
{
	struct arriving one;
	int64_t known;

	rig_begin(&net.rig, fec_config(5, 4, "adaptive_redundancy {}\n"));
	cross("delay 10ms loss 10%", 1000, 0);
	for (int i = 0; i < 5; i++) {
		one = arriving_begin(net.rig.acceptor.session, 0, "x", 1);
		one.segment->packet_number = UINT64_C(1) << 30;
		arriving_end(&one);
	}
	known = loss_ppm();
	cross("delay 10ms loss 10%", 1000, 0);
	assert_in_range(loss_ppm(), known / 2, known * 2);
	for (uint64_t i = 0; i < 20; i++) {
		one = arriving_begin(net.rig.acceptor.session, 0, "x", 1);
		one.segment->packet_number = (UINT64_C(1) << 29) + i;
		arriving_end(&one);
	}
	cross("delay 10ms loss 10%", 1000, 0); /* and back */
	assert_in_range(loss_ppm(), known / 2, known * 2);
	rig_close(&net.rig);
}

TEST(test_relations)
{
	char text[4096];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"adaptive_redundancy {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "redundancy"));
	assert_true(rig_refused(fec_config(5, 4, "adaptive_redundancy { least = 3 most = 2 }\n"),
				text, sizeof(text)));
	assert_non_null(strstr(text, "most"));
}
