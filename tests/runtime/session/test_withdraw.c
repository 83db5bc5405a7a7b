/* SPDX-License-Identifier: MIT */
/* Messages that nobody has transmitted yet: a budget of their own, and taken back. */
#include <errno.h>
#include <string.h>

#include "engine/turn.h"
#include "support/fakes.h"
#include "support/own_rig.h"
#include "support/test.h"

/* Segments leave when the test says so. */
enum { GATED = 64 };
static struct nopal_handle gated[GATED];
static uint32_t gated_first, gated_count;

static enum nopal_verdict m_gate_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	assert_in_range(gated_count, 0, GATED - 1);
	gated[gated_count++] = segment->handle;
	return NOPAL_CONTINUE;
}
FAKE(m_gate, .holds = FAKE_HOLDS({ "the gate", NOPAL_SEND, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, m_gate_on_to_net)));

/* Compresses all to one byte. */
static enum nopal_verdict m_squeeze_on_msg(struct nopal_at at, struct nopal_message *message)
{
	struct nopal_buffer *buffer = nopal_buffer_new(1);

	nopal_buffer_bytes(buffer)[0] = 'x';
	assert_true(nopal_message_replace(
		at.session, message, (struct nopal_body){ buffer, nopal_buffer_bytes(buffer), 1 }));
	return NOPAL_CONTINUE;
}
FAKE(m_squeeze, .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_USER, m_squeeze_on_msg,
						   .before = "message_segments")));

static const char ONE[] = "transport_driver {}\nfixed_size {}\nm_gate {}\n";
static const char PIECES[] = "transport_driver {}\nresize {}\nsequenced_segments {}\nm_gate {}\n";
static const char MESSAGES_BELOW[] = "layer \"upper\" {\n  transport_driver {}\n  resize {}\n"
				     "  sequenced_segments {}\n}\n"
				     "layer \"lower\" {\n  transport_driver {}\n  resize {}\n"
				     "  sequenced_segments {}\n  m_gate {}\n}\n";
static const char SEGMENTS_BELOW[] = "layer \"upper\" {\n  transport_driver {}\n  resize {}\n"
				     "  sequenced_segments {}\n}\n"
				     "layer \"lower\" {\n  transport_driver {}\n  fixed_size {}\n"
				     "  checksum {}\n  m_gate {}\n}\n";

EACH_TEST(NULL, own_rig_close);

static void unsent_open(const char *config, struct nopal_budget budget)
{
	rig_add(&m_gate);
	rig_add(&m_squeeze);
	gated_first = gated_count = 0;
	rig_open(&rig, config, NULL);
	nopal_session_set_budget(rig.opener.session, &budget);
}

static struct nopal_composite *gate_layer(void)
{
	return nopal__bottom(nopal__composite(rig.opener.session));
}

/* In a turn of the session, as a window opens. */
static void let_go(uint32_t count)
{
	struct nopal_composite *layer = gate_layer();
	bool outermost = nopal__turn_begin(layer->world);

	nopal__touch(layer);
	while (count && gated_first < gated_count) {
		struct nopal_segment *segment =
			nopal_segment_find(&layer->session, gated[gated_first++]);

		if (!segment)
			continue;
		nopal_release(rig_at(&layer->session, "m_gate"), segment, NOPAL_SEND);
		count--;
	}
	nopal__turn_end(layer->world, outermost);
}

static int send_named(uint64_t cookie, size_t length)
{
	static const uint8_t bytes[8192];

	return nopal_send(rig.opener.session, bytes, length, cookie);
}

static const struct nopal_budget one_message = { .unsent_messages = 1 };

TEST(test_unsent_budget_of_one_message_ends_with_its_transmission)
{
	unsent_open(ONE, one_message);
	assert_int_equal(send_named(1, 100), 0);
	assert_int_equal(nopal_session_send_room(rig.opener.session), 0);
	assert_int_equal(send_named(2, 100), -EAGAIN);
	assert_int_equal(rig.opener.writable, 0);
	let_go(1);
	assert_int_equal(rig.opener.writable, 1);
	assert_int_equal(send_named(2, 100), 0);
	assert_int_equal(send_named(3, 0), -EAGAIN);
}

TEST(test_unsent_budget_of_bytes_takes_what_fits_and_one_message_of_any_length)
{
	unsent_open(ONE, (struct nopal_budget){ .unsent_bytes = 250 });
	assert_int_equal(send_named(1, 1000), 0);
	assert_int_equal(send_named(2, 1), -EAGAIN);
	let_go(1);
	assert_int_equal(send_named(3, 100), 0);
	assert_int_equal(nopal_session_send_room(rig.opener.session), 150);
	assert_int_equal(send_named(4, 151), -EAGAIN);
	assert_int_equal(send_named(5, 150), 0);
	let_go(1);
	assert_int_equal(nopal_session_send_room(rig.opener.session), 100);
}

TEST(test_unsent_bytes_of_a_long_message_leave_segment_by_segment)
{
	unsent_open(PIECES, (struct nopal_budget){ .unsent_bytes = 5000 });
	assert_int_equal(send_named(1, 5000), 0);
	assert_int_equal(send_named(2, 1000), -EAGAIN);
	assert_in_range(gated_count, 4, 5);
	let_go(1);
	assert_int_equal(rig.opener.writable, 1);
	assert_int_equal(send_named(2, 1000), 0);
}

TEST(test_empty_message_counts_as_unsent_until_it_leaves)
{
	unsent_open(ONE, one_message);
	assert_int_equal(send_named(1, 0), 0);
	assert_int_equal(send_named(2, 0), -EAGAIN);
	let_go(1);
	assert_int_equal(send_named(2, 0), 0);
}

TEST(test_compressed_message_counts_its_bytes_on_the_network)
{
	unsent_open("transport_driver {}\nfixed_size {}\nm_squeeze {}\nm_gate {}\n",
		    (struct nopal_budget){ .unsent_bytes = 100 });
	assert_int_equal(send_named(1, 100), 0);
	assert_int_equal(nopal_session_send_room(rig.opener.session), 99);
	let_go(1);
	assert_int_equal(nopal_session_send_room(rig.opener.session), 100);
}

/* Else a window of the lower layer would be one more buffer. */
static void counts_down_to_the_network(const char *config)
{
	unsent_open(config, one_message);
	assert_int_equal(send_named(1, 3000), 0);
	assert_int_equal(send_named(2, 10), -EAGAIN);
	assert_in_range(gated_count, 3, 4);
	let_go(gated_count - 1);
	assert_int_equal(send_named(2, 10), -EAGAIN);
	let_go(1);
	assert_int_equal(rig.opener.writable, 1);
	assert_int_equal(send_named(2, 10), 0);
}

TEST(test_unsent_message_in_a_lower_layer_as_messages_is_unsent_above)
{
	counts_down_to_the_network(MESSAGES_BELOW);
}

TEST(test_unsent_message_in_a_lower_layer_as_segments_is_unsent_above)
{
	counts_down_to_the_network(SEGMENTS_BELOW);
}

static uint64_t lost_cookie;

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	(void)session;
	(void)user;
	if (outcome == NOPAL_OUTCOME_LOST)
		lost_cookie = cookie;
}

TEST(test_unsent_message_that_waits_for_the_session_to_open_is_counted)
{
	static const struct nopal_callbacks callbacks = { .sent = on_sent };
	struct nopal_address nobody;
	struct nopal_session *session;

	rig_open(&rig, "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n",
		 &(struct rig_options){ .stay_closed = true });
	nopal_sim_address(1, 77, &nobody);
	session = nopal_open(rig.opener.endpoint, rig.plan, &nobody, &callbacks, NULL);
	nopal_session_set_budget(session, &one_message);
	assert_int_equal(nopal_send(session, "x", 1, 13), 0);
	assert_int_equal(nopal_send(session, "y", 1, 14), -EAGAIN);
	assert_int_equal(nopal_withdraw(session, 13), 0);
	assert_int_equal(lost_cookie, 13);
	assert_int_equal(nopal_send(session, "y", 1, 14), 0);
}

/* --------------------------------------------------------------- withdrawal */

static void is_taken_back(const char *config)
{
	unsent_open(config, (struct nopal_budget){ 0 });
	assert_int_equal(send_named(1, 3000), 0);
	assert_int_equal(send_named(2, 200), 0);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -ENOENT);
	let_go(GATED);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.delivered_bytes, 200);
	assert_int_equal(rig_awake(rig.opener.session)->unsent, 0);
	assert_int_equal(rig_awake(rig.opener.session)->unsent_bytes, 0);
	rig_finish(&rig);
}

TEST(test_withdraw_of_an_unsent_message_tells_its_loss_and_nothing_leaves)
{
	is_taken_back(PIECES);
}

TEST(test_withdraw_reaches_messages_of_the_layer_below)
{
	is_taken_back(MESSAGES_BELOW);
}

TEST(test_withdraw_reaches_segments_of_the_layer_below)
{
	is_taken_back(SEGMENTS_BELOW);
}

TEST(test_withdraw_of_a_message_that_began_to_leave_is_refused)
{
	unsent_open(PIECES, (struct nopal_budget){ 0 });
	assert_int_equal(send_named(1, 3000), 0);
	let_go(1);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -EALREADY);
	let_go(GATED);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -ENOENT);
	assert_int_equal(rig.acceptor.delivered, 1);
}

TEST(test_withdraw_takes_the_oldest_unsent_message_of_a_cookie)
{
	unsent_open(ONE, (struct nopal_budget){ 0 });
	for (size_t length = 1; length <= 3; length++)
		assert_int_equal(send_named(7, length), 0);
	let_go(1);
	assert_int_equal(nopal_withdraw(rig.opener.session, 7), 0);
	let_go(GATED);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.acceptor.delivered_bytes, 1 + 3);
}

TEST(test_withdraw_of_a_message_that_shares_a_segment_is_refused)
{
	unsent_open(
		"transport_driver {}\ncoalesce { delay = 1ms }\nsequenced_messages {}\nm_gate {}\n",
		(struct nopal_budget){ 0 });
	assert_int_equal(send_named(1, 100), 0);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -EALREADY);
	assert_int_equal(send_named(2, 100), 0);
	rig_run(&rig, NOPAL_SECOND / 10);
	assert_int_equal(gated_count, 1);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -EALREADY);
	assert_int_equal(nopal_withdraw(rig.opener.session, 2), -EALREADY);
}

TEST(test_withdraw_where_the_peer_would_wait_is_refused)
{
	rig_begin(&rig, "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
			"sequenced_segments {}\npositive_ack {}\nretransmission_timer {}\n"
			"rtt_estimation {}\nretransmit {}\n");
	assert_int_equal(nopal_withdraw(rig.opener.session, 99), -ENOENT);
	rig_change(&rig, "loss 100%");
	assert_int_equal(send_named(1, 100), 0);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -ENOTSUP);
}

/* The window is full, and the rest waits. */
TEST(test_withdraw_with_partial_reliability_lets_the_order_go_on)
{
	rig_begin(&rig, "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
			"sequenced_segments {}\npositive_ack {}\nretransmission_timer {}\n"
			"rtt_estimation {}\nretransmit {}\npartial_reliability {}\n"
			"windowed_cc {}\ntcp_congestion { initial = 2seg }\nreliable_fifo {}\n");
	for (uint64_t cookie = 1; cookie <= 6; cookie++)
		assert_int_equal(send_named(cookie, 1000 + cookie), 0);
	assert_int_equal(nopal_withdraw(rig.opener.session, 1), -EALREADY);
	assert_int_equal(nopal_withdraw(rig.opener.session, 4), 0);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1 + 5);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
}

/* UDTCP, section 4: with one unsent message the throughput is that of any buffer. */
TEST(test_throughput_with_one_unsent_message_is_that_without_the_limit)
{
	static const char policy[] =
		"transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
		"sequenced_segments {}\npositive_ack { selective = on }\n"
		"retransmission_timer {}\nduplicate_ack {}\nrtt_estimation {}\n"
		"windowed_cc {}\ntcp_congestion {}\n";
	uint64_t bytes[2];

	for (int limited = 0; limited < 2; limited++) {
		if (limited)
			own_rig_close(NULL);
		rig_open(&rig, policy,
			 &(struct rig_options){ .link = "rate 10mbit delay 35ms limit 50" });
		if (limited)
			nopal_session_set_budget(rig.opener.session, &one_message);
		for (int64_t ms = 0; ms < 4000; ms++) {
			while (send_named(1, 1400) == 0)
				;
			rig_run(&rig, NOPAL_MILLISECOND);
		}
		bytes[limited] = rig.acceptor.delivered_bytes;
	}
	assert_in_range(bytes[1] * 100 / bytes[0], 97, 103);
	assert_in_range(bytes[0], 4000000, 5000000);
}
