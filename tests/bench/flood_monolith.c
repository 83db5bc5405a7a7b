/* SPDX-License-Identifier: MIT */
/*
 * flood_monolith -- the hand-written transport of tests/bench/monolithic as a row:
 * the same messages as flood_nopal's, through the same worlds.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/endpoint_sessions.h"
#include "flood.h"
#include "monolithic/monolith.h"
#include <nopal/nopal.h>

enum { BAD_CONFIG = 2, REFUSED = 3 };

struct bulk {
	struct flood *flood;
	struct event_base *base;
	struct monolith_setup setup;
	struct monolith_connection *connection;
	struct nopal_buffer *walk; /* the sender's */
	uint32_t message;	   /* bytes */
	bool over;
};

static void bulk_push(struct bulk *bulk)
{
	struct flood *flood = bulk->flood;

	while (!bulk->over) {
		if (flood_over(flood)) {
			bulk->over = true;
			monolith_close(bulk->connection);
			return;
		}
		if (monolith_send(bulk->connection, bulk->walk, (uint32_t)flood->place,
				  bulk->message) < 0)
			return;
		flood_sent(flood, bulk->message);
	}
}

static void bulk_on_opened(struct monolith_connection *connection, void *user)
{
	struct bulk *bulk = user;

	bulk->connection = connection;
	if (bulk->walk)
		bulk_push(bulk);
}

static void bulk_on_writable(struct monolith_connection *connection, void *user)
{
	(void)connection;
	bulk_push(user);
}

static void bulk_on_received(struct monolith_connection *connection,
			     const struct monolith_message *message, void *user)
{
	struct bulk *bulk = user;
	struct flood *flood = bulk->flood;

	(void)connection;
	flood_arrived(flood);
	flood_begins(flood, message->length);
	for (uint32_t i = 0; i < message->count; i++)
		flood_stream(flood, message->pieces[i].bytes, message->pieces[i].length);
}

static void bulk_on_ended(struct monolith_connection *connection, enum nopal_end end,
			  const char *text, void *user)
{
	struct bulk *bulk = user;

	(void)connection;
	if (end != 0)
		fprintf(stderr, "%s: ended: %s\n", bulk->flood->what, text);
	event_base_loopbreak(bulk->base);
}

static const struct monolith_callbacks bulk_callbacks = {
	.opened = bulk_on_opened,
	.writable = bulk_on_writable,
	.received = bulk_on_received,
	.ended = bulk_on_ended,
};

/* ------------------------------------------------------------------ the ends */

/* WHAT is a config, or a word that one beside this program has in its name. */
static void bulk_setup(struct bulk *bulk, const char *what)
{
	char name[FILENAME_MAX];
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	snprintf(name, sizeof(name), "%s%s",
		 strncmp(what, "monolith", strlen("monolith")) ? "" : "bench_", what);
	plan = nopal_plan_load(name, NULL, &problems);
	if (!plan || !monolith_setup_read(&bulk->setup, plan, &problems)) {
		nopal_problems_print(&problems, stderr);
		exit(BAD_CONFIG);
	}
	if (nopal_plan_provides(plan, "integrity"))
		bulk->flood->class_name = "crc";
	bulk->message = nopal_plan_info(plan)->body_bytes * FLOOD_TRAIN;
	bulk->message -= bulk->message % (uint32_t)sizeof(uint64_t);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
}

static struct monolith_endpoint *bulk_endpoint(struct bulk *bulk, struct nopal_world *world,
					       const struct nopal_address *local)
{
	struct flood *flood = bulk->flood;
	struct nopal_problems problems = { 0 };
	struct monolith_endpoint *endpoint;
	const char *transport, *granted;

	endpoint = monolith_endpoint_open(world, local, &bulk->setup, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!endpoint)
		exit(REFUSED);
	transport = nopal_endpoint_transport((struct nopal_endpoint *)endpoint);
	granted = strstr(transport, "rcvbuf ");
	if (granted)
		sscanf(granted, "rcvbuf %d", &flood->receive_buffer);
	granted = strstr(transport, "sndbuf ");
	if (granted)
		sscanf(granted, "sndbuf %d", &flood->send_buffer);
	snprintf(flood->version, sizeof(flood->version), "%s by hand, %u bytes a packet, %.64s",
		 NOPAL_VERSION, bulk->setup.body_bytes, transport);
	return endpoint;
}

static void bulk_start(struct bulk *bulk, struct nopal_world *world, const char *text)
{
	struct nopal_address address = { 0 }, any = { 0 };
	struct nopal_problems problems = { 0 };

	nopal_address_parse(text, &address, &problems);
	nopal_address_parse("0.0.0.0:0", &any, &problems);
	nopal_problems_fini(&problems);
	if (!bulk->flood->sends) {
		monolith_listen(bulk_endpoint(bulk, world, &address), &bulk_callbacks, bulk);
		flood_ready(bulk->flood);
		return;
	}
	bulk->walk = nopal_buffer_new(FLOOD_WALK);
	flood_fill(nopal_buffer_bytes(bulk->walk));
	monolith_open(bulk_endpoint(bulk, world, &any), &address, &bulk_callbacks, bulk);
}

int main(int argc, char **argv)
{
	struct event_config *wanted = event_config_new();
	struct flood flood;
	struct bulk bulk = { .flood = &flood };
	struct nopal_world *world;

	flood_begin(&flood, argc, argv);
	flood.alone = true;
	bulk_setup(&bulk, flood.what);
	event_config_set_flag(wanted, EVENT_BASE_FLAG_PRECISE_TIMER);
	bulk.base = event_base_new_with_config(wanted);
	world = nopal_live_new(bulk.base);
	bulk_start(&bulk, world, argv[2]);
	event_base_dispatch(bulk.base);
	flood_report(&flood);
	nopal_world_free(world);
	if (bulk.walk)
		nopal_buffer_free(bulk.walk);
	monolith_setup_free(&bulk.setup);
	event_base_free(bulk.base);
	event_config_free(wanted);
	return 0;
}
