/* SPDX-License-Identifier: MIT */
/* nopal_dial_early: messages that are sent before the session is open, and tickets that outlive it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "io/blocking/blocking.h"
#include "support/test.h"

static const int64_t patience_ns = 20 * NOPAL_SECOND;

static char config[64], address[NOPAL_ADDRESS_TEXT];
static struct nopal_listener *listener;
static struct nopal_problems problems;

static int begin(void **state)
{
	static const char text[] = "extends = \"bulk\"\nearly_data {}\n";
	struct nopal_address local;
	int file;

	(void)state;
	snprintf(config, sizeof(config), "/tmp/nopal-early-XXXXXX.conf");
	file = mkstemps(config, (int)strlen(".conf"));
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
	problems = (struct nopal_problems){ 0 };
	listener = nopal_listen(config, "127.0.0.1:0", &problems);
	assert_non_null(listener);
	nopal_listener_address(listener, &local);
	nopal_address_format(&local, address);
	return 0;
}

static int end(void **state)
{
	(void)state;
	nopal_listener_close(listener);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	unlink(config);
	return 0;
}

EACH_TEST(begin, end);

/* A connection whose first message arrives once, and which says another one after it; returns the
 * requests that the listener has admitted with early data by then. */
static uint64_t connection_with(const char *first, size_t length)
{
	struct nopal_connection *dialled, *accepted;
	char bytes[16];

	dialled = nopal_dial_early(config, address, first, length, patience_ns, &problems);
	assert_non_null(dialled);
	accepted = nopal_accept(listener, patience_ns, &problems);
	assert_non_null(accepted);
	assert_int_equal(nopal_connection_send(dialled, "then", 4, patience_ns), 0);
	assert_int_equal(nopal_connection_receive(accepted, bytes, sizeof(bytes), patience_ns),
			 length);
	assert_memory_equal(bytes, first, length);
	assert_int_equal(nopal_connection_receive(accepted, bytes, sizeof(bytes), patience_ns), 4);
	assert_memory_equal(bytes, "then", 4);
	assert_int_equal(nopal_connection_wait(dialled, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_close(dialled, patience_ns, &problems), 0);
	assert_int_equal(nopal_connection_close(accepted, patience_ns, &problems), 0);
	return nopal_endpoint_counters(listener->hub->endpoint)->early_admitted;
}

TEST(test_the_first_connection_has_no_ticket_and_later_ones_do)
{
	assert_int_equal(connection_with("hello", 5), 0);
	assert_int_equal(connection_with("again", 5), 1);
	assert_int_equal(connection_with("", 0), 2);
}

/* Its listener gave none of the tickets that the process has of the first. */
TEST(test_another_listener_gives_tickets_of_its_own)
{
	assert_int_equal(connection_with("hello", 5), 0);
	assert_int_equal(connection_with("again", 5), 1);
}

TEST(test_a_message_that_cannot_be_sent_is_said)
{
	assert_null(nopal_dial_early(config, address, NULL, SIZE_MAX, patience_ns, &problems));
	assert_int_equal(problems.errors, 1);
	nopal_problems_fini(&problems);
	problems = (struct nopal_problems){ 0 };
}
