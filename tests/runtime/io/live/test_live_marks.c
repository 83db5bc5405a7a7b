/* SPDX-License-Identifier: MIT */
/*
 * test_live_marks -- marks of congestion: what a link does to them, and sockets over loopback.
 */
#include <poll.h>
#include <string.h>

#include "io/emulator/link_engine.h"
#include "io/live/live.h"
#include "support/test.h"

enum { PAYLOAD = 1000, DATAGRAM = 1000, TRAIN = 10, MANY = 99, WAIT_MS = 2000 };

static void start(struct nopal__link_engine *engine, const char *words)
{
	struct nopal_link link, reverse;
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, &link, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	assert_int_equal(nopal__link_init(engine, &link, NOPAL__UDP_HEADER_BYTES, 1), 0);
}

/* The mark of a datagram that arrived; -1: it is lost. */
static int marked(struct nopal__link_engine *engine, uint8_t ecn, int64_t now_ns)
{
	const struct nopal__link_packet packet = { .length = PAYLOAD, .ecn = ecn };
	struct nopal__link_copy out[NOPAL__LINK_COPIES];

	return nopal__link_carry(engine, &packet, now_ns, out) ? out[0].ecn : -1;
}

TEST(a_loss_marks_who_understands_it)
{
	struct nopal__link_engine engine;

	start(&engine, "loss mask 1111 ecn");
	assert_int_equal(marked(&engine, NOPAL_ECT_0, 0), NOPAL_CE);
	assert_int_equal(marked(&engine, NOPAL_ECT_1, 0), NOPAL_CE);
	assert_int_equal(marked(&engine, NOPAL_CE, 0), NOPAL_CE);
	assert_int_equal(marked(&engine, NOPAL_NOT_ECT, 0), -1);
	assert_int_equal(marked(&engine, NOPAL_ECT_0, 0), NOPAL_ECT_0);
	assert_int_equal(engine.counters.marked, 2);
	assert_int_equal(engine.counters.lost, 1);
	nopal__link_fini(&engine);
	start(&engine, "loss mask 1");
	assert_int_equal(marked(&engine, NOPAL_ECT_0, 0), -1);
	nopal__link_fini(&engine);
}

TEST(a_long_wait_is_marked)
{
	struct nopal__link_engine engine;
	unsigned marks = 0;

	/* 1.028 ms each: the sixth waits for more than 5 */
	start(&engine, "rate 8mbit ce_threshold 5ms limit 20");
	for (int i = 0; i < 9; i++)
		marks += marked(&engine, NOPAL_ECT_0, 0) == NOPAL_CE;
	assert_int_equal(marks, 4);
	assert_int_equal(marked(&engine, NOPAL_NOT_ECT, 0), NOPAL_NOT_ECT);
	assert_int_equal(engine.counters.marked, 4);
	assert_int_equal(marked(&engine, NOPAL_ECT_0, NOPAL_SECOND), NOPAL_ECT_0);
	nopal__link_fini(&engine);
}

/* Sends datagrams of one mark, and returns which mark arrives. */
static uint8_t mark_of(struct live_socket *from, struct live_socket *to,
		       const struct nopal_address *at, uint8_t ecn, uint32_t length)
{
	static const uint8_t bytes[TRAIN * DATAGRAM];
	struct nopal_train train = {
		.to = at, .bytes = bytes, .length = length, .stride = DATAGRAM, .ecn = ecn
	};
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct pollfd readable = { .fd = to->fd, .events = POLLIN };
	uint32_t at_byte = 0;
	uint8_t seen = 0;

	assert_int_equal(nopal__live_socket_send(from, &train), NOPAL_TRANSMITTED);
	while (at_byte < length && poll(&readable, 1, WAIT_MS) == 1) {
		size_t count = nopal__live_socket_gather(to, arrivals);

		for (size_t i = 0; i < count; i++) {
			assert_true(at_byte == 0 || arrivals[i].ecn == seen);
			seen = arrivals[i].ecn;
			at_byte += arrivals[i].length;
		}
		nopal__live_socket_gave(to, arrivals, count);
	}
	assert_int_equal(at_byte, length);
	return seen;
}

static void marks_go_round(struct live_socket *from, struct live_socket *to,
			   const struct nopal_address *at)
{
	for (uint8_t i = 0; i < 8; i++) {
		uint8_t next = (uint8_t)(i + 1) % 4;

		assert_int_equal(mark_of(from, to, at, i % 4, DATAGRAM), i % 4);
		assert_int_equal(mark_of(from, to, at, next, TRAIN * DATAGRAM), next);
	}
}

static void open_at(struct live_socket *sock, const char *text, struct nopal_address *ret_at)
{
	struct nopal_address any;

	assert_int_equal(nopal_address_parse(text, &any, NULL), 0);
	assert_int_equal(nopal__live_socket_open(sock, &any, ret_at), 0);
}

TEST(sockets_say_and_hear_marks)
{
	struct live_socket a, b;
	struct nopal_address at_a, at_b;

	open_at(&a, "127.0.0.1:0", &at_a);
	open_at(&b, "127.0.0.1:0", &at_b);
	marks_go_round(&a, &b, &at_b);
	a.gso = false;
	marks_go_round(&a, &b, &at_b);
	nopal__live_socket_close(&a);
	nopal__live_socket_close(&b);
}

/* Marked datagrams are not put together with unmarked ones. */
TEST(marks_are_kept_apart)
{
	static const uint8_t bytes[DATAGRAM];
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct nopal_address at_a, at_b;
	struct nopal_train train = { .to = &at_b, .bytes = bytes, .length = 10, .stride = 10 };
	struct live_socket a, b;
	uint32_t came = 0, marked = 0;

	open_at(&a, "127.0.0.1:0", &at_a);
	open_at(&b, "127.0.0.1:0", &at_b);
	for (int i = 0; i < MANY; i++) {
		train.ecn = i % 3 ? NOPAL_ECT_0 : NOPAL_CE;
		assert_int_equal(nopal__live_socket_send(&a, &train), NOPAL_TRANSMITTED);
	}
	while (came < MANY * train.length) {
		size_t count = nopal__live_socket_gather(&b, arrivals);

		for (size_t i = 0; i < count; i++) {
			came += arrivals[i].length;
			if (arrivals[i].ecn == NOPAL_CE)
				marked += arrivals[i].length;
		}
		nopal__live_socket_gave(&b, arrivals, count);
	}
	assert_int_equal(marked, MANY * train.length / 3);
	nopal__live_socket_close(&a);
	nopal__live_socket_close(&b);
}

TEST(both_families_have_marks)
{
	struct nopal_address any, at, at_four, at_six;
	struct live_socket four, six, both;

	nopal_address_parse("[::1]:0", &any, NULL);
	if (nopal__live_socket_open(&six, &any, &at_six))
		skip();
	open_at(&four, "127.0.0.1:0", &at_four);
	open_at(&both, "[::]:0", &at);
	at.ip[15] = 1; /* ::1 */
	marks_go_round(&six, &both, &at);
	marks_go_round(&both, &six, &at_six);
	at.ip[12] = 127;
	at.ip[10] = at.ip[11] = 0xff; /* ::ffff:127.0.0.1 */
	marks_go_round(&four, &both, &at);
	marks_go_round(&both, &four, &at_four);
	nopal__live_socket_close(&four);
	nopal__live_socket_close(&six);
	nopal__live_socket_close(&both);
}
