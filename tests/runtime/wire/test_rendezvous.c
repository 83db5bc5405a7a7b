/* SPDX-License-Identifier: MIT */
/* Two that open towards each other: one session, and nobody else's doing. */
#include "wire/reset.h"
#include "support/early_losses.h"
#include "support/meeting.h"
#include "support/own_file.h"
#include "support/test.h"

static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";
static const char NUMBERED[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
			       "sequenced_messages {}\n";
static const char BY_ADDRESS[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
				 "four_tuple {}\n";
static const char BARE[] = "transport_driver {}\nfixed_size {}\n";

static struct nopal_session *one_more(int who)
{
	struct meet_side *side = &meet.side[who];

	return nopal_rendezvous_open(side->endpoint, side->plan, &meet.side[!who].at,
				     &meet_callbacks, side);
}

static struct nopal_session *plain_open(int who)
{
	struct meet_side *side = &meet.side[who];

	side->session = nopal_session_open(side->endpoint, side->plan, &meet.side[!who].at,
					   &meet_callbacks, side);
	return side->session;
}

/* ------------------------------------------------------------------ they meet */

TEST(test_two_become_one)
{
	unsigned openers = 0;

	for (uint64_t seed = 1; seed <= 16; seed++) {
		meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		meeting_open(0);
		meeting_open(1);
		meet_run(NOPAL_SECOND);
		meet_expect_one_session();
		assert_int_equal(meet_shared(0, "initial_local"), meet_shared(1, "initial_peer"));
		openers |= 1u << meet.side[0].opener;
		meet_expect_talk();
		meet_expect_good_end();
		meet_end();
	}
	assert_int_equal(openers, 3); /* each of them, some time */
}

TEST(test_who_has_the_larger_nonce_stays_the_opener)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		bool larger;

		meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		meeting_open(0);
		meeting_open(1);
		larger = meet_circuit(0)->connect.nonce > meet_circuit(1)->connect.nonce;
		meet_run(NOPAL_SECOND);
		meet_expect_one_session();
		assert_int_equal(meet.side[0].opener, larger);
		meet_end();
	}
}

/* Requests get nowhere before the peer's own have opened the way, and a plain opener never gets
 * in. */
TEST(test_it_passes_firewalls)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		meet_firewalls();
		meeting_open(0);
		meet_run(5 * NOPAL_SECOND);
		meeting_open(1);
		meet_run(NOPAL_SECOND);
		meet_expect_one_session();
		/* it asks at once when it hears */
		assert_in_range(meet.side[0].opened_ns, 5 * NOPAL_SECOND,
				5 * NOPAL_SECOND + 100 * NOPAL_MILLISECOND);
		meet_expect_talk();
		meet_end();
	}
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	meet_firewalls();
	assert_int_equal(nopal_endpoint_allow(meet.side[1].endpoint, meet.side[1].plan, 0,
					      &meet_callbacks, &meet.side[1]),
			 0);
	plain_open(0);
	meet_run(60 * NOPAL_SECOND);
	assert_int_equal(meet.side[0].end, NOPAL_UNREACHABLE);
	meet_end();
}

TEST(test_sessions_by_address_meet)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		meet_begin(BY_ADDRESS, BY_ADDRESS, "delay 10ms", seed);
		meeting_open(0);
		meet_run(100 * NOPAL_MILLISECOND);
		meeting_open(1);
		meet_run(NOPAL_SECOND);
		meet_expect_one_session();
		meet_expect_talk();
		meet_expect_good_end();
		meet_end();
	}
}

TEST(test_what_is_sent_early_waits)
{
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 3);
	meeting_open(0);
	meet_say(0, "early");
	meet_run(NOPAL_SECOND);
	meeting_open(1);
	meet_say(1, "early, too");
	meet_run(NOPAL_SECOND);
	assert_string_equal(meet.side[1].text, "early");
	assert_string_equal(meet.side[0].text, "early, too");
	meet_end();
}

/* Once it has met, the same two may meet for another session. */
TEST(test_one_at_a_time)
{
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	meeting_open(0);
	assert_null(one_more(0));
	meeting_open(1);
	meet_run(NOPAL_SECOND);
	meet_expect_one_session();
	for (int i = 0; i < 2; i++)
		assert_non_null(one_more(i));
	meet_run(NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(meet.side[i].opened, 2);
		assert_int_equal(meet_sessions(i), 2);
	}
	meet_end();
}

TEST(test_who_closes_early_may_come_again)
{
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	for (int i = 0; i < 3; i++) {
		meeting_open(0);
		meet_run(NOPAL_SECOND);
		nopal_session_close(meet.side[0].session);
		assert_int_equal(meet.side[0].end, NOPAL_ENDED_WELL);
	}
	meeting_open(0);
	meeting_open(1);
	meet_run(NOPAL_SECOND);
	assert_int_equal(meet.side[0].opened, 1);
	meet_end();
}

/* The roles in a trace, last word of each session. */
TEST_WITH(set_up, tear_down, test_a_trace_says_who_gives_way)
{
	struct nopal_trace_reader *reader;
	struct nopal_trace_record record;
	struct nopal_problems problems;
	uint64_t role[2] = { 0 }, id[2], peer_id[2];
	unsigned records = 0;

	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	assert_int_equal(nopal_trace_start(meet.world, path, NOPAL_TRACE_PACKETS), 0);
	for (int i = 0; i < 2; i++)
		meeting_open(i);
	meet_run(NOPAL_SECOND);
	assert_int_equal(nopal_trace_stop(meet.world), 0);
	for (int i = 0; i < 2; i++) {
		id[i] = nopal_session_id(meet.side[i].session);
		peer_id[!i] = id[i];
	}
	nopal_problems_init(&problems);
	reader = nopal_trace_open(path, &problems);
	assert_non_null(reader);
	while (nopal_trace_next(reader, &record) == 1)
		if (record.what == NOPAL_TRACED_SESSION) {
			role[record.session == id[1]] = record.b;
			records++;
		}
	nopal_trace_close(reader);
	nopal_problems_fini(&problems);
	assert_int_equal(records, 3);
	for (int i = 0; i < 2; i++)
		assert_true(role[i] == (meet.side[i].opener ? 1 : peer_id[i] << 32));
	meet_end();
}

/* A request is that of any opening, but for its first byte. */
TEST(test_a_request_byte_by_byte)
{
	const struct meet_datagram *datagram = &meet.side[0].sent[0];
	const uint8_t *bytes = datagram->bytes;
	struct nopal_reader reader = nopal_reader_over(bytes, 1200);
	struct handshake_connect said;
	struct nopal_reader known;
	uint64_t key[2], check;
	const char *text;

	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	meeting_open(0);
	text = nopal_plan_canonical(meet.side[0].plan);
	assert_int_equal(datagram->length, 1200);
	assert_int_equal(nopal_read(&reader, 1), 0x3e);
	key[1] = nopal_read(&reader, NOPAL_ID_BYTES);
	assert_int_equal(key[1], nopal_session_id(meet.side[0].session));
	key[0] = nopal_read(&reader, NOPAL_FINGERPRINT_BYTES);
	assert_true(key[0] == nopal_plan_fingerprint(meet.side[0].plan));
	check = nopal_read(&reader, NOPAL_CHECK_BYTES);
	assert_true(check == nopal__siphash(key, reader.at, nopal_read_left(&reader)));
	assert_memory_equal(reader.at, text, strlen(text) + 1);
	assert_true(handshake_read_connect(reader, NOPAL_RESET_PROOF_BYTES, &said, &known));
	assert_true(said.nonce == meet_circuit(0)->connect.nonce);
	assert_int_equal(said.initial, meet_shared(0, "initial_local"));
	assert_int_equal(said.cookie_given, 0);
	meet_end();
}

/* ------------------------------------------------------------------ they do not */

TEST(test_nobody_there_is_bounded)
{
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	meeting_open(0);
	meet_run(60 * NOPAL_SECOND);
	assert_int_equal(meet.side[0].ended, 1);
	assert_int_equal(meet.side[0].end, NOPAL_UNREACHABLE);
	assert_non_null(strstr(meet.side[0].end_text, "did not open towards"));
	assert_int_equal(meet.side[0].ended_ns, 30 * NOPAL_SECOND);
	/* who has not called yet keeps nothing, and says nothing */
	assert_int_equal(meet.side[1].out, 0);
	assert_true(nopal_endpoint_counters(meet.side[1].endpoint)->requests > 10);
	meet_end();
}

/* A session whose peer answered in time has as long as any opener. */
TEST(test_the_last_moment_is_not_too_late)
{
	unsigned openers = 0;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		meet_begin(CIRCUIT, CIRCUIT, "delay 60ms", seed);
		meeting_open(0);
		meet_run(29700 * NOPAL_MILLISECOND);
		meeting_open(1);
		meet_run(150 * NOPAL_MILLISECOND);
		meet_link(0, "loss 100%");
		meet_run(450 * NOPAL_MILLISECOND);
		meet_link(0, "delay 60ms");
		meet_run(2 * NOPAL_SECOND);
		meet_expect_one_session();
		openers |= 1u << meet.side[0].opener;
		meet_end();
	}
	assert_int_equal(openers, 3);
}

TEST(test_what_cannot_meet_is_refused)
{
	meet_begin(BARE, CIRCUIT, "delay 10ms", 1);
	assert_null(one_more(0));
	meet_end();
}

/* A listener is no peer of who meets, nor who meets a listener. */
TEST(test_listeners_take_no_notice)
{
	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	assert_int_equal(nopal_endpoint_allow(meet.side[1].endpoint, meet.side[1].plan, 0,
					      &meet_callbacks, &meet.side[1]),
			 0);
	meeting_open(0);
	meet_run(NOPAL_SECOND);
	assert_int_equal(meet.side[1].out, 0);
	assert_int_equal(meet_sessions(1), 0);
	meeting_open(1);
	meet_run(NOPAL_SECOND);
	meet_expect_one_session();
	meet_end();

	meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	meeting_open(0);
	plain_open(1);
	meet_run(NOPAL_SECOND);
	assert_int_equal(meet.side[0].opened, 0);
	assert_int_equal(meet.side[0].ended, 0);
	assert_int_equal(meet.side[1].end, NOPAL_REFUSED);
	meet_end();
}

static void expect_difference(int who)
{
	assert_int_equal(meet.side[who].ended, 1);
	assert_int_equal(meet.side[who].end, NOPAL_REFUSED);
	assert_non_null(strstr(meet.side[who].end_text, "sequenced_messages"));
	assert_non_null(strstr(meet.side[who].end_text, "another composition"));
}

TEST(test_a_mismatch_is_readable_at_both)
{
	for (unsigned mask = 0; mask < 64; mask++) {
		meet_begin(CIRCUIT, NUMBERED, early_losses(mask & 7, mask >> 3), 1);
		meeting_open(0);
		meet_run(40 * NOPAL_MILLISECOND);
		meeting_open(1);
		meet_run(40 * NOPAL_SECOND);
		for (int i = 0; i < 2; i++) {
			expect_difference(i);
			assert_int_equal(meet.side[i].opened, 0);
			/* where nothing is lost, both know soon */
			assert_true(mask || meet.side[i].ended_ns < NOPAL_SECOND);
		}
		assert_non_null(strchr(meet.side[0].end_text, '-')); /* only there */
		assert_non_null(strchr(meet.side[1].end_text, '+')); /* only here */
		meet_end();
	}
}

TEST(test_a_mismatch_that_nobody_confirms_is_known_at_the_end)
{
	meet_begin(CIRCUIT, NUMBERED, "fwd: delay 10ms rev: loss 100%", 1);
	meeting_open(0);
	meeting_open(1);
	meet_run(40 * NOPAL_SECOND);
	assert_int_equal(meet.side[0].end, NOPAL_UNREACHABLE);
	expect_difference(1);
	meet_end();
}

TEST(test_an_endpoint_closes_while_it_waits)
{
	meet_begin(CIRCUIT, NUMBERED, "delay 10ms", 1);
	meeting_open(0);
	meeting_open(1);
	meet_run(15 * NOPAL_MILLISECOND); /* a difference is known */
	meet_end();
}
