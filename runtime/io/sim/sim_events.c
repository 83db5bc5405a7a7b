/* SPDX-License-Identifier: MIT */
/*
 * sim_events.c -- what happens next: a heap over the links' rings.
 *
 * A binary heap by (time, order).  While a link's packets come out in the order of their going in
 * (no jitter, no reordering), each waits in the ring of its link, and the heap holds one entry a
 * link: its depth does not grow with the packets in flight.
 */
#include <stdlib.h>

#include "io/sim/sim.h"

enum { SIM_FIRST_ROOM = 64 }; /* power of two */

void *nopal__sim_reserve(void *array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? 2 * *room : SIM_FIRST_ROOM;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

/* ------------------------------------------------------------------- heap */

static bool sim_event_is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

bool nopal__sim_heap_push(struct sim_heap *heap, const struct sim_event *event)
{
	struct sim_event *events =
		nopal__sim_reserve(heap->events, heap->count, &heap->room, sizeof(*events));
	uint32_t at = heap->count;

	if (!events)
		return false;
	heap->events = events;
	heap->count++;
	while (at > 0) {
		uint32_t above = (at - 1) / 2;

		if (!sim_event_is_before(event, &events[above]))
			break;
		events[at] = events[above];
		at = above;
	}
	events[at] = *event;
	return true;
}

void nopal__sim_heap_sink(struct sim_heap *heap)
{
	struct sim_event *events = heap->events;
	struct sim_event sinking = events[0];
	uint32_t at = 0;

	for (;;) {
		uint32_t below = 2 * at + 1;

		if (below >= heap->count)
			break;
		if (below + 1 < heap->count &&
		    sim_event_is_before(&events[below + 1], &events[below]))
			below++;
		if (!sim_event_is_before(&events[below], &sinking))
			break;
		events[at] = events[below];
		at = below;
	}
	events[at] = sinking;
}

void nopal__sim_heap_pop(struct sim_heap *heap)
{
	if (--heap->count == 0)
		return;
	heap->events[0] = heap->events[heap->count];
	nopal__sim_heap_sink(heap);
}

/* ------------------------------------------------------------------ rings */

static struct sim_flight *sim_flight_at(struct sim_link *link, uint32_t index)
{
	return &link->ring[(link->first + index) & (link->room - 1)];
}

/* Doubles a ring, its first packet at 0; false when out of memory. */
static bool sim_ring_grow(struct sim_link *link)
{
	uint32_t room = link->room ? 2 * link->room : SIM_FIRST_ROOM;
	struct sim_flight *ring = malloc(room * sizeof(*ring));

	if (!ring)
		return false;
	for (uint32_t i = 0; i < link->flying; i++)
		ring[i] = *sim_flight_at(link, i);
	free(link->ring);
	link->ring = ring;
	link->first = 0;
	link->room = room;
	return true;
}

static bool sim_ring_put(struct sim *sim, uint32_t index, const struct sim_flight *flight)
{
	struct sim_link *link = &sim->links[index];

	if (link->flying == link->room && !sim_ring_grow(link))
		return false;
	if (link->flying == 0 &&
	    !nopal__sim_heap_push(&sim->heap, &(struct sim_event){ .time_ns = flight->time_ns,
								   .order = flight->order,
								   .kind = SIM_LINK,
								   .where = index }))
		return false;
	*sim_flight_at(link, link->flying++) = *flight;
	return true;
}

bool nopal__sim_link_put(struct sim *sim, uint32_t index, int64_t time_ns,
			 struct sim_packet *packet)
{
	struct sim_link *link = &sim->links[index];
	uint64_t order = sim->order++;

	if (link->flying == 0 || sim_flight_at(link, link->flying - 1)->time_ns <= time_ns)
		return sim_ring_put(sim, index,
				    &(struct sim_flight){
					    .time_ns = time_ns, .order = order, .packet = packet });
	return nopal__sim_heap_push(&sim->heap, &(struct sim_event){ .time_ns = time_ns,
								     .order = order,
								     .kind = SIM_PACKET,
								     .where = link->to,
								     .packet = packet });
}

struct sim_packet *nopal__sim_link_take(struct sim *sim, uint32_t index)
{
	struct sim_link *link = &sim->links[index];
	struct sim_packet *packet = sim_flight_at(link, 0)->packet;

	link->first = (link->first + 1) & (link->room - 1);
	if (--link->flying == 0) {
		nopal__sim_heap_pop(&sim->heap);
		return packet;
	}
	sim->heap.events[0].time_ns = sim_flight_at(link, 0)->time_ns;
	sim->heap.events[0].order = sim_flight_at(link, 0)->order;
	nopal__sim_heap_sink(&sim->heap);
	return packet;
}

/* Packets in the rings and in the heap. */
void nopal__sim_drop_all(struct sim *sim)
{
	while (sim->heap.count) {
		const struct sim_event *event = &sim->heap.events[0];
		struct sim_packet *packet = event->packet;

		if (event->kind == SIM_LINK) {
			packet = nopal__sim_link_take(sim, event->where);
			nopal__sim_packet_drop(packet);
			continue;
		}
		if (event->kind == SIM_PACKET)
			nopal__sim_packet_drop(packet);
		nopal__sim_heap_pop(&sim->heap);
	}
}
