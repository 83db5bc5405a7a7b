/* SPDX-License-Identifier: MIT */
/*
 * channel_repair -- NACK-based repair: segments that a destination misses are multicast once more.
 *
 * Paper:     Adamson, Bormann, Handley, Macker: NORM, RFC 5740 (negative acks after
 *            a random time, and those of others suppressed); Gemmell and others,
 *            PGM, RFC 3208 (all are told of an ask before the repair comes).
 * Differs:   asks and reports travel by the session that each destination has: so
 *            they do not get lost, and receivers need not hear each other.  A report
 *            says below which number nothing is missing; by that each copy gets its
 *            outcome, and fan_out, which counts them, knows nothing of channels.  A
 *            destination whose reports do not move for `patience` is thought to hear no
 *            more, and the segments that it misses come by its own session from then on.
 *            Of the segments for all, only parity is urgent.
 * Wire:      point: the first number 8, and the first message 8, of a destination that has opened;
 *            nak: first missing number 8, how many (varint), and for each range more the gap to it
 *            (varint) and its length (varint); report: cumulative ack 8, the number that came last
 *            or 0 8, microseconds since then 4, segments that came 4, that were found missing 4,
 *            and in how many rows 4, since the last report; top (through the channel): one past the
 *            highest number 8, and, where it answers a nak, the ranges of that nak.
 */
#include "channel_repair.h"

/* Data overtake nothing: they would be gone for a destination that joins before the rest has left,
 * and in the middle of its part.  Parity does: in line behind all that waits it would come when
 * everything had been asked for. */
static enum nopal_verdict channel_repair_on_to_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	if (segment->kind)
		segment->urgent = true;
	else if (!nopal_is_for_one(at.session, segment))
		segment->urgent = false;
	return NOPAL_CONTINUE;
}

static int channel_repair_open(struct nopal_at at)
{
	nopal_shared_set(at, CHANNEL_REPAIR_UNMET, 1);
	return 0;
}

static void channel_repair_idle(struct nopal_at at)
{
	struct channel_repair *self = nopal_state(at);

	outstanding_idle(at.session, &self->sender.multicast);
	nopal_numbers_idle(at.session, &self->receiver.seen);
}

static const struct nopal_kind channel_repair_kinds[] = {
	[CHANNEL_REPAIR_POINT] = { "point", NOPAL_KIND_CONTROL, "a destination's first number" },
	[CHANNEL_REPAIR_NAK] = { "nak", NOPAL_KIND_CONTROL, "numbers that did not come" },
	[CHANNEL_REPAIR_REPORT] = { "report", NOPAL_KIND_CONTROL, "the numbers that came" },
	[CHANNEL_REPAIR_TOP] = { "top", NOPAL_KIND_CONTROL, "the highest number, and repairs" },
	{ 0 },
};

const struct nopal_microprotocol nopal_channel_repair = {
	NOPAL_DESCRIBE(
		channel_repair, group,
		"NACK-based repair: segments that a destination misses are multicast once more"),
	.wire_version = 1,
	.many = true,
	.provides = NOPAL_ROLES({ "channel_repair", true }, { "segment_numbers", true },
				{ "duplicate_filter" }),
	.standard = "channel_repair",
	.needs =
		NOPAL_RELATIONS({ "channel", "there must be something to repair" },
				{ "fan_out", "somebody must count those that have a message" },
				{ "message_numbers",
				  "its numbers count transmissions, and say nothing of messages" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
		  "missing segments are asked for, and multicast again" },
		{ NOPAL_OUTCOME, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_AT_TRANSPORT,
		  "reports say which segments have arrived" },
		{ NOPAL_DELIVERY, NOPAL_FILTER, NOPAL_REQUIRES, NOPAL_ALL,
		  "asks and reports travel by each destination's session: lost there, they stay so" },
		{ NOPAL_PROGRESS, NOPAL_FILTER, NOPAL_LOWERS, 0,
		  "segments that the session of a destination gave up are asked for without end",
		  .amid_partial = true },
		NOPAL_NUMBERS_ONCE),
	.parameters_size = sizeof(struct channel_repair_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(
			channel_repair, backoff_ns, "backoff", TIME, "20ms", "0ms", "10s",
			"longest random time before asking; another's ask silences later ones"),
		NOPAL_NUMBER(channel_repair, again_ns, "again", TIME, "50ms", "1ms", "10s",
			     "how long a repair may take before it is asked for again"),
		NOPAL_NUMBER(channel_repair, report_ns, "report", TIME, "20ms", "1ms", "10s",
			     "most between an arrival and its report"),
		NOPAL_NUMBER(channel_repair, every, "every", COUNT, "256", "1", "65536",
			     "numbers after which a report goes at once"),
		NOPAL_NUMBER(
			channel_repair, patience_ns, "patience", TIME, "3s", "10ms", "10min",
			"how long the cumulative ack of one that misses something may stay where it is",
			.waits = NOPAL_WAITS_LONGEST),
		NOPAL_NUMBER(channel_repair, window, "window", COUNT, "262144", "64", "1048576",
			     "numbers that the filter remembers")),
	.attributes = NOPAL_ATTRIBUTES(
		[CHANNEL_REPAIR_NUMBER] = { "segment_number", NOPAL_WRITE,
					    "counts first transmissions; 0: for one alone",
					    .wire_bytes = 4, .kinds = NOPAL_DATA, .serial = true },
		[CHANNEL_REPAIR_AGE] = { "channel_age", NOPAL_WRITE,
					 "how often somebody had begun to hear when it left" },
		[CHANNEL_REPAIR_DESTINATION] = { "destination", NOPAL_PROPERTY,
						 "for this one alone; arriving: from whom" },
		[CHANNEL_REPAIR_MESSAGE] = { "message_number", NOPAL_READ }),
	.shared =
		NOPAL_SHARED([CHANNEL_REPAIR_NAKS] = { "channel_naks", NOPAL_WRITE, 0,
						       "how often this end asked" },
			     [CHANNEL_REPAIR_SUPPRESSED] = { "channel_naks_suppressed", NOPAL_WRITE,
							     0, "and did not, because others had" },
			     [CHANNEL_REPAIR_UNMET] = { "reliability_unmet", NOPAL_WRITE, 0,
							"1: missing segments will come" }),
	.kinds = channel_repair_kinds,
	.timers = NOPAL_TIMERS([CHANNEL_REPAIR_REMIND] = { "remind", nopal__channel_remind },
			       [CHANNEL_REPAIR_ASK] = { "ask", nopal__channel_ask },
			       [CHANNEL_REPAIR_TELL] = { "tell", nopal__channel_tell }),
	.bindings = NOPAL_BINDINGS(
		/* Copies are counted first; an id is known before its point; and what is coded over
		 * has its number. */
		NOPAL_ON(SEND_SEGMENT, nopal__channel_sent, .before = "redundancy"),
		NOPAL_ON(SEGMENT_TO_NET, channel_repair_on_to_net, .kinds = NOPAL_CARRIED,
			 .before = "rate_mechanism"),
		NOPAL_ON(COPY_DONE, nopal__channel_on_copy, .before = "fan_out"),
		NOPAL_ON(SEGMENT_DONE, nopal__channel_on_done),
		NOPAL_ON(DESTINATION_ADDED, nopal__channel_added),
		NOPAL_ON(DESTINATION_OPENED, nopal__channel_opened, .after = "channel"),
		NOPAL_ON(DESTINATION_JOINED, nopal__channel_heard),
		NOPAL_ON(DESTINATION_ENDED, nopal__channel_ended),
		NOPAL_ON(SEGMENT_FROM_NET, nopal__channel_data),
		NOPAL_ON_OWN(CHANNEL_REPAIR_POINT, nopal__channel_point),
		NOPAL_ON_OWN(CHANNEL_REPAIR_NAK, nopal__channel_nak),
		NOPAL_ON_OWN(CHANNEL_REPAIR_REPORT, nopal__channel_report),
		NOPAL_ON_OWN(CHANNEL_REPAIR_TOP, nopal__channel_top)),
	.raises = NOPAL_RAISES("SEGMENT_LOST", "CHANNEL_REPORT", "DESTINATION_JOINED",
			       "FORWARD_RECEIVED", "SESSION_BROKEN"),
	.state_size = sizeof(struct channel_repair),
	.open = channel_repair_open,
	.idle = channel_repair_idle,
};
