/* SPDX-License-Identifier: MIT */
/*
 * copies.c -- a segment that leaves a group is given to its destinations: to which, and the outcome
 * of each copy.
 *
 * A copy is a message of the destination's session with the same bytes, or the arrival there of the
 * one datagram that left through the group's channel.  Each copy gets an outcome, once; the part
 * with the role fan_out counts the outcomes and says when the segment is done.  So all, any and P
 * of K are one rule, and nothing here knows it.
 */
#include <errno.h>
#include <string.h>

#include "layers/group.h"
#include "base/vector.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/session.h"
#include "session/stack.h"

uint32_t nopal_destination_count(const struct nopal_session *session)
{
	return nopal__member_count(nopal__composite(session));
}

struct nopal_destination *nopal_destination_at(const struct nopal_session *session, uint32_t index)
{
	return nopal__member_at(nopal__composite(session), index)->destination;
}

uint64_t nopal_destination_backlog(const struct nopal_session *session, uint32_t index)
{
	const struct nopal_composite *member = nopal__member_at(nopal__composite(session), index);

	return member->awake ? member->awake->unfinished_bytes : 0;
}

static void member_break(struct nopal_composite *member, enum nopal_end end, const char *text)
{
	nopal__touch(member);
	nopal__session_end(member, end, text);
}

void nopal_destination_break(struct nopal_session *session, uint32_t index, enum nopal_end end,
			     const char *text)
{
	member_break(nopal__member_at(nopal__composite(session), index), end, text);
}

/* Room for a choice among all; NULL: out of memory, and the group ends: it can send to nobody. */
static uint32_t *choice_of(struct nopal_composite *composite)
{
	struct nopal_group *group = composite->group;

	if (!nopal__vector_room(&group->choice, &group->choice_room,
				(size_t)group->choice_at + group->count, sizeof(*group->choice))) {
		nopal__session_end(composite, NOPAL_RESOURCE,
				   "no room to choose among destinations");
		return NULL;
	}
	return group->choice + group->choice_at;
}

void nopal_copies_choose(struct nopal_session *session, const uint32_t *indices, uint32_t count)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_group *group = composite->group;
	uint32_t *choice;

	if (!nopal__is_group(composite))
		return; /* to the only one */
	choice = choice_of(composite);
	group->chosen = true;
	group->choice_count = 0;
	for (uint32_t i = 0; choice && i < count && i < group->count; i++)
		choice[group->choice_count++] = indices[i];
}

static void count_given(struct nopal_destination *destination, const struct nopal_segment *segment)
{
	if (segment->kind == NOPAL_KIND_DATA)
		destination->given_bytes += segment->body.length;
}

/* Writes whom the segment is for where there is a choice; returns how many.  A destination that is
 * leaving, or has ended, gets no message by its id either.
 *
 * Where a segment for all leaves through the channel, too, the joined destinations are given it by
 * that, and counted apart, whatever else waits for them: their copies have their outcome by their
 * reports, or with their end. */
static uint32_t choose(struct nopal_composite *composite, const struct nopal_segment *segment,
		       uint32_t *ret_hear)
{
	struct nopal_group *group = composite->group;
	uint64_t id = segment->attribute[nopal__plan(composite)->destination_slot];
	uint32_t *choice, index;

	if (!nopal__is_group(composite))
		return 1;
	choice = choice_of(composite);
	if (!choice || id || !group->chosen)
		group->choice_count = 0;
	if (choice && id) {
		index = nopal__member_find(composite, id);
		if (index < group->count && !group->member[index]->destination->removed &&
		    !group->member[index]->destination->ended)
			choice[group->choice_count++] = index;
	}
	for (uint32_t i = 0; choice && !id && !group->chosen && i < group->count; i++) {
		struct nopal_destination *one = group->member[i]->destination;

		if (ret_hear && one->joined) {
			++*ret_hear;
			count_given(one, segment);
		} else if (nopal_destination_takes(one)) {
			choice[group->choice_count++] = i;
		}
	}
	group->chosen = false;
	return group->choice_count;
}

void nopal_copy_settle(struct nopal_session *session, struct nopal_segment *segment,
		       struct nopal_destination *destination, enum nopal_outcome outcome)
{
	struct nopal_composite *group = nopal__composite(session);
	struct nopal_copy copy = {
		.segment = segment,
		.destination = destination,
		.outcome = outcome,
		.took_ns = session->now_ns - segment->transmitted_ns,
	};

	if (outcome == NOPAL_OUTCOME_DELIVERED)
		destination->arrived_bytes += segment->body.length;
	segment->copies--;
	segment->pins++;
	nopal_raise_COPY_DONE(session, &copy);
	segment->pins--;
	nopal__segment_settle(group, segment);
}

void nopal__copy_settle(struct nopal_composite *member, struct nopal_segment *segment,
			enum nopal_outcome outcome)
{
	nopal__touch(member->above);
	nopal_copy_settle(&member->above->session, segment, member->destination, outcome);
}

static void copy_give(struct nopal_composite *member, struct nopal_segment *segment, bool counted)
{
	int refusal = -EPIPE;

	if (member->life != NOPAL_LIFE_ENDED) {
		nopal__touch(member);
		refusal = nopal__message_from_above(member, segment);
	}
	if (refusal == -ENOBUFS && nopal__is_reliable(member))
		member_break(member, NOPAL_RESOURCE, "no room for a message to it");
	if (refusal && counted)
		nopal__copy_settle(member, segment, NOPAL_OUTCOME_LOST);
}

void nopal_copy_give(struct nopal_session *session, struct nopal_segment *segment, uint32_t index)
{
	copy_give(nopal__member_at(nopal__composite(session), index), segment, true);
}

/* Nobody joins or leaves meanwhile: those that end are freed with the turn.  Through a channel the
 * first transmission is for all: once for the joined destinations, and a copy to each of the
 * others.  Later ones are the channel's alone: copies do not get lost. */
void nopal__copies_leave(struct nopal_composite *composite, struct nopal_segment *segment)
{
	struct nopal_group *group = composite->group;
	bool counted = segment->transmissions != 0; /* control is not */
	bool channel = counted && nopal__has_channel(composite) && !group->chosen &&
		       !nopal_is_for_one(&composite->session, segment);
	uint32_t hear = 0, count, at;

	if (channel && segment->transmissions > 1) {
		nopal__multicast(composite, segment);
		return;
	}
	count = choose(composite, segment, channel ? &hear : NULL);
	if (counted) {
		segment->copies += count;
		if (segment->kind == NOPAL_KIND_DATA)
			segment->copies += hear;
		nopal_raise_COPIES_LEAVE(&composite->session, segment);
	}
	if (hear)
		nopal__multicast(composite, segment);
	if (!nopal__is_group(composite)) {
		copy_give(composite->below, segment, counted);
		return;
	}
	at = group->choice_at;
	group->choice_at += count;
	for (uint32_t i = 0; i < count; i++) {
		struct nopal_composite *member = group->member[group->choice[at + i]];

		if (counted)
			count_given(member->destination, segment);
		copy_give(member, segment, counted);
	}
	group->choice_at = at;
}

void nopal__copy_done(struct nopal_composite *member, struct nopal_handle above,
		      enum nopal_outcome outcome)
{
	struct nopal_composite *group = member->above;
	struct nopal_segment *segment = NULL;

	if (group && group->life != NOPAL_LIFE_ENDED && group->awake)
		segment = nopal__pool_find(&group->awake->segments, above);
	if (segment && segment->copies)
		nopal__copy_settle(member, segment, outcome);
}
