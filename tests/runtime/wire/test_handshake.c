/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "wire/wire.h"
#include "support/rig.h"
#include "support/test.h"

static const char MINIMAL[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";
/* Without the tap, which takes the user of a session for a side of the rig. */
static const char UNTAPPED[] = "transport_driver {}\nfixed_size {}\n";
static const char OTHER[] = "transport_driver {}\nresize {}\nsequenced_messages {}\n"
			    "lossy_fifo {}\n";

static void ended(struct nopal_session *session, enum nopal_end end, const char *text, void *user)
{
	(void)session;
	(void)text;
	*(int *)user = (int)end;
}

static const struct nopal_callbacks quiet = { .ended = ended };

TEST(test_the_answer_replaces_the_introduction)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	assert_false(nopal__composite(rig.opener.session)->peer_known);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_true(nopal__composite(rig.opener.session)->peer_known);
	assert_int_equal(nopal__composite(rig.opener.session)->peer_id,
			 nopal_session_id(rig.acceptor.session));
	rig_close(&rig);
}

TEST(test_a_stranger_gets_no_session)
{
	struct rig rig;
	struct nopal_plan *other = rig_plan(OTHER);
	struct nopal_address peer;
	struct nopal_session *session;
	int end = -1;

	rig_open(&rig, MINIMAL, NULL);
	nopal_sim_address(1, 2000, &peer);
	session = nopal_open(rig.opener.endpoint, other, &peer, &quiet, &end);
	nopal_send(session, "hello hello hello hello", 23, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(end, NOPAL_REFUSED);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->sessions, 0);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->refused, 1);
	rig_close(&rig);
	nopal_plan_unref(other);
}

TEST(test_a_damaged_opening_opens_nothing)
{
	static const char sealed[] = "transport_driver {}\nfixed_size {}\n"
				     "checksum {}\na_tap {}\n";
	struct rig rig;

	rig_open(&rig, sealed, &(struct rig_options){ .link = "fwd: corrupt 100% rev:" });
	for (int i = 0; i < 100; i++)
		rig_send(&rig, "hello hello hello hello");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.opened, 0);
	assert_null(rig.acceptor.session);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->sessions, 0);
	rig_change(&rig, "delay 10ms");
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

/* All first data is lost, and what may leave then is control alone: the peer hears of the session
 * by that. */
TEST(test_control_introduces_too)
{
	static const char asked_first[] =
		"transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
		"rts_cts { initial = 0B }\nchecksum {}\na_tap {}\n";
	struct rig rig;

	rig_open(&rig, asked_first, NULL);
	rig_send(&rig, "x");
	assert_int_equal(nopal_session_counters(rig.opener.session)->transmissions, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(nopal__composite(rig.opener.session)->peer_known);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

/* The byte behind the fingerprint names a kind of the microprotocols', or the datagram is none. */
TEST(test_an_opening_of_no_kind_is_malformed)
{
	struct nopal_address stranger;
	struct rig rig;

	rig_open(&rig, MINIMAL, &(struct rig_options){ .stay_closed = true });
	nopal_sim_address(7, 4711, &stranger);
	for (unsigned kind = 0; kind < 256; kind++) {
		uint8_t bytes[32] = { nopal__first_byte(NOPAL_KIND_CONTROL_OPENING) };

		bytes[4] = 1;
		for (unsigned i = 0; i < 8; i++)
			bytes[5 + i] =
				(uint8_t)(nopal_plan_info(rig.plan)->fingerprint >> (56 - 8 * i));
		bytes[13] = (uint8_t)kind;
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &stranger, bytes, sizeof(bytes));
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->accepted, 0);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->malformed, 256);
	rig_close(&rig);
}

TEST(test_connectionless_needs_permission)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, &(struct rig_options){ .stay_closed = true });
	assert_true(nopal_endpoint_allow(rig.opener.endpoint, rig.plan, 0, &quiet, NULL) < 0);
	rig_close(&rig);
}

TEST(test_each_opener_has_its_own_session)
{
	struct rig rig;
	struct nopal_address peer;
	int ends[3] = { -1, -1, -1 };

	rig_open(&rig, UNTAPPED, NULL);
	nopal_sim_address(1, 2000, &peer);
	for (int i = 0; i < 3; i++)
		nopal_send(nopal_open(rig.opener.endpoint, rig.plan, &peer, &quiet, &ends[i]),
			   "hello", 5, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->sessions, 3);
	nopal_world_free(rig.world);
	nopal_plan_unref(rig.plan);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ends[i], NOPAL_ABORTED);
}

static void counted(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)session;
	(void)message;
	++*(int *)user;
}

TEST(test_sessions_of_two_compositions_stand_side_by_side)
{
	static const struct nopal_callbacks counting = { .received = counted };
	struct rig rig;
	struct nopal_plan *other = rig_plan(OTHER);
	struct nopal_address peer;
	struct nopal_session *second;
	int received = 0;

	rig_open(&rig, MINIMAL, NULL);
	assert_int_equal(nopal_endpoint_allow(rig.acceptor.endpoint, other,
					      NOPAL_ALLOW_CONNECTIONLESS, &counting, &received),
			 0);
	nopal_sim_address(1, RIG_ACCEPTOR_PORT, &peer);
	rig_send(&rig, "before");
	second = nopal_open(rig.opener.endpoint, other, &peer, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		nopal_send(second, "hello", 5, 0);
		rig_send(&rig, "hello");
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->sessions, 2);
	assert_int_equal(received, 3);
	assert_int_equal(rig.acceptor.delivered, 4);
	rig_close(&rig);
	nopal_plan_unref(other);
}

/* No reply is longer than what asked for it. */
static size_t asked, answered;

static void weigh(void *user, int64_t now_ns, const struct nopal_address *from,
		  const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user;
	(void)now_ns;
	(void)from;
	(void)bytes;
	if (to->port == 2000)
		asked += length;
	else
		answered += length;
}

TEST(test_answers_are_smaller_than_openings)
{
	struct rig rig;

	asked = answered = 0;
	rig_open(&rig, MINIMAL, NULL);
	nopal_sim_tap(rig.world, weigh, NULL);
	rig_send(&rig, "");
	rig_run(&rig, NOPAL_SECOND);
	assert_true(answered > 0 && answered < asked);
	rig_close(&rig);
}

/* Openings of a composition that nobody listens for, of each length: the refusal is shorter, or
 * there is none. */
TEST(test_a_refusal_is_shorter_than_its_cause)
{
	uint8_t bytes[128] = { nopal__first_byte(NOPAL_KIND_DATA_OPENING) };
	const struct nopal_endpoint_counters *counters;
	struct nopal_address stranger;
	struct rig rig;

	rig_open(&rig, MINIMAL, &(struct rig_options){ .stay_closed = true });
	counters = nopal_endpoint_counters(rig.acceptor.endpoint);
	nopal_sim_address(0, 4711, &stranger);
	nopal_sim_tap(rig.world, weigh, NULL);
	bytes[4] = 1;
	for (size_t length = 13; length <= sizeof(bytes); length++) {
		answered = 0;
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &stranger, bytes, length);
		rig_run(&rig, NOPAL_SECOND);
		assert_true(answered < length);
	}
	assert_int_equal(counters->refused, sizeof(bytes) - 12);
	assert_in_range(answered, 42, sizeof(bytes) - 1);
	rig_close(&rig);
}

TEST(test_noise_is_counted_and_dropped)
{
	struct rig rig;
	struct nopal_address from;
	uint8_t noise[64];

	rig_open(&rig, MINIMAL, NULL);
	nopal_sim_address(0, 77, &from);
	for (unsigned i = 0; i < 256; i++) {
		memset(noise, (int)i, sizeof(noise));
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &from, noise,
				 i % (sizeof(noise) + 1));
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->sessions, 0);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->datagrams_in, 256);
	rig_close(&rig);
}

/* An accepted session without handshake costs its listener memory for as long as it is spoken to,
 * and no longer. */
TEST(test_silence_ends_what_a_datagram_began)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, 40 * NOPAL_SECOND);
	rig_send(&rig, "y");
	rig_run(&rig, 40 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	rig_run(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* A message that waits then was promised to somebody: that is no good end. */
TEST(test_silence_loses_what_waits)
{
	struct rig rig;

	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\n"
		 "sequenced_segments {}\npositive_ack {} retransmission_timer {}\n"
		 "retransmit { attempts = 1000 }\n",
		 NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	rig_change_both(&rig, "loss 100%");
	assert_int_equal(nopal_send(rig.acceptor.session, "y", 1, 0), 0);
	rig_run(&rig, 50 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.acceptor.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_close(&rig);
}

TEST(test_an_opener_introduces_itself_again)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, 100 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	rig_send(&rig, "y");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_send(&rig, "z");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	rig_close(&rig);
}
