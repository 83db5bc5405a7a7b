/* SPDX-License-Identifier: MIT */
/* Trains on the way out: what ends one, seals one, and what becomes of it. */
#include <string.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/fake_world.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

enum { CRC = 4, BYTES = 100 };

/* A role path_limit that nobody speaks for. */
FAKE(m_path, .provides = FAKE_ROLES({ "path_limit", true }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char SEALED[] = "transport_driver {}\nfixed_size {}\nchecksum {}\n";
static const char ASKS[] = "transport_driver {}\nresize {}\nsequenced_messages {}\nm_path {}\n";

static struct nopal_plan *plan;
static struct nopal_endpoint *endpoint;
static const struct nopal_endpoint_counters *counters;
static bool outermost;

static struct nopal_session *session_to(uint16_t port)
{
	const struct nopal_address peer = { .port = port };
	struct nopal_session *session = nopal_open(endpoint, plan, &peer, NULL, NULL);

	assert_non_null(session);
	nopal_session_set_peer_id(session, port);
	return session;
}

static struct nopal_session *begin(const char *config)
{
	rig_add(&m_path);
	fake_begin();
	plan = rig_plan(config);
	endpoint = nopal_endpoint_open(&fake.world, &(struct nopal_address){ 0 }, NULL);
	counters = nopal_endpoint_counters(endpoint);
	return session_to(7);
}

static int teardown(void **state)
{
	(void)state;
	fake.answer = NOPAL_TRANSMITTED;
	nopal__world_fini(&fake.world);
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(NULL, teardown);

static void send_one(struct nopal_session *session, size_t length)
{
	static const uint8_t bytes[1400] = { 1 };

	assert_int_equal(nopal_send(session, bytes, length, 0), 0);
}

static void start(void)
{
	outermost = nopal__turn_begin(&fake.world);
}

static void stop(void)
{
	nopal__turn_end(&fake.world, outermost);
}

/* --------------------------------------------------------------- what is said */

TEST(test_what_left_is_counted)
{
	struct nopal_session *session = begin(PLAIN);
	const struct nopal_counters *own = nopal_session_counters(session);

	start();
	send_one(session, BYTES);
	send_one(session, BYTES);
	send_one(session, BYTES - 1);
	assert_int_equal(counters->trains_out, 0);
	assert_true(endpoint->train_closed);
	stop();
	assert_int_equal(counters->trains_out, 1);
	assert_int_equal(counters->datagrams_out, 3);
	assert_int_equal(counters->soft_errors + counters->busy, 0);
	assert_int_equal(own->datagrams_out, 3);
	assert_int_equal(own->datagram_bytes_out, 3 * (HEAD + BYTES) - 1);
	assert_int_equal(endpoint->train_count + endpoint->train_length, 0);
	assert_false(endpoint->train_closed || endpoint->unflushed);
}

TEST(test_an_error_is_an_error_and_leaves_no_train)
{
	struct nopal_session *session = begin(ASKS);

	fake.answer = NOPAL_TOO_BIG;
	send_one(session, BYTES);
	assert_int_equal(counters->soft_errors, 1);
	assert_int_equal(counters->trains_out, 1);
	assert_int_equal(endpoint->train_count, 0);
	assert_int_equal(nopal_path_hint(session), nopal_plan_info(plan)->header_bytes + BYTES - 1);
	fake.answer = NOPAL_UNSENT;
	send_one(session, BYTES);
	assert_int_equal(counters->soft_errors, 2);
	assert_int_equal(nopal_path_hint(session), 0);
	fake.answer = NOPAL_TRANSMITTED;
	send_one(session, BYTES);
	assert_int_equal(counters->soft_errors, 2);
	assert_int_equal(counters->datagrams_out, 3);
}

/* Nor does one of a session that has ended. */
TEST(test_an_answer_that_is_too_big_narrows_nobody)
{
	const struct nopal_address to = { .port = 9 };
	struct nopal_session *session = begin(ASKS);

	fake.answer = NOPAL_TOO_BIG;
	nopal__endpoint_answer(endpoint, &to, (const uint8_t *)"answer", 6);
	assert_int_equal(counters->soft_errors, 1);
	assert_int_equal(nopal_path_hint(session), 0);
}

TEST(test_a_busy_kernel_keeps_the_train)
{
	struct nopal_session *session = begin(PLAIN);

	fake.answer = NOPAL_BUSY;
	send_one(session, BYTES);
	assert_int_equal(counters->busy, 1);
	assert_int_equal(counters->trains_out, 0);
	assert_int_equal(endpoint->train_count, 1);
	assert_true(endpoint->busy);
	nopal__endpoint_flush(endpoint);
	assert_int_equal(counters->busy, 1);
	fake.answer = NOPAL_TRANSMITTED;
	nopal__endpoint_writable(endpoint);
	assert_int_equal(counters->trains_out, 1);
	assert_int_equal(fake.train[0].length, HEAD + BYTES);
}

TEST(test_marks_leave_with_the_train_of_who_set_them)
{
	const struct nopal_address to = { .port = 9 };
	struct nopal_session *session = begin(PLAIN);

	send_one(session, BYTES);
	assert_int_equal(fake.train[0].ecn, 0);
	nopal__be_awake(nopal__composite(session));
	nopal_path_ecn_set(session, NOPAL_ECT_0);
	send_one(session, BYTES);
	assert_int_equal(fake.train[1].ecn, NOPAL_ECT_0);
	nopal__endpoint_answer(endpoint, &to, (const uint8_t *)"answer", 6);
	assert_int_equal(fake.train[2].ecn, 0);
}

/* -------------------------------------------------------------- what it takes */

TEST(test_a_long_one_travels_alone)
{
	struct nopal_session *session = begin(PLAIN);

	start();
	send_one(session, BYTES);
	nopal__train_end_long(endpoint, true);
	send_one(session, BYTES);
	assert_int_equal(fake.trains, 1);
	assert_true(fake.train[0].fragments);
	stop();
	assert_int_equal(fake.trains, 2);
	assert_false(fake.train[1].fragments);
}

TEST(test_a_train_turns_to_another_address)
{
	struct nopal_address there = { .port = 7 }, elsewhere = { .port = 8 };
	struct nopal_session *session = begin(PLAIN);

	start();
	assert_true(nopal__train_turn((struct nopal_way){ endpoint, &elsewhere }));
	send_one(session, BYTES);
	assert_true(nopal__train_turn((struct nopal_way){ endpoint, &there }));
	assert_int_equal(fake.trains, 0);
	assert_true(nopal__train_turn((struct nopal_way){ endpoint, &elsewhere }));
	assert_int_equal(fake.trains, 1);
	send_one(session, BYTES);
	fake.answer = NOPAL_BUSY;
	assert_false(nopal__train_turn((struct nopal_way){ endpoint, &elsewhere }));
	fake.answer = NOPAL_TRANSMITTED;
	endpoint->busy = false;
	stop();
}

/* A datagram that its train cannot hold is like one lost on the way. */
TEST(test_no_room_is_a_loss)
{
	struct nopal_session *session = begin(PLAIN);
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_address there = { .port = 7 };

	fake.answer = NOPAL_BUSY;
	start();
	send_one(session, BYTES);
	assert_non_null(
		nopal__train_room(composite, (struct nopal_way){ endpoint, &there }, HEAD + BYTES));
	assert_null(nopal__train_room(composite, (struct nopal_way){ endpoint, &there },
				      HEAD + BYTES + 1));
	assert_false(nopal__train_ready(composite, 1));
	nopal__endpoint_answer(endpoint, &there, (const uint8_t *)"lost", 4);
	assert_int_equal(counters->replies, 0);
	fake.answer = NOPAL_TRANSMITTED;
	endpoint->busy = false;
	stop();
	assert_int_equal(fake.train[0].length, HEAD + BYTES);
}

/* ---------------------------------------------------------------- its content */

TEST(test_an_answer_is_a_train_of_its_own)
{
	struct nopal_session *session = begin(PLAIN);
	struct nopal_address to = { .port = 9 };

	start();
	send_one(session, BYTES);
	nopal__endpoint_answer(endpoint, &to, (const uint8_t *)"answer", 6);
	assert_int_equal(fake.trains, 2);
	assert_int_equal(fake.train[0].port, 7);
	assert_int_equal(fake.train[1].port, 9);
	assert_int_equal(fake.train[1].length, 6);
	assert_int_equal(fake.train[1].datagrams, 1);
	assert_memory_equal(fake.bytes, "answer", 6);
	assert_int_equal(counters->replies, 1);
	assert_int_equal(counters->datagrams_out, 2);
	stop();
	assert_int_equal(fake.trains, 2);
}

/* The last one, too, whose seal waits for the end; of equal ones it is the same. */
TEST(test_every_datagram_is_sealed)
{
	enum { ONE = HEAD + BYTES + CRC, COUNT = 3 };
	struct nopal_session *session = begin(SEALED);
	static const uint8_t none[CRC];

	start();
	for (int i = 0; i < COUNT; i++)
		send_one(session, BYTES);
	assert_int_equal(endpoint->unsealed, ONE);
	stop();
	assert_int_equal(endpoint->unsealed, 0);
	assert_int_equal(fake.train[0].length, COUNT * ONE);
	for (int i = 0; i < COUNT; i++)
		assert_memory_equal(fake.bytes + i * ONE, fake.bytes, ONE);
	assert_memory_not_equal(fake.bytes + ONE - CRC, none, CRC);
}

/* Before its session goes, and no other's. */
TEST(test_a_session_seals_its_own)
{
	struct nopal_session *session = begin(SEALED);
	struct nopal_session *other = session_to(8);
	struct nopal_endpoint alias = { .next_alias = NULL };

	start();
	send_one(session, BYTES);
	nopal__train_finish(nopal__composite(other));
	assert_true(endpoint->unsealed > 0);
	nopal__train_finish(nopal__composite(session));
	assert_int_equal(endpoint->unsealed, 0);
	alias.train_of = nopal__composite(session);
	alias.train_length = alias.unsealed = HEAD + BYTES + CRC;
	endpoint->aliases = &alias;
	nopal__train_finish(nopal__composite(other));
	assert_true(alias.unsealed > 0);
	nopal__train_finish(nopal__composite(session));
	assert_int_equal(alias.unsealed, 0);
	endpoint->aliases = NULL;
	stop();
}
