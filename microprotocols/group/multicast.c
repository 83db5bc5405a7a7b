/* SPDX-License-Identifier: MIT */
/*
 * multicast -- messages for all leave once, to a multicast address.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, conclusion (multicast and groups are
 *            among what is to come); RFC 1112 and RFC 4291, section 2.7.
 * Differs:   each destination is a session of its own all the same: by that session it
 *            joins, asks and answers, and gets everything until it has been seen to
 *            hear the channel.  So a network without multicast, or with multicast in
 *            parts, costs copies and nothing else.
 * Wire:      channel: id of the channel 4, to a destination that has opened; probe (through the
 *            channel) and heard, its answer: nothing.
 *
 * Both ends need the same address.  The id is random, so groups may share the address.  A
 * destination whose session uses the other address family gets copies.
 */
#include <nopal/microprotocol.h>

struct multicast_parameters {
	struct nopal_address group;
	int64_t hops, late, probes;
};

enum { MULTICAST_JOIN, MULTICAST_REFUSE };		      /* late */
enum { MULTICAST_CHANNEL, MULTICAST_PROBE, MULTICAST_HEARD }; /* kinds */
enum { MULTICAST_TRY };					      /* timers */
enum { MULTICAST_DESTINATION };				      /* attributes */
enum { MULTICAST_ID_BYTES = 4 };

#define MULTICAST_FIRST_NS (5 * NOPAL_MILLISECOND)

struct multicast {
	bool begun;    /* something for all has left */
	uint8_t tries; /* since somebody opened */
	bool joined;
};

/* ---------------------------------------------------------------- the sender */

/* Probes the channel while a destination that could has not joined. */
static void multicast_when_try(struct nopal_at at)
{
	const struct multicast_parameters *set = nopal_parameters(at);
	struct multicast *self = nopal_state(at);
	uint32_t count = nopal_destination_count(at.session);
	bool deaf = false;
	struct nopal_segment *probe;

	for (uint32_t i = 0; i < count && !deaf; i++) {
		const struct nopal_destination *one = nopal_destination_at(at.session, i);

		deaf = one->open && !one->joined && nopal_destination_takes(one) &&
		       nopal_channel_reaches(at.session, i);
	}
	if (self->tries >= set->probes || !deaf)
		return;
	probe = nopal_control_bare(at, MULTICAST_PROBE);
	if (probe)
		nopal_control_multicast(at.session, probe, 0);
	nopal_timer_start(at, MULTICAST_TRY,
			  at.session->now_ns + (MULTICAST_FIRST_NS << self->tries++));
}

static enum nopal_verdict multicast_on_destination(struct nopal_at at,
						   struct nopal_destination *destination)
{
	const struct multicast_parameters *set = nopal_parameters(at);
	struct multicast *self = nopal_state(at);
	struct nopal_segment *tell;
	struct nopal_writer writer;
	uint32_t index;
	int64_t id;

	if (nopal_is_destination(at.session))
		return NOPAL_CONTINUE;
	index = nopal_destination_find(at.session, destination->id);
	if (self->begun && set->late == MULTICAST_REFUSE) {
		nopal_destination_break(at.session, index, NOPAL_REFUSED,
					"it came late, and the group has begun");
		return NOPAL_CONTINUE;
	}
	id = nopal_channel_open(at.session, index, &set->group, (unsigned)set->hops);
	if (id < 0) /* no multicast on the way to it: copies it is */
		return NOPAL_CONTINUE;
	tell = nopal_control_begin(at, MULTICAST_CHANNEL, MULTICAST_ID_BYTES, &writer);
	if (!tell)
		return NOPAL_CONTINUE;
	nopal_write(&writer, (uint64_t)id, MULTICAST_ID_BYTES);
	nopal_set(at, tell, MULTICAST_DESTINATION, destination->id);
	nopal_control_send(at.session, tell, MULTICAST_ID_BYTES);
	self->tries = 0;
	nopal_timer_start(at, MULTICAST_TRY, at.session->now_ns + MULTICAST_FIRST_NS);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict multicast_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct multicast *self = nopal_state(at);

	self->begun = self->begun || !nopal_is_for_one(at.session, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict multicast_on_heard(struct nopal_at at, struct nopal_segment *segment)
{
	uint32_t index =
		nopal_destination_find(at.session, nopal_get(at, segment, MULTICAST_DESTINATION));

	if (!nopal_is_destination(at.session) && index < nopal_destination_count(at.session))
		nopal_destination_joined(at.session, index, true);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------- a destination */

static enum nopal_verdict multicast_on_channel(struct nopal_at at, struct nopal_segment *segment)
{
	const struct multicast_parameters *set = nopal_parameters(at);
	struct multicast *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint32_t id = (uint32_t)nopal_read(&reader, MULTICAST_ID_BYTES);

	if (nopal_read_complete(&reader) && nopal_is_destination(at.session))
		self->joined = nopal_channel_join(at.session, &set->group, id) == 0;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict multicast_on_probe(struct nopal_at at, struct nopal_segment *segment)
{
	const struct multicast *self = nopal_state(at);
	struct nopal_segment *heard;

	if (!self->joined || segment->path != NOPAL_PATH_CHANNEL)
		return NOPAL_CONTINUE;
	heard = nopal_control_bare(at, MULTICAST_HEARD);
	if (heard)
		nopal_control_send(at.session, heard, 0);
	return NOPAL_CONTINUE;
}

/* Datagrams to ff01::/16 leave no host, and ff00::/16 is reserved. */
static void multicast_validate(const void *parameters, struct nopal_problems *problems)
{
	enum { SCOPE_AT = 1, SCOPE = 0x0f, LINK_LOCAL = 2 };
	const struct multicast_parameters *set = parameters;
	bool leaves =
		nopal_address_is_v4(&set->group) || (set->group.ip[SCOPE_AT] & SCOPE) >= LINK_LOCAL;

	if (!nopal_address_is_multicast(&set->group))
		nopal_problem(problems, "group", "it is no multicast address",
			      "write one of 224.0.0.0/4 or of ff00::/8, like "
			      "239.77.0.1:9077 or [ff15::4d:1]:9077");
	else if (!leaves)
		nopal_problem(problems, "group", "a datagram to this address leaves no host",
			      "write ff02 for this link, ff05 or ff15 for this "
			      "site, or ff0e or ff1e for everywhere");
}

const struct nopal_microprotocol nopal_multicast = {
	NOPAL_DESCRIBE(multicast, group, "messages for all leave once, to a multicast address"),
	.many = true,
	.provides = NOPAL_ROLES({ "channel", true }),
	.standard = "channel",
	.needs = NOPAL_RELATIONS({ "destinations", "they join by sessions of their own" },
				 { "fan_out", "somebody must count those that have a message" },
				 { "message_segments", "a message must fit the datagrams of all" },
				 { "channel_repair", "nobody else takes segments of the channel" }),
	.excludes = NOPAL_RELATIONS(
		{ "whole_messages", "a datagram takes no more than its network does" },
		{ "destination_choice", "a message for all is not for a choice of them" }),
	.parameters_size = sizeof(struct multicast_parameters),
	.parameters = NOPAL_PARAMETERS(
		{ .name = "group",
		  .unit = NOPAL_ADDRESS,
		  .offset = offsetof(struct multicast_parameters, group),
		  .initial = "239.77.0.1:9077",
		  .wire = true,
		  .doc = "address and port, as [ff15::4d:1]:9077; %eth0 behind it: the interface" },
		NOPAL_NUMBER(multicast, hops, "hops", COUNT, "1", "1", "255",
			     "routers that it may pass, one more than between"),
		NOPAL_WORDS(
			multicast, late, "late", "join", "join|refuse",
			"a late opener: join, it gets later messages; refuse, its session ends"),
		NOPAL_NUMBER(
			multicast, probes, "probes", COUNT, "12", "1", "20",
			"tries whether a destination hears: after 5 ms, then twice as long each time")),
	.validate = multicast_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[MULTICAST_DESTINATION] = { "destination", NOPAL_PROPERTY,
					    "for this one alone; arriving: from whom" }),
	.kinds = NOPAL_KINDS([MULTICAST_CHANNEL] = { "channel", NOPAL_KIND_CONTROL,
						     "the group's channel" },
			     [MULTICAST_PROBE] = { "probe", NOPAL_KIND_CONTROL,
						   "asks the channel for listeners" },
			     [MULTICAST_HEARD] = { "heard", NOPAL_KIND_CONTROL,
						   "the probe has arrived" }),
	.timers = NOPAL_TIMERS([MULTICAST_TRY] = { "try", multicast_when_try }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(DESTINATION_OPENED, multicast_on_destination),
				   NOPAL_ON(SEND_SEGMENT, multicast_on_send),
				   NOPAL_ON_OWN(MULTICAST_CHANNEL, multicast_on_channel),
				   NOPAL_ON_OWN(MULTICAST_PROBE, multicast_on_probe),
				   NOPAL_ON_OWN(MULTICAST_HEARD, multicast_on_heard)),
	.raises = NOPAL_RAISES("DESTINATION_JOINED"),
	.state_size = sizeof(struct multicast),
};
