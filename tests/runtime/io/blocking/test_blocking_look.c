/* SPDX-License-Identifier: MIT */
/*
 * test_blocking_look -- blocking connections from outside: descriptors for poll(2), counters and
 * peer, properties of messages.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/own_file.h"
#include "support/test.h"

enum { TIMEOUT_S = 20, ROOM = 100 };
static const int64_t timeout_ns = TIMEOUT_S * NOPAL_SECOND;

/* A listener, a connection to it and the one that it accepts.  The property `out_of_band` travels
 * in their composition. */
struct talk {
	struct nopal_listener *listener;
	struct nopal_connection *here, *there;
	struct nopal_problems problems;
	char address[NOPAL_ADDRESS_TEXT];
};

static void dial(struct talk *talk)
{
	talk->here = nopal_dial(path, talk->address, timeout_ns, &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->here);
}

static int talk_open(void **state)
{
	static const char config[] = "extends = bulk\nwithout = reliable_fifo\n"
				     "sequenced_messages {}\nout_of_band {}\n";
	struct talk *talk = calloc(1, sizeof(*talk));
	struct nopal_address local;
	FILE *file;

	set_up(state);
	file = fopen(path, "w");
	fputs(config, file);
	fclose(file);
	talk->listener = nopal_listen(path, "127.0.0.1:0", &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->listener);
	nopal_listener_address(talk->listener, &local);
	nopal_address_format(&local, talk->address);
	*state = talk;
	return 0;
}

static int talk_close(void **state)
{
	struct talk *talk = *state;

	if (talk->here)
		nopal_connection_close(talk->here, timeout_ns, &talk->problems);
	if (talk->there)
		nopal_connection_close(talk->there, timeout_ns, &talk->problems);
	nopal_listener_close(talk->listener);
	nopal_problems_fini(&talk->problems);
	free(talk);
	return tear_down(NULL);
}

EACH_TEST(talk_open, talk_close);

static bool is_readable(int fd, int64_t wait_ns)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	assert_true(fd >= 0);
	return poll(&ready, 1, (int)(wait_ns / NOPAL_MILLISECOND)) == 1;
}

static void accept_one(struct talk *talk)
{
	talk->there = nopal_accept(talk->listener, timeout_ns, &talk->problems);
	assert_non_null(talk->there);
}

TEST(test_a_listener_is_readable_while_somebody_waits)
{
	struct talk *talk = *state;
	int fd = nopal_listener_fd(talk->listener);

	assert_false(is_readable(fd, 0));
	dial(talk);
	assert_true(is_readable(fd, timeout_ns));
	assert_true(is_readable(fd, 0));
	accept_one(talk);
	assert_false(is_readable(fd, 0));
}

TEST(test_a_connection_is_readable_while_messages_wait)
{
	struct talk *talk = *state;
	char bytes[ROOM];
	int fd;

	dial(talk);
	accept_one(talk);
	fd = nopal_connection_fd(talk->there);
	assert_int_equal(nopal_connection_fd(talk->there), fd);
	assert_false(is_readable(fd, 0));
	assert_int_equal(nopal_connection_send(talk->here, "one", 3, timeout_ns), 0);
	assert_int_equal(nopal_connection_send(talk->here, "three", 5, timeout_ns), 0);
	assert_true(is_readable(fd, timeout_ns));
	assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, timeout_ns), 3);
	assert_true(is_readable(fd, timeout_ns));
	assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, 0), 5);
	assert_false(is_readable(fd, 0));
}

/* Events before the descriptor was made count, too. */
TEST(test_the_end_is_readable_for_good)
{
	struct talk *talk = *state;
	char bytes[ROOM];
	int fd;

	dial(talk);
	accept_one(talk);
	assert_int_equal(nopal_connection_send(talk->here, "last", 4, timeout_ns), 0);
	assert_int_equal(nopal_connection_close(talk->here, timeout_ns, &talk->problems), 0);
	talk->here = NULL;
	fd = nopal_connection_fd(talk->there);
	assert_true(is_readable(fd, timeout_ns));
	assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, timeout_ns), 4);
	assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, timeout_ns), -EPIPE);
	assert_true(is_readable(fd, 0));
}

TEST(test_counters_and_peer_are_told_while_it_lives_and_after)
{
	struct talk *talk = *state;
	struct nopal_connection_info info;
	char bytes[ROOM], text[NOPAL_ADDRESS_TEXT];

	dial(talk);
	accept_one(talk);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(nopal_connection_send(talk->here, "hello", 5, timeout_ns), 0);
		assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, timeout_ns), 5);
	}
	nopal_connection_look(talk->here, &info);
	assert_int_equal(info.counters.messages_sent, 3);
	assert_int_equal(info.counters.bytes_sent, 15);
	assert_string_equal(nopal_address_format(&info.peer, text), talk->address);
	assert_false(info.ended);
	nopal_connection_look(talk->there, &info);
	assert_int_equal(info.counters.messages_delivered, 3);
	assert_string_equal(nopal_address_format(&info.local, text), talk->address);

	assert_int_equal(nopal_connection_close(talk->here, timeout_ns, &talk->problems), 0);
	talk->here = NULL;
	assert_int_equal(nopal_connection_receive(talk->there, bytes, ROOM, timeout_ns), -EPIPE);
	nopal_connection_look(talk->there, &info);
	assert_true(info.ended);
	assert_int_equal(info.end, NOPAL_ENDED_WELL);
	assert_int_equal(info.counters.messages_delivered, 3);
}

/* Sends a message that is out of band or is not. */
static int send_marked(struct talk *talk, const char *text, uint64_t mark)
{
	const struct nopal_property properties[] = {
		{ nopal_connection_property(talk->here, "out_of_band"), mark },
		{ nopal_connection_property(talk->here, "urgent"), mark },
	};
	const struct nopal_outgoing outgoing = {
		.bytes = text,
		.length = strlen(text),
		.properties = properties,
		.property_count = sizeof(properties) / sizeof(properties[0]),
	};

	assert_true(properties[0].which && properties[1].which);
	return nopal_connection_send_message(talk->here, &outgoing, timeout_ns, NULL);
}

/* The mark of the next message, which is `text`. */
static uint64_t mark_of_next(struct talk *talk, const char *text)
{
	char bytes[ROOM] = "";
	struct nopal_property properties[] = {
		{ nopal_connection_property(talk->there, "out_of_band"), 7 },
		{ nopal_connection_property(talk->there, "no such property"), 7 },
	};
	const struct nopal_incoming incoming = { bytes, ROOM, properties, 2 };

	assert_int_equal(nopal_connection_receive_message(talk->there, &incoming, timeout_ns),
			 strlen(text));
	assert_string_equal(bytes, text);
	assert_int_equal(properties[1].value, 0);
	return properties[0].value;
}

TEST(test_properties_travel_with_their_message)
{
	struct talk *talk = *state;

	dial(talk);
	accept_one(talk);
	assert_int_equal(send_marked(talk, "plain", 0), 0);
	assert_int_equal(mark_of_next(talk, "plain"), 0);
	assert_int_equal(send_marked(talk, "marked", 1), 0);
	assert_int_equal(mark_of_next(talk, "marked"), 1);
}

/* The session is gone, and its messages are copies. */
TEST(test_properties_outlive_the_session)
{
	struct talk *talk = *state;
	struct nopal_connection_info info;

	dial(talk);
	accept_one(talk);
	assert_int_equal(send_marked(talk, "plain", 0), 0);
	assert_int_equal(nopal_connection_wait(talk->here, 0, timeout_ns), 1);
	assert_int_equal(send_marked(talk, "marked", 1), 0);
	assert_int_equal(nopal_connection_close(talk->here, timeout_ns, &talk->problems), 0);
	talk->here = NULL;
	do
		nopal_connection_look(talk->there, &info);
	while (!info.ended);
	assert_int_equal(mark_of_next(talk, "plain"), 0);
	assert_int_equal(mark_of_next(talk, "marked"), 1);
}

/* A buffer belongs to one thread, and a connection has two. */
TEST(test_messages_that_cannot_be_sent_are_refused)
{
	static const struct nopal_property properties[1000];
	struct talk *talk = *state;
	struct nopal_buffer *buffer = nopal_buffer_new(1);

	dial(talk);
	assert_int_equal(nopal_connection_send_message(
				 talk->here,
				 &(struct nopal_outgoing){ .buffer = buffer, .length = 1 },
				 timeout_ns, NULL),
			 -EINVAL);
	assert_int_equal(
		nopal_connection_send_message(talk->here,
					      &(struct nopal_outgoing){ .bytes = "x",
									.length = 1,
									.properties = properties,
									.property_count = 1000 },
					      timeout_ns, NULL),
		-EINVAL);
	nopal_buffer_free(buffer);
}
