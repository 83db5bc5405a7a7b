/* SPDX-License-Identifier: MIT */
/*
 * group.c -- one to many: a layer that stands on a layer of destinations.
 *
 *          group                 fan_out ...            one stack
 *        /   |   \                                      one a destination,
 *     dest dest dest             a session each         below the group
 *
 * What departs from the group is given to several destinations: each has a message
 * of its own with the same bytes, and each such copy gets a fate, once.  Whoever
 * has the role fan_out counts them and says when the segment is done; so all, any
 * and P of K are one rule, and nothing here knows it.
 *
 * A listener's session of the same plan is one stack: its only destination is the
 * layer below.  So both ends run the same microprotocols.
 *
 * Destinations end by themselves; the group ends with the last, or ends them all.
 */
#include <errno.h>
#include <string.h>

#include "session.h"

static struct nopal_core *member_at(const struct nopal_core *group,
				    uint32_t index)
{
	return group->is_group ? group->group->member[index] : group->below;
}

static uint32_t member_count(const struct nopal_core *group)
{
	return group->is_group ? group->group->count : 1;
}

/* Ids grow with the index.  `count`: there is none. */
static uint32_t member_find(const struct nopal_core *group, uint64_t id)
{
	uint32_t low = 0, high = member_count(group);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (member_at(group, middle)->destination->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < member_count(group) &&
			       member_at(group, low)->destination->id == id
		       ? low
		       : member_count(group);
}

/* ------------------------------------------------------------------- copies */

uint32_t nopal_destination_count(const struct nopal_session *session)
{
	return member_count(nopal__core(session));
}

struct nopal_destination *
nopal_destination_at(const struct nopal_session *session, uint32_t index)
{
	return member_at(nopal__core(session), index)->destination;
}

uint64_t nopal_destination_backlog(const struct nopal_session *session,
				   uint32_t index)
{
	const struct nopal_core *member =
		member_at(nopal__core(session), index);

	return member->awake ? member->awake->unfinished_bytes : 0;
}

void nopal_destination_break(struct nopal_session *session, uint32_t index,
			     enum nopal_end end, const char *text)
{
	struct nopal_core *member = member_at(nopal__core(session), index);

	nopal__touch(member);
	if (member->life != NOPAL_LIFE_ENDED)
		nopal__abort_tell(nopal__bottom(member));
	nopal__session_end(member, end, text);
}

/* Room for a choice among all; NULL: out of memory. */
static uint32_t *choice_of(struct nopal_group *group)
{
	uint32_t room = group->choice_at + group->count;
	uint32_t *grown = group->choice;

	if (room > group->choice_room)
		grown = realloc(group->choice, room * sizeof(*grown));
	if (!grown)
		return NULL;
	group->choice = grown;
	if (room > group->choice_room)
		group->choice_room = room;
	return grown + group->choice_at;
}

void nopal_copies_choose(struct nopal_session *session, const uint32_t *indices,
			 uint32_t count)
{
	struct nopal_core *core = nopal__core(session);
	struct nopal_group *group = core->group;
	uint32_t *choice;

	if (!core->is_group)
		return; /* to the only one */
	choice = choice_of(group);
	group->chosen = true;
	group->choice_count = 0;
	for (uint32_t i = 0; choice && i < count && i < group->count; i++)
		choice[group->choice_count++] = indices[i];
}

/* Whoever is leaving, or has ended, is not spoken to by name either. */
static uint32_t choose_one(const struct nopal_core *core, uint64_t id,
			   uint32_t *choice)
{
	struct nopal_group *group = core->group;
	uint32_t index = member_find(core, id);
	const struct nopal_destination *one;

	if (index == group->count)
		return 0;
	one = group->member[index]->destination;
	choice[0] = index;
	return !one->removed && !one->ended;
}

/* Writes whom the segment is for where there is a choice; returns how many. */
static uint32_t choose(struct nopal_core *core,
		       const struct nopal_segment *segment)
{
	struct nopal_group *group = core->group;
	uint64_t id = segment->attribute[nopal__plan(core)->destination_slot];
	uint32_t *choice;

	if (!core->is_group)
		return 1;
	choice = choice_of(group);
	if (!choice) {
		group->choice_count = 0;
	} else if (id) {
		group->choice_count = choose_one(core, id, choice);
	} else if (!group->chosen) {
		group->choice_count = 0;
		for (uint32_t i = 0; i < group->count; i++)
			if (nopal_destination_takes(
				    group->member[i]->destination))
				choice[group->choice_count++] = i;
	}
	group->chosen = false;
	return group->choice_count;
}

static void copy_settle(struct nopal_core *member,
			struct nopal_segment *segment, enum nopal_fate fate)
{
	struct nopal_core *group = member->above;
	struct nopal_copy copy = {
		.segment = segment,
		.destination = member->destination,
		.fate = (int)fate,
	};

	nopal__touch(group);
	copy.took_ns = group->session.now_ns - segment->departed_ns;
	segment->copies--;
	segment->pins++;
	nopal_raise_COPY_DONE(&group->session, &copy);
	segment->pins--;
	nopal__segment_settle(group, segment);
}

static void copy_give(struct nopal_core *member, struct nopal_segment *segment,
		      bool counted)
{
	int refusal = -EPIPE;

	if (member->life != NOPAL_LIFE_ENDED) {
		nopal__touch(member);
		refusal = nopal__message_from_above(member, segment);
	}
	if (refusal && counted)
		copy_settle(member, segment, NOPAL_MISSING);
}

static void copies_give(struct nopal_core *core, struct nopal_segment *segment,
			uint32_t count, bool counted)
{
	struct nopal_group *group = core->group;
	uint32_t at = group->choice_at;

	group->choice_at += count;
	for (uint32_t i = 0; i < count; i++)
		copy_give(group->member[group->choice[at + i]], segment,
			  counted);
	group->choice_at = at;
}

/* Nobody joins or leaves meanwhile: those that end are freed with the turn. */
void nopal__copies_leave(struct nopal_core *core, struct nopal_segment *segment)
{
	uint32_t count = choose(core, segment);
	bool counted = segment->departures != 0; /* control is not */

	if (counted) {
		segment->copies += count;
		nopal_raise_COPIES_LEAVE(&core->session, segment);
	}
	if (core->is_group)
		copies_give(core, segment, count, counted);
	else
		copy_give(core->below, segment, counted);
}

void nopal__copy_done(struct nopal_core *member,
		      const struct nopal_message *message)
{
	struct nopal_segment *segment = nopal__pool_find(
		&member->above->awake->segments, message->above);

	if (segment && segment->copies)
		copy_settle(member, segment, nopal__message_fate(message));
}

/* -------------------------------------------------------------- destinations */

static struct nopal_destination_info info_of(const struct nopal_core *member)
{
	const struct nopal_destination *destination = member->destination;

	return (struct nopal_destination_info){
		.id = destination->id,
		.address = member->peer,
		.open = destination->open,
		.session = &member->session,
	};
}

static void tell(struct nopal_core *group,
		 const struct nopal_destination_info *info)
{
	struct nopal_core *top = nopal__top(group);

	if (top->callbacks && top->callbacks->destination)
		top->callbacks->destination(&top->session, info, top->user);
}

void nopal__destination_opened(struct nopal_core *member)
{
	struct nopal_core *group = member->above;
	struct nopal_destination_info info;

	if (group->life == NOPAL_LIFE_ENDED)
		return;
	nopal__touch(group);
	member->destination->open = true;
	if (group->is_group)
		nopal_session_opened(&group->session);
	nopal_raise_DESTINATION_OPENED(&group->session, member->destination);
	info = info_of(member);
	tell(group, &info);
}

static void member_take(struct nopal_core *group, struct nopal_core *member)
{
	struct nopal_group *all = group->group;
	uint32_t index = member_find(group, member->destination->id);

	all->count--;
	memmove(&all->member[index], &all->member[index + 1],
		(all->count - index) * sizeof(struct nopal_core *));
}

/* Without destinations: in good order where it was asked to close; else as the
 * last one did, unless the application sent it away. */
static void group_is_empty(struct nopal_core *group,
			   const struct nopal_destination *last)
{
	if (group->life == NOPAL_LIFE_CLOSING)
		nopal__session_end(group, NOPAL_ENDED_WELL,
				   "closed in good order");
	else if (!last->removed)
		nopal__session_end(group, last->end, last->text);
}

static void count_datagrams(struct nopal_counters *sum,
			    struct nopal_core *member)
{
	const struct nopal_core *bottom = nopal__bottom(member);

	if (!bottom->awake)
		return;
	sum->datagrams_out += bottom->awake->counters.datagrams_out;
	sum->datagrams_in += bottom->awake->counters.datagrams_in;
	sum->datagram_bytes_out += bottom->awake->counters.datagram_bytes_out;
	sum->datagram_bytes_in += bottom->awake->counters.datagram_bytes_in;
}

void nopal__destination_ended(struct nopal_core *member, enum nopal_end end,
			      const char *text)
{
	struct nopal_core *group = member->above;
	struct nopal_destination *destination = member->destination;
	struct nopal_destination_info info = info_of(member);

	member_take(group, member);
	count_datagrams(&group->group->gone, member);
	nopal__touch(group);
	destination->open = false;
	destination->end = end;
	destination->text = text;
	if (group->life != NOPAL_LIFE_ENDED)
		nopal_raise_DESTINATION_ENDED(&group->session, destination);
	info.ended = true;
	info.end = (int)end;
	info.text = text;
	tell(group, &info);
	if (!group->group->count && group->life != NOPAL_LIFE_ENDED)
		group_is_empty(group, destination);
}

/* ------------------------------------------------------- making, and the end */

static bool room_for_one(struct nopal_group *group)
{
	uint32_t room = group->room ? group->room * 2 : 8;
	struct nopal_core **member;

	if (group->count < group->room)
		return true;
	member = realloc(group->member, room * sizeof(struct nopal_core *));
	if (!member)
		return false;
	group->member = member;
	group->room = room;
	return true;
}

int nopal__group_attach(struct nopal_core *core)
{
	struct nopal_group *group = calloc(1, sizeof(*group));

	if (!group)
		return -ENOMEM;
	core->is_group = true;
	core->group = group;
	return room_for_one(group) ? 0 : -ENOMEM;
}

/* What is left of it ends with it, or has ended: it has no group any more. */
void nopal__group_free(struct nopal_core *core)
{
	struct nopal_group *group = core->group;

	for (uint32_t i = 0; i < group->count; i++)
		group->member[i]->above = NULL;
	free(group->member);
	free(group->choice);
	free(group);
}

struct nopal_session *nopal_group_open(struct nopal_endpoint *endpoint,
				       struct nopal_plan *plan,
				       const struct nopal_callbacks *callbacks,
				       void *user)
{
	static const struct nopal_address nobody;
	struct nopal_world *world = endpoint->port.world;
	bool outermost = nopal__turn_begin(world);
	struct nopal_core *top = NULL;

	if (plan->destinations)
		top = nopal__stack_open(endpoint, plan, 0, plan->destinations,
					&nobody, callbacks, user);
	nopal__turn_end(world, outermost);
	return top ? &top->session : NULL;
}

struct nopal_session *
nopal__group_with_one(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
		      const struct nopal_address *peer,
		      const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_world *world = endpoint->port.world;
	bool outermost = nopal__turn_begin(world);
	struct nopal_session *session =
		nopal_group_open(endpoint, plan, callbacks, user);

	if (session && nopal_destination_add(session, peer) < 0) {
		nopal_session_abort(session, "no destination could be added");
		session = NULL;
	}
	nopal__turn_end(world, outermost);
	return session;
}

static struct nopal_core *group_of(const struct nopal_session *session)
{
	struct nopal_core *core = nopal__bottom(nopal__core(session));

	return core->is_group ? core : NULL;
}

static bool is_there(const struct nopal_core *group,
		     const struct nopal_address *address)
{
	for (uint32_t i = 0; i < group->group->count; i++)
		if (nopal_address_equal(&group->group->member[i]->peer,
					address))
			return true;
	return false;
}

static int64_t join(struct nopal_core *group,
		    const struct nopal_address *address)
{
	const struct nopal_plan *plan = group->layer->plan;
	struct nopal_group *all = group->group;
	struct nopal_core *bottom, *top;

	if (!room_for_one(all))
		return -ENOMEM;
	bottom = nopal__stack_make(
		group->endpoint, (struct nopal_plan *)(uintptr_t)plan,
		plan->destinations, plan->layer_count, group, address, true);
	if (!bottom)
		return -ENOMEM;
	top = nopal__top(bottom);
	top->destination->id = ++all->ids;
	all->member[all->count++] = top;
	nopal__session_start(bottom);
	return top->destination->id;
}

/* Nobody waits for what it was given. */
static void copies_forget(struct nopal_core *member)
{
	struct nopal_message *message;

	if (!nopal__be_awake(member))
		return;
	for (message = nopal__pool_oldest(&member->awake->messages); message;
	     message = nopal__pool_newer(message)) {
		struct nopal_segment *segment =
			message->incoming || message->settled
				? NULL
				: nopal__pool_find(
					  &member->above->awake->segments,
					  message->above);

		message->above = (struct nopal_handle){ 0, 0 };
		if (segment && segment->copies)
			copy_settle(member, segment, NOPAL_UNKNOWN);
	}
}

int64_t nopal_destination_add(struct nopal_session *session,
			      const struct nopal_address *address)
{
	struct nopal_core *group = group_of(session);
	bool outermost;
	int64_t result;

	if (!group)
		return -EINVAL;
	if (group->life != NOPAL_LIFE_OPENING && group->life != NOPAL_LIFE_OPEN)
		return -EPIPE;
	if (is_there(group, address))
		return -EEXIST;
	outermost = nopal__turn_begin(group->world);
	nopal__touch(group);
	result = join(group, address);
	nopal__turn_end(group->world, outermost);
	return result;
}

int nopal_destination_remove(struct nopal_session *session, uint32_t id,
			     bool at_once)
{
	struct nopal_core *group = group_of(session), *member;
	uint32_t index = group ? member_find(group, id) : 0;
	bool outermost;

	if (!group || index == group->group->count)
		return -ENOENT;
	member = group->group->member[index];
	outermost = nopal__turn_begin(group->world);
	nopal__touch(group);
	member->destination->removed = true;
	copies_forget(member);
	if (at_once)
		nopal_session_abort(&member->session, "it was removed");
	else
		nopal__session_close(member);
	nopal__turn_end(group->world, outermost);
	return 0;
}

size_t nopal_destinations(const struct nopal_session *session,
			  struct nopal_destination_info *ret_infos, size_t room)
{
	const struct nopal_core *group = group_of(session);
	size_t count = group ? group->group->count : 0;

	for (size_t i = 0; i < count && i < room; i++)
		ret_infos[i] = info_of(group->group->member[i]);
	return count;
}

void nopal__group_close(struct nopal_core *group)
{
	struct nopal_group *all = group->group;

	if (!all->count) {
		nopal__session_end(group, NOPAL_ENDED_WELL,
				   "closed in good order");
		return;
	}
	for (uint32_t i = 0; i < all->count; i++)
		nopal__session_close(all->member[i]);
}

void nopal__group_end(struct nopal_core *group, enum nopal_end end,
		      const char *text)
{
	for (uint32_t i = 0; i < group->group->count; i++)
		if (nopal__be_awake(group->group->member[i]))
			nopal__session_end(group->group->member[i], end, text);
}

void nopal__group_abort_tell(struct nopal_core *group)
{
	for (uint32_t i = 0; i < group->group->count; i++) {
		struct nopal_core *member = group->group->member[i];

		nopal__touch(member);
		if (member->life != NOPAL_LIFE_ENDED)
			nopal__abort_tell(nopal__bottom(member));
	}
}

/* Those that have gone are in `gone`. */
void nopal__group_count(struct nopal_core *group)
{
	struct nopal_counters *counters = &group->awake->counters;

	counters->datagrams_out = group->group->gone.datagrams_out;
	counters->datagrams_in = group->group->gone.datagrams_in;
	counters->datagram_bytes_out = group->group->gone.datagram_bytes_out;
	counters->datagram_bytes_in = group->group->gone.datagram_bytes_in;
	for (uint32_t i = 0; i < group->group->count; i++)
		if (nopal__be_awake(group->group->member[i]))
			count_datagrams(counters, group->group->member[i]);
}
