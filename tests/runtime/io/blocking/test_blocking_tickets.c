/* SPDX-License-Identifier: MIT */
/*
 * test_blocking_tickets -- the calls for many on a connection to one, and the outcomes of what was
 * sent by it.
 */
#include <errno.h>
#include <string.h>

#include <nopal/address.h>
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

static const int64_t patience_ns = 20 * NOPAL_SECOND;

static struct nopal_listener *listener;
static struct nopal_connection *sender, *receiver;
static char address_text[NOPAL_ADDRESS_TEXT];
static struct nopal_problems problems;
static char bytes[64];

static int begin(void **state)
{
	struct nopal_address local;

	(void)state;
	problems = (struct nopal_problems){ 0 };
	listener = nopal_listen("bulk", "127.0.0.1:0", &problems);
	nopal_listener_address(listener, &local);
	nopal_address_format(&local, address_text);
	sender = nopal_dial("bulk", address_text, patience_ns, &problems);
	assert_non_null(sender);
	receiver = nopal_accept(listener, patience_ns, &problems);
	assert_non_null(receiver);
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (sender)
		nopal_connection_close(sender, patience_ns, &problems);
	if (receiver)
		nopal_connection_close(receiver, patience_ns, &problems);
	nopal_listener_close(listener);
	nopal_problems_fini(&problems);
	return 0;
}

EACH_TEST(begin, end);

/* Plans are refused where there are errors already. */
static void forget_problems(void)
{
	assert_true(problems.errors > 0);
	nopal_problems_fini(&problems);
	problems = (struct nopal_problems){ 0 };
}

TEST(test_one_to_one_has_no_destinations)
{
	const char *addresses[2] = { address_text, address_text };

	assert_int_equal(nopal_connection_add(sender, "127.0.0.1:9", patience_ns, &problems),
			 -EINVAL);
	assert_int_equal(nopal_connection_add(sender, "nothing", patience_ns, &problems), -EINVAL);
	assert_int_equal(nopal_connection_remove(sender, 1, false), -EINVAL);
	assert_int_equal(nopal_connection_destinations(sender, NULL, 0), 0);
	assert_int_equal(nopal_connection_send_to(sender, 1, "x", 1, patience_ns, NULL), -ENOENT);
	forget_problems();
	assert_null(nopal_dial_many("bulk", addresses, 1, patience_ns, &problems));
	assert_non_null(strstr(problems.entries[0].cause, "to one"));
	forget_problems();
	assert_null(nopal_dial_many("one_to_many_all", addresses, 2, patience_ns, &problems));
	assert_non_null(strstr(problems.entries[0].cause, "twice"));
	forget_problems();
	assert_null(nopal_dial_many("one_to_many_all", addresses, 0, patience_ns, &problems));
	forget_problems();
	assert_null(nopal_dial_many("no_such_config", addresses, 1, patience_ns, &problems));
}

static uint64_t say(const char *text)
{
	uint64_t ticket = 0;

	assert_int_equal(
		nopal_connection_send_to(sender, 0, text, strlen(text), patience_ns, &ticket), 0);
	assert_true(ticket > 0);
	return ticket;
}

/* More tickets than are remembered: none is given before the one whose place it takes has its
 * outcome. */
TEST(test_tickets_are_bounded)
{
	uint64_t ticket = 0;

	assert_int_equal(nopal_connection_wait(sender, 1, patience_ns), -ENOENT);
	for (int i = 0; i < 3 * NOPAL_TICKETS; i++)
		ticket = say("x");
	assert_int_equal(ticket, 3 * NOPAL_TICKETS);
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_wait(sender, ticket - NOPAL_TICKETS + 1, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_wait(sender, ticket - NOPAL_TICKETS, patience_ns),
			 -ENOENT);
	assert_int_equal(nopal_connection_wait(sender, ticket + 1, patience_ns), -ENOENT);
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
}

TEST(test_tickets_outlive_the_session)
{
	uint64_t ticket;
	int64_t length;

	ticket = say("before");
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	nopal_connection_close(receiver, 0, &problems); /* well, or at once */
	receiver = NULL;
	length = nopal_connection_receive(sender, bytes, sizeof(bytes), patience_ns);
	assert_true(length == -EPIPE || length == -ECONNRESET);
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_send_to(sender, 0, "x", 1, patience_ns, &ticket), -EPIPE);
}

/* The receiver reads nothing, and goes: the ring is as full as it gets. */
TEST(test_what_no_session_took_is_told_at_the_close)
{
	static const char block[1 << 16];
	static const int64_t moment_ns = 100 * NOPAL_MILLISECOND;
	bool told = false;

	while (nopal_connection_send(sender, block, sizeof(block), moment_ns) == 0)
		;
	assert_int_equal(nopal_connection_close(receiver, moment_ns, &problems), -ETIMEDOUT);
	receiver = NULL;
	assert_int_equal(nopal_connection_close(sender, patience_ns, &problems), -ECONNRESET);
	sender = NULL;
	for (size_t i = 0; i < problems.count; i++)
		told |= strstr(problems.entries[i].cause, "were not sent any more") != NULL;
	assert_true(told);
}
