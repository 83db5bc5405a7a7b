/* SPDX-License-Identifier: MIT */
/*
 * cycles.c -- can one event raise itself for ever?
 *
 * Descriptors say which events a microprotocol handles and which it raises, not which handler
 * raises which.  So the graph of all pairs is far too large, and three things make it tell the
 * truth about compositions that were built well:
 *
 *   1. Only events count that a handler may raise as often as it likes.  A
 *      segment is received once, a transmission is lost or timed out once, a resend
 *      waits for a transmission, and what the runtime raises behind a barrier waits
 *      for its holders: none of these can run without end in one turn.
 *   2. Where a microprotocol handles an event that naturally comes before what
 *      it raises (cycles_before, the life of a message in events.def), the raise
 *      is taken to come from there; else from anything that it handles.
 *   3. A cycle within one microprotocol is its own affair: redundancy raises
 *      SEGMENT_FROM_NET for what it rebuilt, once a loss.
 *
 * A cycle that is left, through two microprotocols or more and with no barrier between, is a storm:
 * refused here, and the runtime's limit on nested raises stands behind that.
 */
#include <string.h>

#include "compose/composing.h"
#include "registry/registry.h"

enum { CYCLES_EVENTS = NOPAL_CUSTOM, CYCLES_BEFORE_ROOM = 4 };

/* Events that can be raised without limit, and what comes before them: NO_EVENT alone says that
 * nothing does by nature. */
static const struct {
	enum nopal_event event;
	enum nopal_event before[CYCLES_BEFORE_ROOM];
} cycles_before[] = {
	{ NOPAL_MSG_FROM_USER, { NOPAL_NO_EVENT } },
	{ NOPAL_SEGMENT_FROM_USER, { NOPAL_MSG_FROM_USER } },
	{ NOPAL_SEGMENT_TO_NET,
	  { NOPAL_SEGMENT_FROM_USER, NOPAL_SEND_SEGMENT, NOPAL_SEGMENT_TO_NET } },
	{ NOPAL_SEGMENT_FROM_NET, { NOPAL_SEGMENT_FROM_NET } },
	{ NOPAL_SEGMENT_VERIFIED, { NOPAL_SEGMENT_FROM_NET } },
	{ NOPAL_MSG_FROM_NET, { NOPAL_SEGMENT_VERIFIED } },
	{ NOPAL_ACK_FROM_NET, { NOPAL_SEGMENT_FROM_NET } },
	{ NOPAL_ACK_PROCESSED, { NOPAL_SEGMENT_FROM_NET } },
};
enum { CYCLES_FREE = sizeof(cycles_before) / sizeof(*cycles_before) };

struct cycles_graph {
	/* who leads from one event to the other; NULL: nobody */
	const struct nopal_member *edge[CYCLES_EVENTS][CYCLES_EVENTS];
	bool runtime[CYCLES_EVENTS][CYCLES_EVENTS];
};

static size_t cycles_free_index(enum nopal_event event)
{
	size_t index = 0;

	while (index < CYCLES_FREE && cycles_before[index].event != event)
		index++;
	return index;
}

static bool cycles_is_before(size_t free_index, enum nopal_event event)
{
	for (size_t i = 0; i < CYCLES_BEFORE_ROOM; i++) {
		if (cycles_before[free_index].before[i] == event)
			return true;
	}
	return false;
}

/* Edges from what `member` handles to `raised`. */
static void cycles_add_raise(struct cycles_graph *graph, const struct nopal_member *member,
			     enum nopal_event raised)
{
	const struct nopal_binding *binding = member->microprotocol->bindings;
	size_t index = cycles_free_index(raised);
	bool natural = false;

	if (index == CYCLES_FREE)
		return;
	for (size_t i = 0; binding && binding[i].event != NOPAL_NO_EVENT; i++)
		natural |= cycles_is_before(index, binding[i].event);
	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		if (cycles_free_index(binding->event) == CYCLES_FREE || binding->event == raised ||
		    (natural && !cycles_is_before(index, binding->event)))
			continue;
		if (!graph->edge[binding->event][raised])
			graph->edge[binding->event][raised] = member;
	}
}

/* ---------------------------------------------------------------------- search */

/* A way through the graph, as a stack of events. */
struct cycles_way {
	const struct cycles_graph *graph;
	struct nopal_arena *arena;
	enum nopal_event event[CYCLES_EVENTS];
	size_t length;
	bool visited[CYCLES_EVENTS]; /* reported, or leads to no cycle */
};

/* Of a cycle in which two microprotocols or more take part, else it is one's own affair. */
static void cycles_say(const struct cycles_way *way, size_t start, struct nopal_problems *problems)
{
	const struct nopal_member *last = NULL;
	struct nopal_text text = { .arena = way->arena };
	bool shared = false;

	for (size_t i = start; i < way->length; i++) {
		enum nopal_event next = way->event[i + 1 < way->length ? i + 1 : start];
		const struct nopal_member *member = way->graph->edge[way->event[i]][next];

		shared |= last && member && member != last;
		if (member)
			last = member;
		nopal__append(&text, "%s (%s) > ", nopal_event_name(way->event[i]),
			      member ? member->microprotocol->name : "runtime");
	}
	if (!shared)
		return;
	nopal__problem_at(problems, last->place,
			  "remove one of them, or let it raise the event by "
			  "queue or timer and not declare it",
			  "events raise each other without end: %s%s", nopal__text(&text),
			  nopal_event_name(way->event[start]));
}

/* Depth first; at most as deep as there are free events. */
static void cycles_visit(struct cycles_way *way, enum nopal_event event,
			 struct nopal_problems *problems)
{
	size_t start = 0;

	while (start < way->length && way->event[start] != event)
		start++;
	if (start < way->length) {
		cycles_say(way, start, problems);
		return;
	}
	if (way->visited[event])
		return;
	way->event[way->length++] = event;
	for (int next = 0; next < CYCLES_EVENTS; next++) {
		if (way->graph->edge[event][next] || way->graph->runtime[event][next])
			cycles_visit(way, (enum nopal_event)next, problems);
	}
	way->length--;
	way->visited[event] = true;
}

void nopal__cycles_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems)
{
	struct cycles_graph graph;
	struct cycles_way way = { .graph = &graph, .arena = layer->arena };

	memset(&graph, 0, sizeof(graph));
	graph.runtime[NOPAL_SEGMENT_FROM_NET][NOPAL_SEGMENT_VERIFIED] = true;
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];
		const char *const *raised = member->microprotocol->raises;

		for (; raised && *raised; raised++)
			cycles_add_raise(&graph, member, nopal__event_find(*raised));
	}
	for (size_t i = 0; i < CYCLES_FREE; i++)
		cycles_visit(&way, cycles_before[i].event, problems);
}
