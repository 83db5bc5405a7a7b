/* SPDX-License-Identifier: MIT */
/* Is a silent peer still there?  What the network says, and what our socket said. */
#include <errno.h>

#include "wire/wire.h"
#include "support/restart.h"
#include "support/test.h"

#define CIRCUIT                                                                                    \
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"                                 \
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nretransmit {}\n"
#define CALLING CIRCUIT "keep_alive {}\n"

enum { ASK = 25, ANSWER = 20 };

static struct rig rig;

static struct {
	uint32_t asks, answers, longest;
	struct nopal_address from; /* of the last answer */
	uint8_t answer[ANSWER];
} seen;

static void note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	uint8_t kind;

	(void)user, (void)now_ns, (void)to;
	nopal__first_byte_parse(bytes[0], &kind);
	seen.asks += kind == NOPAL_KIND_ASK;
	if (kind != NOPAL_KIND_REPLY)
		return;
	seen.answers++;
	assert_int_equal(length, ANSWER);
	memcpy(seen.answer, bytes, length);
	seen.from = *from;
}

static void begin(const char *config)
{
	restart_open(&rig, config, "delay 10ms");
	memset(&seen, 0, sizeof(seen));
	nopal_sim_tap(rig.world, note, NULL);
}

/* ------------------------------------------------------------------- restarts */

TEST(test_without_the_key_it_takes_a_second)
{
	int64_t begun_ns;

	for (int64_t down_ms = 0; down_ms <= 6000; down_ms += 500) {
		begin(CIRCUIT);
		restart_kill(&rig, &rig.acceptor, "delay 10ms");
		rig_send_bytes(&rig, 100);
		rig_pass(&rig, down_ms * NOPAL_MILLISECOND);
		restart_start(&rig, &rig.acceptor, NULL);
		begun_ns = nopal_world_now(rig.world);
		while (rig.opener.session)
			rig_run(&rig, NOPAL_MILLISECOND);
		assert_in_range(nopal_world_now(rig.world) - begun_ns, 0, 1100 * NOPAL_MILLISECOND);
		assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
		assert_string_equal(rig.opener.end_text, NOPAL_TEXT_RESTARTED);
		rig_close(&rig);
	}
}

/* A session that waits for nothing hears of it when its keep-alive calls. */
TEST(test_an_idle_one_joined_of_it_by_a_call)
{
	begin(CALLING);
	restart_kill(&rig, &rig.acceptor, "delay 10ms");
	restart_start(&rig, &rig.acceptor, NULL);
	rig_pass(&rig, 14 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_pass(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

/* ------------------------------------------------------------ a peer that lives */

TEST(test_a_network_that_is_away_is_no_restart)
{
	begin(CIRCUIT);
	rig_change_both(&rig, "loss 100%");
	rig_send_bytes(&rig, 100);
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_in_range(seen.asks, 15, 20); /* two a second */
	rig_change_both(&rig, "delay 10ms");
	rig_pass(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(rig.opener.ended + rig.acceptor.ended, 0);
	rig_close(&rig);
}

TEST(test_one_that_is_slow_is_asked_and_believed)
{
	begin(CIRCUIT);
	rig_change_both(&rig, "delay 1500ms");
	for (int i = 0; i < 5; i++)
		rig_send_bytes(&rig, 100);
	rig_pass(&rig, 20 * NOPAL_SECOND);
	assert_true(seen.answers > 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 5);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

TEST(test_who_waits_for_nothing_does_not_ask)
{
	begin(CIRCUIT);
	rig_send_bytes(&rig, 100);
	rig_pass(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(seen.asks, 0);
	assert_int_equal(nopal_session_silence(rig.opener.session), 0);
	rig_change_both(&rig, "loss 100%");
	rig_send_bytes(&rig, 100);
	rig_pass(&rig, 3 * NOPAL_SECOND);
	assert_true(nopal_session_silence(rig.opener.session) >= 3 * NOPAL_SECOND);
	rig_close(&rig);
}

/* A listener's may be open and ask before the opener has heard of it. */
TEST(test_one_that_opens_says_nothing)
{
	uint8_t bytes[ASK] = { nopal__first_byte(NOPAL_KIND_ASK), 1, 2, 3, 4 };
	struct nopal_writer id = nopal_writer_over(bytes + 13, NOPAL_ID_BYTES);
	struct nopal_address from;

	rig_open(&rig, CIRCUIT, &(struct rig_options){ .link = "loss 100%", .stay_closed = true });
	rig_start(&rig);
	memset(&seen, 0, sizeof(seen));
	nopal_sim_tap(rig.world, note, NULL);
	nopal_endpoint_local(rig.acceptor.endpoint, &from);
	nopal_write(&id, nopal_session_id(rig.opener.session), NOPAL_ID_BYTES);
	nopal_sim_inject(rig.world, rig.opener.endpoint, &from, bytes, ASK);
	rig_run(&rig, NOPAL_MICROSECOND);
	assert_int_equal(seen.answers, 0);
	bytes[13] ^= 1;
	nopal_sim_inject(rig.world, rig.opener.endpoint, &from, bytes, ASK);
	rig_run(&rig, NOPAL_MICROSECOND);
	assert_int_equal(seen.answers, 1);
	rig_close(&rig);
}

/* -------------------------------------------------------------------- the answer */

/* Our peer is away, we have asked, and a listener that knows nothing answered; the answer got
 * lost. */
static void begin_answer(void)
{
	begin(CIRCUIT);
	restart_kill(&rig, &rig.acceptor, "fwd: delay 1ms rev: loss 100%");
	restart_start(&rig, &rig.acceptor, NULL);
	rig_send_bytes(&rig, 100);
	while (!seen.answers)
		rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.ended, 0);
}

static void give(const uint8_t *bytes, size_t length)
{
	nopal_sim_inject(rig.world, rig.opener.endpoint, &seen.from, bytes, length);
	rig_run(&rig, NOPAL_MICROSECOND);
}

TEST(test_one_bit_makes_it_nothing)
{
	uint8_t bytes[ANSWER + 4] = { 0 };

	begin_answer();
	memcpy(bytes, seen.answer, ANSWER);
	for (size_t length = 1; length <= sizeof(bytes); length++)
		if (length != ANSWER)
			give(bytes, length);
	for (size_t at = 1; at < ANSWER; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes[at] ^= (uint8_t)(1u << bit);
			give(bytes, ANSWER);
			bytes[at] ^= (uint8_t)(1u << bit);
		}
	assert_int_equal(rig.opener.ended, 0);
	give(bytes, ANSWER);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_from_elsewhere_it_is_nothing)
{
	begin_answer();
	seen.from.port++;
	give(seen.answer, ANSWER);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* The record is of no use in the next silence, nor once the peer is heard. */
TEST(test_it_is_of_one_silence)
{
	uint8_t old[ANSWER];

	begin_answer();
	memcpy(old, seen.answer, sizeof(old));
	rig_awake(rig.opener.session)->heard_ns = nopal_world_now(rig.world);
	give(old, sizeof(old));
	assert_int_equal(rig.opener.ended, 0);
	rig_pass(&rig, 3 * NOPAL_SECOND); /* another silence, other asks */
	assert_memory_not_equal(old, seen.answer, sizeof(old));
	give(old, sizeof(old));
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* Shorter than what asks, and only what asks rightly is answered; nothing is kept. */
TEST(test_asks_are_answered_without_state)
{
	uint8_t bytes[ASK + 10] = { nopal__first_byte(NOPAL_KIND_ASK), 1, 2, 3, 4 };
	const struct nopal_endpoint_counters *counters;
	struct nopal_address from;

	assert_true(ANSWER < ASK);
	begin(CIRCUIT);
	nopal_sim_address(0, 7, &from);
	counters = nopal_endpoint_counters(rig.acceptor.endpoint);
	for (size_t length = 1; length <= sizeof(bytes); length++) {
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &from, bytes, length);
		rig_run(&rig, NOPAL_MICROSECOND);
	}
	assert_int_equal(seen.answers, 1);
	assert_int_equal(counters->sessions, 1);
	rig_close(&rig);
}

/* ------------------------------------------------------------- what networks say */

/* Of a datagram for that session. */
static void refuse(uint8_t kind, uint32_t id, int head_bytes)
{
	struct nopal_hint hint = { .what = NOPAL_HINT_REFUSED, .head_bytes = (uint32_t)head_bytes };
	struct nopal_writer writer = nopal_writer_over(hint.head, sizeof(hint.head));

	nopal_sim_address(1, RIG_ACCEPTOR_PORT, &hint.to);
	nopal_write(&writer, nopal__first_byte(kind), 1);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
	nopal__endpoint_hint(rig.opener.endpoint, &hint);
}

static uint32_t peer_id(void)
{
	return nopal_session_peer_id(rig.opener.session);
}

TEST(test_who_opens_to_a_closed_port_is_told)
{
	rig_open(&rig, CIRCUIT, &(struct rig_options){ .link = "loss 100%", .stay_closed = true });
	rig_start(&rig);
	for (int i = 0; i < 3 && rig.opener.session; i++) {
		refuse(NOPAL_KIND_CONNECT, nopal_session_id(rig.opener.session), 5);
		assert_int_equal(rig.opener.ended, i == 2);
		rig_pass(&rig, 300 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rig.opener.end, NOPAL_UNREACHABLE);
	assert_string_equal(rig.opener.end_text, "no endpoint listens at 10.0.0.1:2000");
	rig_close(&rig);
}

TEST(test_refusals_end_a_silent_session_alone)
{
	begin(CIRCUIT);
	rig_change_both(&rig, "loss 100%");
	rig_send_bytes(&rig, 100);
	rig_awake(rig.opener.session)->heard_ns = nopal_world_now(rig.world);
	for (int i = 0; i < 14; i++) {
		rig_pass(&rig, 100 * NOPAL_MILLISECOND);
		refuse(NOPAL_KIND_DATA, peer_id(), 5);
		assert_int_equal(rig.opener.ended, 0);
	}
	rig_pass(&rig, 100 * NOPAL_MILLISECOND);
	refuse(NOPAL_KIND_DATA, peer_id(), 5);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_string_equal(rig.opener.end_text, "the peer's port is closed");
	rig_close(&rig);
}

/* Anybody can say so of a peer that is heard, and of sessions that there are not. */
TEST(test_forged_refusals_end_nothing)
{
	begin(CIRCUIT);
	for (int i = 0; i < 100; i++) {
		refuse(NOPAL_KIND_DATA, peer_id(), 5);
		if (i % 10 == 0)
			rig_send_bytes(&rig, 100);
		rig_pass(&rig, 100 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rig.opener.ended, 0);
	rig_change_both(&rig, "loss 100%");
	for (int i = 0; i < 100; i++) {
		refuse(NOPAL_KIND_DATA, peer_id() + 1, 5);
		refuse(NOPAL_KIND_DATA, nopal_session_id(rig.opener.session), 5);
		refuse(NOPAL_KIND_CONNECT, peer_id(), 5);
		for (int head_bytes = 0; head_bytes < 5; head_bytes++)
			refuse(NOPAL_KIND_DATA, peer_id(), head_bytes);
		rig_pass(&rig, 100 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* ------------------------------------------------------------- our own socket */

TEST(test_the_reason_names_our_own_socket)
{
	struct nopal_port *port;

	begin(CIRCUIT);
	port = nopal__endpoint_port(rig.opener.endpoint);
	rig_change_both(&rig, "loss 100%");
	rig_pass(&rig, NOPAL_SECOND);
	port->send_error = EPERM;
	port->send_error_ns = nopal_world_now(rig.world);
	rig_awake(rig.opener.session);
	nopal_batch_start(rig.world);
	nopal_session_break(rig.opener.session, NOPAL_PEER_LOST, "silent");
	nopal_batch_stop(rig.world);
	assert_string_equal(rig.opener.end_text, "silent: our socket 10.0.0.0:1000 could not send: "
						 "Operation not permitted");
	rig_close(&rig);
}

/* The socket's error explains no end that has another reason, nor one after a later arrival from
 * the peer. */
TEST(test_another_reason_stands_alone)
{
	struct nopal_port *port;

	for (int heard = 0; heard < 2; heard++) {
		begin(CIRCUIT);
		port = nopal__endpoint_port(rig.opener.endpoint);
		port->send_error = EPERM;
		port->send_error_ns = nopal_world_now(rig.world) - heard * 3 * NOPAL_SECOND;
		rig_awake(rig.opener.session)->heard_ns = nopal_world_now(rig.world) - NOPAL_SECOND;
		nopal_batch_start(rig.world);
		nopal_session_break(rig.opener.session, heard ? NOPAL_PEER_LOST : NOPAL_RESOURCE,
				    "plain");
		nopal_batch_stop(rig.world);
		assert_string_equal(rig.opener.end_text, "plain");
		rig_close(&rig);
	}
}
