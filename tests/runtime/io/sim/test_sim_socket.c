/* SPDX-License-Identifier: MIT */
/*
 * test_sim_socket.c -- bare sockets in the simulated world: beside sessions, behind links, closed
 * within their callback.
 */
#include <errno.h>
#include <nopal/nopal.h>
#include <string.h>

#include "support/test.h"

enum { PORT = 7000, ROOM = 8 };

struct heard {
	struct nopal_world *world;
	struct nopal_sim_socket *socket, *close;
	int count;
	int64_t at_ns[ROOM];
	char text[ROOM][16];
	struct nopal_address from;
	bool echo;
};

static void on_arrival(void *user, const struct nopal_address *from, const uint8_t *bytes,
		       size_t length)
{
	struct heard *heard = user;

	assert_in_range(heard->count, 0, ROOM - 1);
	heard->at_ns[heard->count] = nopal_world_now(heard->world);
	snprintf(heard->text[heard->count++], 16, "%.*s", (int)length, (const char *)bytes);
	heard->from = *from;
	if (heard->echo)
		assert_int_equal(nopal_sim_socket_send(heard->socket, from, bytes, length), 0);
	if (heard->close) {
		nopal_sim_socket_close(heard->close);
		heard->close = NULL;
	}
}

static struct nopal_world *two_hosts(const char *words, struct heard heard[2])
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_link forward, reverse;

	assert_int_equal(nopal_link_parse(words, &forward, &reverse, NULL), 0);
	for (int i = 0; i < 2; i++) {
		nopal_sim_host(world);
		heard[i] = (struct heard){ .world = world };
		heard[i].socket = nopal_sim_socket_open(world, i, PORT, on_arrival, &heard[i]);
		assert_non_null(heard[i].socket);
	}
	assert_int_equal(nopal_sim_connect(world, 0, 1, &forward, &reverse), 0);
	return world;
}

static int say(struct heard *heard, int host, const char *text)
{
	struct nopal_address to;

	nopal_sim_address(host, PORT, &to);
	return nopal_sim_socket_send(heard->socket, &to, text, strlen(text));
}

TEST(a_datagram_goes_there_and_back)
{
	struct heard heard[2];
	struct nopal_world *world = two_hosts("delay 25ms", heard);
	struct nopal_address there;

	heard[1].echo = true;
	assert_int_equal(nopal_sim_next(world), NOPAL_NEVER);
	assert_int_equal(say(&heard[0], 1, "hello"), 0);
	assert_int_equal(nopal_sim_next(world), 25 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_sim_run(world, NOPAL_SECOND), 1);
	assert_string_equal(heard[1].text[0], "hello");
	assert_int_equal(heard[1].at_ns[0], 25 * NOPAL_MILLISECOND);
	assert_string_equal(heard[0].text[0], "hello");
	assert_int_equal(heard[0].at_ns[0], 50 * NOPAL_MILLISECOND);
	nopal_sim_address(1, PORT, &there);
	assert_true(nopal_address_equal(&heard[0].from, &there));
	nopal_world_free(world);
}

TEST(words_of_the_link_hold_for_bare_sockets)
{
	struct heard heard[2];
	struct nopal_world *world = two_hosts("delay 1ms fwd: loss mask 1 mtu 100", heard);
	static const char long_text[200] = { [0 ... 198] = 'x' };

	assert_int_equal(say(&heard[0], 1, long_text), -EMSGSIZE);
	assert_int_equal(say(&heard[0], 9, "nobody"), -EHOSTUNREACH);
	assert_int_equal(say(&heard[0], 1, "lost"), 0);
	assert_int_equal(say(&heard[0], 1, "comes"), 0);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(heard[1].count, 1);
	assert_string_equal(heard[1].text[0], "comes");
	nopal_world_free(world);
}

TEST(a_socket_closed_in_its_callback_hears_no_more)
{
	struct heard heard[2];
	struct nopal_world *world = two_hosts("delay 1ms", heard);

	heard[1].close = heard[1].socket;
	say(&heard[0], 1, "one");
	say(&heard[0], 1, "two");
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(heard[1].count, 1);
	assert_non_null(nopal_sim_socket_open(world, 1, PORT, on_arrival, &heard[1]));
	nopal_world_free(world);
}

TEST(a_taken_port_or_no_host_is_refused)
{
	struct heard heard[2];
	struct nopal_world *world = two_hosts("delay 1ms", heard);

	assert_null(nopal_sim_socket_open(world, 1, PORT, on_arrival, &heard[1]));
	assert_null(nopal_sim_socket_open(world, 2, PORT, on_arrival, &heard[1]));
	assert_null(nopal_sim_socket_open(world, 1, 0, on_arrival, &heard[1]));
	assert_null(nopal_sim_endpoint(world, 1, PORT));
	nopal_world_free(world);
}
