/* SPDX-License-Identifier: MIT */
/*
 * heap.c -- the next event of a simulated or emulated network, by a binary heap.
 */
#include "io/emulator/heap.h"
#include "base/vector.h"

static bool event_is_before(const struct nopal__event *a, const struct nopal__event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

bool nopal__heap_push(struct nopal__heap *heap, const struct nopal__event *event)
{
	struct nopal__event *events;
	uint32_t at = heap->count;

	if (!nopal__vector_room(&heap->events, &heap->room, at + 1, sizeof(*events)))
		return false;
	events = heap->events;
	heap->count++;
	while (at > 0) {
		uint32_t above = (at - 1) / 2;

		if (!event_is_before(event, &events[above]))
			break;
		events[at] = events[above];
		at = above;
	}
	events[at] = *event;
	return true;
}

void nopal__heap_sink(struct nopal__heap *heap)
{
	struct nopal__event *events = heap->events;
	struct nopal__event sinking = events[0];
	uint32_t at = 0;

	for (;;) {
		uint32_t below = 2 * at + 1;

		if (below >= heap->count)
			break;
		if (below + 1 < heap->count && event_is_before(&events[below + 1], &events[below]))
			below++;
		if (!event_is_before(&events[below], &sinking))
			break;
		events[at] = events[below];
		at = below;
	}
	events[at] = sinking;
}

void nopal__heap_pop(struct nopal__heap *heap)
{
	if (--heap->count == 0)
		return;
	heap->events[0] = heap->events[heap->count];
	nopal__heap_sink(heap);
}
