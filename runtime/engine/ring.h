/* SPDX-License-Identifier: MIT */
/*
 * ring.h -- rings that grow in a session's memory.
 *
 * A ring is a pointer, the place of its first element, and the number of its places, a power of
 * two, as fields of the struct that it belongs to, and all zero while it is empty.
 */
#ifndef NOPAL_RING_H
#define NOPAL_RING_H

#include <nopal/microprotocol.h>

/* Doubles a full ring of elements of `size` bytes.  `ring` is the address of the pointer:
 * &queue->ring; the first one at `*head` comes to 0.  Without a session the memory is the caller's,
 * who gives it back by nopal_free.  False: over budget, and the ring is as it was. */
bool nopal__ring_grow(struct nopal_session *session, void *ring, uint32_t *head, uint32_t *room,
		      size_t size);

#endif
