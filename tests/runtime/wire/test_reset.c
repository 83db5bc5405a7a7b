/* SPDX-License-Identifier: MIT */
/* An endpoint that knows nothing of a session says so, and nobody else can. */
#include <errno.h>

#include "wire/wire.h"
#include "aead_crypto.h"
#include "support/restart.h"
#include "support/test.h"

#define CIRCUIT                                                                                    \
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"                                 \
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nretransmit {}\n"

enum { RESET = 1 + NOPAL_ID_BYTES + 16, BURST = 64 };

static struct rig rig;

/* Resets that entered the network, and the last one. */
static struct {
	uint32_t count, others;
	struct nopal_address from, to;
	uint8_t bytes[RESET];
	int64_t now_ns;
} seen;

static void note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	uint8_t kind;

	(void)user;
	if (!nopal__first_byte_parse(bytes[0], &kind) || kind != NOPAL_KIND_RESET) {
		seen.others++;
		return;
	}
	assert_int_equal(length, RESET);
	memcpy(seen.bytes, bytes, length);
	seen.count++;
	seen.from = *from;
	seen.to = *to;
	seen.now_ns = now_ns;
}

static void watch(void)
{
	memset(&seen, 0, sizeof(seen));
	nopal_sim_tap(rig.world, note, NULL);
}

static void begin(const char *config)
{
	restart_open(&rig, config, "delay 10ms");
	watch();
}

/* A session that is to be told: it has lost its peer, and sends. */
static void begin_reset(const char *config)
{
	begin(config);
	restart_kill(&rig, &rig.acceptor, "delay 10ms");
	restart_start(&rig, &rig.acceptor, restart_key);
	watch();
	rig_send_bytes(&rig, 100);
}

static void give(struct nopal_endpoint *endpoint, const struct nopal_address *from,
		 const uint8_t *bytes, size_t length)
{
	nopal_sim_inject(rig.world, endpoint, from, bytes, length);
	rig_run(&rig, NOPAL_MICROSECOND);
}

/* ------------------------------------------------------------- what it is for */

static void restarts(const char *config)
{
	int64_t begun_ns;

	begin_reset(config);
	begun_ns = nopal_world_now(rig.world);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_string_equal(rig.opener.end_text, NOPAL_TEXT_RESTARTED);
	assert_in_range(seen.now_ns - begun_ns, 0, 10 * NOPAL_MILLISECOND);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.others, 1);
	rig_close(&rig);
}

TEST(test_a_listener_that_was_restarted_resets)
{
	restarts(CIRCUIT);
	restarts(CIRCUIT "checksum {}\n");
	if (nopal__aead_found())
		restarts(CIRCUIT "aead {}\n");
}

TEST(test_so_does_an_opener)
{
	begin(CIRCUIT);
	restart_kill(&rig, &rig.opener, "delay 10ms");
	restart_start(&rig, &rig.opener, restart_key);
	nopal_send(rig.acceptor.session, seen.bytes, sizeof(seen.bytes), 0);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_one_at_rest_is_reset_too)
{
	begin(CIRCUIT);
	rig_pass(&rig, 5 * NOPAL_SECOND);
	assert_null(nopal__composite(rig.opener.session)->awake);
	restart_kill(&rig, &rig.acceptor, "delay 10ms");
	restart_start(&rig, &rig.acceptor, restart_key);
	rig_send_bytes(&rig, 100);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

/* The session has the peer's close: all that is missing is an acknowledgement. */
TEST(test_one_that_closes_ends_well)
{
	struct nopal_composite *bottom;

	begin(CIRCUIT);
	nopal_session_close(rig.acceptor.session);
	rig_run(&rig, 12 * NOPAL_MILLISECOND);
	bottom = nopal__bottom(nopal__composite(rig.opener.session));
	assert_true(bottom->peer_closed);
	nopal_batch_start(rig.world);
	nopal__peer_restarted(bottom);
	nopal_batch_stop(rig.world);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_another_key_resets_nothing)
{
	begin(CIRCUIT);
	restart_kill(&rig, &rig.acceptor, "delay 10ms");
	restart_start(&rig, &rig.acceptor, NULL);
	rig_send_bytes(&rig, 100);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(seen.count, 1);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

TEST(test_a_key_comes_before_sessions)
{
	begin(CIRCUIT);
	assert_int_equal(nopal_endpoint_set_reset_key(rig.acceptor.endpoint, restart_key), -EBUSY);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- who says little */

/* A datagram of an established kind, for a session of which nobody has heard. */
static void data_for(uint32_t id, size_t length, uint16_t port)
{
	uint8_t bytes[1500] = { nopal__first_byte(NOPAL_KIND_DATA) };
	struct nopal_writer writer = nopal_writer_over(bytes + 1, NOPAL_ID_BYTES);
	struct nopal_address from;

	nopal_sim_address(0, port, &from);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
	give(rig.acceptor.endpoint, &from, bytes, length);
}

TEST(test_it_is_shorter_than_its_cause)
{
	begin(CIRCUIT);
	for (size_t length = 1; length <= RESET; length++)
		data_for(12345, length, 7);
	assert_int_equal(seen.count, 0);
	data_for(12345, RESET + 1, 7);
	assert_int_equal(seen.count, 1);
	rig_close(&rig);
}

/* A datagram of no session is answered by none: a reset least of all. */
TEST(test_it_answers_sessions_alone)
{
	static const uint8_t others[] = { NOPAL_KIND_REPLY,	NOPAL_KIND_ABORT,
					  NOPAL_KIND_MULTICAST, NOPAL_KIND_RESET,
					  NOPAL_KIND_CONNECT,	NOPAL_KIND_RENDEZVOUS,
					  NOPAL_KIND_ASK };
	uint8_t bytes[100] = { 0, 1, 2, 3, 4 };
	struct nopal_address from;

	begin(CIRCUIT);
	nopal_sim_address(0, 7, &from);
	for (size_t i = 0; i < sizeof(others); i++)
		for (size_t length = 1; length <= sizeof(bytes); length++) {
			bytes[0] = nopal__first_byte(others[i]);
			give(rig.acceptor.endpoint, &from, bytes, length);
		}
	data_for(0, 100, 7);
	assert_int_equal(seen.count, 0);
	rig_close(&rig);
}

/* Not even where it comes from elsewhere: its peer would be told a lie. */
TEST(test_a_session_that_lives_is_not_reset)
{
	begin(CIRCUIT);
	data_for(nopal_session_id(rig.acceptor.session), 100, 7);
	assert_int_equal(seen.count, 0);
	rig_close(&rig);
}

TEST(test_a_flood_gets_few)
{
	begin(CIRCUIT);
	for (uint32_t i = 0; i < 1000; i++)
		data_for(1000 + i, 100, (uint16_t)(1 + i));
	assert_in_range(seen.count, BURST, BURST + 2);
	seen.count = 0;
	rig_pass(&rig, 10 * NOPAL_MILLISECOND);
	for (uint32_t i = 0; i < 1000; i++)
		data_for(1000 + i, 100, (uint16_t)(1 + i));
	assert_in_range(seen.count, 9, 13);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->resets,
			 BURST + seen.count);
	rig_close(&rig);
}

/* ------------------------------------------------------------------ who forges */

static void begin_forgery(void)
{
	begin_reset(CIRCUIT);
	rig_change(&rig, "loss 100%"); /* of what is sent from now on */
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 11 * NOPAL_MILLISECOND);
	assert_int_equal(seen.count, 1);
	assert_int_equal(rig.opener.ended, 0);
}

TEST(test_one_bit_makes_it_nothing)
{
	uint8_t bytes[RESET];

	begin_forgery();
	memcpy(bytes, seen.bytes, sizeof(bytes));
	for (size_t at = 1; at < sizeof(bytes); at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes[at] ^= (uint8_t)(1u << bit);
			give(rig.opener.endpoint, &seen.from, bytes, sizeof(bytes));
			bytes[at] ^= (uint8_t)(1u << bit);
		}
	assert_int_equal(rig.opener.ended, 0);
	give(rig.opener.endpoint, &seen.from, bytes, sizeof(bytes));
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_another_length_makes_it_nothing)
{
	uint8_t bytes[RESET + 10] = { 0 };

	begin_forgery();
	memcpy(bytes, seen.bytes, RESET);
	for (size_t length = 1; length <= sizeof(bytes); length++)
		if (length != RESET)
			give(rig.opener.endpoint, &seen.from, bytes, length);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* From another address it is another's; back at who made it, it is nobody's. */
TEST(test_it_is_good_from_one_address_at_another)
{
	struct nopal_address other;

	begin_forgery();
	other = seen.from;
	other.port++;
	give(rig.opener.endpoint, &other, seen.bytes, RESET);
	nopal_sim_address(2, seen.from.port, &other);
	give(rig.opener.endpoint, &other, seen.bytes, RESET);
	assert_int_equal(rig.opener.ended, 0);
	give(rig.acceptor.endpoint, &seen.to, seen.bytes, RESET);
	assert_int_equal(seen.count, 1);
	rig_close(&rig);
}

/* The token is of an address: who asks from his own gets one that is good there. */
TEST(test_a_stranger_gets_no_token_of_others)
{
	struct nopal_address peer;

	begin(CIRCUIT);
	restart_kill(&rig, &rig.acceptor, "delay 10ms");
	restart_start(&rig, &rig.acceptor, restart_key);
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	data_for(nopal_session_peer_id(rig.opener.session), 100, 7);
	assert_int_equal(seen.count, 1);
	give(rig.opener.endpoint, &peer, seen.bytes, RESET);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* An observer of the whole opening knows the proof of a token, and not the token. */
TEST(test_what_is_told_is_not_the_token)
{
	uint64_t proof[2];
	uint8_t bytes[RESET];

	begin_forgery();
	memcpy(proof, rig_awake(rig.opener.session)->reset_proof, sizeof(proof));
	memcpy(bytes, seen.bytes, sizeof(bytes));
	memcpy(bytes + 1 + NOPAL_ID_BYTES, proof, sizeof(proof));
	give(rig.opener.endpoint, &seen.from, bytes, sizeof(bytes));
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}
