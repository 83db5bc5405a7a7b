/* SPDX-License-Identifier: MIT */
/*
 * io/blocking: a dialled connection and an accepted one, on loopback.
 */
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum { MESSAGES = 200, MESSAGE = 20000, TIMEOUT_S = 20 };

struct talk {
	struct nopal_listener *listener;
	struct nopal_connection *here, *there;
	struct nopal_problems problems;
	char address[NOPAL_ADDRESS_TEXT];
	uint8_t *bytes;
};

static const int64_t talk_timeout_ns = TIMEOUT_S * NOPAL_SECOND;

static int talk_say(struct talk *talk, const void *bytes, size_t length)
{
	return nopal_connection_send(talk->here, bytes, length, talk_timeout_ns);
}

static int64_t talk_take(struct talk *talk)
{
	return nopal_connection_receive(talk->there, talk->bytes, MESSAGE, talk_timeout_ns);
}

static int talk_open(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	static const uint8_t reset_key[NOPAL_RESET_KEY_BYTES] = "of a listener";
	struct nopal_address local;

	talk->problems = (struct nopal_problems){ 0 };
	talk->bytes = calloc(1, MESSAGE);
	talk->listener = nopal_listen_keyed("bulk", "127.0.0.1:0", reset_key, &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->listener);
	nopal_listener_address(talk->listener, &local);
	nopal_address_format(&local, talk->address);
	talk->here = nopal_dial("bulk", talk->address, talk_timeout_ns, &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->here);
	talk->there = nopal_accept(talk->listener, talk_timeout_ns, &talk->problems);
	assert_non_null(talk->there);
	*state = talk;
	return 0;
}

static int talk_close(void **state)
{
	struct talk *talk = *state;

	if (talk->here)
		nopal_connection_close(talk->here, talk_timeout_ns, &talk->problems);
	if (talk->there)
		nopal_connection_close(talk->there, talk_timeout_ns, &talk->problems);
	nopal_listener_close(talk->listener);
	nopal_problems_fini(&talk->problems);
	free(talk->bytes);
	free(talk);
	return 0;
}

EACH_TEST(talk_open, talk_close);

TEST(test_messages_both_ways)
{
	struct talk *talk = *state;

	for (unsigned i = 0; i < MESSAGES; i++) {
		memset(talk->bytes, (int)i, MESSAGE);
		assert_int_equal(talk_say(talk, talk->bytes, MESSAGE), 0);
	}
	for (unsigned i = 0; i < MESSAGES; i++) {
		assert_int_equal(talk_take(talk), MESSAGE);
		assert_int_equal(talk->bytes[MESSAGE - 1], (uint8_t)i);
	}
	assert_int_equal(nopal_connection_send(talk->there, "well", 4, talk_timeout_ns), 0);
	assert_int_equal(nopal_connection_receive(talk->here, talk->bytes, 2, talk_timeout_ns), 4);
	assert_memory_equal(talk->bytes, "we", 2);
}

TEST(test_a_good_end_brings_the_rest)
{
	struct talk *talk = *state;

	assert_int_equal(talk_say(talk, "last", 4), 0);
	assert_int_equal(nopal_connection_close(talk->here, talk_timeout_ns, &talk->problems), 0);
	talk->here = NULL;
	assert_int_equal(talk_take(talk), 4);
	assert_int_equal(talk_take(talk), -EPIPE);
	assert_int_equal(nopal_connection_send(talk->there, "x", 1, talk_timeout_ns), -EPIPE);
}

/* The session had taken the message, and nobody has read it.  Why it ended, the peer says, or its
 * host: whoever is heard first. */
TEST(test_a_peer_that_goes_makes_no_good_end)
{
	struct talk *talk = *state;

	assert_int_equal(talk_say(talk, "unread", 6), 0);
	assert_int_equal(nopal_connection_close(talk->there, 0, &talk->problems),
			 -ETIMEDOUT); /* and it is gone */
	talk->there = NULL;
	assert_int_equal(nopal_connection_close(talk->here, talk_timeout_ns, &talk->problems),
			 -ECONNRESET);
	talk->here = NULL;
	assert_true(talk->problems.count > 0);
}

/* A message of no bytes is one; the end in good order is another thing. */
TEST(test_an_empty_message_is_no_end)
{
	struct talk *talk = *state;

	assert_int_equal(talk_say(talk, NULL, 0), 0);
	assert_int_equal(talk_take(talk), 0);
	assert_int_equal(talk_say(talk, NULL, 0), 0);
	assert_int_equal(nopal_connection_close(talk->here, talk_timeout_ns, &talk->problems), 0);
	talk->here = NULL;
	/* it came before the end, and is read after it */
	assert_int_equal(talk_take(talk), 0);
	assert_int_equal(talk_take(talk), -EPIPE);
}

TEST(test_nothing_comes_in_time)
{
	struct talk *talk = *state;

	assert_int_equal(
		nopal_connection_receive(talk->there, talk->bytes, MESSAGE, NOPAL_MILLISECOND),
		-ETIMEDOUT);
	assert_null(nopal_accept(talk->listener, NOPAL_MILLISECOND, &talk->problems));
	assert_int_equal(talk_say(talk, "on", 2), 0);
	assert_int_equal(talk_take(talk), 2);
}

TEST_WITH(NULL, NULL, test_nobody_listens)
{
	struct nopal_problems problems = { 0 };

	assert_null(nopal_dial("bulk", "127.0.0.1:9", 200 * NOPAL_MILLISECOND, &problems));
	assert_true(problems.errors > 0);
	nopal_problems_fini(&problems);
}
