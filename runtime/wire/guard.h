/* SPDX-License-Identifier: MIT */
/*
 * guard.h -- the replay guard of a listener: guard.c.
 */
#ifndef NOPAL_GUARD_H
#define NOPAL_GUARD_H

#include <nopal/microprotocol.h>

/* It begins with no nonce, at `now_ns`: its clock counts from there.  `key` is of the tickets, and
 * of the table.  NULL: no memory. */
struct nopal_guard *nopal__guard_new(uint32_t room, const uint64_t key[2], int64_t now_ns);
void nopal__guard_free(struct nopal_guard *guard);

/* Nanoseconds since its beginning, never 0. */
int64_t nopal__guard_clock(const struct nopal_guard *guard, int64_t now_ns);
/* One half of the key of a ticket: a keyed hash of these bytes. */
uint64_t nopal__guard_hash(const struct nopal_guard *guard, const void *bytes, size_t length);

/* A request with this nonce that left at `sent_ns`, both times by the guard's clock. */
enum nopal_guarded nopal__guard_admit(struct nopal_guard *guard, uint64_t nonce, int64_t sent_ns,
				      int64_t clock_ns, int64_t window_ns);

#endif
