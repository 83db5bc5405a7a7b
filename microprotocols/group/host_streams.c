/* SPDX-License-Identifier: MIT */
/*
 * host_streams -- several streams to one host: each message takes the least loaded of them.
 *
 * Paper:     the one-to-many, multi-stream transport, sections 3.5 and 4.2.9 (a
 *            destination that is added again gets one more stream).
 * Differs:   there each stream has a queue of its own, into which the application puts
 *            its messages.  Here a message is for hosts, and takes one stream to each:
 *            rules count hosts, and a host gets no message by each of its streams.
 *
 *     message --> host A --+-- stream 1    least unfinished bytes; the older, where equal
 *                          +-- stream 2
 *                 host B ----- stream 3
 *
 * What a stream had not brought when it broke goes by another stream to the host.  It may have
 * arrived before, so that the host gets it twice, in two sessions.  The order of messages is kept
 * within a stream alone.
 */
#include <nopal/microprotocol.h>

struct host_streams {
	uint32_t *chosen; /* indices */
	uint32_t room;
};

static uint32_t host_streams_index(const struct nopal_session *session,
				   const struct nopal_destination *one)
{
	return nopal_destination_find(session, one->id);
}

/* The stream to the host of `one` that a message takes; NULL: none takes any. */
static struct nopal_destination *host_streams_best(const struct nopal_session *session,
						   struct nopal_destination *one)
{
	struct nopal_destination *at = one, *best = NULL;
	uint64_t least = UINT64_MAX;

	do {
		uint64_t backlog;

		at = at->next_stream;
		if (!nopal_destination_takes(at))
			continue;
		backlog = nopal_destination_backlog(session, host_streams_index(session, at));
		if (backlog > least || (backlog == least && best && at->id > best->id))
			continue;
		least = backlog;
		best = at;
	} while (at != one);
	return best;
}

static bool host_streams_room(struct nopal_session *session, struct host_streams *self,
			      uint32_t count)
{
	if (count <= self->room)
		return true;
	nopal_free(session, self->chosen);
	self->room = 2 * count;
	self->chosen = nopal_alloc(session, self->room * sizeof(*self->chosen));
	if (!self->chosen)
		self->room = 0;
	return self->room != 0;
}

/* Each host once.  Where no host has two streams, all get the message, as without this part. */
static enum nopal_verdict host_streams_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct host_streams *self = nopal_state(at);
	uint32_t count = nopal_destination_count(at.session), chosen = 0;
	bool several = false;

	if (nopal_is_for_one(at.session, segment))
		return NOPAL_CONTINUE;
	if (!host_streams_room(at.session, self, count)) {
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to choose among streams");
		return NOPAL_CONTINUE;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct nopal_destination *one = nopal_destination_at(at.session, i);

		several |= one->next_stream != one;
		if (one->next_stream == one ? nopal_destination_takes(one)
					    : host_streams_best(at.session, one) == one)
			self->chosen[chosen++] = i;
	}
	if (several)
		nopal_copies_choose(at.session, self->chosen, chosen);
	return NOPAL_CONTINUE;
}

/* Runs before the copy is counted, which the other stream's is, instead. */
static enum nopal_verdict host_streams_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	struct nopal_destination *gone = copy->destination;
	struct nopal_segment *segment = copy->segment;

	if (copy->outcome == NOPAL_OUTCOME_DELIVERED || copy->outcome == NOPAL_OUTCOME_EXPIRED ||
	    gone->next_stream == gone || (!gone->ended && !gone->removed) ||
	    nopal_is_for_one(at.session, segment))
		return NOPAL_CONTINUE;
	copy->moved = host_streams_best(at.session, gone);
	if (!copy->moved)
		return NOPAL_CONTINUE;
	segment->copies++;
	nopal_copy_give(at.session, segment, host_streams_index(at.session, copy->moved));
	return NOPAL_CONTINUE;
}

static void host_streams_idle(struct nopal_at at)
{
	struct host_streams *self = nopal_state(at);

	nopal_free(at.session, self->chosen);
	*self = (struct host_streams){ 0 };
}

const struct nopal_microprotocol nopal_host_streams = {
	NOPAL_DESCRIBE(host_streams, group,
		       "several streams to one host: each message takes the least loaded"),
	.many = true,
	.provides = NOPAL_ROLES({ "host_streams", true }),
	.needs = NOPAL_RELATIONS(
		{ "destinations", "streams are destinations with one address" },
		{ "fan_out", "hosts that have a message are counted" },
		{ "application", "what streams above number is put together in one session" }),
	.excludes = NOPAL_RELATIONS(
		{ "channel", "through a channel a host would get a message by each stream" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_ORDER, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
		  "messages to a host with several streams are in order within a stream alone" },
		{ NOPAL_DUPLICATES, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
		  "a message that a stream broke off goes by another, and may come twice" }),
	.state_size = sizeof(struct host_streams),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEND_SEGMENT, host_streams_on_send, .after = "fan_out",
					    .before = "destination_choice"),
				   NOPAL_ON(COPY_DONE, host_streams_on_copy, .before = "fan_out")),
	.idle = host_streams_idle,
};
