/* SPDX-License-Identifier: MIT */
/*
 * test_blocking_set -- sets of blocking connections: who is ready, in which order, by which
 * descriptor.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include <nopal/nopal.h>
#include "support/test.h"

enum { PAIRS = 48, ROOM = 100, TIMEOUT_S = 20, BIG = 1 << 20 };
static const int64_t timeout_ns = TIMEOUT_S * NOPAL_SECOND;

/* A listener, and PAIRS connections to it, of which `there` are the accepted ends. */
struct crowd {
	struct nopal_listener *listener;
	struct nopal_connections *set;
	struct nopal_connection *here[PAIRS], *there[PAIRS];
	struct nopal_problems problems;
	char address[NOPAL_ADDRESS_TEXT];
};

static void meet(struct crowd *crowd, int pairs)
{
	for (int i = 0; i < pairs; i++) {
		crowd->here[i] = nopal_dial("bulk", crowd->address, timeout_ns, &crowd->problems);
		assert_non_null(crowd->here[i]);
		crowd->there[i] = nopal_accept(crowd->listener, timeout_ns, &crowd->problems);
		assert_non_null(crowd->there[i]);
	}
}

static int crowd_open(void **state)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct nopal_address local;

	crowd->listener = nopal_listen("bulk", "127.0.0.1:0", &crowd->problems);
	nopal_problems_print(&crowd->problems, stderr);
	assert_non_null(crowd->listener);
	nopal_listener_address(crowd->listener, &local);
	nopal_address_format(&local, crowd->address);
	crowd->set = nopal_connections_new();
	assert_non_null(crowd->set);
	*state = crowd;
	return 0;
}

static void part(struct crowd *crowd, struct nopal_connection **connection, int64_t wait_ns)
{
	if (*connection)
		nopal_connection_close(*connection, wait_ns, &crowd->problems);
	*connection = NULL;
}

static int crowd_close(void **state)
{
	struct crowd *crowd = *state;

	for (int i = 0; i < PAIRS; i++) {
		part(crowd, &crowd->here[i], 0);
		part(crowd, &crowd->there[i], 0);
	}
	nopal_listener_close(crowd->listener);
	if (crowd->set)
		nopal_connections_free(crowd->set);
	nopal_problems_fini(&crowd->problems);
	free(crowd);
	return 0;
}

EACH_TEST(crowd_open, crowd_close);

static void watch(struct crowd *crowd, int pairs, unsigned events)
{
	for (int i = 0; i < pairs; i++)
		assert_int_equal(nopal_connections_add(crowd->set, crowd->there[i], events,
						       &crowd->there[i]),
				 0);
}

static void say(struct nopal_connection *connection)
{
	assert_int_equal(nopal_connection_send(connection, "hello", 5, timeout_ns), 0);
}

static void hear(struct nopal_connection *connection)
{
	char bytes[ROOM];

	assert_int_equal(nopal_connection_receive(connection, bytes, ROOM, timeout_ns), 5);
}

static bool is_readable(int fd, int64_t wait_ns)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	assert_true(fd >= 0);
	return poll(&ready, 1, (int)(wait_ns / NOPAL_MILLISECOND)) == 1;
}

/* How many are ready now. */
static size_t now_ready(struct crowd *crowd)
{
	struct nopal_connection_ready ready[PAIRS + 1];

	return nopal_connections_wait(crowd->set, ready, PAIRS + 1, 0);
}

/* The events of the one member that is ready. */
static unsigned events_of_one(struct crowd *crowd)
{
	struct nopal_connection_ready ready[2];

	assert_int_equal(nopal_connections_wait(crowd->set, ready, 2, timeout_ns), 1);
	return ready[0].events;
}

TEST(test_nobody_is_ready_where_nothing_came)
{
	struct crowd *crowd = *state;

	assert_int_equal(now_ready(crowd), 0);
	meet(crowd, 2);
	watch(crowd, 2, NOPAL_READABLE);
	assert_int_equal(now_ready(crowd), 0);
	assert_false(is_readable(nopal_connections_fd(crowd->set), 0));
}

TEST(test_those_and_only_those_with_messages_are_told_of_many)
{
	static const int speakers[] = { 3, 17, 40 };
	struct crowd *crowd = *state;
	bool told[PAIRS] = { false };
	struct nopal_connection_ready ready[PAIRS];
	size_t left = 3, count;

	meet(crowd, PAIRS);
	watch(crowd, PAIRS, NOPAL_READABLE);
	for (int i = 0; i < 3; i++)
		say(crowd->here[speakers[i]]);
	while (left && (count = nopal_connections_wait(crowd->set, ready, PAIRS, timeout_ns)))
		for (size_t i = 0; i < count; i++) {
			struct nopal_connection **at = ready[i].user;

			assert_int_equal(ready[i].events, NOPAL_READABLE);
			assert_ptr_equal(ready[i].connection, *at);
			assert_null(ready[i].listener);
			hear(*at);
			told[at - crowd->there] = true;
			left--;
		}
	for (int i = 0; i < 3; i++)
		assert_true(told[speakers[i]]);
	assert_int_equal(left, 0);
	assert_int_equal(now_ready(crowd), 0);
}

/* With room for one each call tells another until all were told. */
TEST(test_who_was_told_last_comes_last)
{
	enum { FEW = 3 };
	struct crowd *crowd = *state;
	struct nopal_connection_ready first[FEW], again[FEW];

	meet(crowd, FEW);
	watch(crowd, FEW, NOPAL_READABLE);
	for (int i = 0; i < FEW; i++)
		say(crowd->here[i]);
	while (now_ready(crowd) < FEW)
		;
	for (int i = 0; i < FEW; i++)
		assert_int_equal(nopal_connections_wait(crowd->set, &first[i], 1, 0), 1);
	assert_ptr_not_equal(first[0].connection, first[1].connection);
	assert_ptr_not_equal(first[0].connection, first[2].connection);
	assert_ptr_not_equal(first[1].connection, first[2].connection);
	assert_int_equal(nopal_connections_wait(crowd->set, again, FEW, 0), FEW);
	for (int i = 0; i < FEW; i++)
		assert_ptr_equal(again[i].connection, first[i].connection);
}

TEST(test_the_descriptor_is_readable_while_somebody_is_ready)
{
	struct crowd *crowd = *state;
	int fd = nopal_connections_fd(crowd->set);

	meet(crowd, 2);
	watch(crowd, 2, NOPAL_READABLE);
	assert_false(is_readable(fd, 0));
	say(crowd->here[1]);
	assert_true(is_readable(fd, timeout_ns));
	assert_true(is_readable(fd, 0));
	hear(crowd->there[1]);
	assert_false(is_readable(fd, 0));
}

TEST(test_the_end_is_told_unasked_and_beside_unread_messages)
{
	struct crowd *crowd = *state;

	meet(crowd, 1);
	watch(crowd, 1, 0);
	say(crowd->here[0]);
	part(crowd, &crowd->here[0], timeout_ns);
	assert_int_equal(events_of_one(crowd), NOPAL_ENDED);
	watch(crowd, 1, NOPAL_READABLE | NOPAL_WRITABLE);
	assert_int_equal(events_of_one(crowd), NOPAL_READABLE | NOPAL_ENDED);
	hear(crowd->there[0]);
	assert_int_equal(events_of_one(crowd), NOPAL_ENDED);
}

TEST(test_writable_is_who_has_room)
{
	struct crowd *crowd = *state;
	char *bytes = calloc(1, BIG);
	int taken = 0;

	meet(crowd, 1);
	watch(crowd, 1, NOPAL_WRITABLE);
	assert_int_equal(events_of_one(crowd), NOPAL_WRITABLE);
	while (!nopal_connection_send(crowd->there[0], bytes, BIG, NOPAL_SECOND / 5))
		taken++;
	assert_int_equal(now_ready(crowd), 0);
	while (taken-- > 0)
		assert_int_equal(nopal_connection_receive(crowd->here[0], bytes, BIG, timeout_ns),
				 BIG);
	assert_int_equal(events_of_one(crowd), NOPAL_WRITABLE);
	free(bytes);
}

TEST(test_a_listener_is_a_member_like_others)
{
	struct crowd *crowd = *state;
	struct nopal_connection_ready ready;

	assert_int_equal(nopal_connections_add_listener(crowd->set, crowd->listener, crowd), 0);
	crowd->here[0] = nopal_dial("bulk", crowd->address, timeout_ns, &crowd->problems);
	assert_non_null(crowd->here[0]);
	assert_int_equal(nopal_connections_wait(crowd->set, &ready, 1, timeout_ns), 1);
	assert_ptr_equal(ready.listener, crowd->listener);
	assert_ptr_equal(ready.user, crowd);
	assert_null(ready.connection);
	assert_int_equal(ready.events, NOPAL_READABLE);
	crowd->there[0] = nopal_accept(crowd->listener, 0, &crowd->problems);
	assert_non_null(crowd->there[0]);
	assert_int_equal(now_ready(crowd), 0);
	assert_int_equal(nopal_connections_remove_listener(crowd->set, crowd->listener), 0);
	assert_int_equal(nopal_connections_remove_listener(crowd->set, crowd->listener), -ENOENT);
}

TEST(test_members_leave_when_removed_or_closed)
{
	struct crowd *crowd = *state;

	meet(crowd, 2);
	watch(crowd, 2, NOPAL_WRITABLE);
	assert_int_equal(now_ready(crowd), 2);
	assert_int_equal(nopal_connections_remove(crowd->set, crowd->there[0]), 0);
	assert_int_equal(nopal_connections_remove(crowd->set, crowd->there[0]), -ENOENT);
	assert_int_equal(now_ready(crowd), 1);
	part(crowd, &crowd->there[1], 0);
	assert_int_equal(now_ready(crowd), 0);
}

TEST(test_a_connection_is_in_one_set_until_that_is_freed)
{
	struct crowd *crowd = *state;
	struct nopal_connections *other = nopal_connections_new();
	struct nopal_connection_ready ready;

	meet(crowd, 1);
	watch(crowd, 1, NOPAL_WRITABLE);
	assert_int_equal(nopal_connections_add(other, crowd->there[0], NOPAL_WRITABLE, NULL),
			 -EBUSY);
	assert_int_equal(nopal_connections_add(other, crowd->there[0], 64, NULL), -EINVAL);
	nopal_connections_free(crowd->set);
	crowd->set = NULL;
	say(crowd->here[0]);
	hear(crowd->there[0]);
	assert_int_equal(nopal_connections_add(other, crowd->there[0], NOPAL_WRITABLE, NULL), 0);
	assert_int_equal(nopal_connections_wait(other, &ready, 1, 0), 1);
	nopal_connections_free(other);
}

static void *adds_later(void *user)
{
	struct crowd *crowd = user;

	nopal_connections_add(crowd->set, crowd->there[0], NOPAL_READABLE, NULL);
	nopal_connection_send(crowd->here[0], "hello", 5, timeout_ns);
	return NULL;
}

TEST(test_a_waiting_thread_is_told_of_a_member_that_was_added_meanwhile)
{
	struct crowd *crowd = *state;
	pthread_t thread;

	meet(crowd, 1);
	assert_int_equal(pthread_create(&thread, NULL, adds_later, crowd), 0);
	assert_int_equal(events_of_one(crowd), NOPAL_READABLE);
	pthread_join(thread, NULL);
}
