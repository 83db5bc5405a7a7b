/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of a rendezvous, cut at every byte, with every byte flipped, and extended, to a side
 * that waits for its peer and to one that has opened with it: nothing changes.
 */
#include "engine/composite.h"
#include "aead_crypto.h"
#include "support/rendezvous.h"
#include "support/test.h"

enum { KINDS = 32, OF_ONE_KIND = 2 };

static uint64_t facts_of(int who)
{
	struct nopal_session *session = rendezvous.side[who].session;
	struct nopal_composite *composite = nopal__composite(session);
	size_t fixed = sizeof(struct nopal_awake);
	struct nopal_hash hash;
	uint64_t facts[7];

	assert_non_null(session);
	nopal__be_awake(composite);
	facts[0] = composite->life;
	facts[1] = composite->opener;
	facts[2] = composite->peer_id;
	facts[3] = composite->awake->unfinished;
	facts[4] = composite->awake->counters.messages_delivered;
	facts[5] = composite->awake->counters.control_out;
	facts[6] = rendezvous_sessions(who);
	nopal_hash_init(&hash);
	nopal_hash_update(&hash, facts, sizeof(facts));
	nopal_hash_update(&hash, (const char *)composite->awake + fixed,
			  composite->layer->awake_bytes - fixed);
	return nopal_hash_final(&hash);
}

static void inject(int to, const uint8_t *bytes, size_t length)
{
	/* An exact copy on the heap, so that a read beyond it is seen. */
	uint8_t *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	nopal_sim_inject(rendezvous.world, rendezvous.side[to].endpoint, &rendezvous.side[!to].at,
			 copy, length);
	nopal_sim_step(rendezvous.world);
	free(copy);
}

static void expect_same(int who, uint64_t before, const char *how, size_t at,
			const struct rendezvous_datagram *datagram)
{
	if (facts_of(who) != before)
		fail_msg("first byte %#x (%zu bytes) %s at %zu changed it", datagram->bytes[0],
			 datagram->length, how, at);
}

/* Long bodies are flipped everywhere in the head and the tail, sparsely between. */
static bool worth_flipping(size_t at, size_t length)
{
	return at < 96 || at + 16 > length || at % 13 == 0;
}

static void mutate(int to, const struct rendezvous_datagram *datagram)
{
	uint64_t before = facts_of(to);
	uint8_t bytes[sizeof(datagram->bytes) + 1];

	for (size_t length = 0; length < datagram->length; length++) {
		inject(to, datagram->bytes, length);
		expect_same(to, before, "cut", length, datagram);
	}
	for (size_t at = 0; at < datagram->length; at++) {
		if (!worth_flipping(at, datagram->length))
			continue;
		for (unsigned bit = 0; bit < 9; bit++) {
			memcpy(bytes, datagram->bytes, datagram->length);
			bytes[at] ^= (uint8_t)(bit == 8 ? 0xff : 1u << bit);
			inject(to, bytes, datagram->length);
			expect_same(to, before, "flipped", at, datagram);
		}
	}
	memcpy(bytes, datagram->bytes, datagram->length);
	bytes[datagram->length] = 0;
	inject(to, bytes, datagram->length + 1);
	expect_same(to, before, "extended", datagram->length, datagram);
}

static void begin(const char *config, uint64_t seed, int first)
{
	char text[64];

	snprintf(text, sizeof(text), "extends = \"%s\"\n", config);
	rendezvous_begin(text, text, "delay 10ms", seed);
	rendezvous_open(first);
}

/* A bit for who stays the opener, and one for who gives way. */
static unsigned attacked;

/* The same seed gives the same ids, nonces and keys: what was said in another world is for this
 * one's sessions.  Both kinds of side, and both of each kind. */
static void attack(const char *config, uint64_t seed, int to, bool met)
{
	static struct rendezvous_side from;
	unsigned of_kind[KINDS] = { 0 }, kinds = 0;

	begin(config, seed, to);
	rendezvous_open(!to);
	rendezvous_run(NOPAL_SECOND);
	rendezvous_say(!to, "hello");
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	attacked |= 1u << rendezvous.side[to].opener;
	from = rendezvous.side[!to];
	rendezvous_end();
	for (uint32_t i = 0; i < from.out && i < RENDEZVOUS_TAPPED; i++) {
		unsigned kind = from.sent[i].bytes[0] % KINDS;

		if (of_kind[kind]++ >= OF_ONE_KIND)
			continue;
		kinds += of_kind[kind] == 1;
		begin(config, seed, to);
		if (met)
			rendezvous_open(!to);
		rendezvous_run(2 * NOPAL_SECOND);
		mutate(to, &from.sent[i]);
		rendezvous_end();
	}
	assert_true(of_kind[NOPAL_KIND_RENDEZVOUS] > 0);
	assert_true(kinds >= 3); /* a reply or accept, and data */
}

static void attack_all(const char *config)
{
	attacked = 0;
	for (uint64_t seed = 1; seed < 20 && attacked != 3; seed++)
		for (int to = 0; to < 2; to++) {
			attack(config, seed, to, false);
			attack(config, seed, to, true);
		}
	assert_int_equal(attacked, 3);
}

TEST(test_bulk)
{
	attack_all("bulk");
}

TEST(test_bulk_aead)
{
	if (!nopal__aead_found())
		skip();
	attack_all("bulk_aead");
}
