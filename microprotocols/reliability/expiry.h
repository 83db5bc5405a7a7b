/* SPDX-License-Identifier: MIT */
/*
 * expiry.h -- messages by the time at which they are of no use any more.
 *
 * A binary heap of handles in the session's memory.  Most messages are settled before their time:
 * such entries are thrown out where the heap would have to grow, so that it is never longer than
 * twice what is alive.
 */
#ifndef NOPAL_EXPIRY_H
#define NOPAL_EXPIRY_H

#include <nopal/microprotocol.h>

struct expiry_entry {
	int64_t time_ns;
	struct nopal_handle message;
};

struct expiry {
	struct expiry_entry *heap; /* the parent of i is (i - 1) / 2 */
	uint32_t count, room;
};

static inline void expiry_up(struct expiry *expiry, uint32_t at, struct expiry_entry entry)
{
	while (at && expiry->heap[(at - 1) / 2].time_ns > entry.time_ns) {
		expiry->heap[at] = expiry->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	expiry->heap[at] = entry;
}

/* Throws messages out that are settled, and where that gives too little room, grows. */
static inline int expiry_grow(struct nopal_session *session, struct expiry *expiry)
{
	uint32_t count = expiry->count;

	expiry->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct expiry_entry entry = expiry->heap[i];

		if (nopal_message_find(session, entry.message))
			expiry_up(expiry, expiry->count++, entry);
	}
	if (expiry->count < expiry->room / 2)
		return 0;
	return nopal_array_room(session, &expiry->heap, &expiry->room, expiry->room + 1,
				sizeof(*expiry->heap))
		       ? 0
		       : -1;
}

/* Negative: over budget. */
static inline int expiry_add(struct nopal_session *session, struct expiry *expiry, int64_t time_ns,
			     struct nopal_handle message)
{
	if (expiry->count == expiry->room && expiry_grow(session, expiry) < 0)
		return -1;
	expiry_up(expiry, expiry->count++, (struct expiry_entry){ time_ns, message });
	return 0;
}

/* NOPAL_NEVER: there is none. */
static inline int64_t expiry_next_ns(const struct expiry *expiry)
{
	return expiry->count ? expiry->heap[0].time_ns : NOPAL_NEVER;
}

/* Takes the first out, which is there. */
static inline struct nopal_handle expiry_take(struct expiry *expiry)
{
	struct nopal_handle message = expiry->heap[0].message;
	struct expiry_entry last = expiry->heap[--expiry->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < expiry->count) {
		if (child + 1 < expiry->count &&
		    expiry->heap[child + 1].time_ns < expiry->heap[child].time_ns)
			child++;
		if (expiry->heap[child].time_ns >= last.time_ns)
			break;
		expiry->heap[at] = expiry->heap[child];
		at = child;
	}
	expiry->heap[at] = last;
	return message;
}

/* Gives the memory of an empty heap back. */
static inline void expiry_rest(struct nopal_session *session, struct expiry *expiry)
{
	if (expiry->count)
		return;
	nopal_free(session, expiry->heap);
	expiry->heap = NULL;
	expiry->room = 0;
}

#endif
