/* SPDX-License-Identifier: MIT */
/*
 * test_blocking_many -- the blocking calls with one connection to many, on loopback:
 * receivers are listeners of this process, or a process of their own that is stopped and killed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nopal/address.h>
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum { MANY = 3, MESSAGE = 20000 };

static const int64_t patience_ns = 20 * NOPAL_SECOND;
static const int64_t moment_ns = 50 * NOPAL_MILLISECOND;

struct receiver {
	struct nopal_listener *listener;
	struct nopal_connection *connection;
	char address[NOPAL_ADDRESS_TEXT];
};

static struct receiver receiver[MANY];
static struct nopal_connection *sender;
static struct nopal_problems problems;
static uint8_t bytes[MESSAGE];

static void receiver_listen(struct receiver *one)
{
	struct nopal_address local;

	one->connection = NULL;
	one->listener = nopal_listen("one_to_many_all", "127.0.0.1:0", &problems);
	assert_non_null(one->listener);
	nopal_listener_address(one->listener, &local);
	nopal_address_format(&local, one->address);
}

static void receiver_accept(struct receiver *one)
{
	one->connection = nopal_accept(one->listener, patience_ns, &problems);
	assert_non_null(one->connection);
}

static int begin(void **state)
{
	(void)state;
	problems = (struct nopal_problems){ 0 };
	for (int i = 0; i < MANY; i++)
		receiver_listen(&receiver[i]);
	sender = NULL;
	return 0;
}

static void receiver_end(struct receiver *one)
{
	if (one->connection)
		nopal_connection_close(one->connection, patience_ns, &problems);
	one->connection = NULL;
	if (one->listener)
		nopal_listener_close(one->listener);
	one->listener = NULL;
}

static int end(void **state)
{
	(void)state;
	if (sender)
		assert_int_equal(nopal_connection_close(sender, patience_ns, &problems), 0);
	for (int i = 0; i < MANY; i++)
		receiver_end(&receiver[i]);
	nopal_problems_fini(&problems);
	return 0;
}

EACH_TEST(begin, end);

static void dial(size_t count)
{
	const char *addresses[MANY] = { 0 };

	for (size_t i = 0; i < count; i++)
		addresses[i] = receiver[i].address;
	sender = nopal_dial_many("one_to_many_all", addresses, count, patience_ns, &problems);
	nopal_problems_print(&problems, stderr);
	assert_non_null(sender);
	assert_int_equal(problems.count, 0);
	for (size_t i = 0; i < count; i++)
		receiver_accept(&receiver[i]);
}

static uint64_t say(uint32_t destination, const char *text)
{
	uint64_t ticket = 0;

	assert_int_equal(nopal_connection_send_to(sender, destination, text, strlen(text),
						  patience_ns, &ticket),
			 0);
	assert_true(ticket > 0);
	return ticket;
}

static void joined(struct nopal_connection *connection, const char *text)
{
	int64_t length = nopal_connection_receive(connection, bytes, sizeof(bytes), patience_ns);

	assert_int_equal(length, strlen(text));
	assert_memory_equal(bytes, text, (size_t)length);
}

/* The host at this address. */
static struct nopal_destination_info info_at(const char *address)
{
	struct nopal_destination_info infos[8];
	size_t count = nopal_connection_destinations(sender, infos, 8);
	char text[NOPAL_ADDRESS_TEXT];

	for (size_t i = 0; i < count; i++)
		if (strcmp(nopal_address_format(&infos[i].address, text), address) == 0)
			return infos[i];
	return (struct nopal_destination_info){ .id = 0 };
}

static void nap(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	nanosleep(&pause, NULL);
}

static void wait_for_count(size_t count)
{
	while (nopal_connection_destinations(sender, NULL, 0) != count)
		nap();
}

/* ---------------------------------------------------------------- all and one */

TEST(test_all_get_it_and_answer)
{
	bool heard[MANY + 1] = { false };
	uint64_t ticket;

	dial(MANY);
	assert_int_equal(nopal_connection_destinations(sender, NULL, 0), MANY);
	for (int i = 0; i < 100; i++) {
		memset(bytes, i, sizeof(bytes));
		assert_int_equal(nopal_connection_send(sender, bytes, MESSAGE, patience_ns), 0);
	}
	ticket = say(0, "over");
	for (int r = 0; r < MANY; r++)
		for (int i = 0; i < 100; i++) {
			assert_int_equal(nopal_connection_receive(receiver[r].connection, bytes,
								  MESSAGE, patience_ns),
					 MESSAGE);
			assert_int_equal(bytes[MESSAGE - 1], i);
		}
	for (int i = 0; i < MANY; i++)
		joined(receiver[i].connection, "over");
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
	/* Each says its own address, and the id must be the one's that is there. */
	for (int i = 0; i < MANY; i++)
		nopal_connection_send(receiver[i].connection, receiver[i].address,
				      strlen(receiver[i].address) + 1, patience_ns);
	for (int i = 0; i < MANY; i++) {
		struct nopal_destination_info info;
		char text[NOPAL_ADDRESS_TEXT];
		uint32_t from;

		assert_true(nopal_connection_receive_from(sender, text, sizeof(text), patience_ns,
							  &from) > 0);
		info = info_at(text);
		assert_int_equal(info.id, from);
		assert_true(info.open && !info.ended && !info.session);
		assert_false(heard[from]);
		heard[from] = true;
	}
}

TEST(test_one_alone_gets_it)
{
	uint64_t alone;
	uint32_t from = 0;

	dial(MANY);
	alone = say(info_at(receiver[1].address).id, "for you");
	say(0, "for all");
	joined(receiver[1].connection, "for you");
	for (int i = 0; i < MANY; i++)
		joined(receiver[i].connection, "for all");
	assert_int_equal(nopal_connection_wait(sender, alone, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_send_to(sender, 4711, "nobody", 6, patience_ns, NULL),
			 -ENOENT);
	/* An accepted one has one destination: whoever has dialled. */
	assert_int_equal(nopal_connection_destinations(receiver[0].connection, NULL, 0), 1);
	say(0, "again");
	assert_int_equal(nopal_connection_receive_from(receiver[0].connection, bytes, MESSAGE,
						       patience_ns, &from),
			 5);
	assert_int_equal(from, 1);
}

/* ------------------------------------------------------------- come and go */

TEST(test_one_is_added)
{
	int64_t id;

	dial(2);
	say(0, "before");
	id = nopal_connection_add(sender, receiver[2].address, patience_ns, &problems);
	assert_true(id > 0);
	assert_int_equal(info_at(receiver[2].address).id, id);
	receiver_accept(&receiver[2]);
	say(0, "after");
	joined(receiver[2].connection, "after");
	joined(receiver[0].connection, "before");
	joined(receiver[0].connection, "after");
	assert_int_equal(nopal_connection_add(sender, receiver[2].address, patience_ns, &problems),
			 -EEXIST);
	assert_true(problems.errors > 0);
	assert_int_equal(nopal_connection_destinations(sender, NULL, 0), 3);
}

TEST(test_one_that_was_dialled_is_one_of_many)
{
	sender = nopal_dial("one_to_many_all", receiver[0].address, patience_ns, &problems);
	assert_non_null(sender);
	receiver_accept(&receiver[0]);
	assert_int_equal(info_at(receiver[0].address).id, 1);
	assert_int_equal(nopal_connection_add(sender, receiver[1].address, patience_ns, &problems),
			 2);
	receiver_accept(&receiver[1]);
	/* A peer that was dialled has no others, and sends none away. */
	assert_int_equal(nopal_connection_add(receiver[0].connection, receiver[2].address,
					      patience_ns, &problems),
			 -EINVAL);
	assert_int_equal(nopal_connection_remove(receiver[0].connection, 1, true), -EINVAL);
	assert_int_equal(nopal_connection_wait(sender, say(0, "both"), patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	joined(receiver[0].connection, "both");
	joined(receiver[1].connection, "both");
}

TEST(test_one_is_removed_with_what_it_was_given)
{
	uint32_t id;

	dial(2);
	id = info_at(receiver[1].address).id;
	for (int i = 0; i < 300; i++)
		assert_int_equal(nopal_connection_send(sender, bytes, MESSAGE, patience_ns), 0);
	assert_int_equal(nopal_connection_remove(sender, id, false), 0);
	assert_int_equal(nopal_connection_remove(sender, id, false), -ENOENT);
	assert_int_equal(nopal_connection_send_to(sender, id, "x", 1, patience_ns, NULL), -ENOENT);
	say(0, "the rest");
	for (int i = 0; i < 300; i++)
		assert_int_equal(nopal_connection_receive(receiver[1].connection, bytes, MESSAGE,
							  patience_ns),
				 MESSAGE);
	assert_int_equal(
		nopal_connection_receive(receiver[1].connection, bytes, MESSAGE, patience_ns),
		-EPIPE);
	for (int i = 0; i < 300; i++)
		nopal_connection_receive(receiver[0].connection, bytes, MESSAGE, patience_ns);
	joined(receiver[0].connection, "the rest");
	wait_for_count(1);
	/* And it may come back, as another one. */
	assert_true(nopal_connection_add(sender, receiver[1].address, patience_ns, &problems) > id);
}

TEST(test_one_is_removed_at_once)
{
	uint32_t id;

	dial(2);
	id = info_at(receiver[1].address).id;
	assert_int_equal(nopal_connection_remove(sender, id, true), 0);
	assert_int_equal(
		nopal_connection_receive(receiver[1].connection, bytes, MESSAGE, patience_ns),
		-ECONNRESET);
	wait_for_count(1);
	assert_int_equal(nopal_connection_remove(sender, id, true), -ENOENT);
	assert_int_equal(nopal_connection_wait(sender, say(0, "still"), patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	joined(receiver[0].connection, "still");
}

/* -------------------------------------------------- who is not there, who dies */

/* Of this port nobody answers. */
static void nobody(struct receiver *one)
{
	nopal_listener_close(one->listener);
	one->listener = NULL;
}

TEST(test_some_are_there)
{
	const char *addresses[2] = { receiver[0].address, receiver[1].address };
	const struct nopal_destination_info *absent;
	struct nopal_destination_info infos[2];

	nobody(&receiver[1]);
	sender = nopal_dial_many("one_to_many_all", addresses, 2, NOPAL_SECOND, &problems);
	assert_non_null(sender);
	assert_int_equal(problems.errors, 0);
	assert_int_equal(problems.count, 1);
	assert_non_null(strstr(problems.entries[0].cause, receiver[1].address));
	assert_int_equal(nopal_connection_destinations(sender, infos, 2), 2);
	absent = &infos[1];
	assert_false(absent->open);
	assert_int_equal(nopal_connection_remove(sender, absent->id, true), 0);
	wait_for_count(1);
	receiver_accept(&receiver[0]);
	say(0, "hello");
	joined(receiver[0].connection, "hello");
}

TEST(test_nobody_is_there)
{
	const char *addresses[2] = { receiver[0].address, receiver[1].address };

	nobody(&receiver[0]);
	nobody(&receiver[1]);
	assert_null(nopal_dial_many("one_to_many_all", addresses, 2, 4 * moment_ns, &problems));
	assert_int_equal(problems.errors, 2);
}

TEST(test_who_does_not_answer_is_not_added)
{
	dial(1);
	nobody(&receiver[1]);
	/* And so it may be tried again. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			nopal_connection_add(sender, receiver[1].address, 4 * moment_ns, &problems),
			-ETIMEDOUT);
	assert_int_equal(problems.errors, 2);
	wait_for_count(1);
	assert_int_equal(nopal_connection_wait(sender, say(0, "alone"), patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	joined(receiver[0].connection, "alone");
}

/* A receiver in a process of its own; its address comes by the pipe. */
static void child(int to_parent)
{
	struct nopal_connection *connection;

	problems = (struct nopal_problems){ 0 };
	receiver_listen(&receiver[0]);
	if (write(to_parent, receiver[0].address, NOPAL_ADDRESS_TEXT) < 0)
		_exit(1);
	connection = nopal_accept(receiver[0].listener, patience_ns, &problems);
	while (connection && nopal_connection_receive(connection, bytes, MESSAGE, -1) >= 0)
		;
	_exit(0);
}

static pid_t mortal;

/* Before this process has threads. */
static int begin_with_a_mortal(void **state)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	mortal = fork();
	if (mortal == 0)
		child(ends[1]);
	assert_true(mortal > 0);
	begin(state);
	nobody(&receiver[2]);
	assert_int_equal(read(ends[0], receiver[2].address, NOPAL_ADDRESS_TEXT),
			 NOPAL_ADDRESS_TEXT);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static int end_of_the_mortal(void **state)
{
	kill(mortal, SIGKILL);
	waitpid(mortal, NULL, 0);
	return end(state);
}

/* All three, of whom the last is the other process. */
static void dial_the_mortal(void)
{
	const char *addresses[MANY] = { 0 };

	for (int i = 0; i < MANY; i++)
		addresses[i] = receiver[i].address;
	sender = nopal_dial_many("one_to_many_all", addresses, MANY, patience_ns, &problems);
	assert_non_null(sender);
	receiver_accept(&receiver[0]);
	receiver_accept(&receiver[1]);
}

TEST_WITH(begin_with_a_mortal, end_of_the_mortal, test_what_is_not_known_yet_is_waited_for)
{
	uint64_t ticket;

	dial_the_mortal();
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(kill(mortal, SIGSTOP), 0);
	ticket = say(0, "are you there?");
	assert_int_equal(nopal_connection_wait(sender, ticket, moment_ns), -ETIMEDOUT);
	assert_int_equal(nopal_connection_wait(sender, 0, moment_ns), -ETIMEDOUT);
	/* None takes the place of one that is open. */
	for (int i = 1; i < NOPAL_TICKETS; i++)
		say(info_at(receiver[2].address).id, "x");
	assert_int_equal(nopal_connection_send_to(sender, 0, "x", 1, moment_ns, &ticket),
			 -ETIMEDOUT);
	assert_int_equal(kill(mortal, SIGCONT), 0);
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	joined(receiver[0].connection, "are you there?");
	joined(receiver[1].connection, "are you there?");
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
}

static void close_with_one_missing(void)
{
	assert_int_equal(nopal_connection_close(sender, patience_ns, &problems), -ECONNRESET);
	sender = NULL;
	assert_int_equal(problems.count, 1);
	assert_non_null(
		strstr(problems.entries[0].cause, "1 message is not known to have arrived"));
	assert_non_null(strstr(problems.entries[0].cause, receiver[2].address));
}

/* Whether it had the message is not known. */
TEST_WITH(begin_with_a_mortal, end_of_the_mortal, test_a_receiver_dies)
{
	struct nopal_destination_info dead;
	uint64_t ticket;

	dial_the_mortal();
	assert_int_equal(kill(mortal, SIGKILL), 0);
	ticket = say(0, "to three");
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns), NOPAL_OUTCOME_UNKNOWN);
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_UNKNOWN);
	while (!info_at(receiver[2].address).ended)
		nap();
	dead = info_at(receiver[2].address);
	assert_true(!dead.open && dead.end != NOPAL_ENDED_WELL && dead.text[0]);
	assert_int_equal(nopal_connection_send_to(sender, dead.id, "x", 1, patience_ns, NULL),
			 -ENOENT);
	ticket = say(0, "to two");
	assert_int_equal(nopal_connection_wait(sender, ticket, patience_ns),
			 NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
	for (int i = 0; i < 2; i++) {
		joined(receiver[i].connection, "to three");
		joined(receiver[i].connection, "to two");
	}
	assert_int_equal(nopal_connection_remove(sender, dead.id, false), 0);
	assert_int_equal(nopal_connection_destinations(sender, NULL, 0), 2);
	close_with_one_missing();
}

/* The last one's end is the connection's. */
TEST_WITH(begin_with_a_mortal, end_of_the_mortal, test_the_last_one_dies)
{
	const char *addresses[1] = { receiver[2].address };
	uint64_t ticket;

	sender = nopal_dial_many("one_to_many_all", addresses, 1, patience_ns, &problems);
	assert_non_null(sender);
	assert_int_equal(kill(mortal, SIGKILL), 0);
	ticket = say(0, "hello?");
	assert_true(nopal_connection_wait(sender, ticket, patience_ns) != NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_receive(sender, bytes, MESSAGE, patience_ns),
			 -ECONNRESET);
	assert_int_equal(nopal_connection_send(sender, "x", 1, patience_ns), -EPIPE);
	assert_int_equal(nopal_connection_add(sender, receiver[0].address, patience_ns, &problems),
			 -EPIPE);
	assert_int_equal(nopal_connection_close(sender, patience_ns, &problems), -ECONNRESET);
	sender = NULL;
}
