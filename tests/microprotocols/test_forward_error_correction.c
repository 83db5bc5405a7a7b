/* SPDX-License-Identifier: MIT */
#include "engine/composite.h"
#include "support/blocks.h"
#include "fec.h"
#include "support/test.h"

/* 1 + 4 bytes of every datagram, then the attributes, then the parity body. */
enum { MAX = 8, HEAD = 5, PARITY_HEAD = HEAD + 3, PARITY_FIELDS = 4 };

/* Of a block's datagrams those in `there` arrive.  With k of them, all sources are delivered; with
 * fewer, those that arrived and no others. */
static void check_pattern(uint32_t n, uint32_t k, uint32_t there)
{
	bool enough = (uint32_t)__builtin_popcount(there) >= k;

	send_block(k);
	assert_int_equal(net.count, n);
	for (uint32_t i = 0; i < n; i++)
		if (there >> i & 1)
			capture_pass(&net, i);
	for (uint32_t i = 0; i < k; i++)
		assert_int_equal(is_delivered(i), enough || there >> i & 1);
	assert_int_equal(net.rig.acceptor.ended, 0);
}

TEST(test_all_erasures_of_short_codes)
{
	for (uint32_t n = 2; n <= MAX; n++)
		for (uint32_t k = 1; k < n; k++) {
			if (n - k > 1 && !nopal__erasure_has_cauchy())
				continue;
			capture_open(&net, fec_config((int)n, (int)k, "check_integrity {}\n"));
			for (uint32_t there = 0; there < 1u << n; there++)
				check_pattern(n, k, there);
			capture_close(&net);
		}
}

/* Parity first, and sources backwards: the order does not matter. */
TEST(test_any_order_of_arrival)
{
	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	for (uint32_t lost = 0; lost < 4; lost++) {
		send_block(4);
		for (uint32_t i = 5; i-- > 0;)
			if (i != lost)
				capture_pass(&net, i);
		assert_int_equal(net.rig.acceptor.delivered, 4);
		assert_true(is_delivered(lost));
	}
	capture_close(&net);
}

TEST(test_late_originals_and_duplicates_are_stopped)
{
	capture_open(&net, fec_config(5, 4, ""));
	check_late_originals_and_duplicates_are_stopped();
	capture_close(&net);
}

TEST(test_an_incomplete_block_is_closed_after_flush)
{
	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	for (uint32_t count = 1; count < 4; count++)
		for (uint32_t lost = 0; lost < count; lost++)
			check_flush(count, lost);
	capture_close(&net);
}

TEST(test_flush_fits_the_playout_delay)
{
	int64_t sent_ns;

	capture_open(&net, fec_config(5, 4, "lossy_fifo { delay = 10ms }\n"));
	send_block(1);
	sent_ns = nopal_world_now(net.rig.world);
	rig_run(&net.rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(net.count, 2);
	assert_in_range(net.datagram[1].time_ns - sent_ns, 5 * NOPAL_MILLISECOND,
			6 * NOPAL_MILLISECOND);
	capture_close(&net);
}

TEST(test_segments_are_kept_until_their_parity_is_made)
{
	struct nopal_composite *composite;

	capture_open(&net, fec_config(5, 4, ""));
	composite = nopal__composite(net.rig.opener.session);
	rig_awake(net.rig.opener.session);
	assert_int_equal(composite->awake->segments.alive, 0);
	for (uint32_t i = 1; i < 4; i++) {
		rig_send(&net.rig, "x");
		assert_int_equal(composite->awake->segments.alive, i);
	}
	assert_int_equal(composite->awake->unfinished, 0);
	rig_send(&net.rig, "x");
	assert_int_equal(composite->awake->segments.alive, 0);
	rig_send(&net.rig, "x");
	rig_run(&net.rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(composite->awake->segments.alive, 0);
	capture_close(&net);
}

TEST(test_closing_sends_the_parity_that_is_due)
{
	capture_open(&net, fec_config(5, 4, ""));
	check_closing_sends_what_repairs();
	capture_close(&net);
}

TEST(test_longest_segments)
{
	capture_open(&net, fec_config(3, 2, "check_integrity {}\n"));
	check_longest_segments();
	capture_close(&net);
}

/* -------------------------------------------------------------- hostile parity */

/* A forged parity concerns blocks to come, but not many. */
static void assert_repairs_still(void)
{
	for (uint32_t block = 0; block < 300; block++) {
		send_block(4);
		pass_from(0, 4);
	}
	send_block(4);
	pass_from(1, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
}

/* Every value of every byte that says what the block is like: nothing is made up but what the right
 * values make. */
TEST(test_parity_that_lies_about_its_block)
{
	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	for (size_t at = PARITY_HEAD; at < PARITY_HEAD + PARITY_FIELDS; at++)
		for (unsigned value = 0; value <= UINT8_MAX; value++) {
			send_block(4);
			pass_from(0, 3);
			give_changed(4, at, (uint8_t)value, net.datagram[4].length);
			assert_int_equal(is_delivered(3), value == net.datagram[4].bytes[at]);
			assert_int_equal(net.rig.acceptor.ended, 0);
		}
	assert_repairs_still();
	capture_close(&net);
}

TEST(test_parity_from_another_block_or_place)
{
	capture_open(&net, fec_config(5, 4, ""));
	for (size_t at = HEAD; at < PARITY_HEAD; at++)
		for (unsigned value = 0; value <= UINT8_MAX; value += 5) {
			send_block(4);
			pass_from(0, 3);
			give_changed(4, at, (uint8_t)value, net.datagram[4].length);
			assert_int_equal(net.rig.acceptor.ended, 0);
			assert_true(net.rig.acceptor.delivered <= 4);
		}
	assert_repairs_still();
	capture_close(&net);
}

TEST(test_parity_cut_short)
{
	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	send_block(4);
	for (size_t length = 0; length < net.datagram[4].length; length++) {
		send_block(4);
		pass_from(0, 3);
		if (length >= net.datagram[4].length)
			break;
		give_changed(4, CAPTURE_BYTES, 0, length);
		assert_false(is_delivered(3));
		assert_int_equal(net.rig.acceptor.ended, 0);
	}
	assert_repairs_still();
	capture_close(&net);
}

/* A symbol with one wrong byte: the segment it makes is wrong, and where that shows in its length,
 * padding or place, it is not raised. */
TEST(test_parity_with_a_wrong_symbol)
{
	capture_open(&net, fec_config(5, 4, ""));
	for (size_t at = 0; at < 30; at++) {
		send_block(4);
		pass_from(0, 3);
		at += PARITY_HEAD + PARITY_FIELDS;
		give_changed(4, at, net.datagram[4].bytes[at] ^ 0x40, net.datagram[4].length);
		at -= PARITY_HEAD + PARITY_FIELDS;
		assert_true(net.rig.acceptor.delivered <= 4);
		assert_int_equal(net.rig.acceptor.ended, 0);
		if (at < 2) /* length of the segment */
			assert_int_equal(net.rig.acceptor.delivered, 3);
	}
	assert_repairs_still();
	capture_close(&net);
}

static uint32_t shortest(void)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < 4; i++)
		if (length_of(i) < length_of(found))
			found = i;
	return found;
}

/* The rest of a segment's symbol is padding, or nothing is believed. */
TEST(test_parity_with_wrong_padding)
{
	uint32_t lost;
	size_t last;

	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	for (uint32_t round = 0; round < 20; round++) {
		send_block(4);
		lost = shortest();
		last = net.datagram[4].length - 1;
		for (uint32_t i = 0; i < 4; i++)
			if (i != lost)
				capture_pass(&net, i);
		give_changed(4, last, net.datagram[4].bytes[last] ^ 1, last + 1);
		assert_false(is_delivered(lost));
		assert_int_equal(net.rig.acceptor.ended, 0);
	}
	capture_close(&net);
}

/* Offset of a field in the header of data; its width. */
static size_t data_field(const char *name, size_t *ret_bytes)
{
	const struct nopal_header *header = &net.rig.plan->kinds[NOPAL_KIND_DATA].header;
	size_t at = 0;

	for (unsigned i = 0; i < header->count; i++) {
		*ret_bytes = header->fields[i].bytes;
		if (strcmp(net.rig.plan->slot_name[header->fields[i].slot], name) == 0)
			return at;
		at += *ret_bytes;
	}
	fail_msg("no field %s", name);
	return 0;
}

/* A symbol that makes a segment of another block or place. */
TEST(test_parity_for_another_place)
{
	static const char *const names[] = { "fec_block", "fec_index" };
	size_t at = 0, bytes = 0;

	capture_open(&net, fec_config(5, 4, ""));
	for (size_t name = 0; name < 2; name++)
		for (unsigned bit = 0; bit < 8; bit++) {
			at = PARITY_HEAD + PARITY_FIELDS + 2 + data_field(names[name], &bytes) +
			     bytes - 1;
			send_block(4);
			pass_from(0, 3);
			give_changed(4, at, net.datagram[4].bytes[at] ^ (uint8_t)(1u << bit),
				     net.datagram[4].length);
			assert_int_equal(net.rig.acceptor.delivered, 3);
		}
	capture_close(&net);
}

/* Blocks share places in the ring: an old one does not get a new one's. */
TEST(test_an_old_block_does_not_push_out_a_new_one)
{
	struct captured old;

	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	send_block(4);
	old = net.datagram[4];
	for (uint32_t block = 1; block < 64; block++) {
		send_block(4);
		capture_pass(&net, 0);
	}
	send_block(4);
	pass_from(1, 4);
	capture_give(&net, old.bytes, old.length);
	capture_pass(&net, 4);
	assert_true(is_delivered(0));
	capture_close(&net);
}

/* Data that names places its block does not have is only data. */
TEST(test_data_with_a_wrong_place)
{
	static const char *const names[] = { "fec_block", "fec_index" };
	size_t at, bytes;

	capture_open(&net, fec_config(5, 4, ""));
	for (size_t name = 0; name < 2; name++)
		for (unsigned value = 0; value <= UINT8_MAX; value += 3) {
			at = HEAD + data_field(names[name], &bytes);
			send_block(4);
			for (uint32_t place = 0; place < 4; place++)
				give_changed(place, at, (uint8_t)value, net.datagram[place].length);
			assert_true(net.rig.acceptor.delivered >= 4);
			assert_int_equal(net.rig.acceptor.ended, 0);
			capture_pass(&net, 4);
		}
	assert_repairs_still();
	capture_close(&net);
}

/* Block numbers travel in two bytes, and go on behind them. */
TEST(test_block_numbers_wrap)
{
	struct forward_error_correction *sender, *receiver;
	struct nopal_session *session;

	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	session = net.rig.acceptor.session;
	sender = rig_state(net.rig.opener.session, "forward_error_correction");
	receiver = rig_state(session, "forward_error_correction");
	sender->number = UINT16_MAX - 2;
	receiver->newest = UINT16_MAX - 3;
	nopal_serial_seen(rig_at(session, "forward_error_correction"), FEC_BLOCK, receiver->newest);
	for (uint32_t block = 0; block < 8; block++) {
		send_block(4);
		pass_from(1, 5);
		assert_true(is_delivered(0));
	}
	assert_int_equal(receiver->newest, UINT16_MAX + 5);
	capture_close(&net);
}

/* After an outage of many blocks a few arrivals show where the sender is. */
TEST(test_repairs_after_an_outage)
{
	capture_open(&net, fec_config(5, 4, "check_integrity {}\n"));
	for (uint32_t block = 0; block < 1000; block++)
		send_block(4);
	for (uint32_t block = 0; block < 2; block++) {
		send_block(4);
		pass_from(0, 4);
	}
	send_block(4);
	pass_from(1, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
	assert_true(is_delivered(0));
	capture_close(&net);
}

/* ------------------------------------------------------------- across a link */

static void cross(const char *config, const char *link, uint32_t min)
{
	const struct rig_options options = { .link = link, .seed = 11 };
	char text[RIG_TEXT];

	rig_open(&net.rig, config, &options);
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "message %u", i);
		assert_int_equal(rig_send(&net.rig, text), 0);
		rig_run(&net.rig, 2 * NOPAL_MILLISECOND);
	}
	rig_run(&net.rig, 30 * NOPAL_SECOND);
	assert_string_equal(net.rig.opener.end_text, "");
	assert_string_equal(net.rig.acceptor.end_text, "");
	assert_in_range(net.rig.acceptor.delivered, min, 1000);
	assert_true(nopal_session_counters(net.rig.acceptor.session)->segments_rebuilt > 0);
	assert_int_equal(rig_awake(net.rig.opener.session)->segments.alive, 0);
	rig_close(&net.rig);
}

TEST(test_without_resends)
{
	/* 5 % lost: a block of five loses two or more in 2.3 % of all cases */
	cross(fec_config(5, 4, "check_integrity {}\n check_holds {}\n"), "delay 20ms 5ms loss 5%",
	      970);
	if (nopal__erasure_has_cauchy())
		cross(fec_config(8, 4, "check_integrity {}\n check_holds {}\n"),
		      "delay 20ms 5ms loss 5%", 999);
}

TEST(test_with_resends)
{
	cross(fec_config(
		      5, 4,
		      "rtt_estimation {}\n positive_ack {} retransmission_timer {}\n duplicate_ack {}\n"
		      "retransmit {}\n reliable_fifo {}\n check_fifo {}\n"
		      "check_integrity {}\n check_holds {}\n"),
	      "delay 20ms 5ms loss 10% duplicate 2%", 1000);
	cross(fec_config(
		      5, 4,
		      "virtual_circuit {}\n rtt_estimation {}\n"
		      "positive_ack {} retransmission_timer {}\n duplicate_ack {}\n retransmit {}\n"
		      "reliable_fifo {}\n check_fifo {}\n check_integrity {}\n"
		      "windowed_cc {}\n tcp_congestion {}\n check_holds {}\n"
		      "checksum {}\n"),
	      "delay 20ms 5ms loss 5% corrupt 2%", 1000);
}

TEST(test_parameters_are_checked)
{
	char text[4096];

	assert_true(rig_refused(fec_config(4, 4, ""), text, sizeof(text)));
	assert_non_null(strstr(text, "set k below n"));
	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_segments {}\n"
				"forward_error_correction { n = 6  k = 4  code = xor }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "code = cauchy"));
}
