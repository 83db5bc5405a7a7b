/* SPDX-License-Identifier: MIT */
/* An endpoint in a world of the test's own, which notes every train. */
#include <errno.h>
#include <string.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/fake_world.h"
#include "support/rig.h"
#include "support/test.h"

enum {
	MANY = 300,
	CRC = 4, /* trailer of SEALED */
};

static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char SEALED[] = "transport_driver {}\nfixed_size {}\nchecksum {}\n";

static struct nopal_plan *plan;
static struct nopal_endpoint *endpoint;

static int setup(void **state)
{
	(void)state;
	fake_begin();
	plan = rig_plan(PLAIN);
	endpoint = nopal_endpoint_open(&fake.world, &(struct nopal_address){ 0 }, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake.answer = NOPAL_TRANSMITTED;
	fake.trains = 0;
	nopal__world_fini(&fake.world);
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(setup, teardown);

static struct nopal_address peer_at(uint16_t port)
{
	return (struct nopal_address){ .port = port };
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	unsigned *received = user;

	(void)session, (void)message;
	++*received;
}

/* A session whose peer knows it: its data has the shortest header. */
static struct nopal_session *session_to(uint16_t port, unsigned *received)
{
	static const struct nopal_callbacks callbacks = { .received = on_received };
	struct nopal_address peer = peer_at(port);
	struct nopal_session *session = nopal_open(endpoint, plan, &peer, &callbacks, received);

	assert_non_null(session);
	nopal_session_set_peer_id(session, port);
	return session;
}

static void send_bytes(struct nopal_session *session, uint8_t first, size_t length)
{
	uint8_t bytes[1500] = { first };

	assert_int_equal(nopal_send(session, bytes, length, 0), 0);
}

static void assert_train(unsigned index, uint16_t port, uint32_t datagrams, uint32_t stride,
			 uint32_t length)
{
	assert_true(index < fake.trains);
	assert_int_equal(fake.train[index].port, port);
	assert_int_equal(fake.train[index].datagrams, datagrams);
	assert_int_equal(fake.train[index].stride, stride);
	assert_int_equal(fake.train[index].length, length);
}

/* ---------------------------------------------------------------- arrivals */

static void arrive(uint16_t port, const uint8_t *bytes, uint32_t length, uint32_t stride)
{
	struct nopal_buffer *buffer = nopal_buffer_new(length);
	struct nopal_arrival arrival = { peer_at(port), buffer, buffer->bytes, length, stride };

	memcpy(buffer->bytes, bytes, length);
	nopal__endpoint_receive(endpoint, &arrival, 1);
	nopal_buffer_free(buffer);
}

static void datagram_for(uint32_t id, uint8_t *ret_bytes)
{
	struct nopal_writer writer = nopal_writer_over(ret_bytes, HEAD);

	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_DATA), 1);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
}

static void arrive_for(uint32_t id, uint16_t port)
{
	uint8_t bytes[HEAD + 1] = { 0 };

	datagram_for(id, bytes);
	arrive(port, bytes, sizeof(bytes), 0);
}

/* A third of them ends, others come, and so on: the table closes its gaps. */
TEST(test_each_session_is_found_by_its_id)
{
	struct nopal_session *session[MANY] = { NULL };
	unsigned received[MANY] = { 0 };
	uint32_t id[MANY], gone;

	for (unsigned round = 0; round < 12; round++) {
		for (uint16_t i = 0; i < MANY; i++) {
			if (session[i] && (i + round) % 3 == 0) {
				gone = nopal_session_id(session[i]);
				nopal_session_abort(session[i], "test");
				session[i] = NULL;
				arrive_for(gone, i);
			} else if (!session[i]) {
				session[i] = session_to(i, &received[i]);
				id[i] = nopal_session_id(session[i]);
			}
		}
		memset(received, 0, sizeof(received));
		for (uint16_t i = 0; i < MANY; i++)
			if (session[i])
				arrive_for(id[i], i);
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(received[i], session[i] != NULL);
		fake.trains = 0;
	}
	assert_true(nopal_endpoint_counters(endpoint)->unknown_session > 0);
}

TEST(test_what_is_for_nobody_is_counted)
{
	const struct nopal_endpoint_counters *counters = nopal_endpoint_counters(endpoint);
	unsigned received = 0;
	uint32_t id = nopal_session_id(session_to(7, &received));

	arrive_for(id + 1, 7);
	arrive_for(id, 8); /* right id, wrong address */
	assert_int_equal(counters->unknown_session, 2);
	arrive(7, (const uint8_t *)"\xff\xff\xff\xff\xff", 5, 0);
	arrive(7, (const uint8_t *)"", 0, 0);
	assert_int_equal(counters->malformed, 2);
	assert_int_equal(counters->datagrams_in, 4);
	assert_int_equal(received, 0);
}

TEST(test_an_arrival_of_many_is_cut_by_its_stride)
{
	enum { STRIDE = HEAD + 4, LAST = HEAD + 2 };
	uint8_t bytes[3 * STRIDE + LAST] = { 0 };
	unsigned received = 0;
	uint32_t id = nopal_session_id(session_to(7, &received));

	for (unsigned i = 0; i < 4; i++)
		datagram_for(id, bytes + i * STRIDE);
	arrive(7, bytes, sizeof(bytes), STRIDE);
	assert_int_equal(received, 4);
	assert_int_equal(nopal_endpoint_counters(endpoint)->datagrams_in, 4);
	assert_int_equal(nopal_endpoint_counters(endpoint)->batches_in, 1);
}

/* GRO puts together what has one address and length, whoever it is for. */
TEST(test_an_arrival_may_be_for_several)
{
	enum { STRIDE = HEAD + 4, FAR = 2, NOBODY = 3 };
	static const unsigned of[] = { 0, 0, 1, 0, FAR, 0, 1, 1, FAR, NOBODY, 1, 0 };
	enum { COUNT = sizeof(of) / sizeof(of[0]) };
	uint8_t bytes[COUNT * STRIDE] = { 0 };
	unsigned received[NOBODY] = { 0 };
	uint32_t id[NOBODY + 1] = {
		nopal_session_id(session_to(7, &received[0])),
		nopal_session_id(session_to(7, &received[1])),
		nopal_session_id(session_to(8, &received[FAR])),
	};

	id[NOBODY] = id[0] ^ id[1] ^ id[FAR];
	for (unsigned i = 0; i < COUNT; i++)
		datagram_for(id[of[i]], bytes + i * STRIDE);
	arrive(7, bytes, sizeof(bytes), STRIDE);
	assert_int_equal(received[0], 5);
	assert_int_equal(received[1], 4);
	assert_int_equal(received[FAR], 0);
	assert_int_equal(nopal_endpoint_counters(endpoint)->unknown_session, 3);
}

static void on_received_abort(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	on_received(session, message, user);
	nopal_session_abort(session, "enough");
}

TEST(test_a_session_may_end_within_an_arrival)
{
	enum { STRIDE = HEAD + 4, COUNT = 4 };
	static const struct nopal_callbacks callbacks = { .received = on_received_abort };
	struct nopal_address peer = peer_at(7);
	uint8_t bytes[COUNT * STRIDE] = { 0 };
	unsigned received = 0;
	struct nopal_session *session = nopal_open(endpoint, plan, &peer, &callbacks, &received);

	for (unsigned i = 0; i < COUNT; i++)
		datagram_for(nopal_session_id(session), bytes + i * STRIDE);
	arrive(7, bytes, sizeof(bytes), STRIDE);
	assert_int_equal(received, 1);
	assert_int_equal(nopal_endpoint_counters(endpoint)->unknown_session, COUNT - 1);
}

/* ------------------------------------------------------------------ trains */

TEST(test_a_turn_is_a_train_and_a_shorter_one_ends_it)
{
	struct nopal_session *session = session_to(7, NULL);
	bool outermost = nopal__turn_begin(&fake.world);

	send_bytes(session, 0, 100);
	send_bytes(session, 0, 100);
	send_bytes(session, 0, 50);
	send_bytes(session, 0, 50);
	assert_int_equal(fake.trains, 1); /* the first cannot grow any more */
	nopal__turn_end(&fake.world, outermost);
	assert_int_equal(fake.trains, 2);
	assert_train(0, 7, 3, HEAD + 100, 3 * HEAD + 250);
	assert_train(1, 7, 1, HEAD + 50, HEAD + 50);
	assert_int_equal(nopal_endpoint_counters(endpoint)->trains_out, 2);
	assert_int_equal(nopal_endpoint_counters(endpoint)->datagrams_out, 4);
}

TEST(test_a_longer_one_begins_a_train)
{
	struct nopal_session *session = session_to(7, NULL);
	bool outermost = nopal__turn_begin(&fake.world);

	send_bytes(session, 0, 50);
	send_bytes(session, 0, 100);
	nopal__turn_end(&fake.world, outermost);
	assert_train(0, 7, 1, HEAD + 50, HEAD + 50);
	assert_train(1, 7, 1, HEAD + 100, HEAD + 100);
}

TEST(test_another_peer_begins_a_train)
{
	struct nopal_session *a = session_to(7, NULL), *b = session_to(8, NULL);
	bool outermost = nopal__turn_begin(&fake.world);

	send_bytes(a, 0, 100);
	send_bytes(a, 0, 100);
	send_bytes(b, 0, 100);
	send_bytes(a, 0, 100);
	nopal__turn_end(&fake.world, outermost);
	assert_int_equal(fake.trains, 3);
	assert_train(0, 7, 2, HEAD + 100, 2 * (HEAD + 100));
	assert_train(1, 8, 1, HEAD + 100, HEAD + 100);
	assert_train(2, 7, 1, HEAD + 100, HEAD + 100);
}

/* The other session ends without a datagram, as a session that no peer knows does. */
TEST(test_a_train_outlives_another_session)
{
	struct nopal_plan *sealed = rig_plan(SEALED);
	struct nopal_address near = peer_at(7), far = peer_at(8);
	static const struct nopal_callbacks callbacks = { 0 };
	struct nopal_session *session = nopal_open(endpoint, sealed, &near, &callbacks, NULL);
	struct nopal_session *other = nopal_open(endpoint, plan, &far, &callbacks, NULL);
	bool outermost;

	nopal_session_set_peer_id(session, 7);
	outermost = nopal__turn_begin(&fake.world);
	send_bytes(session, 0, 100);
	nopal_session_abort(other, "test");
	nopal__turn_end(&fake.world, outermost);
	assert_int_equal(fake.trains, 1);
	assert_train(0, 7, 1, HEAD + 100 + CRC, HEAD + 100 + CRC);
	nopal_plan_unref(sealed);
}

TEST(test_a_train_has_max_datagrams_and_max_bytes)
{
	enum { FULL = NOPAL_TRAIN_BYTES / (HEAD + 1400) };
	struct nopal_session *session = session_to(7, NULL);
	bool outermost = nopal__turn_begin(&fake.world);

	for (int i = 0; i < NOPAL_TRAIN_DATAGRAMS + 1; i++)
		send_bytes(session, 0, 10);
	for (int i = 0; i < FULL + 1; i++)
		send_bytes(session, 0, 1400);
	nopal__turn_end(&fake.world, outermost);
	assert_int_equal(fake.trains, 4);
	assert_int_equal(fake.train[0].datagrams, NOPAL_TRAIN_DATAGRAMS);
	assert_int_equal(fake.train[1].datagrams, 1);
	assert_int_equal(fake.train[2].datagrams, FULL);
	assert_int_equal(fake.train[3].datagrams, 1);
}

TEST(test_a_soft_error_is_counted_and_forgotten)
{
	struct nopal_session *session = session_to(7, NULL);

	fake.answer = NOPAL_TOO_BIG;
	send_bytes(session, 1, 100);
	fake.answer = NOPAL_TRANSMITTED;
	send_bytes(session, 2, 100);
	assert_int_equal(nopal_endpoint_counters(endpoint)->soft_errors, 1);
	assert_int_equal(fake.trains, 1);
	assert_int_equal(fake.train[0].first, 2);
}

/* ----------------------------------------------------------- a busy kernel */

TEST(test_transmissions_wait_in_order_for_a_busy_kernel)
{
	struct nopal_session *a = session_to(7, NULL), *b = session_to(8, NULL);

	fake.answer = NOPAL_BUSY;
	send_bytes(a, 1, 100);
	send_bytes(a, 2, 100);
	send_bytes(b, 3, 100);
	send_bytes(a, 4, 100);
	assert_int_equal(fake.trains, 0);
	assert_int_equal(nopal_endpoint_counters(endpoint)->busy, 1);
	assert_int_equal(nopal_session_counters(a)->transmissions, 1);
	fake.answer = NOPAL_TRANSMITTED;
	nopal__endpoint_writable(endpoint);
	assert_int_equal(fake.trains, 4);
	for (uint8_t i = 0; i < 4; i++)
		assert_int_equal(fake.train[i].first, i + 1);
	assert_int_equal(nopal_session_counters(a)->transmissions, 3);
}

TEST(test_busy_again_keeps_the_rest)
{
	struct nopal_session *session[4];
	uint8_t count = 0;

	for (uint16_t i = 0; i < 4; i++)
		session[i] = session_to(i, NULL);
	fake.answer = NOPAL_BUSY;
	for (; count < 200; count++)
		send_bytes(session[count % 4], count, 100);
	for (unsigned round = 1; fake.trains < count; round++) {
		fake.takes = 3;
		nopal__endpoint_writable(endpoint);
		assert_int_equal(fake.trains, round * 3 < count ? round * 3 : count);
	}
	for (uint8_t i = 0; i < count; i++)
		assert_int_equal(fake.train[i].first, i);
}

TEST(test_who_ended_meanwhile_does_not_leave)
{
	struct nopal_session *a = session_to(7, NULL), *b = session_to(8, NULL);

	fake.answer = NOPAL_BUSY;
	send_bytes(a, 1, 100);
	send_bytes(b, 2, 100);
	send_bytes(a, 3, 100);
	send_bytes(b, 4, 100);
	nopal_session_abort(b, "test");
	fake.answer = NOPAL_TRANSMITTED;
	nopal__endpoint_writable(endpoint);
	for (unsigned i = 0; i < fake.trains; i++)
		assert_int_equal(fake.train[i].port, 7);
	assert_int_equal(fake.train[fake.trains - 1].first, 3);
}

/* Nested, and to two peers: nothing leaves before the outermost stop. */
TEST(test_a_batch_leaves_together)
{
	unsigned received = 0;
	struct nopal_session *near = session_to(7, &received);
	struct nopal_session *far = session_to(8, &received);

	nopal_batch_start(&fake.world);
	for (uint8_t i = 0; i < 3; i++)
		send_bytes(near, i, 10);
	nopal_batch_start(&fake.world);
	send_bytes(far, 3, 10);
	nopal_batch_stop(&fake.world);
	assert_int_equal(fake.trains, 1); /* another peer's is another train */
	nopal_batch_stop(&fake.world);
	assert_int_equal(fake.trains, 2);
	assert_train(0, 7, 3, HEAD + 10, 3 * (HEAD + 10));
	assert_train(1, 8, 1, HEAD + 10, HEAD + 10);
	send_bytes(near, 4, 10);
	assert_int_equal(fake.trains, 3);
}
