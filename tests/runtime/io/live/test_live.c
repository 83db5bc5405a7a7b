/* SPDX-License-Identifier: MIT */
/*
 * test_live -- addresses, sockets and the live world, on loopback alone.
 */
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <poll.h>
#include <netinet/udp.h>

#include "io/live/live.h"
#include "support/test.h"

enum {
	DATAGRAM = 1000,
	TRAIN = 10,
	WAIT_MS = 1000,
	MANY = 200,
	SMALL = 20,
};

/* ---------------------------------------------------------------- addresses */

TEST_WITH(NULL, NULL, test_addresses_go_round)
{
	static const char *const texts[] = {
		"127.0.0.1:9000", "[::1]:9000", "[2001:db8::1]:65535", "0.0.0.0:0", "[::]:1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nopal_address address, again;
		char text[NOPAL_ADDRESS_TEXT];

		assert_int_equal(nopal_address_parse(texts[i], &address, NULL), 0);
		assert_string_equal(nopal_address_format(&address, text), texts[i]);
		assert_int_equal(nopal_address_parse(text, &again, NULL), 0);
		assert_true(nopal_address_equal(&address, &again));
		again.port ^= 1;
		assert_false(nopal_address_equal(&address, &again));
	}
}

TEST_WITH(NULL, NULL, test_what_is_no_address_is_said)
{
	static const char *const texts[] = {
		"",
		"127.0.0.1",
		"127.0.0.1:",
		":9000",
		"127.0.0.1:65536",
		"h:-1",
		"h:9x",
		"::1:9000",
		"[::1]",
		"[::1:9000",
		"[]:9000",
		"[x y]:9000",
		"127.0.0.1:99999999999999999999",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nopal_problems problems = { 0 };
		struct nopal_address address;

		assert_true(nopal_address_parse(texts[i], &address, &problems) < 0);
		assert_int_equal(problems.errors, 1);
		nopal_problems_fini(&problems);
	}
}

TEST_WITH(NULL, NULL, test_ipv4_is_mapped)
{
	struct nopal_address address;
	union live_sockaddr name;

	assert_int_equal(nopal_address_parse("192.0.2.7:80", &address, NULL), 0);
	assert_true(nopal_address_is_v4(&address));
	assert_int_equal(nopal__live_address_to(&address, AF_INET, &name), sizeof(name.v4));
	assert_int_equal(ntohl(name.v4.sin_addr.s_addr), 0xc0000207);
	assert_int_equal(nopal__live_address_to(&address, AF_INET6, &name), sizeof(name.v6));
	assert_true(IN6_IS_ADDR_V4MAPPED(&name.v6.sin6_addr));
}

/* ------------------------------------------------------------------- sockets */

struct pair {
	struct live_socket a, b;
	struct nopal_address at_a, at_b;
	uint8_t bytes[NOPAL_TRAIN_BYTES];
};

static int pair_open(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct nopal_address any;

	nopal_address_parse("127.0.0.1:0", &any, NULL);
	assert_int_equal(nopal__live_socket_open(&pair->a, &any, &pair->at_a), 0);
	assert_int_equal(nopal__live_socket_open(&pair->b, &any, &pair->at_b), 0);
	assert_true(pair->at_b.port != 0);
	for (size_t i = 0; i < sizeof(pair->bytes); i++)
		pair->bytes[i] = (uint8_t)(i / 3);
	*state = pair;
	return 0;
}

static int pair_close(void **state)
{
	struct pair *pair = *state;

	nopal__live_socket_close(&pair->a);
	nopal__live_socket_close(&pair->b);
	free(pair);
	return 0;
}

EACH_TEST(pair_open, pair_close);

static enum nopal_transmitted pair_send(struct pair *pair, uint32_t length, uint32_t stride)
{
	struct nopal_train train = { &pair->at_b, pair->bytes, length, stride };

	return nopal__live_socket_send(&pair->a, &train);
}

static uint32_t datagrams_of(const struct nopal_arrival *arrival)
{
	if (arrival->stride == 0)
		return 1;
	return (arrival->length + arrival->stride - 1) / arrival->stride;
}

/* Takes all that comes until `expected` bytes did; checks them; returns how many datagrams they
 * were. */
static uint32_t pair_take(struct pair *pair, uint32_t expected)
{
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct pollfd readable = { .fd = pair->b.fd, .events = POLLIN };
	uint32_t datagrams = 0, at = 0;

	while (at < expected && poll(&readable, 1, WAIT_MS) == 1) {
		size_t count = nopal__live_socket_gather(&pair->b, arrivals);

		for (size_t i = 0; i < count; i++) {
			assert_true(nopal_address_equal(&arrivals[i].from, &pair->at_a));
			assert_memory_equal(arrivals[i].bytes, pair->bytes + at,
					    arrivals[i].length);
			at += arrivals[i].length;
			datagrams += datagrams_of(&arrivals[i]);
		}
		nopal__live_socket_gave(&pair->b, arrivals, count);
	}
	assert_int_equal(at, expected);
	return datagrams;
}

TEST(test_a_train_arrives)
{
	struct pair *pair = *state;
	uint32_t length = TRAIN * DATAGRAM + DATAGRAM / 2;

	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(pair_send(pair, length, DATAGRAM), NOPAL_TRANSMITTED);
		assert_int_equal(pair_take(pair, length), TRAIN + 1);
	}
	assert_int_equal(pair_send(pair, DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, DATAGRAM), 1);
	assert_int_equal(pair_send(pair, NOPAL_TRAIN_BYTES, 1400), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, NOPAL_TRAIN_BYTES), 47);
}

TEST(test_without_trains_all_arrives_too)
{
	struct pair *pair = *state;

	pair->a.gso = false;
	assert_int_equal(pair_send(pair, TRAIN * DATAGRAM + 1, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, TRAIN * DATAGRAM + 1), TRAIN + 1);
}

TEST(test_without_gro_all_arrives_too)
{
	struct pair *pair = *state;
	int off = 0;

	assert_int_equal(setsockopt(pair->b.fd, SOL_UDP, UDP_GRO, &off, sizeof(off)), 0);
	pair->b.gro = false;
	for (unsigned round = 0; round < 20; round++) {
		assert_int_equal(pair_send(pair, TRAIN * DATAGRAM + 1, DATAGRAM),
				 NOPAL_TRANSMITTED);
		assert_int_equal(pair_take(pair, TRAIN * DATAGRAM + 1), TRAIN + 1);
	}
}

/* More datagrams than a kernel takes in one train. */
TEST(test_a_refused_train_falls_back_and_says_so)
{
	struct pair *pair = *state;

	assert_non_null(strstr(nopal__live_socket_text(&pair->a), "gso 64"));
	assert_int_equal(pair_send(pair, MANY * SMALL, SMALL), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, MANY * SMALL), MANY);
	assert_false(pair->a.gso);
	assert_non_null(strstr(nopal__live_socket_text(&pair->a), "gso off (Inv"));
	assert_int_equal(pair_send(pair, MANY * SMALL, SMALL), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, MANY * SMALL), MANY);
}

TEST(test_too_big_is_dropped)
{
	struct pair *pair = *state;
	static uint8_t big[66000];
	struct nopal_train train = { &pair->at_b, big, sizeof(big), sizeof(big) };

	assert_int_equal(nopal__live_socket_send(&pair->a, &train), NOPAL_TOO_BIG);
	assert_true(pair->a.gso);
	assert_int_equal(pair_send(pair, DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, DATAGRAM), 1);
}

TEST(test_soft_errors_are_soft)
{
	struct pair *pair = *state;
	struct nopal_address far;
	struct nopal_train train = { &far, pair->bytes, 2 * DATAGRAM, DATAGRAM };

	nopal_address_parse("240.0.0.1:9", &far, NULL); /* from 127.0.0.1: no way */
	assert_int_equal(nopal__live_socket_send(&pair->a, &train), NOPAL_UNSENT);
	assert_true(pair->a.soft_errors > 0);
	assert_true(pair->a.gso);
	assert_int_equal(pair_send(pair, DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, DATAGRAM), 1);
}

/* The kernel's error of one datagram fails the next call, whomever that is for:
 * it is heard, and the call is made again. */
TEST(test_a_closed_port_is_heard_of)
{
	struct pair *pair = *state;
	struct pollfd fails = { .fd = pair->a.fd };
	struct live_socket closed;
	struct nopal_address at = pair->at_b;
	struct nopal_train train = { &at, pair->bytes, DATAGRAM, DATAGRAM };

	at.port = 0;
	assert_int_equal(nopal__live_socket_open(&closed, &at, &at), 0);
	nopal__live_socket_close(&closed);
	assert_int_equal(nopal__live_socket_send(&pair->a, &train), NOPAL_TRANSMITTED);
	assert_int_equal(poll(&fails, 1, WAIT_MS), 1);
	assert_int_equal(pair_send(pair, 2 * DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, 2 * DATAGRAM), 2);
	assert_int_equal(pair->a.hint_count, 1);
	assert_int_equal(pair->a.hints[0].what, NOPAL_HINT_REFUSED);
	assert_true(nopal_address_equal(&pair->a.hints[0].to, &at));
	assert_int_equal(pair->a.hints[0].head_bytes, 5);
	assert_memory_equal(pair->a.hints[0].head, pair->bytes, 5);
	assert_int_equal(poll(&fails, 1, 0), 0); /* nothing is left of it */
}

TEST(test_hints_are_bounded)
{
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct pair *pair = *state;
	struct nopal_address at = pair->at_b;
	struct nopal_train train = { &at, pair->bytes, DATAGRAM, DATAGRAM };

	nopal__live_socket_close(&pair->b);
	for (int i = 0; i < 100; i++)
		nopal__live_socket_send(&pair->a, &train);
	while (pair->a.hint_count < LIVE_HINTS)
		nopal__live_socket_gather(&pair->a, arrivals);
	assert_int_equal(pair->a.hint_count, LIVE_HINTS);
	assert_int_equal(nopal__live_socket_open(&pair->b, &at, &pair->at_b), 0);
}

TEST(test_empty_datagrams_are_counted)
{
	struct pair *pair = *state;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct pollfd readable = { .fd = pair->b.fd, .events = POLLIN };
	uint32_t empty = 0;

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(pair_send(pair, 0, 0), NOPAL_TRANSMITTED);
	while (poll(&readable, 1, 0) == 1) {
		assert_int_equal(nopal__live_socket_gather(&pair->b, arrivals), 0);
		empty += pair->b.empty;
	}
	assert_int_equal(empty, 5);
	assert_int_equal(pair_send(pair, DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(pair_take(pair, DATAGRAM), 1);
}

/* Kept bytes stay as they were, whatever comes after them. */
TEST(test_kept_bytes_stay)
{
	struct pair *pair = *state;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct nopal_buffer *kept[MANY];
	const uint8_t *bytes[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		memset(pair->bytes, (int)i, TRAIN * DATAGRAM);
		assert_int_equal(pair_send(pair, TRAIN * DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
		assert_true(nopal__live_socket_gather(&pair->b, arrivals) >= 1);
		kept[i] = nopal_buffer_ref(arrivals[0].buffer);
		bytes[i] = arrivals[0].bytes;
		nopal__live_socket_gave(&pair->b, arrivals, 1);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(bytes[i][0], i);
		assert_int_equal(bytes[i][DATAGRAM - 1], i);
		nopal_buffer_unref(kept[i]);
	}
}

TEST(test_a_block_outlives_its_socket)
{
	struct pair *pair = *state;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct nopal_address any;

	assert_int_equal(pair_send(pair, DATAGRAM, DATAGRAM), NOPAL_TRANSMITTED);
	assert_int_equal(nopal__live_socket_gather(&pair->b, arrivals), 1);
	nopal__live_socket_close(&pair->b);
	assert_memory_equal(arrivals[0].bytes, pair->bytes, DATAGRAM);
	nopal_buffer_unref(arrivals[0].buffer);
	nopal_address_parse("127.0.0.1:0", &any, NULL);
	assert_int_equal(nopal__live_socket_open(&pair->b, &any, &pair->at_b), 0);
}

TEST(test_one_socket_serves_both_families)
{
	struct pair *pair = *state;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct live_socket both;
	struct nopal_address any, at;
	struct nopal_train train = { &at, pair->bytes, TRAIN * DATAGRAM, DATAGRAM };

	nopal_address_parse("[::]:0", &any, NULL);
	if (nopal__live_socket_open(&both, &any, &at))
		skip();
	at.ip[15] = 1;
	at.ip[12] = 127;
	at.ip[10] = at.ip[11] = 0xff; /* ::ffff:127.0.0.1 */
	assert_int_equal(nopal__live_socket_send(&pair->a, &train), NOPAL_TRANSMITTED);
	assert_true(nopal__live_socket_gather(&both, arrivals) >= 1);
	assert_true(nopal_address_equal(&arrivals[0].from, &pair->at_a));
	train.to = &arrivals[0].from;
	train.bytes = arrivals[0].bytes;
	assert_int_equal(nopal__live_socket_send(&both, &train), NOPAL_TRANSMITTED);
	assert_int_equal(nopal__live_socket_gather(&pair->a, arrivals + 1), 1);
	assert_memory_equal(arrivals[1].bytes, pair->bytes, arrivals[1].length);
	nopal_buffer_unref(arrivals[1].buffer);
	nopal_buffer_unref(arrivals[0].buffer);
	nopal__live_socket_close(&both);
}

/* An alarm of the past rings at once, and is quiet as soon as it is set anew. */
TEST_WITH(NULL, NULL, test_an_alarm_rings_until_it_is_set)
{
	struct live_alarm alarm;
	struct pollfd rings;

	assert_int_equal(nopal__live_alarm_open(&alarm), 0);
	rings = (struct pollfd){ .fd = alarm.fd, .events = POLLIN };
	assert_int_equal(poll(&rings, 1, 0), 0);
	for (int again = 0; again < 2; again++) {
		nopal__live_alarm_set(&alarm, again ? -1 : NOPAL_SECOND);
		assert_int_equal(poll(&rings, 1, WAIT_MS), 1);
		nopal__live_alarm_set(&alarm, NOPAL_NEVER);
		assert_int_equal(poll(&rings, 1, 0), 0);
	}
	nopal__live_alarm_close(&alarm);
}

TEST(test_a_taken_port_is_said)
{
	struct pair *pair = *state;
	struct live_socket third;
	struct nopal_address at;

	assert_true(nopal__live_socket_open(&third, &pair->at_a, &at) < 0);
}
