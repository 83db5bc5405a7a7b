/* SPDX-License-Identifier: MIT */
/*
 * wheel.c -- a hierarchical timer wheel; see wheel.h.
 *
 * An entry's tick is its deadline rounded up.  It lies at the level of the highest group of 6 bits
 * in which its tick differs from the wheel's, in the slot that this group names:
 *
 *   level     6      5      4      3      2      1      0
 *   tick   ......|......|......|......|......|......|......
 *
 * So all of level 0 is due before all of level 1, and the first occupied slot of the first occupied
 * level is what comes next: no search.  When the wheel reaches a slot above level 0, its entries
 * move down.  The top level wraps around; what is further away waits in its last slot and is placed
 * again.
 *
 * The slot of the current tick is kept in the order of firing; other slots are in no order, and
 * sorted when their tick has come.
 */
#include <stddef.h>

#include <nopal/microprotocol.h>
#include "base/wheel.h"

enum {
	TICK_NS = 1 << NOPAL_WHEEL_TICK_SHIFT,
	SLOT_BITS = 6, /* NOPAL_WHEEL_SLOTS = 1 << SLOT_BITS */
	SLOT_MASK = NOPAL_WHEEL_SLOTS - 1,
	TOP = NOPAL_WHEEL_LEVELS - 1,
	/* Entries of a far slot that nopal_wheel_next looks at to be exact; with more, it wakes at
	 * the slot's start, and they move down. */
	EXACT_ENTRIES = 16,
};

/* A slot, and the first tick that it covers. */
struct place {
	uint8_t level, slot;
	int64_t start;
};

static int64_t wheel_tick_of(int64_t deadline_ns)
{
	return (deadline_ns >> NOPAL_WHEEL_TICK_SHIFT) + ((deadline_ns & (TICK_NS - 1)) != 0);
}

static bool wheel_before(const struct nopal_wheel_entry *a, const struct nopal_wheel_entry *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns;
	return (int32_t)(a->order - b->order) < 0;
}

void nopal_wheel_init(struct nopal_wheel *wheel, int64_t now_ns)
{
	*wheel = (struct nopal_wheel){
		.tick = now_ns >> NOPAL_WHEEL_TICK_SHIFT,
	};
}

static void wheel_link(struct nopal_wheel_entry **at, struct nopal_wheel_entry *entry)
{
	entry->next = *at;
	entry->at = at;
	if (entry->next)
		entry->next->at = &entry->next;
	*at = entry;
}

/* Puts the entry at the head of its slot. */
static void wheel_place(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry)
{
	int64_t tick = wheel_tick_of(entry->deadline_ns);
	uint64_t differs;
	int level;

	if (tick < wheel->tick)
		tick = wheel->tick;
	differs = (uint64_t)(tick ^ wheel->tick) | 1;
	level = (63 - __builtin_clzll(differs)) / SLOT_BITS;
	if (level > TOP) {
		int64_t last = (wheel->tick >> TOP * SLOT_BITS) + SLOT_MASK;

		level = TOP;
		if (tick >> TOP * SLOT_BITS > last)
			tick = last << TOP * SLOT_BITS;
	}
	entry->level = (uint8_t)level;
	entry->slot = (uint8_t)(tick >> level * SLOT_BITS & SLOT_MASK);
	wheel_link(&wheel->slots[entry->level][entry->slot], entry);
	wheel->occupied[entry->level] |= UINT64_C(1) << entry->slot;
}

static void wheel_unlink(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry)
{
	*entry->at = entry->next;
	if (entry->next)
		entry->next->at = entry->at;
	entry->at = NULL;
	entry->next = NULL;
	if (!wheel->slots[entry->level][entry->slot])
		wheel->occupied[entry->level] &= ~(UINT64_C(1) << entry->slot);
}

void nopal_wheel_arm(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry,
		     int64_t deadline_ns)
{
	int64_t tick;

	nopal_wheel_disarm(wheel, entry);
	if (deadline_ns == NOPAL_NEVER)
		return;
	entry->deadline_ns = deadline_ns;
	entry->order = wheel->armed++;
	wheel->entries++;
	wheel_place(wheel, entry);
	/* Keeps the earliest tick where that is a comparison. */
	tick = wheel_tick_of(entry->deadline_ns);
	if (tick < wheel->tick)
		tick = wheel->tick;
	if (tick < wheel->next_tick)
		wheel->next_tick = tick;
	if (entry->level == 0 && entry->slot == (wheel->tick & SLOT_MASK)) {
		struct nopal_wheel_entry **at = &entry->next;

		/* Moves the head of the current slot to its place in the order of firing. */
		while (*at && wheel_before(*at, entry))
			at = &(*at)->next;
		if (at == &entry->next)
			return;
		*entry->at = entry->next;
		entry->next->at = entry->at;
		wheel_link(at, entry);
	}
}

void nopal_wheel_disarm(struct nopal_wheel *wheel, struct nopal_wheel_entry *entry)
{
	if (!entry->at)
		return;
	if (wheel_tick_of(entry->deadline_ns) <= wheel->next_tick)
		wheel->next_known = false;
	wheel_unlink(wheel, entry);
	wheel->entries--;
}

/* Takes `count` entries off the list and returns them in order. */
static struct nopal_wheel_entry *wheel_sorted(struct nopal_wheel_entry **list, uint32_t count)
{
	struct nopal_wheel_entry *one = *list, *a, *b, *merged = NULL, **end = &merged;

	if (count == 1) {
		*list = one->next;
		one->next = NULL;
		return one;
	}
	a = wheel_sorted(list, count / 2);
	b = wheel_sorted(list, count - count / 2);
	while (a && b) {
		struct nopal_wheel_entry **first = wheel_before(a, b) ? &a : &b;

		*end = *first;
		end = &(*first)->next;
		*first = *end;
	}
	*end = a ? a : b;
	return merged;
}

/* The first occupied slot behind the current tick.  False: none is. */
static bool wheel_find(const struct nopal_wheel *wheel, struct place *ret_place)
{
	int level = 0, shift, now, ahead;
	uint64_t turned;

	while (level < NOPAL_WHEEL_LEVELS && !wheel->occupied[level])
		level++;
	if (level == NOPAL_WHEEL_LEVELS)
		return false;
	shift = level * SLOT_BITS;
	now = (int)(wheel->tick >> shift & SLOT_MASK);
	turned = wheel->occupied[level] >> now;
	if (now)
		turned |= wheel->occupied[level] << (NOPAL_WHEEL_SLOTS - now);
	ahead = __builtin_ctzll(turned);
	ret_place->level = (uint8_t)level;
	ret_place->slot = (uint8_t)((now + ahead) & SLOT_MASK);
	ret_place->start = ((wheel->tick >> shift) + ahead) << shift;
	return true;
}

struct nopal_wheel_entry *nopal_wheel_expire(struct nopal_wheel *wheel, int64_t now_ns)
{
	int64_t until = now_ns >> NOPAL_WHEEL_TICK_SHIFT;
	struct nopal_wheel_entry *entry;
	struct place place;
	uint32_t count;

	if (until < wheel->tick)
		return NULL;
	for (;;) {
		struct nopal_wheel_entry **slot;

		entry = wheel->slots[0][wheel->tick & SLOT_MASK];
		if (entry) {
			nopal_wheel_disarm(wheel, entry);
			return entry;
		}
		if (!wheel_find(wheel, &place) || place.start > until)
			break;
		/* Turns the wheel to the start of an occupied slot. */
		wheel->tick = place.start;
		slot = &wheel->slots[place.level][place.slot];
		while (place.level > 0 && (entry = *slot) != NULL) {
			wheel_unlink(wheel, entry);
			wheel_place(wheel, entry);
		}
		slot = &wheel->slots[0][wheel->tick & SLOT_MASK];
		for (entry = *slot, count = 0; entry; entry = entry->next)
			count++;
		if (count < 2)
			continue;
		entry = *slot;
		*slot = wheel_sorted(&entry, count);
		for (entry = *slot; entry; entry = entry->next) {
			entry->at = slot;
			slot = &entry->next;
		}
	}
	wheel->tick = until;
	return NULL;
}

int64_t nopal_wheel_next(const struct nopal_wheel *wheel)
{
	/* To remember what was found is no change of the wheel. */
	struct nopal_wheel *known = (struct nopal_wheel *)(uintptr_t)wheel;
	struct place place;
	bool exact = true;

	if (wheel->next_known)
		return wheel->next_tick * TICK_NS;
	if (!wheel_find(wheel, &place))
		return NOPAL_NEVER;
	if (place.level > 0) {
		const struct nopal_wheel_entry *entry = wheel->slots[place.level][place.slot];
		int64_t end = place.start + (INT64_C(1) << place.level * SLOT_BITS);
		int64_t earliest = end;
		int looked = 0;

		/* The earliest tick of a far slot, or its start where that is not cheap. */
		for (; entry && looked < EXACT_ENTRIES; entry = entry->next, looked++)
			if (wheel_tick_of(entry->deadline_ns) < earliest)
				earliest = wheel_tick_of(entry->deadline_ns);
		exact = !entry && earliest < end;
		if (exact)
			place.start = earliest;
	}
	known->next_known = exact;
	known->next_tick = place.start;
	return place.start * TICK_NS;
}
