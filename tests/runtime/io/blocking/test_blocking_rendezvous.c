/* SPDX-License-Identifier: MIT */
/* nopal_rendezvous: two threads, each with a world of its own, and no listener. */
#include <pthread.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

static const int64_t talk_timeout_ns = 60 * NOPAL_SECOND;

struct meeter {
	char local[NOPAL_ADDRESS_TEXT], peer[NOPAL_ADDRESS_TEXT];
	struct nopal_connection *connection;
};

static void *rendezvous_there(void *user)
{
	struct meeter *meeter = user;
	struct nopal_problems problems = { 0 };

	meeter->connection =
		nopal_rendezvous("bulk", meeter->local, meeter->peer, talk_timeout_ns, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return NULL;
}

static void free_address(char *text)
{
	struct nopal_problems problems = { 0 };
	struct nopal_listener *listener;
	struct nopal_address local;

	listener = nopal_listen("bulk", "127.0.0.1:0", &problems);
	assert_non_null(listener);
	nopal_listener_address(listener, &local);
	nopal_address_format(&local, text);
	nopal_listener_close(listener);
	nopal_problems_fini(&problems);
}

TEST(test_two_rendezvous)
{
	struct meeter here = { .connection = NULL }, there;
	struct nopal_problems problems = { 0 };
	pthread_t thread;
	char bytes[8];

	free_address(here.local);
	free_address(here.peer);
	memcpy(there.local, here.peer, sizeof(here.peer));
	memcpy(there.peer, here.local, sizeof(here.local));
	assert_int_equal(pthread_create(&thread, NULL, rendezvous_there, &there), 0);
	rendezvous_there(&here);
	pthread_join(thread, NULL);
	assert_non_null(here.connection);
	assert_non_null(there.connection);
	assert_int_equal(nopal_connection_send(here.connection, "well", 4, talk_timeout_ns), 0);
	assert_int_equal(
		nopal_connection_receive(there.connection, bytes, sizeof(bytes), talk_timeout_ns),
		4);
	assert_int_equal(nopal_connection_close(here.connection, talk_timeout_ns, &problems), 0);
	assert_int_equal(nopal_connection_close(there.connection, talk_timeout_ns, &problems), 0);
	nopal_problems_fini(&problems);
}

TEST(test_what_cannot_rendezvous_is_said)
{
	struct nopal_problems problems = { 0 };

	assert_null(nopal_rendezvous("ctp_minimal", "127.0.0.1:0", "127.0.0.1:9", talk_timeout_ns,
				     &problems));
	assert_true(problems.errors > 0);
	nopal_problems_fini(&problems);
}
