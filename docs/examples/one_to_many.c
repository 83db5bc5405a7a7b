/* SPDX-License-Identifier: MIT */
/*
 * one_to_many.c -- a group with three destinations: a message for all of them, another for one, and
 * which of them have got it.
 *
 *     cc -o one_to_many one_to_many.c $(pkg-config --cflags --libs nopal libevent_core)
 *
 * ./one_to_many prints:
 *
 *     all destinations have the first message
 *       destination 1 has 5 of 5 bytes
 *       destination 2 has 5 of 5 bytes
 *       destination 3 has 5 of 5 bytes
 *     destination 2 has the second message
 *       destination 1 has 5 of 5 bytes
 *       destination 2 has 12 of 12 bytes
 *       destination 3 has 5 of 5 bytes
 *     the group ended well
 */
#include <event2/event.h>
#include <inttypes.h>
#include <nopal/nopal.h>
#include <stdio.h>

enum { DESTINATIONS = 3, FOR_ALL = 1, FOR_ONE }; /* the last two are cookies of messages */

struct sender {
	struct event_base *base;
	unsigned destination; /* the property that names one destination */
	bool well;
};

static void print_destinations(struct nopal_session *group)
{
	struct nopal_destination_info infos[DESTINATIONS];
	size_t count = nopal_destinations(group, infos, DESTINATIONS);

	for (size_t i = 0; i < count && i < DESTINATIONS; i++)
		printf("  destination %" PRIu32 " has %" PRIu64 " of %" PRIu64 " bytes\n",
		       infos[i].id, infos[i].arrived_bytes, infos[i].given_bytes);
}

static void send_to_one(struct nopal_session *group, unsigned destination, uint32_t id)
{
	const struct nopal_property property = { .which = destination, .value = id };
	const struct nopal_outgoing outgoing = {
		.bytes = "goodbye",
		.length = 7,
		.cookie = FOR_ONE,
		.properties = &property,
		.property_count = 1,
	};

	nopal_send_message(group, &outgoing);
}

/* A message has its outcome: with this config it is delivered when all destinations have it. */
static void group_sent(struct nopal_session *group, uint64_t cookie, enum nopal_outcome outcome,
		       void *user)
{
	struct sender *sender = user;

	if (outcome != NOPAL_OUTCOME_DELIVERED)
		return;
	printf(cookie == FOR_ALL ? "all destinations have the first message\n"
				 : "destination 2 has the second message\n");
	print_destinations(group);
	if (cookie == FOR_ALL)
		send_to_one(group, sender->destination, 2);
	else
		nopal_session_close(group);
}

static void group_ended(struct nopal_session *group, enum nopal_end end, const char *text,
			void *user)
{
	struct sender *sender = user;

	(void)group;
	sender->well = end == NOPAL_ENDED_WELL;
	printf("the group ended %s\n", sender->well ? "well" : text);
	event_base_loopbreak(sender->base);
}

int main(void)
{
	static const struct nopal_callbacks receiver_callbacks = { 0 };
	static const struct nopal_callbacks group_callbacks = {
		.sent = group_sent,
		.ended = group_ended,
	};
	struct sender sender = { .base = event_base_new() };
	struct nopal_world *world = nopal_live_new(sender.base);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_load("one_to_many_all", NULL, &problems);
	struct nopal_address any, address;

	nopal_address_parse("127.0.0.1:0", &any, &problems);
	if (problems.errors) {
		nopal_problems_print(&problems, stderr);
		return 1;
	}
	sender.destination = nopal_property(plan, "destination");

	/* without `peer` the group begins with no destination */
	struct nopal_session *group = nopal_session_open(&(struct nopal_open){
		.endpoint = nopal_endpoint_open(world, &any, &problems),
		.plan = plan,
		.callbacks = &group_callbacks,
		.user = &sender,
	});

	for (int i = 0; i < DESTINATIONS; i++) {
		struct nopal_endpoint *receiver = nopal_endpoint_open(world, &any, &problems);

		nopal_endpoint_allow(receiver, plan, 0, &receiver_callbacks, NULL);
		nopal_endpoint_local(receiver, &address);
		nopal_destination_add(group, &address); /* its id counts from 1 */
	}
	nopal_send(group, "hello", 5, FOR_ALL);
	event_base_dispatch(sender.base);

	nopal_world_free(world);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	event_base_free(sender.base);
	return sender.well ? 0 : 1;
}
