/* SPDX-License-Identifier: MIT */
/*
 * guard.c -- the replay guard of a listener: a request with early data is admitted once.
 *
 *   sent + window < now         late: it never becomes fresh again
 *   sent > now + window         of the future: late, and its nonce is kept as refused
 *   nonce is in the table       seen
 *   sent <= floor, table full   full; the floor rises to `sent`
 *   else                        new, and its nonce is kept
 *
 * The table has a fixed number of nonces, each kept for three windows from its admission.  A
 * request that was refused can have its messages sent again by the handshake, so no copy of it may
 * be admitted later: a nonce that found no room lies below the floor from then on.
 *
 * The key is drawn with the guard, so tickets of an earlier run of the listener are worth nothing:
 * what is older than a restart is not admitted, and nothing is kept on disk.
 */
#include "wire/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { GUARD_WINDOWS_KEPT = 3 };
/* A full table is looked through for nonces that may go no oftener than this. */
static const int64_t GUARD_SWEEP_NS = 100 * NOPAL_MILLISECOND;

struct guard_slot {
	uint64_t nonce;
	int64_t until_ns; /* 0: free */
	bool refused;
};

struct nopal_guard {
	uint64_t key[2];
	int64_t born_ns, floor_ns, swept_ns;
	uint32_t room, used, mask;
	struct guard_slot *slots, *spare; /* mask + 1 of each */
};

struct nopal_guard *nopal__guard_new(uint32_t room, const uint64_t key[2], int64_t now_ns)
{
	struct nopal_guard *guard = calloc(1, sizeof(*guard));
	uint32_t places = 2;

	while (places < room + room / 2)
		places *= 2;
	if (!guard)
		return NULL;
	guard->slots = calloc(places, sizeof(*guard->slots));
	guard->spare = calloc(places, sizeof(*guard->spare));
	if (!guard->slots || !guard->spare) {
		nopal__guard_free(guard);
		return NULL;
	}
	memcpy(guard->key, key, sizeof(guard->key));
	guard->born_ns = now_ns;
	guard->room = room;
	guard->mask = places - 1;
	return guard;
}

void nopal__guard_free(struct nopal_guard *guard)
{
	if (!guard)
		return;
	free(guard->slots);
	free(guard->spare);
	free(guard);
}

int64_t nopal__guard_clock(const struct nopal_guard *guard, int64_t now_ns)
{
	return now_ns - guard->born_ns + 1;
}

uint64_t nopal__guard_hash(const struct nopal_guard *guard, const void *bytes, size_t length)
{
	return nopal__siphash(guard->key, bytes, length);
}

/* The nonce's place, or the free one where it would be. */
static struct guard_slot *guard_slot(const struct nopal_guard *guard, struct guard_slot *slots,
				     uint64_t nonce)
{
	uint32_t i = (uint32_t)nopal__guard_hash(guard, &nonce, sizeof(nonce)) & guard->mask;

	while (slots[i].until_ns && slots[i].nonce != nonce)
		i = (i + 1) & guard->mask;
	return &slots[i];
}

/* Leaves out the nonces whose time is over. */
static void guard_sweep(struct nopal_guard *guard, int64_t clock_ns)
{
	struct guard_slot *living = guard->spare;

	if (clock_ns - guard->swept_ns < GUARD_SWEEP_NS)
		return;
	guard->swept_ns = clock_ns;
	guard->used = 0;
	memset(living, 0, (guard->mask + 1) * sizeof(*living));
	for (uint32_t i = 0; i <= guard->mask; i++) {
		const struct guard_slot *slot = &guard->slots[i];

		if (slot->until_ns <= clock_ns)
			continue;
		*guard_slot(guard, living, slot->nonce) = *slot;
		guard->used++;
	}
	guard->spare = guard->slots;
	guard->slots = living;
}

enum nopal_guarded nopal__guard_admit(struct nopal_guard *guard, uint64_t nonce, int64_t sent_ns,
				      int64_t clock_ns, int64_t window_ns)
{
	struct guard_slot *slot = guard_slot(guard, guard->slots, nonce);
	bool future = sent_ns - clock_ns > window_ns;

	if (slot->until_ns)
		return slot->refused ? NOPAL_GUARD_LATE : NOPAL_GUARD_SEEN;
	if (clock_ns - sent_ns > window_ns)
		return NOPAL_GUARD_LATE;
	if (sent_ns <= guard->floor_ns)
		return NOPAL_GUARD_FULL;
	if (guard->used == guard->room)
		guard_sweep(guard, clock_ns);
	if (guard->used == guard->room && future)
		return NOPAL_GUARD_SEEN; /* gets no answer: nothing remembers it */
	if (guard->used == guard->room) {
		guard->floor_ns = sent_ns;
		return NOPAL_GUARD_FULL;
	}
	slot = guard_slot(guard, guard->slots, nonce);
	*slot = (struct guard_slot){ nonce, clock_ns + GUARD_WINDOWS_KEPT * window_ns, future };
	guard->used++;
	return future ? NOPAL_GUARD_LATE : NOPAL_GUARD_NEW;
}
