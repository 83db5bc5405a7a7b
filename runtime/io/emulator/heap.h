/* SPDX-License-Identifier: MIT */
/*
 * heap.h -- events to come, of a simulated or emulated network: a binary heap by (time, order).
 */
#ifndef NOPAL_IO_HEAP_H
#define NOPAL_IO_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nopal__event {
	int64_t time_ns;
	uint64_t order;	      /* of scheduling: tells equal times apart */
	uint32_t kind, where; /* the owner's */
	union {
		void *packet;
		void (*call)(void *user);
	};
	void *user;
};

struct nopal__heap {
	struct nopal__event *events; /* events[0] is the next */
	uint32_t count;
	size_t room;
};

/* False when out of memory. */
bool nopal__heap_push(struct nopal__heap *heap, const struct nopal__event *event);
void nopal__heap_pop(struct nopal__heap *heap);
/* The first event got a later key: let it sink. */
void nopal__heap_sink(struct nopal__heap *heap);

#endif
