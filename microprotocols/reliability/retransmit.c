/* SPDX-License-Identifier: MIT */
/*
 * retransmit -- send a segment again when it is lost or timed out.
 *
 * A segment is kept until the peer has it or it is abandoned.  Each loss and each timeout asks for
 * one more transmission of the segment, and windows and rates must agree to that as to the first.
 *
 *   SEGMENT_TO_NET -> away -- SEGMENT_RECEIVED, SEGMENT_ABANDONED -> freed
 *                     ^  |
 *                     +--+ SEGMENT_LOST, SEGMENT_TIMEOUT, or another part asks
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C and figure 4.
 * Differs:   asks the runtime for a new transmission instead of clearing and setting its
 *            send bit, so that windows and rates must agree to each resend; gives up
 *            on a segment that timed out `attempts` times.  A reported loss shows that
 *            the peer lives and is not counted; where acks say nothing of segments
 *            above the cumulative ack, so does any ack that moves the cumulative ack,
 *            and the count begins anew.
 */
#include <nopal/microprotocol.h>

struct retransmit_parameters {
	int64_t attempts;
};

struct retransmit {
	/* acks that moved a cumulative ack and say nothing of segments above it */
	uint64_t progress;
};

/* attributes */
enum { RETRANSMIT_TIMEOUTS, RETRANSMIT_PROGRESS, RETRANSMIT_AWAITED };

static enum nopal_verdict retransmit_on_wanted(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

/* Redundancy may repair a segment that is awaited; the part that awaits it asks for a resend. */
static void retransmit_ask(struct nopal_at at, struct nopal_segment *segment)
{
	if (!nopal_get(at, segment, RETRANSMIT_AWAITED))
		nopal_segment_resend(at, segment);
}

static enum nopal_verdict retransmit_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	if (!segment->last)
		retransmit_ask(at, segment);
	return NOPAL_CONTINUE;
}

/* Timeouts of a segment are counted since the peer was last seen to live. */
static enum nopal_verdict retransmit_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	const struct retransmit_parameters *set = nopal_parameters(at);
	const struct retransmit *self = nopal_state(at);
	uint64_t timeouts = 1;

	if (segment->last)
		return NOPAL_CONTINUE;
	if (nopal_get(at, segment, RETRANSMIT_PROGRESS) == self->progress)
		timeouts += nopal_get(at, segment, RETRANSMIT_TIMEOUTS);
	nopal_set(at, segment, RETRANSMIT_PROGRESS, self->progress);
	nopal_set(at, segment, RETRANSMIT_TIMEOUTS, timeouts);
	if (timeouts >= (uint64_t)set->attempts)
		nopal_session_break(at.session, NOPAL_GAVE_UP,
				    "the peer fell silent: a segment used up its attempts");
	else
		retransmit_ask(at, segment);
	return NOPAL_CONTINUE;
}

/* A segment above the cumulative ack times out as well, though it may have arrived: behind each
 * hole that is filled, its timeout is no sign of silence. */
static enum nopal_verdict retransmit_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct retransmit *self = nopal_state(at);

	if (!ack->selective && ack->newly_acked_segments)
		self->progress++;
	return NOPAL_CONTINUE;
}

/* The peer has the segment, or need not have it. */
static enum nopal_verdict retransmit_on_settled(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_retransmit = {
	NOPAL_DESCRIBE(retransmit, reliability,
		       "send a segment again when it is lost or timed out"),
	.provides = NOPAL_ROLES({ "reliability" }),
	.standard = "reliability",
	.needs = NOPAL_RELATIONS(
		{ "acknowledgement", "without status nothing is known to be missing" },
		{ "segment_numbers", "the peer must tell a resend from a new segment" }),
	.excludes = NOPAL_RELATIONS(
		{ "lossy_order",
		  "messages that lossy ordering skips would be sent again for nothing" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
				     "a lost or timed out segment is sent again" },
				   { NOPAL_DEATH, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_WHILE_SENDING,
				     "resends have an end", .bound = "attempts" },
				   { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     "a resend leaves after segments that were sent later" }),
	.parameters_size = sizeof(struct retransmit_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(retransmit, attempts, "attempts", COUNT, "16", "1", "1000",
			     "how often one segment may time out before the session gives up",
			     .waits = NOPAL_WAITS_ATTEMPTS)),
	.moved = NOPAL_MOVED({ "copies", "remove it, and add resend_copies { copies = N }" },
			     { "arq",
			       "remove it: `always` is how retransmit works; for `unrepaired` add "
			       "repair_first {}; for `never` remove retransmit" }),
	.attributes = NOPAL_ATTRIBUTES(
		[RETRANSMIT_TIMEOUTS] = { "timeouts", NOPAL_WRITE,
					  "timeouts of the segment since the peer was seen to live" },
		[RETRANSMIT_PROGRESS] = { "timeout_progress", NOPAL_WRITE,
					  "at its last timeout: acks that had moved a cumulative ack" },
		[RETRANSMIT_AWAITED] = { "repair_awaited", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(
		{ "reliability_unmet", NOPAL_WRITE, 1, "1: an unseen segment is still needed" }),
	.holds = NOPAL_HOLDS(
		{ "a transmission of the segment is asked for", NOPAL_SEND, NOPAL_DATA },
		{ "the peer has it", NOPAL_DONE, NOPAL_DATA },
		{ "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		/* A resend is let go once the other gates have the segment in line: they let it go
		 * in turn. */
		NOPAL_ON(SEGMENT_TO_NET, retransmit_on_wanted, .before = "window_mechanism"),
		NOPAL_ON(SEGMENT_RESEND, retransmit_on_wanted,
			 .after = "rate_mechanism|window_mechanism"),
		NOPAL_ON(SEGMENT_LOST, retransmit_on_lost),
		NOPAL_ON(SEGMENT_TIMEOUT, retransmit_on_timeout),
		NOPAL_ON(SEGMENT_RECEIVED, retransmit_on_settled),
		NOPAL_ON(SEGMENT_ABANDONED, retransmit_on_settled),
		NOPAL_ON(ACK_PROCESSED, retransmit_on_processed)),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct retransmit),
};
