/* SPDX-License-Identifier: MIT */
/*
 * Every shipped config: it loads without a problem, keeps to its header budget, and on a clean
 * simulated link delivers all that is sent, and ends well.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "support/suite.h"
#include "support/test.h"

enum {
	MESSAGES = 40,
	MESSAGE_BYTES = 800,
	MINIMAL_HEADER_BYTES = 8, /* docs/wire.md: budgets */
	BULK_HEADER_BYTES = 20,
	PORT = 4000,
	SEED = 11,
};
#define PATIENCE_NS (120 * NOPAL_SECOND)

struct talk {
	unsigned sent, delivered, ended;
	int end;
	struct nopal_session *client;
};

static void send_more(struct talk *talk)
{
	uint8_t bytes[MESSAGE_BYTES];

	while (talk->sent < MESSAGES) {
		memset(bytes, (int)talk->sent, sizeof(bytes));
		if (nopal_send(talk->client, bytes, sizeof(bytes), talk->sent))
			return;
		talk->sent++;
	}
	nopal_session_close(talk->client);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct talk *talk = user;

	talk->client = session;
	send_more(talk);
}

static void on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	send_more(user);
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct talk *talk = user;

	(void)session;
	assert_int_equal(nopal_message_length(message), MESSAGE_BYTES);
	talk->delivered++;
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct talk *talk = user;

	(void)session;
	if (end != NOPAL_ENDED_WELL)
		print_message("ended: %s\n", text ? text : "");
	talk->ended++;
	talk->end = (int)end;
}

static const struct nopal_callbacks server = {
	.accepted = on_accepted,
	.received = on_received,
};
static const struct nopal_callbacks client = {
	.opened = on_opened,
	.writable = on_writable,
	.ended = on_ended,
};

/* To one destination alone, where two have to have each message. */
static bool lacks_a_quorum(const char *path)
{
	return strstr(path, "one_to_many_quorum") != NULL;
}

static void converse(struct nopal_plan *plan, const char *path)
{
	struct nopal_world *world = nopal_sim_new(SEED);
	int from = nopal_sim_host(world), to = nopal_sim_host(world);
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };
	struct nopal_endpoint *here, *there;
	struct nopal_address address;
	struct talk talk = { 0 };

	assert_int_equal(nopal_link_parse("rate 10mbit delay 10ms", &forward, &reverse, &problems),
			 0);
	assert_int_equal(nopal_sim_connect(world, from, to, &forward, &reverse), 0);
	here = nopal_sim_endpoint(world, from, PORT);
	there = nopal_sim_endpoint(world, to, PORT);
	nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS, &server, &talk);
	nopal_endpoint_local(there, &address);
	assert_non_null(nopal_open(here, plan, &address, &client, &talk));
	nopal_sim_run(world, PATIENCE_NS);
	if (talk.delivered != MESSAGES)
		print_message("%s: %u of %u messages\n", path, talk.delivered, talk.sent);
	assert_int_equal(talk.sent, MESSAGES);
	assert_int_equal(talk.delivered, MESSAGES);
	assert_int_equal(talk.ended, 1);
	assert_int_equal(talk.end, lacks_a_quorum(path) ? NOPAL_UNDELIVERED : NOPAL_ENDED_WELL);
	nopal_world_free(world);
	nopal_problems_fini(&problems);
}

static struct nopal_plan *load(const char *name)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(name, NULL, &problems);
	nopal_problems_print(&problems, stderr);
	assert_non_null(plan);
	assert_int_equal(problems.errors, 0);
	nopal_problems_fini(&problems);
	return plan;
}

TEST(all_shipped_configs_deliver)
{
	glob_t found;

	assert_int_equal(glob(NOPAL_SOURCE_ROOT "/configs/*.conf", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct nopal_plan *plan;

		if (!suite_loads(found.gl_pathv[i]))
			continue;
		plan = load(found.gl_pathv[i]);
		assert_true(strlen(nopal_plan_info(plan)->description) > 0);
		converse(plan, found.gl_pathv[i]);
		nopal_plan_unref(plan);
	}
	globfree(&found);
}

TEST(headers_keep_to_their_budget)
{
	struct nopal_plan *minimal = load("ctp_minimal"), *bulk = load("bulk");

	assert_true(nopal_plan_info(minimal)->header_bytes <= MINIMAL_HEADER_BYTES);
	assert_true(nopal_plan_info(bulk)->header_bytes <= BULK_HEADER_BYTES);
	nopal_plan_unref(minimal);
	nopal_plan_unref(bulk);
}
