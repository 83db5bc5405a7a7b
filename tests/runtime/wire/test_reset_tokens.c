/* SPDX-License-Identifier: MIT */
/* Tokens and proofs, byte for byte: what outlives a restart is a format, too; and how many resets
 * there are at most. */
#include <errno.h>
#include <string.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/rig.h"
#include "support/test.h"

enum {
	RESET = 1 + NOPAL_ID_BYTES + NOPAL_RESET_TOKEN_BYTES,
	BURST = 64,
	ID = 0x01020304,
	OF_TOKEN = 0, /* what is hashed */
	OF_KEY = 1,
};

static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";
static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";

static struct rig rig;
static struct nopal_endpoint *endpoint; /* the acceptor's */
static uint8_t said[64];
static size_t said_length;

static void listen(void *user, int64_t now_ns, const struct nopal_address *from,
		   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from, (void)to;
	if (length > sizeof(said))
		return;
	memcpy(said, bytes, length);
	said_length = length;
}

static void begin(bool closed)
{
	rig_open(&rig, CIRCUIT, &(struct rig_options){ .stay_closed = closed });
	endpoint = rig.acceptor.endpoint;
	said_length = 0;
	nopal_sim_tap(rig.world, listen, NULL);
}

static int teardown(void **state)
{
	(void)state;
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
	return 0;
}

EACH_TEST(NULL, teardown);

static void token_of(const struct nopal_endpoint *owner, const struct nopal_address *peer,
		     uint32_t id, uint64_t token[2])
{
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct nopal_address local;

	nopal_endpoint_local(owner, &local);
	nopal_write(&writer, OF_TOKEN, 1);
	nopal_write(&writer, id, 4);
	nopal_write_bytes(&writer, peer->ip, 16);
	nopal_write(&writer, peer->port, 2);
	nopal_write(&writer, local.port, 2);
	for (unsigned i = 0; i < 2; i++) {
		nopal_write(&writer, i, 1);
		token[i] = nopal__siphash(owner->reset_key, bytes, nopal_written(&writer));
	}
}

static struct nopal_address stranger(void)
{
	struct nopal_address address;

	nopal_sim_address(0, 4711, &address);
	return address;
}

/* A datagram of a session that nobody knows; returns whether it was reset. */
static bool ask(uint8_t kind, uint32_t id, uint32_t length)
{
	uint64_t before = endpoint->port.counters.resets;
	struct nopal_address from = stranger();
	uint8_t bytes[64] = { nopal__first_byte(kind) };

	for (int i = 0; i < 4; i++)
		bytes[1 + i] = (uint8_t)(id >> (24 - 8 * i));
	nopal__stray_receive(endpoint, &from, kind, bytes, length);
	return endpoint->port.counters.resets != before;
}

TEST(test_a_key_is_drawn_of_the_secret)
{
	begin(true);
	for (uint8_t i = 0; i < 2; i++) {
		const uint8_t bytes[] = { OF_KEY, i };

		assert_true(endpoint->reset_key[i] == nopal__siphash(endpoint->secret, bytes, 2));
	}
	assert_int_equal(endpoint->reset_ns, 0);
	assert_int_equal(endpoint->resets_left, BURST);
}

TEST(test_a_reset_has_the_token_of_its_manual)
{
	struct nopal_address from = stranger();
	struct nopal_reader reader;
	uint64_t token[2];

	begin(true);
	token_of(endpoint, &from, ID, token);
	assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(said_length, RESET);
	reader = nopal_reader_over(said, said_length);
	assert_int_equal(nopal_read(&reader, 1), nopal__first_byte(NOPAL_KIND_RESET));
	assert_int_equal(nopal_read(&reader, 4), ID);
	for (int i = 0; i < 2; i++)
		assert_true(nopal_read(&reader, 8) == token[i]);
}

TEST(test_few_datagrams_are_answered)
{
	static const uint8_t silent[] = { NOPAL_KIND_REPLY, NOPAL_KIND_ABORT,
					  NOPAL_KIND_MULTICAST };

	begin(true);
	assert_false(ask(NOPAL_KIND_DATA, ID, RESET));
	assert_false(ask(NOPAL_KIND_DATA, 0, RESET + 1));
	for (unsigned i = 0; i < sizeof(silent); i++)
		assert_false(ask(silent[i], ID, RESET + 1));
	endpoint->alias_of = endpoint;
	assert_false(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	endpoint->alias_of = NULL;
	endpoint->demux = NOPAL_DEMUX_ADDRESS;
	assert_false(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	endpoint->demux = NOPAL_DEMUX_ID;
	assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
}

/* So many at once, and then one a millisecond, but never more at once. */
TEST(test_resets_are_so_many_a_second)
{
	static const struct {
		int64_t pass_ns;
		unsigned more;
	} steps[] = {
		{ 0, 0 },
		{ NOPAL_MILLISECOND - 1, 0 },
		{ 1, 1 },
		{ 10 * NOPAL_MILLISECOND, 10 },
		{ (BURST - 1) * NOPAL_MILLISECOND, BURST - 1 },
		{ BURST * NOPAL_MILLISECOND, BURST },
		{ (BURST + 9) * NOPAL_MILLISECOND, BURST },
		{ NOPAL_SECOND, BURST },
	};

	begin(true);
	for (unsigned i = 0; i < BURST; i++)
		assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		rig.world->now_ns += steps[i].pass_ns;
		for (unsigned j = 0; j < steps[i].more; j++)
			assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
		assert_false(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	}
	/* what was not used counts */
	rig.world->now_ns += 5 * NOPAL_MILLISECOND;
	assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	rig.world->now_ns += 2 * NOPAL_MILLISECOND;
	for (unsigned i = 0; i < 6; i++)
		assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	assert_false(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	/* to the most and no further */
	rig.world->now_ns += 10 * NOPAL_MILLISECOND;
	assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	rig.world->now_ns += (BURST - 4) * NOPAL_MILLISECOND;
	for (unsigned i = 0; i < BURST; i++)
		assert_true(ask(NOPAL_KIND_DATA, ID, RESET + 1));
	assert_false(ask(NOPAL_KIND_DATA, ID, RESET + 1));
}

/* A datagram that is no reset, or of nobody here, is counted, and ends nothing. */
TEST(test_a_reset_is_believed_whole_and_from_the_peer)
{
	const struct nopal_endpoint_counters *counters;
	uint8_t bytes[RESET + 1];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct nopal_address elsewhere = stranger();
	struct nopal_composite *composite;
	uint64_t token[2];

	begin(false);
	composite = nopal__composite(rig.opener.session);
	counters = &composite->endpoint->port.counters;
	token_of(endpoint, &nopal__composite(rig.acceptor.session)->peer, composite->peer_id,
		 token);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_RESET), 1);
	nopal_write(&writer, composite->peer_id, 4);
	for (int i = 0; i < 2; i++)
		nopal_write(&writer, token[i], 8);
	nopal__reset_receive(composite->endpoint, &composite->peer, bytes, RESET - 1);
	nopal__reset_receive(composite->endpoint, &composite->peer, bytes, RESET + 1);
	assert_int_equal(counters->malformed, 2);
	nopal__reset_receive(composite->endpoint, &elsewhere, bytes, RESET);
	bytes[RESET - 1] ^= 1;
	nopal__reset_receive(composite->endpoint, &composite->peer, bytes, RESET);
	assert_int_equal(counters->unknown_session, 2);
	assert_int_equal(rig.opener.ended, 0);
	bytes[RESET - 1] ^= 1;
	nopal__reset_receive(composite->endpoint, &composite->peer, bytes, RESET);
	nopal__turn_end(rig.world, true);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_int_equal(counters->unknown_session, 2);
}

/* ------------------------------------------------------------------- proofs */

static void proof_of(const struct nopal_session *session, uint64_t proof[2])
{
	const struct nopal_composite *composite = nopal__composite(session);
	uint64_t token[2];

	token_of(composite->endpoint, &composite->peer, composite->local_id, token);
	for (uint8_t i = 0; i < 2; i++) {
		const uint8_t bytes[] = { OF_TOKEN, i };

		proof[i] = nopal__siphash(token, bytes, 2);
	}
}

TEST(test_each_peer_has_the_others_proof)
{
	struct nopal_session *here, *there;
	uint64_t proof[2], challenge = 5, answer;

	begin(false);
	here = rig.opener.session;
	there = rig.acceptor.session;
	proof_of(here, proof);
	assert_memory_equal(rig_awake(there)->reset_proof, proof, sizeof(proof));
	answer = nopal_session_proof(here, challenge);
	assert_true(answer == nopal__siphash(proof, &challenge, sizeof(challenge)));
	assert_true(nopal_session_proves(there, challenge, answer));
	for (int bit = 0; bit < 64; bit++)
		assert_false(nopal_session_proves(there, challenge, answer ^ UINT64_C(1) << bit));
	assert_false(nopal_session_proves(there, challenge + 1, answer));
	assert_false(nopal_session_proves(here, challenge, answer));
}

TEST(test_a_proof_is_read_whole_and_once)
{
	uint8_t bytes[16] = { [7] = 1, [15] = 2 };
	struct nopal_writer writer;
	struct nopal_reader reader;
	struct nopal_composite *composite;
	uint64_t was[2], proof[2];

	begin(false);
	composite = nopal__composite(rig.opener.session);
	memcpy(was, rig_awake(&composite->session)->reset_proof, sizeof(was));
	reader = nopal_reader_over(bytes, 16);
	assert_true(nopal__proof_read(composite, &reader));
	assert_memory_equal(composite->awake->reset_proof, was, sizeof(was));
	composite->life = NOPAL_LIFE_OPENING;
	reader = nopal_reader_over(bytes, 15);
	assert_false(nopal__proof_read(composite, &reader));
	assert_memory_equal(composite->awake->reset_proof, was, sizeof(was));
	reader = nopal_reader_over(bytes, 16);
	assert_true(nopal__proof_read(composite, &reader));
	assert_int_equal(composite->awake->reset_proof[0], 1);
	assert_int_equal(composite->awake->reset_proof[1], 2);
	composite->life = NOPAL_LIFE_OPEN;
	writer = nopal_writer_over(bytes, sizeof(bytes));
	nopal__proof_write(composite, &writer);
	assert_int_equal(nopal_written(&writer), 16);
	proof_of(&composite->session, proof);
	reader = nopal_reader_over(bytes, 16);
	for (int i = 0; i < 2; i++)
		assert_true(nopal_read(&reader, 8) == proof[i]);
}

/* Of a composition that has no handshake nobody was told. */
TEST(test_without_a_handshake_nothing_is_proved)
{
	uint64_t none[2] = { 0 }, challenge = 5;

	rig_begin(&rig, PLAIN);
	assert_false(nopal_session_proves(rig.opener.session, challenge,
					  nopal__siphash(none, &challenge, sizeof(challenge))));
}

TEST(test_a_key_is_set_before_sessions)
{
	static const uint8_t key[16] = { 1 };

	begin(false);
	assert_int_equal(nopal_endpoint_set_reset_key(endpoint, key), -EBUSY);
	nopal_endpoint_close(rig.acceptor.endpoint);
	endpoint = rig.acceptor.endpoint = nopal_sim_endpoint(rig.world, 1, 9);
	assert_int_equal(nopal_endpoint_set_reset_key(endpoint, key), 0);
	assert_memory_equal(endpoint->reset_key, key, sizeof(key));
	endpoint->alias_of = endpoint;
	assert_int_equal(nopal_endpoint_set_reset_key(endpoint, key), -EBUSY);
	endpoint->alias_of = NULL;
}
