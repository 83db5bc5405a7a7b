/* SPDX-License-Identifier: MIT */
/*
 * group.c -- one to many: a layer that stands on a layer of destinations.
 *
 *          group                 fan_out ...            one stack
 *        /   |   \                                      one a destination,
 *     dest dest dest             a session each         below the group
 *
 * A segment that leaves the group is given to several destinations: copies.c.
 *
 * A listener's session of the same plan is one stack: its only destination is the layer below.  So
 * both ends run the same microprotocols.
 *
 * Destinations end by themselves; the group ends with the last, or ends them all.
 */
#include <errno.h>
#include <string.h>

#include "layers/group.h"
#include "base/vector.h"
#include "engine/turn.h"
#include "session/session.h"
#include "session/stack.h"

struct nopal_composite *nopal__member_at(const struct nopal_composite *group, uint32_t index)
{
	return nopal__is_group(group) ? group->group->member[index] : group->below;
}

uint32_t nopal__member_count(const struct nopal_composite *group)
{
	return nopal__is_group(group) ? group->group->count : 1;
}

/* Ids grow with the index. */
uint32_t nopal__member_find(const struct nopal_composite *group, uint64_t id)
{
	uint32_t low = 0, high = nopal__member_count(group);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (nopal__member_at(group, middle)->destination->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nopal__member_count(group) &&
			       nopal__member_at(group, low)->destination->id == id
		       ? low
		       : nopal__member_count(group);
}

/* -------------------------------------------------------------- destinations */

static const struct nopal_down destinations_whole_down;

static struct nopal_destination_info info_of(const struct nopal_composite *member)
{
	const struct nopal_destination *destination = member->destination;

	return (struct nopal_destination_info){
		.id = destination->id,
		.address = member->peer,
		.open = destination->open,
		.given_bytes = destination->given_bytes,
		.arrived_bytes = destination->arrived_bytes,
		.session = &member->session,
	};
}

void nopal_destination_joined(struct nopal_session *session, uint32_t index, bool joined)
{
	struct nopal_destination *destination = nopal_destination_at(session, index);

	if (destination->joined == joined ||
	    (joined && (destination->removed || destination->ended)))
		return;
	destination->joined = joined;
	nopal_raise_DESTINATION_JOINED(session, destination);
}

uint32_t nopal_destination_find(const struct nopal_session *session, uint64_t id)
{
	return nopal__member_find(nopal__composite(session), id);
}

bool nopal_is_destination(const struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);

	return composite->down == &destinations_whole_down;
}

bool nopal_is_group(const struct nopal_session *session)
{
	return nopal__is_group(nopal__bottom(nopal__composite(session)));
}

bool nopal__is_for_one(const struct nopal_session *session, const uint64_t *attribute)
{
	const struct nopal_composite *composite = nopal__composite(session);

	return nopal_is_destination(session) ||
	       (nopal__is_group(composite) && attribute[composite->layer->plan->destination_slot]);
}

static void tell(struct nopal_composite *group, const struct nopal_destination_info *info)
{
	struct nopal_composite *top = nopal__top(group);

	if (top->callbacks && top->callbacks->destination)
		top->callbacks->destination(&top->session, info, top->user);
}

void nopal_view_tell(struct nopal_session *session, uint32_t view, const uint32_t *members,
		     size_t count)
{
	struct nopal_composite *top = nopal__top(nopal__composite(session));

	if (top->callbacks && top->callbacks->view)
		top->callbacks->view(&top->session, view, members, count, top->user);
}

static void member_opened(struct nopal_composite *member)
{
	struct nopal_composite *group = member->above;
	struct nopal_destination_info info;

	if (!group || group->life == NOPAL_LIFE_ENDED)
		return;
	nopal__touch(group);
	member->destination->open = true;
	if (nopal__is_group(group))
		nopal_session_opened(&group->session);
	nopal_raise_DESTINATION_OPENED(&group->session, member->destination);
	info = info_of(member);
	tell(group, &info);
}

/* "10.0.0.2:9000: the peer fell silent, and 2 more were lost" */
static void add_lost(char *words, const struct nopal_group *group)
{
	nopal__add_words(words, "%s", group->lost);
	if (group->lost_count > 1)
		nopal__add_words(words, ", and %u more were lost", group->lost_count - 1);
}

/* Without destinations: in good order where it was asked to close; else as the last one did, unless
 * the application sent it away. */
static void group_is_empty(struct nopal_composite *group, const struct nopal_destination *last)
{
	char words[NOPAL_END_WORDS] = "";
	uint64_t missing;

	if (group->life == NOPAL_LIFE_CLOSING) {
		nopal__session_closed_well(group);
		return;
	}
	if (last->removed)
		return;
	if (group->group->lost)
		add_lost(words, group->group);
	else
		nopal__add_words(words, "%s", last->text);
	missing = nopal__undelivered(nopal__top(group));
	if (missing) {
		nopal__add_words(words, "; ");
		nopal__add_missing(words, missing);
	}
	nopal__session_end(group, last->end, last->end == NOPAL_ENDED_WELL ? last->text : words);
}

static void count_datagrams(struct nopal_counters *sum, struct nopal_composite *member)
{
	const struct nopal_composite *bottom = nopal__bottom(member);

	if (!bottom->awake)
		return;
	sum->datagrams_out += bottom->awake->counters.datagrams_out;
	sum->datagrams_in += bottom->awake->counters.datagrams_in;
	sum->datagram_bytes_out += bottom->awake->counters.datagram_bytes_out;
	sum->datagram_bytes_in += bottom->awake->counters.datagram_bytes_in;
}

static void member_ended(struct nopal_composite *member, enum nopal_end end, const char *text)
{
	struct nopal_composite *group = member->above;
	struct nopal_destination *destination = member->destination;
	struct nopal_destination_info info = info_of(member);
	struct nopal_group *all = group ? group->group : NULL;
	char address[NOPAL_ADDRESS_TEXT], words[NOPAL_END_WORDS];
	uint32_t index;

	if (!group)
		return;
	index = nopal__member_find(group, destination->id);
	all->count--;
	memmove(&all->member[index], &all->member[index + 1],
		(all->count - index) * sizeof(struct nopal_composite *));
	count_datagrams(&all->gone, member);
	nopal__touch(group);
	destination->end = end;
	destination->text = text;
	nopal__host_leave(destination);
	if (group->life != NOPAL_LIFE_ENDED) /* `open` still says that it was */
		nopal_raise_DESTINATION_ENDED(&group->session, destination);
	destination->open = false;
	info.ended = true;
	info.end = end;
	info.text = text;
	if (end != NOPAL_ENDED_WELL && !destination->removed && !all->lost_count++) {
		snprintf(words, sizeof(words), "%s: %s",
			 nopal_address_format(&info.address, address), text);
		all->lost = strdup(words);
	}
	tell(group, &info);
	if (!all->count && group->life != NOPAL_LIFE_ENDED)
		group_is_empty(group, destination);
}

/* ------------------------------------------------------- making, and the end */

static bool room_for_one(struct nopal_group *group)
{
	return nopal__vector_room(&group->member, &group->room, group->count + 1u,
				  sizeof(struct nopal_composite *));
}

static int group_attach(struct nopal_composite *composite)
{
	composite->group = calloc(1, sizeof(*composite->group));
	return composite->group && room_for_one(composite->group) ? 0 : -ENOMEM;
}

/* Stacks below it have ended with it, and have no group any more. */
static void group_detach(struct nopal_composite *composite)
{
	struct nopal_group *group = composite->group;

	if (!group)
		return;
	for (uint32_t i = 0; i < group->count; i++)
		group->member[i]->above = NULL;
	free(group->member);
	free(group->choice);
	free(group->lost);
	free(group);
}

static struct nopal_composite *group_of(const struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__bottom(nopal__composite(session));

	return nopal__is_group(composite) ? composite : NULL;
}

int64_t nopal_destination_add(struct nopal_session *session, const struct nopal_address *address)
{
	struct nopal_composite *group = group_of(session), *bottom = NULL, *top;
	struct nopal_plan *plan;
	struct nopal_group *all;
	int64_t result = -ENOMEM;
	bool outermost;

	if (!group)
		return -EINVAL;
	if (group->life != NOPAL_LIFE_OPENING && group->life != NOPAL_LIFE_OPEN)
		return -EPIPE;
	all = group->group;
	if (nopal__host_find(group, address) && !nopal__host_takes_streams(group))
		return -EEXIST;
	outermost = nopal__turn_begin(group->world);
	nopal__touch(group);
	plan = (struct nopal_plan *)(uintptr_t)group->layer->plan;
	if (room_for_one(all))
		bottom = nopal__stack_make(group->endpoint, plan, plan->destinations,
					   plan->layer_count, group, address, true);
	top = bottom ? nopal__top(bottom) : NULL;
	if (top) {
		result = top->destination->id = ++all->ids;
		nopal__host_enter(group, top);
		all->member[all->count++] = top;
		group->by_ipv6 |= top->by_ipv6;
		nopal_raise_DESTINATION_ADDED(&group->session, top->destination);
		nopal__session_start(bottom);
	}
	nopal__turn_end(group->world, outermost);
	return result;
}

/* Nobody waits for the outcome of what it was given. */
static void member_settle(struct nopal_composite *group, struct nopal_composite *member)
{
	struct nopal_message *message = NULL;

	if (nopal__be_awake(member))
		message = nopal__pool_oldest(&member->awake->messages);
	for (; message; message = nopal__pool_newer(message)) {
		struct nopal_segment *segment = NULL;

		if (!message->incoming && !message->settled)
			segment = nopal__pool_find(&group->awake->segments, message->above);
		message->above = (struct nopal_handle){ 0, 0 };
		if (segment && segment->copies)
			nopal__copy_settle(member, segment, NOPAL_OUTCOME_UNKNOWN);
	}
}

/* With the last of a host's streams, nobody waits for what the others were given either. */
static void host_settle(struct nopal_composite *group, const struct nopal_address *address)
{
	for (uint32_t i = group->group->count; i-- > 0;)
		if (i < group->group->count &&
		    nopal_address_equal(&group->group->member[i]->peer, address))
			member_settle(group, group->group->member[i]);
}

/* What a stream of several was given goes by the others, where it ends at once; else the host gets
 * it by the stream still, and is waited for. */
int nopal_destination_remove(struct nopal_session *session, uint32_t id, bool at_once)
{
	struct nopal_composite *group = group_of(session), *member;
	uint32_t index = group ? nopal__member_find(group, id) : 0;
	bool outermost;

	if (!group || index == group->group->count)
		return -ENOENT;
	member = group->group->member[index];
	outermost = nopal__turn_begin(group->world);
	nopal__touch(group);
	nopal_destination_joined(&group->session, index, false);
	member->destination->removed = true;
	if (!nopal__host_has_another(member->destination))
		host_settle(group, &member->peer);
	else if (at_once)
		member_settle(group, member);
	if (at_once)
		nopal_session_abort(&member->session, "it was removed");
	else
		nopal__session_close(member);
	nopal__turn_end(group->world, outermost);
	return 0;
}

int nopal_destination_remove_host(struct nopal_session *session,
				  const struct nopal_address *address, bool at_once)
{
	struct nopal_composite *group = group_of(session), *member;
	struct nopal_destination *one;
	bool outermost;

	member = group ? nopal__host_find(group, address) : NULL;
	if (!member)
		return -ENOENT;
	outermost = nopal__turn_begin(group->world);
	for (one = member->destination->next_stream; one != member->destination;
	     one = one->next_stream)
		one->removed = true;
	/* Sessions that end are freed with the turn. */
	for (uint32_t i = group->group->count; i-- > 0;)
		if (i < group->group->count &&
		    nopal_address_equal(&group->group->member[i]->peer, address))
			nopal_destination_remove(session, group->group->member[i]->destination->id,
						 at_once);
	nopal__turn_end(group->world, outermost);
	return 0;
}

size_t nopal_destinations(const struct nopal_session *session,
			  struct nopal_destination_info *ret_infos, size_t room)
{
	const struct nopal_composite *group = group_of(session);
	size_t count = group ? group->group->count : 0;

	for (size_t i = 0; i < count && i < room; i++)
		ret_infos[i] = info_of(group->group->member[i]);
	return count;
}

struct nopal_composite *nopal__group_open(const struct nopal_open *open)
{
	static const struct nopal_address nobody;
	struct nopal_composite *top =
		nopal__stack_open(open->endpoint, open->plan, open->plan->flow,
				  open->plan->destinations, &nobody, open->callbacks, open->user);

	if (!top || !open->peer || nopal_destination_add(&top->session, open->peer) >= 0)
		return top;
	nopal_session_abort(&top->session, "no destination could be added");
	return NULL;
}

static void group_closed(struct nopal_composite *group)
{
	struct nopal_group *all = group->group;

	if (!all->count) {
		nopal__session_closed_well(group);
		return;
	}
	/* Segments of the channel that a destination has yet to get are given before it closes. */
	for (uint32_t i = 0; i < all->count; i++) {
		nopal_destination_joined(&group->session, i, false);
		nopal__session_close(all->member[i]);
	}
}

static void group_end(struct nopal_composite *group, enum nopal_end end, const char *text)
{
	for (uint32_t i = 0; i < group->group->count; i++)
		if (nopal__be_awake(group->group->member[i]))
			nopal__session_end(group->group->member[i], end, text);
}

/* Datagrams of destinations that have ended are counted in `gone`. */
void nopal__group_count(struct nopal_composite *group)
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

/* -------------------------------------------------------------------- ports */

static bool group_in_use(const struct nopal_composite *group)
{
	return group->group->count != 0;
}

static void group_add_lost(const struct nopal_composite *group, char *words)
{
	if (!group->group->lost)
		return;
	nopal__add_words(words, "; ");
	add_lost(words, group->group);
}

static bool group_may_leave(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	return !composite->group->channel || nopal__channel_may_leave(composite, segment);
}

static bool group_push(struct nopal_composite *composite, struct nopal_segment *segment)
{
	nopal__copies_leave(composite, segment);
	return false;
}

/* Below the layer above destinations: a stack for each of them, */
static const struct nopal_down group_down = {
	.name = "destinations",
	.many = true,
	.leaves = true,
	.attach = group_attach,
	.detach = group_detach,
	.may_leave = group_may_leave,
	.push = group_push,
	.closed = group_closed,
	.end = group_end,
	.in_use = group_in_use,
	.add_lost = group_add_lost,
};

/* or, at a listener, the one from which the session came. */
static const struct nopal_down destinations_whole_down = {
	.name = "the only destination",
	.same_stack = true,
	.leaves = true,
	.detach = nopal__channel_leave,
	.push = group_push,
	.closed = nopal__layer_closed,
};

static int member_attach(struct nopal_composite *composite)
{
	size_t words = composite->layer->plan->channel ? NOPAL_REPAIR_WORDS + NOPAL_PACE_WORDS : 0;

	composite->destination =
		calloc(1, sizeof(*composite->destination) + words * sizeof(uint64_t));
	if (!composite->destination)
		return -ENOMEM;
	composite->destination->id = composite->destination->host = 1;
	composite->destination->next_stream = composite->destination;
	return 0;
}

static void member_detach(struct nopal_composite *composite)
{
	free(composite->destination);
}

static void member_arrives(struct nopal_composite *composite, struct nopal_segment *segment)
{
	segment->attribute[composite->layer->plan->destination_slot] = composite->destination->id;
}

static void member_outcome(struct nopal_composite *composite, const struct nopal_message *message,
			   enum nopal_outcome outcome)
{
	nopal__copy_done(composite, message->above, outcome);
}

static void member_segment_outcome(struct nopal_composite *composite,
				   const struct nopal_segment *segment)
{
	nopal__copy_done(composite, segment->above, segment->outcome);
}

static void member_end(struct nopal_composite *composite, enum nopal_end end, const char *text)
{
	(void)end;
	(void)text;
	composite->destination->ended = true;
}

/* Above a destination: the group that it is one of, */
static const struct nopal_up member_up = {
	.name = "group",
	.attach = member_attach,
	.detach = member_detach,
	.opened = member_opened,
	.arrives = member_arrives,
	.pop = nopal__stack_up,
	.outcome = member_outcome,
	.segment_outcome = member_segment_outcome,
	.left = nopal__stack_left,
	.peer_closed = nopal__session_close,
	.end = member_end,
	.ended = member_ended,
};

static void whole_opened(struct nopal_composite *composite)
{
	nopal__session_start(composite->above);
	member_opened(composite);
}

/* or the next layer of a listener's session. */
static const struct nopal_up destinations_whole_up = {
	.name = "layer above the only destination",
	.same_stack = true,
	.attach = member_attach,
	.detach = member_detach,
	.opened = whole_opened,
	.arrives = member_arrives,
	.pop = nopal__stack_up,
	.outcome = member_outcome,
	.segment_outcome = member_segment_outcome,
	.left = nopal__stack_left,
	.peer_closed = nopal__layer_peer_closed,
};

const struct nopal_junction nopal__destinations = {
	.down = &group_down,
	.whole_down = &destinations_whole_down,
	.up = &member_up,
	.whole_up = &destinations_whole_up,
};

bool nopal__is_group(const struct nopal_composite *composite)
{
	return composite->down == &group_down;
}
