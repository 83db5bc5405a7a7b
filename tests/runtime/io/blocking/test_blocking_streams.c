/* SPDX-License-Identifier: MIT */
/* Several streams to one host by the blocking calls: they are added, removed one by one, and all at
 * once. */
#include <errno.h>
#include <string.h>

#include <nopal/address.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum { HOSTS = 2, MESSAGES = 20, ROOM = 64 };

static const int64_t patience_ns = 20 * NOPAL_SECOND;
static const char CONFIG[] = "one_to_many_streams";

static struct nopal_problems problems;
static struct nopal_listener *listener[HOSTS];
static char address[HOSTS][NOPAL_ADDRESS_TEXT];

static void listen_all(void)
{
	struct nopal_address local;

	problems = (struct nopal_problems){ 0 };
	for (int i = 0; i < HOSTS; i++) {
		listener[i] = nopal_listen(CONFIG, "127.0.0.1:0", &problems);
		assert_non_null(listener[i]);
		nopal_listener_address(listener[i], &local);
		nopal_address_format(&local, address[i]);
	}
}

static struct nopal_connection *accept_at(int host)
{
	struct nopal_connection *one = nopal_accept(listener[host], patience_ns, &problems);

	assert_non_null(one);
	return one;
}

/* All that comes until the end. */
static int count_of(struct nopal_connection *one)
{
	char text[ROOM];
	int count = 0;

	while (nopal_connection_receive(one, text, sizeof(text), patience_ns) > 0)
		count++;
	nopal_connection_close(one, patience_ns, &problems);
	return count;
}

static void say(struct nopal_connection *sender, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(nopal_connection_send(sender, "hello", 5, patience_ns), 0);
	assert_int_equal(nopal_connection_wait(sender, 0, patience_ns), NOPAL_OUTCOME_DELIVERED);
}

TEST(test_streams_to_a_host_come_and_go)
{
	struct nopal_connection *sender, *first, *second, *third, *other;
	const char *addresses[3];
	struct nopal_destination_info infos[4];
	int64_t id;

	listen_all();
	addresses[0] = addresses[1] = address[0];
	addresses[2] = address[1];
	sender = nopal_dial_many(CONFIG, addresses, 3, patience_ns, &problems);
	nopal_problems_print(&problems, stderr);
	assert_non_null(sender);
	first = accept_at(0);
	second = accept_at(0);
	other = accept_at(1);
	say(sender, MESSAGES);
	assert_int_equal(nopal_connection_destinations(sender, infos, 4), 3);
	/* one of two, and the host is there still */
	assert_int_equal(nopal_connection_remove(sender, infos[0].id, false), 0);
	say(sender, MESSAGES);
	id = nopal_connection_add(sender, address[0], patience_ns, &problems);
	assert_true(id > 3);
	third = accept_at(0);
	say(sender, MESSAGES);
	/* all of it */
	assert_int_equal(nopal_connection_remove_host(sender, address[0], false, &problems), 0);
	assert_int_equal(nopal_connection_remove_host(sender, address[0], false, &problems),
			 -ENOENT);
	say(sender, MESSAGES);
	assert_int_equal(nopal_connection_close(sender, patience_ns, &problems), 0);
	assert_int_equal(count_of(first) + count_of(second) + count_of(third), 3 * MESSAGES);
	assert_int_equal(count_of(other), 4 * MESSAGES);
	for (int i = 0; i < HOSTS; i++)
		nopal_listener_close(listener[i]);
	nopal_problems_fini(&problems);
}
