/* SPDX-License-Identifier: MIT */
/*
 * reassembly.h -- messages of which some fragments have arrived, by number and by age.
 */
#ifndef NOPAL_REASSEMBLY_H
#define NOPAL_REASSEMBLY_H

#include <nopal/microprotocol.h>

/* A message that is not complete.  In the list by age, or in the free list. */
struct partial {
	struct partial *older, *newer;
	struct nopal_message *message;
	uint64_t key;
	uint32_t total; /* fragments; 0: the last has not arrived */
	uint32_t reach; /* one past the highest index that arrived */
};

struct reassembly {
	struct nopal_map partials; /* by key */
	struct partial *oldest, *newest, *free;
	struct partial *latest; /* whose fragment came last, or NULL */
};

static inline void reassembly_free(struct reassembly *self, struct partial *partial)
{
	partial->newer = self->free;
	self->free = partial;
}

/* A new record, the newest, of a message that this segment begins; NULL: over budget. */
static inline struct partial *reassembly_begin(struct nopal_session *session,
					       struct reassembly *self,
					       const struct nopal_segment *segment, uint64_t key)
{
	struct partial *partial = self->free;

	if (partial)
		self->free = partial->newer;
	else
		partial = nopal_alloc(session, sizeof(*partial));
	if (!partial)
		return NULL;
	*partial = (struct partial){ .key = key, .older = self->newest };
	partial->message = nopal_message_arriving(session, segment);
	if (!partial->message || nopal_map_put(session, &self->partials, key, partial) < 0) {
		if (partial->message)
			nopal_message_discard(session, partial->message);
		reassembly_free(self, partial);
		return NULL;
	}
	if (self->newest)
		self->newest->newer = partial;
	else
		self->oldest = partial;
	self->newest = partial;
	return partial;
}

/* Takes the record out and gives it back; the message is the caller's now. */
static inline struct nopal_message *reassembly_take(struct reassembly *self,
						    struct partial *partial)
{
	nopal_map_take(&self->partials, partial->key);
	if (partial->older)
		partial->older->newer = partial->newer;
	else
		self->oldest = partial->newer;
	if (partial->newer)
		partial->newer->older = partial->older;
	else
		self->newest = partial->older;
	if (self->latest == partial)
		self->latest = NULL;
	reassembly_free(self, partial);
	return partial->message;
}

static inline void reassembly_abandon(struct nopal_session *session, struct reassembly *self,
				      struct partial *partial)
{
	nopal_message_discard(session, reassembly_take(self, partial));
}

/* Does the fragment agree with the length and the fragments of its message that are known? */
static inline bool partial_agrees(const struct partial *partial, uint32_t index, bool last)
{
	const struct nopal_message *message = partial->message;

	if (index < message->fragments_room && message->fragment[index].bytes)
		return false;
	if (partial->total)
		return !last && index < partial->total;
	return !last || index >= partial->reach;
}

/* Gives the memory of free records back; of a part whose state this is. */
static inline void reassembly_idle(struct nopal_at at)
{
	struct reassembly *self = nopal_state(at);

	nopal_map_idle(at.session, &self->partials);
	while (self->free) {
		struct partial *partial = self->free;

		self->free = partial->newer;
		nopal_free(at.session, partial);
	}
}

#endif
