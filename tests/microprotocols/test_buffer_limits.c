/* SPDX-License-Identifier: MIT */
/* test_buffer_limits -- whole transfers in virtual time, whose buffers follow the path:
 * what an application that always has more may have under way. */
#include "support/keeper.h"
#include "support/test.h"

enum { KIB = 1024, MIN = 64 * KIB, SETTLED_S = 4 };

#define RELIABLE                                                                                   \
	"send_buffer = 64MiB\n"                                                                    \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\n"                                     \
	"sequenced_segments {}\npositive_ack { selective = on } retransmission_timer {}\n"         \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n"                                     \
	"windowed_cc {}\nrate_cc {}\nbbr_congestion { initial = 64seg }\n"                         \
	"usual_rtt {} loss_compensation {} ack_train {} standing_queue {}\n"                       \
	"ack_aggregation {} queue_drain {} marked_drain {}\n"                                      \
	"reliable_fifo {}\n"
#define FIXED RELIABLE "windowed_flow { buffer = 64MiB }\n"
#define FOLLOWS                                                                                    \
	RELIABLE "windowed_flow { buffer = 64MiB  automatic = on }\n"                              \
		 "buffer_sizing {}\n"

static const char BULK[] = "extends = \"bulk\"\n";

static struct rig rig;

/* Messages that the application has under way. */
static uint64_t under_way(void)
{
	return rig_awake(rig.opener.session)->unfinished_bytes;
}

/* The application always has one more message; returns the most bytes that were under way. */
static uint64_t press_ms(uint32_t size, int milliseconds)
{
	uint64_t max = 0;

	for (int i = 0; i < milliseconds; i++) {
		while (rig_send_bytes(&rig, size) == 0)
			continue;
		if (under_way() > max)
			max = under_way();
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	return max;
}

/* The same, in the last of so many seconds. */
static uint64_t press(uint32_t size, int seconds)
{
	int settled_s = seconds < SETTLED_S ? seconds : SETTLED_S;

	press_ms(size, settled_s * 1000);
	return press_ms(size, (seconds - settled_s) * 1000);
}

static void begin(const char *config, const char *link)
{
	rig_open(&rig, config, &(struct rig_options){ .link = link });
}

/* From when a message is taken until it is there. */
static int64_t delay_of_a_new_one(void)
{
	int64_t sent_ns;
	uint64_t number;

	while (rig_send_bytes(&rig, 1) < 0)
		rig_run(&rig, NOPAL_MILLISECOND);
	sent_ns = nopal_world_now(rig.world);
	number = rig_awake(rig.opener.session)->counters.messages_sent;
	while (rig.acceptor.delivered < number)
		rig_run(&rig, NOPAL_MILLISECOND);
	return nopal_world_now(rig.world) - sent_ns;
}

/* 10 Mbit/s and a round trip of 40 ms: 2 x BDP are 100 kB. */
TEST(test_near_two_products_of_a_slow_path)
{
	static const char link[] = "rate 10mbit delay 20ms limit 400";
	enum { SIZE = 4 * KIB, PRODUCT = 50000 };
	uint64_t follows;
	int64_t delay_ns;

	begin(FOLLOWS, link);
	follows = press(SIZE, 6);
	delay_ns = delay_of_a_new_one();
	print_message("%d bytes, %d ms\n", (int)follows, (int)(delay_ns / NOPAL_MILLISECOND));
	assert_in_range(follows, PRODUCT, 3 * PRODUCT);
	assert_true(delay_ns < 4 * 40 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

static uint64_t goodput(const char *config, const char *link, int seconds)
{
	uint64_t bytes;

	begin(config, link);
	press(64 * KIB, seconds);
	bytes = rig.acceptor.delivered_bytes;
	rig_close(&rig);
	return bytes;
}

static void assert_within_one_percent(const char *link, int seconds)
{
	uint64_t fixed = goodput(FIXED, link, seconds);
	uint64_t follows = goodput(FOLLOWS, link, seconds);

	print_message("%s: %d bytes, %d where they follow\n", link, (int)fixed, (int)follows);
	assert_true(follows >= fixed - fixed / 100);
}

TEST(test_no_path_is_less_filled)
{
	assert_within_one_percent("rate 10mbit delay 20ms limit 400", 5);
	assert_within_one_percent("rate 20mbit delay 25ms limit 400 loss 2%", 10);
}

/* A long fat one, from its first window on. */
TEST(test_a_fat_path_is_filled_as_fast)
{
	assert_within_one_percent("rate 1gbit delay 50ms limit 20000", 1);
}

TEST(test_idle_it_goes_back)
{
	uint64_t used;

	begin(FOLLOWS, "rate 100mbit delay 25ms limit 1000");
	used = press(16 * KIB, 5);
	assert_true(used > 1000000);
	rig_run(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(under_way(), 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], rig.acceptor.delivered);
	assert_true(nopal_session_send_room(rig.opener.session) > 2 * MIN);
	rig_run(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(nopal_session_send_room(rig.opener.session), MIN);
	/* and comes again */
	assert_true(press(16 * KIB, 5) > used / 2);
	rig_close(&rig);
}

/* Most that the receiver kept for an application that reads slowly. */
static uint64_t kept(const char *config)
{
	uint64_t max;

	keeper_open(&rig, config,
		    &(struct rig_options){ .link = "rate 100mbit delay 25ms limit 1000" });
	keeper_push(&rig, 2000, 4 * KIB, 1, 5 * NOPAL_SECOND);
	max = keeper.max_bytes;
	keeper.reads = true;
	keeper_read(&rig, UINT32_MAX);
	rig_finish(&rig);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], rig.acceptor.delivered);
	rig_close(&rig);
	return max;
}

TEST(test_a_slow_reader_keeps_little)
{
	uint64_t fixed = kept(FIXED "keeper {}\n");
	uint64_t follows = kept(FOLLOWS "keeper {}\n");

	print_message("%d bytes, %d where they follow\n", (int)fixed, (int)follows);
	assert_true(follows < fixed / 4);
}

/* Messages that are there when it shrinks arrive. */
TEST(test_a_path_that_becomes_slow)
{
	uint64_t before, after;

	begin(FOLLOWS, "rate 100mbit delay 25ms limit 100");
	before = press(16 * KIB, 5);
	rig_change(&rig, "rate 5mbit delay 25ms limit 100");
	press(16 * KIB, 10);
	after = press(16 * KIB, 5);
	print_message("%d bytes, then %d\n", (int)before, (int)after);
	assert_true(after < before / 2);
	rig_finish(&rig);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], rig.acceptor.delivered);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST] +
				 rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN],
			 0);
	rig_close(&rig);
}

/* ------------------------------------------------------------ the shipped config */

/* Percent of a rate that is delivered in so many milliseconds, after as many as it takes to get
 * there. */
static uint64_t share(const char *link, uint64_t rate_bps, int start_ms, int ms)
{
	uint64_t before, bytes;

	begin(BULK, link);
	press_ms(64 * KIB, start_ms);
	before = rig.acceptor.delivered_bytes;
	press_ms(64 * KIB, ms);
	bytes = rig.acceptor.delivered_bytes - before;
	rig_close(&rig);
	bytes = bytes * 8 * 1000 / (uint64_t)ms;
	print_message("%s: %d Mbit/s\n", link, (int)(bytes / 1000000));
	return bytes * 100 / rate_bps;
}

TEST(test_bulk_fills_long_fat_paths)
{
	assert_true(share("rate 1gbit delay 50ms limit 10000", 1000000000, 1000, 500) >= 90);
	assert_true(share("rate 10gbit delay 10ms limit 20000", UINT64_C(10000000000), 250, 50) >=
		    90);
}

/* Random loss, and a queue of an eighth of the product: neither is the end of a window, nor a
 * reason to go on beyond the bottleneck's rate. */
TEST(test_bulk_fills_unkind_ones)
{
	assert_true(share("rate 1gbit delay 50ms limit 10000 loss 1%", 1000000000, 1500, 500) >=
		    75);
	assert_true(share("rate 1gbit delay 50ms limit 1000 loss 1%", 1000000000, 2000, 1000) >=
		    70);
}

TEST(test_bulk_bloats_no_slow_path)
{
	enum { PRODUCT = 25000 };
	uint64_t max;

	begin(BULK, "rate 10mbit delay 10ms limit 1000");
	max = press(4 * KIB, 6);
	print_message("%d bytes\n", (int)max);
	assert_in_range(max, PRODUCT, 5 * PRODUCT);
	assert_true(delay_of_a_new_one() < 150 * NOPAL_MILLISECOND);
	rig_close(&rig);
}
