/* SPDX-License-Identifier: MIT */
/*
 * wheel.h -- a hierarchical timer wheel: one entry a session, one wake-up.
 *
 * After Varghese and Lauck (SOSP 1987): levels of 64 slots, each level 64 times coarser; arming,
 * moving and disarming are O(1) and allocate nothing. A tick is 1024 ns, so an entry fires in
 * [deadline, deadline + 1024 ns). Entries of one tick fire in the order of (deadline, arming).
 */
#ifndef NOPAL_WHEEL_H
#define NOPAL_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

enum { NOPAL_WHEEL_LEVELS = 7, NOPAL_WHEEL_SLOTS = 64, NOPAL_WHEEL_TICK_SHIFT = 10 };

struct nopal_wheel_entry {
	struct nopal_wheel_entry *next, **at; /* at: NULL when not armed */
	int64_t deadline_ns;
	uint32_t order; /* of arming, modulo its range */
	uint8_t level, slot;
};

struct nopal_wheel {
	int64_t tick;	  /* all earlier ticks have fired */
	uint32_t armed;	  /* arms so far: the order of entries */
	uint32_t entries; /* now in the wheel */
	bool next_known;  /* next_tick is the earliest: asked for at each turn */
	int64_t next_tick;
	uint64_t occupied[NOPAL_WHEEL_LEVELS]; /* bit s: slot s has entries */
	struct nopal_wheel_entry *slots[NOPAL_WHEEL_LEVELS][NOPAL_WHEEL_SLOTS];
};

void nopal_wheel_init(struct nopal_wheel *wheel, int64_t now_ns);
/* Arms, or moves an armed entry. */
void nopal_wheel_arm(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry,
		     int64_t deadline_ns);
void nopal_wheel_disarm(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry);
/* When to call nopal_wheel_expire next: never later than the earliest deadline rounded up to a
 * tick; NOPAL_NEVER when empty. */
int64_t nopal_wheel_next(const struct nopal_wheel *wheel);
/* Takes one entry that is due at `now_ns` out of the wheel; NULL: none is. */
struct nopal_wheel_entry *nopal_wheel_expire(struct nopal_wheel *wheel, int64_t now_ns);

#endif
