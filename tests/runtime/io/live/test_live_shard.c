/* SPDX-License-Identifier: MIT */
/*
 * test_live_shard -- one address for several loops: whose a datagram is, and sessions that live on
 * loops in threads of their own.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <event2/event.h>

#include "io/live/live.h"
#include "wire/wire.h"
#include "support/test.h"

enum {
	SHARDS = 3,
	SOURCES = 8, /* sockets of strangers */
	IDS = 40,    /* datagrams of each */
	ROUNDS = 2000,
	ROUND_US = 1000,
};

static void loopback(struct nopal_address *ret_address)
{
	nopal_address_parse("127.0.0.1:0", ret_address, NULL);
}

/* ------------------------------------------------- whose a datagram is */

/* All shards on one loop: who gets what is the kernel's doing. */
struct group {
	struct event_base *base;
	struct nopal_shards *shards;
	struct nopal_world *world[SHARDS];
	struct nopal_endpoint *endpoint[SHARDS];
	struct nopal_address at;
	struct live_socket source[SOURCES];
	uint64_t expected[SHARDS];
};

static int group_open(void **state)
{
	struct group *group = calloc(1, sizeof(*group));
	struct nopal_problems problems = { 0 };
	struct nopal_address local, ignored;

	loopback(&local);
	group->base = event_base_new();
	group->shards = nopal_shards_open(&local, SHARDS, &problems);
	nopal_problems_print(&problems, stderr);
	assert_non_null(group->shards);
	for (unsigned i = 0; i < SHARDS; i++) {
		group->world[i] = nopal_live_new(group->base);
		group->endpoint[i] =
			nopal_shard_endpoint(group->shards, i, group->world[i], &problems);
		assert_non_null(group->endpoint[i]);
	}
	nopal_endpoint_local(group->endpoint[0], &group->at);
	for (unsigned i = 0; i < SOURCES; i++)
		assert_int_equal(nopal__live_socket_open(&group->source[i], &local, &ignored), 0);
	nopal_problems_fini(&problems);
	*state = group;
	return 0;
}

static int group_close(void **state)
{
	struct group *group = *state;

	for (unsigned i = 0; i < SOURCES; i++)
		nopal__live_socket_close(&group->source[i]);
	for (unsigned i = 0; i < SHARDS; i++)
		nopal_world_free(group->world[i]);
	nopal_shards_close(group->shards);
	event_base_free(group->base);
	free(group);
	return 0;
}

EACH_TEST(group_open, group_close);

/* A datagram of `kind` for session `id`, from one of the strangers. */
static void group_send(struct group *group, unsigned source, uint8_t kind, uint32_t id)
{
	uint8_t bytes[64] = { nopal__first_byte(kind) };
	struct nopal_writer writer = nopal_writer_over(bytes + 1, sizeof(bytes) - 1);
	struct nopal_train train = { &group->at, bytes, sizeof(bytes), sizeof(bytes) };

	nopal_write(&writer, id, NOPAL_ID_BYTES);
	assert_int_equal(nopal__live_socket_send(&group->source[source], &train),
			 NOPAL_TRANSMITTED);
}

static uint64_t group_arrived(const struct group *group)
{
	uint64_t arrived = 0;

	for (unsigned i = 0; i < SHARDS; i++)
		arrived += nopal_endpoint_counters(group->endpoint[i])->datagrams_in;
	return arrived;
}

static void group_run(struct group *group, uint64_t datagrams)
{
	for (unsigned i = 0; i < ROUNDS && group_arrived(group) < datagrams; i++) {
		event_base_loop(group->base, EVLOOP_NONBLOCK);
		usleep(ROUND_US / 10);
	}
	assert_int_equal(group_arrived(group), datagrams);
}

/* Of every stranger a datagram for sessions of all shards: the id decides, and not the address. */
TEST(test_an_id_finds_its_shard)
{
	struct group *group = *state;

	for (uint32_t i = 0; i < SOURCES * IDS; i++) {
		uint32_t id = i * UINT32_C(0x9e3779b1) + 1;

		group_send(group, i % SOURCES, NOPAL_KIND_DATA, id);
		group->expected[nopal__shard_of(id, SHARDS)]++;
	}
	group_run(group, SOURCES * IDS);
	for (unsigned i = 0; i < SHARDS; i++) {
		assert_true(group->expected[i] > 0);
		assert_int_equal(nopal_endpoint_counters(group->endpoint[i])->unknown_session,
				 group->expected[i]);
	}
}

/* Whatever ids it has: an opener's datagrams are not spread. */
TEST(test_an_opener_stays_on_a_shard)
{
	static const uint8_t kinds[] = { NOPAL_KIND_CONNECT, NOPAL_KIND_DATA_OPENING,
					 NOPAL_KIND_CONTROL_OPENING, NOPAL_KIND_ASK,
					 NOPAL_KIND_RESET };
	struct group *group = *state;
	unsigned used = 0;

	for (uint32_t i = 0; i < IDS; i++)
		group_send(group, 0, kinds[i % 5], i * UINT32_C(0x9e3779b1) + 1);
	group_run(group, IDS);
	for (unsigned i = 0; i < SHARDS; i++)
		used += nopal_endpoint_counters(group->endpoint[i])->datagrams_in > 0;
	assert_int_equal(used, 1);
}

TEST(test_runts_are_counted_by_the_first)
{
	struct group *group = *state;
	uint8_t bytes[1] = { nopal__first_byte(NOPAL_KIND_DATA) };
	struct nopal_train train = { &group->at, bytes, sizeof(bytes), sizeof(bytes) };

	for (unsigned i = 0; i < SOURCES; i++)
		nopal__live_socket_send(&group->source[i], &train);
	group_run(group, SOURCES);
	assert_int_equal(nopal_endpoint_counters(group->endpoint[0])->malformed, SOURCES);
}

/* The others keep what is theirs. */
TEST(test_a_shard_may_close)
{
	struct group *group = *state;
	uint32_t id = UINT32_MAX; /* of the last shard */

	nopal_endpoint_close(group->endpoint[0]);
	group->endpoint[0] = group->endpoint[1];
	assert_int_equal(nopal__shard_of(id, SHARDS), SHARDS - 1);
	for (unsigned i = 0; i < SOURCES; i++)
		group_send(group, i, NOPAL_KIND_DATA, id);
	group_run(group, SOURCES);
	assert_int_equal(nopal_endpoint_counters(group->endpoint[SHARDS - 1])->datagrams_in,
			 SOURCES);
}

/* A cookie of one is good at all others; those of another group are not. */
TEST(test_a_group_has_one_secret)
{
	struct group *group = *state;
	struct nopal_endpoint *alone;
	struct nopal_address local;

	loopback(&local);
	alone = nopal_endpoint_open(group->world[0], &local, NULL);
	for (unsigned i = 1; i < SHARDS; i++)
		assert_memory_equal(group->endpoint[i]->secret, group->endpoint[0]->secret,
				    sizeof(alone->secret));
	assert_memory_not_equal(alone->secret, group->endpoint[0]->secret, sizeof(alone->secret));
}

/* By another group too: it would get half of our datagrams. */
TEST(test_a_taken_port_is_refused)
{
	struct group *group = *state;
	struct nopal_problems problems = { 0 };

	assert_null(nopal_shards_open(&group->at, SHARDS, &problems));
	assert_int_equal(problems.errors, 1);
	assert_null(nopal_endpoint_open(group->world[0], &group->at, &problems));
	assert_int_equal(problems.errors, 2);
	nopal_problems_fini(&problems);
}

TEST(test_one_shard_is_a_group_too)
{
	struct group *group = *state;
	struct nopal_address local;
	struct nopal_shards *shards;
	struct nopal_endpoint *endpoint;

	loopback(&local);
	shards = nopal_shards_open(&local, 1, NULL);
	assert_non_null(shards);
	endpoint = nopal_shard_endpoint(shards, 0, group->world[0], NULL);
	assert_non_null(endpoint);
	nopal_endpoint_local(endpoint, &group->at);
	group_send(group, 0, NOPAL_KIND_DATA, UINT32_MAX);
	for (unsigned i = 0; i < ROUNDS && nopal_endpoint_counters(endpoint)->datagrams_in == 0;
	     i++) {
		event_base_loop(group->base, EVLOOP_NONBLOCK);
		usleep(ROUND_US / 10);
	}
	assert_int_equal(nopal_endpoint_counters(endpoint)->unknown_session, 1);
	nopal_endpoint_close(endpoint);
	nopal_shards_close(shards);
}

TEST(test_misuses_are_refused)
{
	struct group *group = *state;
	struct nopal_problems problems = { 0 };
	struct nopal_address local;

	loopback(&local);
	assert_null(nopal_shards_open(&local, 0, &problems));
	assert_null(nopal_shards_open(&local, NOPAL_SHARDS_MAX + 1, &problems));
	assert_null(nopal_shard_endpoint(group->shards, 0, group->world[0], &problems));
	assert_null(nopal_shard_endpoint(group->shards, SHARDS, group->world[0], &problems));
	assert_int_equal(problems.errors, 4);
	nopal_problems_fini(&problems);
}

/* ------------------------------------------- sessions on loops in threads */

enum {
	SESSIONS = 48, /* on some shard none of them: less than once in 10^7 */
	PER_ENDPOINT = 2,
	MESSAGES = 40,
	MESSAGE = 5000,
	SECONDS = 60,
};

struct place {
	struct nopal__live_loop *loop;
	pthread_t thread;
	struct nopal_endpoint *endpoint;
	unsigned accepted;
};

/* One session, seen from where it was accepted. */
struct taken {
	struct place *place;
	unsigned messages;
	uint8_t number; /* of its opener, in every byte of what comes */
};

struct crowd {
	struct nopal_shards *shards;
	struct nopal_plan *plan;
	struct place places[SHARDS];
	struct event_base *base;
	struct nopal_world *world;
	struct opener {
		struct crowd *crowd;
		struct nopal_session *session;
		unsigned sent;
		uint8_t number;
	} openers[SESSIONS];
	unsigned ended;		/* openers */
	atomic_uint taken_well; /* whole sessions */
	atomic_uint wrong;
};

static struct crowd crowd;

static void *taken_on_accepted(struct nopal_session *session, void *user)
{
	struct taken *taken = calloc(1, sizeof(*taken));

	taken->place = user;
	taken->place->accepted++;
	if (nopal__shard_of(nopal_session_id(session), SHARDS) !=
	    (unsigned)(taken->place - crowd.places))
		crowd.wrong++;
	return taken;
}

static void taken_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct taken *taken = user;
	uint8_t bytes[MESSAGE], expected[MESSAGE];

	(void)session;
	if (nopal_message_copy(message, 0, bytes, sizeof(bytes)) != MESSAGE ||
	    nopal_message_length(message) != MESSAGE)
		crowd.wrong++;
	if (taken->messages == 0)
		taken->number = bytes[1];
	memset(expected, taken->number, sizeof(expected));
	expected[0] = (uint8_t)taken->messages;
	if (memcmp(bytes, expected, sizeof(bytes)) != 0 ||
	    !pthread_equal(taken->place->thread, pthread_self()))
		crowd.wrong++;
	taken->messages++;
}

static void taken_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			   void *user)
{
	struct taken *taken = user;

	(void)session;
	(void)text;
	if (end == NOPAL_ENDED_WELL && taken->messages == MESSAGES)
		crowd.taken_well++;
	free(taken);
}

static void opener_pump(struct opener *opener)
{
	uint8_t bytes[MESSAGE];

	memset(bytes, opener->number, sizeof(bytes));
	while (opener->sent < MESSAGES) {
		bytes[0] = (uint8_t)opener->sent;
		if (nopal_send(opener->session, bytes, sizeof(bytes), 0))
			return;
		opener->sent++;
	}
	nopal_session_close(opener->session);
}

static void opener_on_opened(struct nopal_session *session, void *user)
{
	struct opener *opener = user;

	opener->session = session;
	opener_pump(opener);
}

static void opener_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	opener_pump(user);
}

static void opener_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	(void)session;
	(void)text;
	(void)user;
	if (end != NOPAL_ENDED_WELL)
		crowd.wrong++;
	crowd.ended++;
}

static void *place_run(void *user)
{
	struct place *place = user;

	nopal__live_loop_run(place->loop);
	return NULL;
}

static void place_on_called(void *user)
{
	struct place *place = user;

	nopal__live_loop_stop(place->loop);
}

static void place_open(struct place *place, struct nopal_problems *problems)
{
	static const struct nopal_callbacks callbacks = {
		.accepted = taken_on_accepted,
		.received = taken_on_received,
		.ended = taken_on_ended,
	};

	place->loop = nopal__live_loop_new(place_on_called, place);
	place->endpoint = nopal_shard_endpoint(crowd.shards, (unsigned)(place - crowd.places),
					       nopal__live_loop_world(place->loop), problems);
	assert_non_null(place->endpoint);
	assert_int_equal(nopal_endpoint_allow(place->endpoint, crowd.plan, 0, &callbacks, place),
			 0);
}

static void crowd_open_sessions(const struct nopal_address *peer)
{
	static const struct nopal_callbacks callbacks = {
		.opened = opener_on_opened,
		.writable = opener_on_writable,
		.ended = opener_on_ended,
	};
	struct nopal_endpoint *endpoint = NULL;
	struct nopal_address local;

	loopback(&local);
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct opener *opener = &crowd.openers[i];

		if (i % PER_ENDPOINT == 0)
			endpoint = nopal_endpoint_open(crowd.world, &local, NULL);
		assert_non_null(endpoint);
		opener->number = (uint8_t)(i + 1);
		assert_non_null(nopal_open(endpoint, crowd.plan, peer, &callbacks, opener));
	}
}

static void crowd_run(void)
{
	struct timeval tick = { .tv_usec = ROUND_US };

	for (unsigned i = 0;
	     i < SECONDS * ROUND_US && (crowd.ended < SESSIONS || crowd.taken_well < SESSIONS);
	     i++) {
		event_base_loopexit(crowd.base, &tick);
		event_base_dispatch(crowd.base);
	}
}

static void crowd_end(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		nopal__live_loop_call(crowd.places[i].loop);
		pthread_join(crowd.places[i].thread, NULL);
	}
}

static void crowd_free(void)
{
	nopal_world_free(crowd.world);
	event_base_free(crowd.base);
	for (unsigned i = 0; i < SHARDS; i++)
		nopal__live_loop_free(crowd.places[i].loop);
	nopal_shards_close(crowd.shards);
	nopal_plan_unref(crowd.plan);
}

static void crowd_check(void)
{
	unsigned accepted = 0;

	assert_int_equal(crowd.wrong, 0);
	assert_int_equal(crowd.taken_well, SESSIONS);
	for (unsigned i = 0; i < SHARDS; i++) {
		const struct place *place = &crowd.places[i];

		assert_true(place->accepted > 0);
		accepted += place->accepted;
		/* no datagram of a session came to another's shard */
		assert_int_equal(nopal_endpoint_counters(place->endpoint)->unknown_session, 0);
	}
	assert_int_equal(accepted, SESSIONS);
}

TEST_WITH(NULL, NULL, test_sessions_live_on_all_loops)
{
	struct nopal_problems problems = { 0 };
	struct nopal_address address;

	loopback(&address);
	crowd.plan = nopal_plan_load("bulk", NULL, &problems);
	crowd.shards = nopal_shards_open(&address, SHARDS, &problems);
	nopal_problems_print(&problems, stderr);
	assert_true(crowd.plan && crowd.shards);
	for (unsigned i = 0; i < SHARDS; i++)
		place_open(&crowd.places[i], &problems);
	for (unsigned i = 0; i < SHARDS; i++)
		assert_int_equal(
			pthread_create(&crowd.places[i].thread, NULL, place_run, &crowd.places[i]),
			0);
	crowd.base = event_base_new();
	crowd.world = nopal_live_new(crowd.base);
	nopal_endpoint_local(crowd.places[0].endpoint, &address);
	crowd_open_sessions(&address);
	crowd_run();
	crowd_end();
	crowd_check();
	crowd_free();
	nopal_problems_fini(&problems);
}
