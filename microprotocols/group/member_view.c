/* SPDX-License-Identifier: MIT */
/*
 * member_view -- each member of a group knows who its members are, and since which message.
 *
 *    messages    a  b  |  c  |  d         the same at each member,
 *    views       1     |  2  |  3         with total_order
 *
 * A view is the set of members: the destinations that were added and have not ended.  The hub, which
 * opened the group, tells each change to all, in line with the messages: what a member delivers
 * before it belongs to the view before.  Who is added gets the list of those that are there, and its
 * first change is its own coming.  An application is told of each view (`view`), at the hub and at
 * each member, between two messages, and each message says in which view it was delivered.
 *
 * A destination is a member from when it is added, whether it ever answers or not: then its going
 * is a view, too.  The views of a group that closes are over.
 *
 * Where total_order is there, views have places in its order, and those who see two views in a row
 * have delivered the same messages between them.  Else each member sees a view between the same
 * messages of the hub.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section VII: groups, among the work that
 *            is to come; Birman, Joseph, Exploiting virtual synchrony in distributed systems,
 *            SOSP 1987 (views in line with messages).
 * Differs:   views are the hub's word: no agreement is needed, and none survives the hub.
 * Wire:      members: number of the view 4, and the ids in it, 4 each, ascending; change: number of
 *            the new view 4, an id 4, and whether it came (1) or went (0) 1.
 */
#include <string.h>

#include "group_message.h"

enum { MEMBER_VIEW_VIEW, MEMBER_VIEW_IS_CHANGE, MEMBER_VIEW_ORDERED, MEMBER_VIEW_DESTINATION };
enum { MEMBER_VIEW_MEMBERS, MEMBER_VIEW_CHANGE }; /* kinds */
enum { MEMBER_VIEW_NUMBER, MEMBER_VIEW_COUNT };	  /* shared variables */
enum {
	MEMBER_VIEW_BYTES = 4,
	MEMBER_VIEW_CAME_BYTES = 1,
	MEMBER_VIEW_CHANGE_BYTES = 2 * MEMBER_VIEW_BYTES + MEMBER_VIEW_CAME_BYTES,
};

struct member_view {
	uint32_t *members; /* ids, ascending: an id is never used again */
	uint32_t count, room;
	uint32_t view;
	bool known, closed;
};

/* --------------------------------------------------------------------- the set */

static bool member_view_room(struct nopal_session *session, struct member_view *self,
			     uint32_t count)
{
	bool there = nopal_array_room(session, &self->members, &self->room, count,
				      sizeof(*self->members));

	if (!there)
		nopal_session_break(session, NOPAL_RESOURCE, "no room for the group's members");
	return there;
}

/* False: it is none, for the id is old, or there is no memory. */
static bool member_view_add(struct nopal_session *session, struct member_view *self, uint32_t id)
{
	if (self->count && self->members[self->count - 1] >= id)
		return false;
	if (!member_view_room(session, self, self->count + 1))
		return false;
	self->members[self->count++] = id;
	return true;
}

static bool member_view_remove(struct member_view *self, uint32_t id)
{
	uint32_t at = 0;

	while (at < self->count && self->members[at] != id)
		at++;
	if (at == self->count)
		return false;
	self->count--;
	memmove(&self->members[at], &self->members[at + 1],
		(self->count - at) * sizeof(*self->members));
	return true;
}

static bool member_view_change(struct nopal_session *session, struct member_view *self, uint32_t id,
			       bool came)
{
	return came ? member_view_add(session, self, id) : member_view_remove(self, id);
}

static void member_view_tell(struct nopal_at at)
{
	const struct member_view *self = nopal_state(at);

	nopal_shared_set(at, MEMBER_VIEW_NUMBER, self->view);
	nopal_shared_set(at, MEMBER_VIEW_COUNT, self->count);
	nopal_view_tell(at.session, self->view, self->members, self->count);
}

/* --------------------------------------------------------------------- the hub */

static void member_view_announce(struct nopal_at at, uint32_t id, bool came)
{
	struct member_view *self = nopal_state(at);
	struct nopal_segment *change;
	struct nopal_writer writer;

	if (!member_view_change(at.session, self, id, came))
		return;
	self->view++;
	change = nopal_control_begin(at, MEMBER_VIEW_CHANGE, MEMBER_VIEW_CHANGE_BYTES, &writer);
	if (!change) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to tell who the group's members are");
		return;
	}
	nopal_write(&writer, self->view, MEMBER_VIEW_BYTES);
	nopal_write(&writer, id, MEMBER_VIEW_BYTES);
	nopal_write(&writer, came, MEMBER_VIEW_CAME_BYTES);
	nopal_set(at, change, MEMBER_VIEW_ORDERED, 1);
	nopal_raise_SEGMENT_TO_NET(at.session, change);
	member_view_tell(at);
}

/* To the one that was added: who was there before it.  False: it cannot have that. */
static bool member_view_list(struct nopal_at at, uint32_t id)
{
	const struct member_view *self = nopal_state(at);
	uint64_t bytes = MEMBER_VIEW_BYTES * ((uint64_t)self->count + 1);
	struct nopal_segment *list;
	struct nopal_writer writer;

	if (bytes > nopal_control_limit(at, MEMBER_VIEW_MEMBERS))
		return false;
	list = nopal_control_begin(at, MEMBER_VIEW_MEMBERS, (uint32_t)bytes, &writer);
	if (!list)
		return false;
	nopal_write(&writer, self->view, MEMBER_VIEW_BYTES);
	for (uint32_t i = 0; i < self->count; i++)
		nopal_write(&writer, self->members[i], MEMBER_VIEW_BYTES);
	nopal_set(at, list, MEMBER_VIEW_DESTINATION, id);
	nopal_control_send(at.session, list, nopal_written(&writer));
	return true;
}

static enum nopal_verdict member_view_on_added(struct nopal_at at,
					       struct nopal_destination *destination)
{
	if (nopal_is_destination(at.session))
		return NOPAL_CONTINUE;
	if (member_view_list(at, destination->id))
		member_view_announce(at, destination->id, true);
	else
		nopal_destination_break(at.session,
					nopal_destination_find(at.session, destination->id),
					NOPAL_RESOURCE, "the list of members is too long for it");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict member_view_on_gone(struct nopal_at at,
					      struct nopal_destination *destination)
{
	const struct member_view *self = nopal_state(at);

	if (!nopal_is_destination(at.session) && !self->closed)
		member_view_announce(at, destination->id, false);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict member_view_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	group_message_for_all(at.session);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict member_view_on_close(struct nopal_at at, struct nopal_session *subject)
{
	struct member_view *self = nopal_state(at);

	(void)subject;
	self->closed = true;
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- a member */

static enum nopal_verdict member_view_on_members(struct nopal_at at, struct nopal_segment *segment)
{
	struct member_view *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);

	if (!nopal_is_destination(at.session) || self->known)
		return NOPAL_CONTINUE;
	self->known = true;
	self->view = (uint32_t)nopal_read(&reader, MEMBER_VIEW_BYTES);
	while (nopal_read_left(&reader) &&
	       member_view_add(at.session, self, (uint32_t)nopal_read(&reader, MEMBER_VIEW_BYTES)))
		continue;
	return NOPAL_CONTINUE;
}

/* It takes its place among the messages. */
static enum nopal_verdict member_view_on_change(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_message *message = nopal_is_destination(at.session)
						? group_message_arriving(at.session, segment)
						: NULL;

	if (!message)
		return NOPAL_CONTINUE;
	nopal_set(at, message, MEMBER_VIEW_IS_CHANGE, 1);
	nopal_raise_MSG_FROM_NET(at.session, message);
	return NOPAL_CONTINUE;
}

static void member_view_apply(struct nopal_at at, const struct nopal_message *message)
{
	struct member_view *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&message->fragment[0]);
	uint32_t view = (uint32_t)nopal_read(&reader, MEMBER_VIEW_BYTES);
	uint32_t id = (uint32_t)nopal_read(&reader, MEMBER_VIEW_BYTES);
	uint64_t came = nopal_read(&reader, MEMBER_VIEW_CAME_BYTES);

	if (!nopal_read_complete(&reader) || view != self->view + 1 ||
	    !member_view_change(at.session, self, id, came))
		return;
	self->view = view;
	member_view_tell(at);
}

static enum nopal_verdict member_view_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	const struct member_view *self = nopal_state(at);

	if (!nopal_get(at, message, MEMBER_VIEW_IS_CHANGE)) {
		nopal_set(at, message, MEMBER_VIEW_VIEW, self->view);
		return NOPAL_CONTINUE;
	}
	member_view_apply(at, message);
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

static const struct nopal_binding member_view_bindings[] = {
	NOPAL_ON(DESTINATION_ADDED, member_view_on_added, .after = "total_order"),
	NOPAL_ON(DESTINATION_ENDED, member_view_on_gone),
	NOPAL_ON(SEND_SEGMENT, member_view_on_send, .kinds = NOPAL_OWN_KIND + MEMBER_VIEW_CHANGE),
	NOPAL_ON(CLOSE_SESSION, member_view_on_close),
	NOPAL_ON_OWN(MEMBER_VIEW_MEMBERS, member_view_on_members),
	NOPAL_ON_OWN(MEMBER_VIEW_CHANGE, member_view_on_change),
	NOPAL_ON(MSG_TO_USER, member_view_on_to_user),
	{ 0 },
};

const struct nopal_microprotocol nopal_member_view = {
	NOPAL_DESCRIBE(member_view, group,
		       "each member of a group knows who its members are, and since which message"),
	.many = true,
	.provides = NOPAL_ROLES({ "member_view", true }),
	.needs = NOPAL_RELATIONS(
		{ "destinations", "they are the members" },
		{ "fan_out", "somebody must know who is too slow to be told" },
		{ "application|streams", "nobody else is told who the members are" }),
	.excludes = NOPAL_RELATIONS({ "channel", "what is no message is not repaired there" }),
	.promises =
		NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_OPENING_STAGE, NOPAL_REQUIRES, NOPAL_ALL,
				 "a member that misses a change has another view than the others" },
			       { NOPAL_ORDER, NOPAL_OPENING_STAGE, NOPAL_REQUIRES, NOPAL_AS_SENT,
				 "changes follow the list of members that they change" }),
	.attributes = NOPAL_ATTRIBUTES(
		[MEMBER_VIEW_VIEW] = { "view", NOPAL_PROPERTY,
				       "arriving: the view that it belongs to" },
		[MEMBER_VIEW_IS_CHANGE] = { "view_change", NOPAL_WRITE, "it is the next view" },
		[MEMBER_VIEW_ORDERED] = { "ordered", NOPAL_WRITE,
					  "not 0: it has a place among the messages for all" },
		[MEMBER_VIEW_DESTINATION] = { "destination", NOPAL_PROPERTY,
					      "for this one alone; arriving: from whom" }),
	.shared = NOPAL_SHARED([MEMBER_VIEW_NUMBER] = { "view", NOPAL_WRITE, 0,
							"number of the group's view" },
			       [MEMBER_VIEW_COUNT] = { "members", NOPAL_WRITE, 0,
						       "in it, the hub not counted" }),
	.kinds = NOPAL_KINDS([MEMBER_VIEW_MEMBERS] = { "members", NOPAL_KIND_CONTROL,
						       "who was there before" },
			     [MEMBER_VIEW_CHANGE] = { "change", NOPAL_KIND_CARRIED,
						      "a member came or went" }),
	.bindings = member_view_bindings,
	.raises = NOPAL_RAISES("SEGMENT_TO_NET", "MSG_FROM_NET", "SESSION_BROKEN"),
	.state_size = sizeof(struct member_view),
};
