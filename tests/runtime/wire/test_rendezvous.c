/* SPDX-License-Identifier: MIT */
/* Two that open towards each other: one session, and nobody else's doing. */
#include "wire/wire.h"
#include "support/early_losses.h"
#include "support/rendezvous.h"
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
	struct rendezvous_side *side = &rendezvous.side[who];

	return nopal_session_open(&(struct nopal_open){ .endpoint = side->endpoint,
							.plan = side->plan,
							.peer = &rendezvous.side[!who].at,
							.callbacks = &rendezvous_callbacks,
							.user = side,
							.rendezvous = true });
}

static struct nopal_session *plain_open(int who)
{
	struct rendezvous_side *side = &rendezvous.side[who];

	side->session = nopal_open(side->endpoint, side->plan, &rendezvous.side[!who].at,
				   &rendezvous_callbacks, side);
	return side->session;
}

/* ------------------------------------------------------------------ they meet */

TEST(test_two_become_one)
{
	unsigned openers = 0;

	for (uint64_t seed = 1; seed <= 16; seed++) {
		rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		rendezvous_open(0);
		rendezvous_open(1);
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_one_session();
		assert_int_equal(rendezvous_shared(0, "initial_local"),
				 rendezvous_shared(1, "initial_peer"));
		openers |= 1u << rendezvous.side[0].opener;
		rendezvous_expect_talk();
		rendezvous_expect_good_end();
		rendezvous_end();
	}
	assert_int_equal(openers, 3); /* each of them, some time */
}

TEST(test_who_has_the_larger_nonce_stays_the_opener)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		bool larger;

		rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		rendezvous_open(0);
		rendezvous_open(1);
		larger =
			rendezvous_circuit(0)->connect.nonce > rendezvous_circuit(1)->connect.nonce;
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_one_session();
		assert_int_equal(rendezvous.side[0].opener, larger);
		rendezvous_end();
	}
}

/* Requests get nowhere before the peer's own have opened the way, and a plain opener never gets
 * in. */
TEST(test_it_passes_firewalls)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		rendezvous_firewalls();
		rendezvous_open(0);
		rendezvous_run(5 * NOPAL_SECOND);
		rendezvous_open(1);
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_one_session();
		/* it asks at once when it hears */
		assert_in_range(rendezvous.side[0].opened_ns, 5 * NOPAL_SECOND,
				5 * NOPAL_SECOND + 100 * NOPAL_MILLISECOND);
		rendezvous_expect_talk();
		rendezvous_end();
	}
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_firewalls();
	assert_int_equal(nopal_endpoint_allow(rendezvous.side[1].endpoint, rendezvous.side[1].plan,
					      0, &rendezvous_callbacks, &rendezvous.side[1]),
			 0);
	plain_open(0);
	rendezvous_run(60 * NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].end, NOPAL_UNREACHABLE);
	rendezvous_end();
}

TEST(test_sessions_by_address_rendezvous)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		rendezvous_begin(BY_ADDRESS, BY_ADDRESS, "delay 10ms", seed);
		rendezvous_open(0);
		rendezvous_run(100 * NOPAL_MILLISECOND);
		rendezvous_open(1);
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_one_session();
		rendezvous_expect_talk();
		rendezvous_expect_good_end();
		rendezvous_end();
	}
}

TEST(test_what_is_sent_early_waits)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 3);
	rendezvous_open(0);
	rendezvous_say(0, "early");
	rendezvous_run(NOPAL_SECOND);
	rendezvous_open(1);
	rendezvous_say(1, "early, too");
	rendezvous_run(NOPAL_SECOND);
	assert_string_equal(rendezvous.side[1].text, "early");
	assert_string_equal(rendezvous.side[0].text, "early, too");
	rendezvous_end();
}

/* Once it has met, the same two may meet for another session. */
TEST(test_one_at_a_time)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(0);
	assert_null(one_more(0));
	rendezvous_open(1);
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	for (int i = 0; i < 2; i++)
		assert_non_null(one_more(i));
	rendezvous_run(NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].opened, 2);
		assert_int_equal(rendezvous_sessions(i), 2);
	}
	rendezvous_end();
}

TEST(test_who_closes_early_may_come_again)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	for (int i = 0; i < 3; i++) {
		rendezvous_open(0);
		rendezvous_run(NOPAL_SECOND);
		nopal_session_close(rendezvous.side[0].session);
		assert_int_equal(rendezvous.side[0].end, NOPAL_ENDED_WELL);
	}
	rendezvous_open(0);
	rendezvous_open(1);
	rendezvous_run(NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].opened, 1);
	rendezvous_end();
}

/* The roles in a trace, last word of each session. */
TEST_WITH(set_up, tear_down, test_a_trace_says_who_gives_way)
{
	struct nopal_trace_reader *reader;
	struct nopal_trace_record record;
	struct nopal_problems problems = { 0 };
	uint64_t role[2] = { 0 }, id[2], peer_id[2];
	unsigned records = 0;

	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	assert_int_equal(nopal_trace_start(rendezvous.world, path, NOPAL_TRACE_PACKETS), 0);
	for (int i = 0; i < 2; i++)
		rendezvous_open(i);
	rendezvous_run(NOPAL_SECOND);
	assert_int_equal(nopal_trace_stop(rendezvous.world), 0);
	for (int i = 0; i < 2; i++) {
		id[i] = nopal_session_id(rendezvous.side[i].session);
		peer_id[!i] = id[i];
	}
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
		assert_true(role[i] == (rendezvous.side[i].opener ? 1 : peer_id[i] << 32));
	rendezvous_end();
}

/* A request is that of any opening, but for its first byte. */
TEST(test_a_request_byte_by_byte)
{
	const struct rendezvous_datagram *datagram = &rendezvous.side[0].sent[0];
	const uint8_t *bytes = datagram->bytes;
	struct nopal_reader reader = nopal_reader_over(bytes, 1200);
	struct handshake_connect said;
	struct nopal_reader known;
	uint64_t key[2], check;
	const char *text;

	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(0);
	text = nopal_plan_info(rendezvous.side[0].plan)->canonical;
	assert_int_equal(datagram->length, 1200);
	assert_int_equal(nopal_read(&reader, 1), 0x3e);
	key[1] = nopal_read(&reader, NOPAL_ID_BYTES);
	assert_int_equal(key[1], nopal_session_id(rendezvous.side[0].session));
	key[0] = nopal_read(&reader, NOPAL_FINGERPRINT_BYTES);
	assert_true(key[0] == nopal_plan_info(rendezvous.side[0].plan)->fingerprint);
	check = nopal_read(&reader, NOPAL_CHECK_BYTES);
	assert_true(check == nopal__siphash(key, reader.at, nopal_read_left(&reader)));
	assert_memory_equal(reader.at, text, strlen(text) + 1);
	assert_true(handshake_read_connect(reader, NOPAL_RESET_PROOF_BYTES, &said, &known));
	assert_true(said.nonce == rendezvous_circuit(0)->connect.nonce);
	assert_int_equal(said.initial, rendezvous_shared(0, "initial_local"));
	assert_int_equal(said.cookie_given, 0);
	rendezvous_end();
}

/* ------------------------------------------------------------------ they do not */

TEST(test_nobody_there_is_bounded)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(0);
	rendezvous_run(60 * NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].ended, 1);
	assert_int_equal(rendezvous.side[0].end, NOPAL_UNREACHABLE);
	assert_non_null(strstr(rendezvous.side[0].end_text, "did not open towards"));
	assert_int_equal(rendezvous.side[0].ended_ns, 30 * NOPAL_SECOND);
	/* who has not called yet keeps nothing, and says nothing */
	assert_int_equal(rendezvous.side[1].out, 0);
	assert_true(nopal_endpoint_counters(rendezvous.side[1].endpoint)->requests > 10);
	rendezvous_end();
}

/* A session whose peer answered in time has as long as any opener. */
TEST(test_the_last_moment_is_not_too_late)
{
	unsigned openers = 0;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		rendezvous_begin(CIRCUIT, CIRCUIT, "delay 60ms", seed);
		rendezvous_open(0);
		rendezvous_run(29700 * NOPAL_MILLISECOND);
		rendezvous_open(1);
		rendezvous_run(150 * NOPAL_MILLISECOND);
		rendezvous_link(0, "loss 100%");
		rendezvous_run(450 * NOPAL_MILLISECOND);
		rendezvous_link(0, "delay 60ms");
		rendezvous_run(2 * NOPAL_SECOND);
		rendezvous_expect_one_session();
		openers |= 1u << rendezvous.side[0].opener;
		rendezvous_end();
	}
	assert_int_equal(openers, 3);
}

TEST(test_what_cannot_rendezvous_is_refused)
{
	rendezvous_begin(BARE, CIRCUIT, "delay 10ms", 1);
	assert_null(one_more(0));
	rendezvous_end();
}

/* A listener is no peer of who meets, nor who meets a listener. */
TEST(test_listeners_take_no_notice)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	assert_int_equal(nopal_endpoint_allow(rendezvous.side[1].endpoint, rendezvous.side[1].plan,
					      0, &rendezvous_callbacks, &rendezvous.side[1]),
			 0);
	rendezvous_open(0);
	rendezvous_run(NOPAL_SECOND);
	assert_int_equal(rendezvous.side[1].out, 0);
	assert_int_equal(rendezvous_sessions(1), 0);
	rendezvous_open(1);
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	rendezvous_end();

	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(0);
	plain_open(1);
	rendezvous_run(NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].opened, 0);
	assert_int_equal(rendezvous.side[0].ended, 0);
	assert_int_equal(rendezvous.side[1].end, NOPAL_REFUSED);
	rendezvous_end();
}

static void expect_difference(int who)
{
	assert_int_equal(rendezvous.side[who].ended, 1);
	assert_int_equal(rendezvous.side[who].end, NOPAL_REFUSED);
	assert_non_null(strstr(rendezvous.side[who].end_text, "sequenced_messages"));
	assert_non_null(strstr(rendezvous.side[who].end_text, "another composition"));
}

TEST(test_a_mismatch_is_readable_at_both)
{
	for (unsigned mask = 0; mask < 64; mask++) {
		rendezvous_begin(CIRCUIT, NUMBERED, early_losses(mask & 7, mask >> 3), 1);
		rendezvous_open(0);
		rendezvous_run(40 * NOPAL_MILLISECOND);
		rendezvous_open(1);
		rendezvous_run(40 * NOPAL_SECOND);
		for (int i = 0; i < 2; i++) {
			expect_difference(i);
			assert_int_equal(rendezvous.side[i].opened, 0);
			/* where nothing is lost, both know soon */
			assert_true(mask || rendezvous.side[i].ended_ns < NOPAL_SECOND);
		}
		assert_non_null(strchr(rendezvous.side[0].end_text, '-')); /* only there */
		assert_non_null(strchr(rendezvous.side[1].end_text, '+')); /* only here */
		rendezvous_end();
	}
}

TEST(test_a_mismatch_that_nobody_confirms_is_known_at_the_end)
{
	rendezvous_begin(CIRCUIT, NUMBERED, "fwd: delay 10ms rev: loss 100%", 1);
	rendezvous_open(0);
	rendezvous_open(1);
	rendezvous_run(40 * NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].end, NOPAL_UNREACHABLE);
	expect_difference(1);
	rendezvous_end();
}

TEST(test_an_endpoint_closes_while_it_waits)
{
	rendezvous_begin(CIRCUIT, NUMBERED, "delay 10ms", 1);
	rendezvous_open(0);
	rendezvous_open(1);
	rendezvous_run(15 * NOPAL_MILLISECOND); /* a difference is known */
	rendezvous_end();
}
