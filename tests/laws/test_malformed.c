/* SPDX-License-Identifier: MIT */
/*
 * Golden packets of every config, truncated at every byte, with every byte flipped, and extended,
 * into live sessions: where a composition has integrity, no session changes; nowhere does anything
 * crash.
 */
#include <stdlib.h>
#include <string.h>

#include "session/endpoint_sessions.h"
#include "aead_crypto.h"
#include "support/rig.h"
#include "support/test.h"

enum { GOLDEN_ROOM = 64, KINDS = 256 };

struct golden {
	struct nopal_address from;
	bool to_acceptor, multicast; /* to it, through a channel */
	size_t length;
	uint8_t bytes[2048];
};

struct museum {
	struct golden packets[GOLDEN_ROOM];
	size_t count;
	uint8_t of_kind[2][KINDS]; /* by direction and kind byte: kept so far */
	size_t kind_at;		   /* where it is */
};

enum { OF_ONE_KIND = 2, FLAGS_AT = 3 /* of the paper's header */ };

static uint64_t casts_seen;

static void keep(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct museum *museum = user;
	struct nopal_address acceptor;
	struct golden *packet = &museum->packets[museum->count];
	bool to_acceptor;

	(void)now_ns;
	nopal_sim_address(1, 2000, &acceptor);
	to_acceptor = nopal_address_equal(to, &acceptor) || nopal_address_is_multicast(to);
	if (museum->count == GOLDEN_ROOM || length > sizeof(packet->bytes) ||
	    museum->of_kind[to_acceptor][bytes[museum->kind_at]] == OF_ONE_KIND)
		return;
	museum->of_kind[to_acceptor][bytes[museum->kind_at]]++;
	packet->from = *from;
	packet->to_acceptor = to_acceptor;
	packet->multicast = nopal_address_is_multicast(to);
	casts_seen += packet->multicast;
	packet->length = length;
	memcpy(packet->bytes, bytes, length);
	museum->count++;
}

/* ------------------------------------------------------ what must not change */

static uint64_t core_hash(const struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_hash hash;
	size_t fixed = sizeof(struct nopal_awake);
	const uint64_t facts[] = {
		composite->life,
		composite->peer_id,
		composite->awake->unfinished,
		composite->awake->segments.alive,
		composite->awake->messages.alive,
		composite->awake->transmissions.oldest,
		composite->awake->transmissions.next,
		composite->awake->bytes_held,
		composite->awake->counters.messages_delivered,
		composite->awake->counters.control_out,
		composite->awake->counters.transmissions,
	};

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, facts, sizeof(facts));
	nopal_hash_update(&hash, (const char *)composite->awake + fixed,
			  composite->layer->awake_bytes - fixed);
	return nopal_hash_final(&hash);
}

struct facts {
	uint64_t opener, acceptor, sessions;
};

static struct facts facts_of(const struct rig *rig)
{
	nopal__be_awake(nopal__composite(rig->opener.session));
	if (rig->acceptor.session)
		nopal__be_awake(nopal__composite(rig->acceptor.session));
	return (struct facts){
		.opener = core_hash(rig->opener.session),
		.acceptor = rig->acceptor.session ? core_hash(rig->acceptor.session) : 0,
		.sessions = nopal_endpoint_counters(rig->acceptor.endpoint)->sessions,
	};
}

static uint64_t injected; /* so far */

static struct nopal_endpoint *reaches(const struct rig *rig, const struct golden *packet)
{
	if (!packet->to_acceptor)
		return rig->opener.endpoint;
	return packet->multicast ? rig->acceptor.endpoint->aliases : rig->acceptor.endpoint;
}

static void inject(struct rig *rig, const struct golden *packet, const uint8_t *bytes,
		   size_t length)
{
	/* An exact copy on the heap, so that a read beyond it is seen. */
	uint8_t *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	nopal_sim_inject(rig->world, reaches(rig, packet), &packet->from, copy, length);
	nopal_sim_step(rig->world);
	free(copy);
	injected++;
}

static void expect_same(struct rig *rig, const struct facts *before, const char *how,
			const struct golden *packet, size_t at)
{
	struct facts after;

	assert_non_null(rig->opener.session);
	after = facts_of(rig);
	if (memcmp(before, &after, sizeof(after)) != 0)
		fail_msg("kind byte %#x (%zu bytes, to the %s) %s at %zu changed a session",
			 packet->bytes[0], packet->length,
			 packet->to_acceptor ? "acceptor" : "opener", how, at);
}

/* Long bodies are flipped everywhere in the head and the tail, sparsely between. */
static bool worth_flipping(size_t at, size_t length)
{
	return at < 96 || at + 16 > length || at % 13 == 0;
}

static void mutate(struct rig *rig, const struct golden *packet, bool guarded)
{
	struct facts before = { 0 };
	uint8_t bytes[sizeof(packet->bytes) + 1];

	if (guarded)
		before = facts_of(rig);
	for (size_t length = 0; length < packet->length; length++) {
		inject(rig, packet, packet->bytes, length);
		if (guarded)
			expect_same(rig, &before, "cut", packet, length);
	}
	for (size_t at = 0; at < packet->length; at++) {
		if (!worth_flipping(at, packet->length))
			continue;
		for (unsigned bit = 0; bit < 9; bit++) {
			memcpy(bytes, packet->bytes, packet->length);
			bytes[at] ^= (uint8_t)(bit == 8 ? 0xff : 1u << bit);
			inject(rig, packet, bytes, packet->length);
			if (guarded)
				expect_same(rig, &before, "flipped", packet, at);
			if (!rig->opener.session)
				return;
		}
	}
	memcpy(bytes, packet->bytes, packet->length);
	bytes[packet->length] = 0;
	inject(rig, packet, bytes, packet->length + 1);
	if (guarded)
		expect_same(rig, &before, "extended", packet, packet->length);
}

/* A life with losses, so that every kind of packet is seen. */
static void collect(struct museum *museum, const char *config)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char text[256];

	assert_non_null(rig);
	snprintf(text, sizeof(text), "extends = \"%s\"\n", config);
	rig_open(rig, text,
		 &(struct rig_options){ .link = "rate 5mbit delay 10ms loss 10%",
					.seed = 5,
					.stay_closed = true });
	nopal_sim_tap(rig->world, keep, museum);
	rig_start(rig);
	for (int i = 0; i < 40 && rig->opener.session; i++) {
		rig_send_bytes(rig, 900);
		rig_run(rig, 20 * NOPAL_MILLISECOND);
	}
	rig_finish(rig);
	rig_close(rig);
	free(rig);
}

/* Datagrams that reached either end. */
static uint64_t heard(const struct rig *rig)
{
	const struct nopal_endpoint *alias = rig->acceptor.endpoint->aliases;

	return (alias ? nopal_endpoint_counters(alias)->datagrams_in : 0) +
	       nopal_endpoint_counters(rig->opener.endpoint)->datagrams_in +
	       nopal_endpoint_counters(rig->acceptor.endpoint)->datagrams_in;
}

/* The same seed gives the same ids, so the packets belong to this session. */
static void attack(const struct museum *museum, const char *config)
{
	char text[256];

	snprintf(text, sizeof(text), "extends = \"%s\"\n", config);
	for (size_t i = 0; i < museum->count; i++) {
		struct rig *rig = calloc(1, sizeof(*rig));
		bool guarded;
		uint64_t before;

		assert_non_null(rig);
		rig_open(rig, text,
			 &(struct rig_options){ .link = "rate 5mbit delay 10ms loss 10%",
						.seed = 5 });
		guarded = nopal_plan_provides(rig->plan, "integrity") && rig->acceptor.session;
		rig_run(rig, NOPAL_SECOND);
		assert_non_null(reaches(rig, &museum->packets[i]));
		before = heard(rig);
		injected = 0;
		mutate(rig, &museum->packets[i], guarded);
		if (guarded)
			assert_int_equal(heard(rig), before + injected);
		nopal_world_free(rig->world);
		nopal_plan_unref(rig->plan);
		free(rig);
	}
}

static void museum_by(const char *config, size_t kind_at, size_t min)
{
	struct museum *museum = calloc(1, sizeof(*museum));

	assert_non_null(museum);
	museum->kind_at = kind_at;
	collect(museum, config);
	assert_true(museum->count >= min);
	attack(museum, config);
	free(museum);
}

static void museum_of(const char *config, size_t min)
{
	museum_by(config, 0, min);
}

TEST(test_bulk)
{
	museum_of("bulk", 4);
}

TEST(test_bulk_aead)
{
	if (!nopal__aead_found())
		skip();
	museum_of("bulk_aead", 4);
}

TEST(test_ctp_bulk)
{
	museum_of("ctp_bulk", 4);
}

TEST(test_ctp_audio)
{
	museum_of("ctp_audio", 4);
}

TEST(test_ctp_video)
{
	museum_of("ctp_video", 4);
}

TEST(test_ctp_minimal)
{
	museum_of("ctp_minimal", 2);
}

/* By sessions, and by their channel. */
TEST(test_multicast)
{
	museum_of("multicast", 6);
	assert_true(casts_seen > 0);
}

TEST(test_ctp_lossy_fifo)
{
	museum_of("ctp_lossy_fifo", 2);
}

/* SYN, SYN-ACK, ACK, FIN, and data. */
TEST(test_one_to_many_paper)
{
	museum_by("one_to_many_paper", FLAGS_AT, 10);
}
