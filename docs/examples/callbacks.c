/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c -- an echo server and its client on one libevent loop: a message there and back.
 *
 *     cc -o callbacks callbacks.c $(pkg-config --cflags --libs nopal libevent_core)
 *
 * ./callbacks [CONFIG] prints:
 *
 *     the server received: hello
 *     the client received: hello
 *     both sides ended well
 */
#include <event2/event.h>
#include <nopal/nopal.h>
#include <stdio.h>

struct conversation {
	struct event_base *base;
	int ended_well, ended;
};

static void *server_accepted(struct nopal_session *session, void *listener_user)
{
	(void)session;
	return listener_user; /* `user` of the session's other callbacks */
}

static void server_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	char text[64];
	size_t length = nopal_message_copy(message, 0, text, sizeof(text));

	(void)user;
	printf("the server received: %.*s\n", (int)length, text);
	nopal_send(session, text, length, 0);
}

static void client_opened(struct nopal_session *session, void *user)
{
	(void)user;
	nopal_send(session, "hello", 5, 0);
}

static void client_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	char text[64];
	size_t length = nopal_message_copy(message, 0, text, sizeof(text));

	(void)user;
	printf("the client received: %.*s\n", (int)length, text);
	nopal_session_close(session); /* in good order: `ended` follows */
}

/* The last callback of either side. */
static void ended(struct nopal_session *session, enum nopal_end end, const char *text, void *user)
{
	struct conversation *conversation = user;

	(void)session;
	if (end == NOPAL_ENDED_WELL)
		conversation->ended_well++;
	else
		fprintf(stderr, "a session ended: %s\n", text);
	if (++conversation->ended == 2)
		event_base_loopbreak(conversation->base);
}

int main(int count, char **words)
{
	static const struct nopal_callbacks server_callbacks = {
		.accepted = server_accepted,
		.received = server_received,
		.ended = ended,
	};
	static const struct nopal_callbacks client_callbacks = {
		.opened = client_opened,
		.received = client_received,
		.ended = ended,
	};
	struct conversation conversation = { .base = event_base_new() };
	struct nopal_world *world = nopal_live_new(conversation.base);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_load(count > 1 ? words[1] : "bulk", NULL, &problems);
	struct nopal_address address;

	nopal_address_parse("127.0.0.1:0", &address, &problems); /* port 0: a free one */
	if (problems.errors) {
		nopal_problems_print(&problems, stderr);
		return 1;
	}

	struct nopal_endpoint *client = nopal_endpoint_open(world, &address, &problems);
	struct nopal_endpoint *server = nopal_endpoint_open(world, &address, &problems);

	nopal_endpoint_local(server, &address);
	nopal_endpoint_allow(server, plan, 0, &server_callbacks, &conversation);
	nopal_open(client, plan, &address, &client_callbacks, &conversation);
	event_base_dispatch(conversation.base);
	if (conversation.ended_well == 2)
		printf("both sides ended well\n");

	nopal_world_free(world); /* and its endpoints */
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	event_base_free(conversation.base);
	return conversation.ended_well == 2 ? 0 : 1;
}
