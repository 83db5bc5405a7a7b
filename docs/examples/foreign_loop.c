/* SPDX-License-Identifier: MIT */
/*
 * foreign_loop.c -- Nopal on an event loop of any kind, here poll(2): messages from a client to a
 * server.
 *
 *     cc -o foreign_loop foreign_loop.c $(pkg-config --cflags --libs nopal)
 *
 * ./foreign_loop [CONFIG] prints:
 *
 *     the server received 1000 messages, 10000000 bytes in all
 *     the client's session ended well
 */
#include <inttypes.h>
#include <nopal/nopal.h>
#include <poll.h>
#include <stdio.h>

enum { MESSAGES = 1000, MESSAGE_BYTES = 10000 };

static struct transfer {
	unsigned sent;
	uint64_t messages, bytes;
	bool over, well;
} transfer;

static void client_writable(struct nopal_session *session, void *user)
{
	static const char message[MESSAGE_BYTES];

	(void)user;
	while (transfer.sent < MESSAGES) {
		if (nopal_send(session, message, sizeof(message), 0))
			return; /* the send buffer is full: `writable` follows */
		transfer.sent++;
	}
	nopal_session_close(session);
}

static void client_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			 void *user)
{
	(void)session;
	(void)user;
	transfer.over = true;
	transfer.well = end == NOPAL_ENDED_WELL;
	if (!transfer.well)
		fprintf(stderr, "the client's session ended: %s\n", text);
}

static void server_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	(void)session;
	(void)user;
	transfer.messages++;
	transfer.bytes += nopal_message_length(message);
}

/* How long poll(2) may sleep, in milliseconds, of which -1 is for ever. */
static int sleep_ms(const struct nopal_world *world)
{
	int64_t deadline_ns = nopal_live_deadline(world);
	int64_t left_ns = deadline_ns - nopal_world_now(world);

	if (deadline_ns == NOPAL_NEVER)
		return -1;
	return left_ns <= 0 ? 0 : (int)((left_ns + NOPAL_MILLISECOND - 1) / NOPAL_MILLISECOND);
}

static void run(struct nopal_world *world)
{
	struct pollfd ready[] = {
		{ .fd = nopal_live_fd(world), .events = POLLIN },
		/* and the program's own descriptors */
	};

	while (!transfer.over) {
		poll(ready, sizeof(ready) / sizeof(ready[0]), sleep_ms(world));
		nopal_live_poll(world);
	}
}

int main(int count, char **words)
{
	static const struct nopal_callbacks server_callbacks = { .received = server_received };
	static const struct nopal_callbacks client_callbacks = {
		.opened = client_writable,
		.writable = client_writable,
		.ended = client_ended,
	};
	struct nopal_world *world = nopal_live_new(NULL); /* no loop of libevent */
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_load(count > 1 ? words[1] : "bulk", NULL, &problems);
	struct nopal_address address;

	nopal_address_parse("127.0.0.1:0", &address, &problems);
	if (problems.errors) {
		nopal_problems_print(&problems, stderr);
		return 1;
	}

	struct nopal_endpoint *client = nopal_endpoint_open(world, &address, &problems);
	struct nopal_endpoint *server = nopal_endpoint_open(world, &address, &problems);

	nopal_endpoint_local(server, &address);
	nopal_endpoint_allow(server, plan, 0, &server_callbacks, NULL);
	nopal_open(client, plan, &address, &client_callbacks, NULL);
	run(world);
	printf("the server received %" PRIu64 " messages, %" PRIu64 " bytes in all\n",
	       transfer.messages, transfer.bytes);
	if (transfer.well)
		printf("the client's session ended well\n");

	nopal_world_free(world);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	return transfer.well ? 0 : 1;
}
