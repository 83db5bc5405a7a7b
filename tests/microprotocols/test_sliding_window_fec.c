/* SPDX-License-Identifier: MIT */
#include "engine/composite.h"
#include "support/blocks.h"
#include "erasure.h"
#include "gf256.h"
#include "sliding.h"
#include "support/test.h"

static const char *sliding_config(int sources, int repairs, int window, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "sliding_window_fec { sources = %d  repairs = %d  window = %d }\n%s",
		 sources, repairs, window, more);
	return text;
}

/* Long enough that the next send begins a new window. */
static void pause_sending(void)
{
	rig_run(&net.rig, 250 * NOPAL_MILLISECOND);
}

/* --------------------------------------------------------------- which are rebuilt */

enum { MAX_SOURCES = 12, MAX_REPAIRS = 8 };

/* The sender's repairs by number, each over sources [first, last]. */
struct shape {
	uint32_t sources, repairs;
	uint32_t first[MAX_REPAIRS], last[MAX_REPAIRS];
	uint32_t place[MAX_SOURCES + MAX_REPAIRS]; /* repairs from sources on */
};

static struct shape shape_of(uint32_t sources, uint32_t every, uint32_t repairs, uint32_t window)
{
	struct shape shape = { .sources = sources };
	uint32_t place = 0;

	for (uint32_t i = 0; i < sources; i++) {
		shape.place[i] = place++;
		if ((i + 1) % every)
			continue;
		for (uint32_t at = 0; at < repairs; at++) {
			shape.last[shape.repairs] = i;
			shape.first[shape.repairs] = i < window ? 0 : i - window + 1;
			shape.place[sources + shape.repairs++] = place++;
		}
	}
	return shape;
}

/* Do the repairs that are there determine source `wanted`?  By elimination with its column last. */
static bool is_determined(const struct shape *shape, uint32_t there, uint32_t number,
			  uint64_t source, uint32_t wanted)
{
	uint8_t row[MAX_REPAIRS][MAX_SOURCES] = { { 0 } };
	uint32_t rows = 0, rank = 0;

	for (uint32_t i = 0; i < shape->repairs; i++) {
		if (!(there >> (shape->sources + i) & 1))
			continue;
		for (uint32_t at = shape->first[i]; at <= shape->last[i]; at++)
			if (!(there >> at & 1))
				row[rows][at] = nopal__sliding_factor(number + i, source + at);
		rows++;
	}
	for (uint32_t turn = 0; turn < shape->sources; turn++) {
		uint32_t column = (wanted + 1 + turn) % shape->sources;
		uint32_t found = rank;

		while (found < rows && !row[found][column])
			found++;
		if (found == rows)
			continue;
		if (column == wanted)
			return true;
		for (uint32_t i = 0; i < rows; i++) {
			uint8_t factor;

			if (i == found || !row[i][column])
				continue;
			factor = nopal__gf256_multiply(row[i][column],
						       nopal__gf256_inverse(row[found][column]));
			for (uint32_t at = 0; at < shape->sources; at++)
				row[i][at] ^= nopal__gf256_multiply(row[found][at], factor);
		}
		for (uint32_t at = 0; at < shape->sources; at++) {
			uint8_t swap = row[rank][at];

			row[rank][at] = row[found][at];
			row[found][at] = swap;
		}
		rank++;
	}
	return false;
}

/* Of what leaves, those in `there` arrive, in one order or the other. */
static void check_pattern(const struct shape *shape, uint32_t there, bool backwards)
{
	const struct sliding_window_fec *sender =
		rig_state(net.rig.opener.session, "sliding_window_fec");
	uint32_t all = shape->sources + shape->repairs;
	uint32_t number = sender->number;
	uint64_t source = sender->newest + 1;
	uint32_t by_place[MAX_SOURCES + MAX_REPAIRS];

	send_block(shape->sources);
	assert_int_equal(net.count, all);
	for (uint32_t i = 0; i < all; i++)
		by_place[shape->place[i]] = i;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t place = backwards ? all - 1 - i : i;

		if (there >> by_place[place] & 1)
			capture_pass(&net, place);
	}
	for (uint32_t i = 0; i < shape->sources; i++)
		assert_int_equal(is_delivered(i),
				 there >> i & 1 || is_determined(shape, there, number, source, i));
	assert_int_equal(net.rig.acceptor.ended, 0);
}

static void check_shape(uint32_t sources, uint32_t every, uint32_t repairs, uint32_t window)
{
	struct shape shape = shape_of(sources, every, repairs, window);
	uint32_t all = shape.sources + shape.repairs;

	capture_open(&net,
		     sliding_config((int)every, (int)repairs, (int)window, "check_integrity {}\n"));
	for (uint32_t there = 0; there < 1u << all; there++) {
		pause_sending();
		check_pattern(&shape, there, there * 7 % 3 == 0);
	}
	capture_close(&net);
}

TEST(test_all_erasures_of_short_windows)
{
	check_shape(6, 2, 1, 6);
	check_shape(8, 2, 1, 4);
	check_shape(4, 1, 1, 3);
	check_shape(6, 3, 2, 6);
	check_shape(4, 4, 3, 4);
}

/* Two losses of one window need two repairs that differ: nearly all do. */
TEST(test_nearly_all_pairs_are_rebuilt)
{
	struct shape shape = shape_of(4, 4, 2, 4);
	uint32_t rebuilt = 0;

	capture_open(&net, sliding_config(4, 2, 4, "check_integrity {}\n"));
	for (uint32_t round = 0; round < 500; round++) {
		pause_sending();
		check_pattern(&shape, 0x3c, false);
		rebuilt += net.rig.acceptor.delivered == 4;
	}
	assert_in_range(rebuilt, 490, 500);
	capture_close(&net);
}

/* ----------------------------------------------------------------- one at a time */

TEST(test_late_originals_and_duplicates_are_stopped)
{
	capture_open(&net, sliding_config(4, 1, 20, ""));
	pause_sending();
	check_late_originals_and_duplicates_are_stopped();
	capture_close(&net);
}

TEST(test_a_few_are_repaired_after_flush)
{
	capture_open(&net, sliding_config(4, 1, 20, "check_integrity {}\n"));
	for (uint32_t count = 1; count < 4; count++)
		for (uint32_t lost = 0; lost < count; lost++) {
			pause_sending();
			check_flush(count, lost);
		}
	capture_close(&net);
}

TEST(test_closing_sends_the_repair_that_is_due)
{
	capture_open(&net, sliding_config(4, 1, 20, ""));
	pause_sending();
	check_closing_sends_what_repairs();
	capture_close(&net);
}

TEST(test_longest_segments)
{
	capture_open(&net, sliding_config(2, 1, 4, "check_integrity {}\n"));
	pause_sending();
	check_longest_segments();
	capture_close(&net);
}

/* Numbers of sources travel in three bytes, and go on behind them. */
TEST(test_source_numbers_wrap)
{
	struct sliding_window_fec *sender, *receiver;
	struct nopal_session *session;

	capture_open(&net, sliding_config(4, 1, 20, "check_integrity {}\n"));
	session = net.rig.acceptor.session;
	pause_sending();
	sender = rig_state(net.rig.opener.session, "sliding_window_fec");
	receiver = rig_state(session, "sliding_window_fec");
	sender->newest = receiver->latest = (1u << 24) - 6;
	nopal_serial_seen(rig_at(session, "sliding_window_fec"), SLIDING_SOURCE, receiver->latest);
	for (uint32_t round = 0; round < 8; round++) {
		send_block(4);
		pass_from(1, 5);
		assert_true(is_delivered(0));
	}
	assert_true(receiver->latest > 1u << 24);
	capture_close(&net);
}

/* --------------------------------------------------------------- hostile repairs */

enum { HEAD = 5, REPAIR_HEAD = HEAD + SLIDING_SOURCE_BYTES };

/* A forged repair concerns sources to come, but not many. */
static void assert_repairs_still(void)
{
	for (uint32_t round = 0; round < 300; round++) {
		send_block(4);
		pass_from(0, 5);
	}
	pause_sending();
	send_block(4);
	pass_from(1, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
}

/* Every value of every byte of its head, and of where it is: nothing is made up but what the right
 * values make, as check_integrity sees; and nothing ends. */
TEST(test_repairs_that_lie)
{
	capture_open(&net, sliding_config(4, 1, 20, ""));
	for (size_t at = REPAIR_HEAD + SLIDING_HEAD_BYTES; at-- > HEAD;)
		for (unsigned value = 0; value <= UINT8_MAX; value++) {
			pause_sending();
			send_block(4);
			pass_from(0, 3);
			give_changed(4, at, (uint8_t)value, net.datagram[4].length);
			assert_int_equal(net.rig.acceptor.ended, 0);
			if (at >= REPAIR_HEAD && value == net.datagram[4].bytes[at])
				assert_true(is_delivered(3));
			assert_true(net.rig.acceptor.delivered <= 4);
		}
	assert_repairs_still();
	capture_close(&net);
}

TEST(test_repairs_cut_short)
{
	capture_open(&net, sliding_config(4, 1, 20, "check_integrity {}\n"));
	for (size_t cut = 1; cut < 60; cut++) {
		pause_sending();
		send_block(4);
		pass_from(0, 3);
		give_changed(4, CAPTURE_BYTES, 0, cut % 2 ? cut / 2 : net.datagram[4].length - cut);
		assert_false(is_delivered(3));
		assert_int_equal(net.rig.acceptor.ended, 0);
	}
	assert_repairs_still();
	capture_close(&net);
}

/* After an outage of many windows a few arrivals show where the sender is. */
TEST(test_repairs_after_an_outage)
{
	capture_open(&net, sliding_config(4, 1, 20, "check_integrity {}\n"));
	for (uint32_t round = 0; round < 1000; round++)
		send_block(4);
	for (uint32_t round = 0; round < 8; round++) {
		send_block(4);
		pass_from(0, 5);
	}
	send_block(4);
	pass_from(1, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
	capture_close(&net);
}

TEST(test_memory_is_bounded)
{
	struct nopal_composite *composite;
	uint64_t held = 0;

	capture_open(&net, sliding_config(4, 1, 20, ""));
	composite = nopal__composite(net.rig.acceptor.session);
	for (uint32_t round = 0; round < 400; round++) {
		send_block(4);
		capture_pass(&net, round % 5);
		capture_pass(&net, 4);
		if (round == 300)
			held = composite->awake->bytes_held;
	}
	assert_int_equal(composite->awake->bytes_held, held);
	rig_run(&net.rig, 2 * NOPAL_SECOND);
	assert_null(composite->awake);
	rig_awake(net.rig.acceptor.session);
	assert_in_range(composite->awake->bytes_held, 0, 512);
	assert_repairs_still();
	capture_close(&net);
}

/* ------------------------------------------------------------------ across a link */

struct crossing {
	uint32_t missing;
	int64_t delay_ns; /* mean, of what was not there at once */
	uint64_t packets;
};

/* Messages every 2 ms over a link that loses bursts. */
static struct crossing cross(const char *config, const char *link, uint32_t count, uint64_t seed,
			     int64_t patience_ns)
{
	const struct rig_options options = { .link = link, .seed = seed };
	struct crossing crossing = { 0 };
	static int64_t sent_ns[RIG_MESSAGES];
	uint32_t late = 0;
	char text[RIG_TEXT];

	rig_open(&net.rig, config, &options);
	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%u", i);
		sent_ns[i] = nopal_world_now(net.rig.world);
		assert_int_equal(rig_send(&net.rig, text), 0);
		rig_run(&net.rig, 2 * NOPAL_MILLISECOND);
	}
	rig_run(&net.rig, 100 * NOPAL_MILLISECOND);
	rig_awake(net.rig.opener.session);
	crossing.packets = nopal_next_packet_number(net.rig.opener.session);
	rig_run(&net.rig, patience_ns);
	assert_string_equal(net.rig.acceptor.end_text, "");
	crossing.missing = count - net.rig.acceptor.delivered;
	for (uint32_t i = 0; i < net.rig.acceptor.delivered; i++) {
		long which = strtol(net.rig.acceptor.text[i], NULL, 10);
		int64_t delay_ns = net.rig.acceptor.delivered_ns[i] - sent_ns[which];

		if (delay_ns < 12 * NOPAL_MILLISECOND)
			continue;
		crossing.delay_ns += delay_ns;
		late++;
	}
	crossing.delay_ns /= late ? late : 1;
	assert_int_equal(rig_awake(net.rig.opener.session)->segments.alive, 0);
	rig_close(&net.rig);
	return crossing;
}

#define CHECKS "check_integrity {}\ncheck_holds {}\n"
#define LONG_BLOCKS                                                                                \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"forward_error_correction { n = 25  k = 20  code = cauchy  "                               \
	"flush = 100ms }\n" CHECKS

static struct crossing cross_thrice(const char *config, const char *link)
{
	struct crossing all = { 0 }, one;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		one = cross(config, link, 3000, seed, NOPAL_SECOND);
		all.missing += one.missing;
		all.delay_ns += one.delay_ns;
		all.packets += one.packets;
	}
	return all;
}

/* At the same overhead of a quarter short blocks leave most of the bursts, and long ones repair
 * them later. */
TEST(test_bursts_beside_blocks)
{
	static const char *const links[] = {
		"delay 10ms loss gemodel 1% 70% 100% 0%",
		"delay 10ms loss 5%",
	};

	if (!nopal__erasure_has_cauchy())
		skip();
	for (int i = 0; i < 2; i++) {
		struct crossing sliding = cross_thrice(sliding_config(4, 1, 20, CHECKS), links[i]);
		struct crossing shorter = cross_thrice(fec_config(5, 4, CHECKS), links[i]);
		struct crossing longer = cross_thrice(LONG_BLOCKS, links[i]);

		assert_int_equal(sliding.packets, shorter.packets);
		assert_int_equal(sliding.packets, longer.packets);
		assert_true(sliding.missing * 4 < shorter.missing);
		assert_true(sliding.delay_ns * 10 < longer.delay_ns * 9);
	}
}

TEST(test_with_resends)
{
	static const char *const waits[] = { "", "repair_first {}\n" };
	char more[512];

	for (int i = 0; i < 2; i++) {
		snprintf(
			more, sizeof(more),
			"virtual_circuit {}\nrtt_estimation {}\n"
			"positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
			"retransmit {}\n%sreliable_fifo {}\n"
			"check_fifo {}\nwindowed_cc {}\ntcp_congestion {}\n"
			"checksum {}\n" CHECKS,
			waits[i]);
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct crossing one = cross(sliding_config(4, 1, 20, more),
						    "delay 10ms 2ms loss 10% duplicate 2% "
						    "corrupt 2%",
						    1000, seed, 300 * NOPAL_SECOND);

			assert_int_equal(one.missing, 0);
		}
		for (uint32_t count = 1; count <= 10; count++) {
			struct crossing one =
				cross(sliding_config(4, 1, 20, more), "delay 10ms 2ms loss 30%",
				      count, count, 300 * NOPAL_SECOND);

			assert_int_equal(one.missing, 0);
		}
	}
}

TEST(test_parameters_are_checked)
{
	char text[4096];

	assert_true(rig_refused(sliding_config(8, 1, 4, ""), text, sizeof(text)));
	assert_non_null(strstr(text, "make window at least sources"));
	assert_true(rig_refused(sliding_config(4, 1, 20, "forward_error_correction {}\n"), text,
				sizeof(text)));
	assert_non_null(strstr(text, "redundancy"));
}
