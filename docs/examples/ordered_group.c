/* SPDX-License-Identifier: MIT */
/*
 * ordered_group.c -- a group in which many send: three members each say a word to all, and all
 * deliver the words in one order; then one member leaves.
 *
 *     cc -o ordered_group ordered_group.c $(pkg-config --cflags --libs nopal libevent_core)
 *
 * ./ordered_group prints:
 *
 *     view 1: 1
 *     view 2: 1 2
 *     view 3: 1 2 3
 *     the hub and 3 members have 3 words in one order
 *     view 4: 1 2
 *     the group ended well
 */
#include <event2/event.h>
#include <inttypes.h>
#include <nopal/nopal.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 3, WORD = 6, STORY = MEMBERS * WORD };

/* The hub, which is number 0, or a member. */
struct party {
	struct event_base *base;
	unsigned to_all; /* the property of a message for all */
	bool well;
	char story[STORY + 1]; /* what it delivered */
};
static struct party parties[1 + MEMBERS];

static bool have_one_story(void)
{
	for (int i = 0; i <= MEMBERS; i++)
		if (strlen(parties[i].story) != STORY ||
		    strcmp(parties[i].story, parties[0].story) != 0)
			return false;
	return true;
}

static void say(struct nopal_session *session, unsigned to_all, const char *word)
{
	const struct nopal_property property = { .which = to_all, .value = 1 };

	nopal_send_message(session, &(struct nopal_outgoing){ .bytes = word,
							      .length = WORD,
							      .properties = &property,
							      .property_count = 1 });
}

/* Members speak as soon as all are there. */
static void member_view(struct nopal_session *session, uint32_t number, const uint32_t *members,
			size_t count, void *user)
{
	static const char *const words[MEMBERS] = { "apple ", "berry ", "cocoa " };
	const struct party *party = user;

	(void)number;
	(void)members;
	if (count == MEMBERS)
		say(session, party->to_all, words[party - parties - 1]);
}

static void received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct party *party = user;
	size_t length = strlen(party->story);

	(void)session;
	nopal_message_copy(message, 0, party->story + length, STORY - length);
	if (have_one_story())
		event_base_loopbreak(party->base);
}

static void hub_view(struct nopal_session *session, uint32_t number, const uint32_t *members,
		     size_t count, void *user)
{
	(void)session;
	(void)user;
	printf("view %" PRIu32 ":", number);
	for (size_t i = 0; i < count; i++)
		printf(" %" PRIu32, members[i]);
	printf("\n");
}

static void hub_destination(struct nopal_session *session,
			    const struct nopal_destination_info *info, void *user)
{
	(void)user;
	if (info->ended && info->id == MEMBERS)
		nopal_session_close(session);
}

static void hub_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		      void *user)
{
	struct party *hub = user;

	(void)session;
	hub->well = end == NOPAL_ENDED_WELL;
	printf("the group ended %s\n", hub->well ? "well" : text);
	event_base_loopbreak(hub->base);
}

static void *accepted(struct nopal_session *session, void *listener_user)
{
	(void)session;
	return listener_user;
}

int main(void)
{
	static const struct nopal_callbacks hub_callbacks = {
		.received = received,
		.view = hub_view,
		.destination = hub_destination,
		.ended = hub_ended,
	};
	static const struct nopal_callbacks member_callbacks = {
		.accepted = accepted,
		.received = received,
		.view = member_view,
	};
	struct event_base *base = event_base_new();
	struct nopal_world *world = nopal_live_new(base);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_load("ordered_group", NULL, &problems);
	struct nopal_address any, address;
	struct nopal_session *hub;

	nopal_address_parse("127.0.0.1:0", &any, &problems);
	if (problems.errors) {
		nopal_problems_print(&problems, stderr);
		return 1;
	}
	for (int i = 0; i <= MEMBERS; i++)
		parties[i] = (struct party){ base, nopal_property(plan, "to_all"), false, "" };
	hub = nopal_session_open(&(struct nopal_open){
		.endpoint = nopal_endpoint_open(world, &any, &problems),
		.plan = plan,
		.callbacks = &hub_callbacks,
		.user = &parties[0],
	});
	for (int i = 1; i <= MEMBERS; i++) {
		struct nopal_endpoint *endpoint = nopal_endpoint_open(world, &any, &problems);

		nopal_endpoint_allow(endpoint, plan, 0, &member_callbacks, &parties[i]);
		nopal_endpoint_local(endpoint, &address);
		nopal_destination_add(hub, &address);
	}
	event_base_dispatch(base);
	if (have_one_story())
		printf("the hub and %d members have %d words in one order\n", MEMBERS, MEMBERS);
	nopal_destination_remove(hub, MEMBERS, false);
	event_base_dispatch(base);

	nopal_world_free(world);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	event_base_free(base);
	return parties[0].well ? 0 : 1;
}
