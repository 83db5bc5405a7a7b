/* SPDX-License-Identifier: MIT */
/*
 * held.c -- what a session still holds, by holder: for people who ask why nothing goes on, and for
 * who judges a run that has ended.
 *
 * A segment waits to leave, to be done, or to be freed.  An arriving message waits to be delivered;
 * one of ours, that no segments were made of, waits for the role message_segments.
 */
#include "layers/group.h"
#include "registry/registry.h"

/* Items that one microprotocol holds at one barrier. */
struct holding {
	uint64_t items, alone;
	int64_t since_ns; /* of the oldest, which is counted first */
	uint32_t oldest;  /* its number; and of those that it holds alone */
	uint32_t oldest_alone;
};

struct holdings {
	struct holding at[NOPAL_BARRIERS][NOPAL_HOLD_ROOM];
	struct holding uncut;
};

static void holding_count(struct holding *one, bool alone, uint32_t number, int64_t since_ns)
{
	if (one->items++ == 0) {
		one->since_ns = since_ns;
		one->oldest = number;
	}
	if (alone && one->alone++ == 0)
		one->oldest_alone = number;
}

static void holdings_count(struct holdings *all, enum nopal_barrier barrier, uint32_t bits,
			   uint32_t number, int64_t since_ns)
{
	bits &= ~NOPAL_HOLD_BELOW;
	for (unsigned bit = 0; bits >> bit; bit++)
		if (bits >> bit & 1)
			holding_count(&all->at[barrier][bit], bits == UINT32_C(1) << bit, number,
				      since_ns);
}

static void holdings_at(struct holdings *all, const struct nopal_segment *segment,
			enum nopal_barrier barrier)
{
	holdings_count(all, barrier, segment->waiting[barrier], segment->number,
		       segment->created_ns);
}

static void holdings_make(const struct nopal_composite *composite, struct holdings *all)
{
	*all = (struct holdings){ 0 };
	for (const struct nopal_segment *segment = nopal__pool_oldest(&composite->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (segment->incoming)
			continue;
		/* One that left and wants to leave again waits to be done, too. */
		if (segment->wanted)
			holdings_at(all, segment, NOPAL_SEND);
		if (segment->transmissions && !segment->done)
			holdings_at(all, segment, NOPAL_DONE);
		if (segment->done)
			holdings_at(all, segment, NOPAL_DEALLOCATE);
	}
	for (const struct nopal_message *message = nopal__pool_oldest(&composite->awake->messages);
	     message; message = nopal__pool_newer(message)) {
		if (message->settled)
			continue;
		if (message->incoming && !message->delivered)
			holdings_count(all, NOPAL_DELIVER, message->waiting, message->number,
				       message->created_ns);
		else if (!message->incoming && !message->cut && !message->segments_open)
			holding_count(&all->uncut, true, message->number, message->created_ns);
	}
}

/* ------------------------------------------------------------------- visiting */

struct visiting {
	nopal_held_visit *visit;
	void *user;
	size_t count;
};

static void visit_one(struct visiting *visiting, const struct nopal_composite *composite,
		      const struct holding *one, struct nopal_held held)
{
	if (!one->items)
		return;
	held.layer = composite->layer->name;
	held.items = one->items;
	held.alone = one->alone;
	held.oldest = one->oldest;
	held.oldest_alone = one->oldest_alone;
	held.for_ns = composite->session.now_ns - one->since_ns;
	visiting->count++;
	if (visiting->visit)
		visiting->visit(&held, visiting->user);
}

static void visit_core(struct visiting *visiting, const struct nopal_composite *composite)
{
	const struct nopal_layer *layer = composite->layer;
	const struct nopal_part *cutter = nopal__provider(layer, "message_segments");
	struct holdings all;

	if (!composite->awake) /* nothing is under way in an idle session */
		return;
	holdings_make(composite, &all);
	for (unsigned barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
		for (unsigned bit = 0; bit < NOPAL_HOLD_ROOM; bit++) {
			const struct nopal_part *part = layer->hold_part[barrier][bit];

			if (part)
				visit_one(visiting, composite, &all.at[barrier][bit],
					  (struct nopal_held){
						  .barrier = barrier,
						  .microprotocol = part->microprotocol->name,
						  .why = layer->hold_why[barrier][bit] });
		}
	if (cutter && !composite->awake->waiting_open_count)
		visit_one(visiting, composite, &all.uncut,
			  (struct nopal_held){ .barrier = NOPAL_BARRIERS,
					       .microprotocol = cutter->microprotocol->name,
					       .why = "it is cut into segments" });
}

static void visit_stack(struct visiting *visiting, const struct nopal_composite *top)
{
	for (const struct nopal_composite *composite = top; composite;
	     composite = composite->below) {
		visit_core(visiting, composite);
		if (!nopal__is_group(composite))
			continue;
		for (uint32_t i = 0; i < nopal__member_count(composite); i++)
			visit_stack(visiting, nopal__member_at(composite, i));
		return;
	}
}

size_t nopal_session_held(const struct nopal_session *session, nopal_held_visit *visit, void *user)
{
	struct visiting visiting = { visit, user, 0 };

	visit_stack(&visiting, nopal__composite(session));
	return visiting.count;
}
