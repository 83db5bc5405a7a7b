/* SPDX-License-Identifier: MIT */
/*
 * repair_first -- a loss that redundancy may still repair is not resent.
 *
 * A missing segment waits until its outcome is certain: until the redundancy that covers the
 * segment has left and none of it can still arrive.  If the segment is missing then, it is resent.
 * All segments arrive with fewer resends; one that redundancy cannot repair comes later by the time
 * that took to know.
 *
 *   lost -> queue -- the peer has the segment: repaired ----------------> nothing
 *                 +- no redundancy for it can arrive any more, or 3 s --> resend
 *
 * A segment that timed out waits likewise, but none stands first in line for longer than three
 * seconds: the redundancy may stand in line behind the segment itself.  Urgent segments do not
 * wait, and none does where acks tell a cumulative ack alone: which segments are missing, the
 * sender does not know, and timeouts would double until it does.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C (FEC beside retransmission).
 * Differs:   no message asks for a resend: the sender knows which redundancy has left, and its
 *            outcome.
 */
#include "../base/idle.h"

struct repair_first {
	struct nopal_queue missing; /* segments that may be repaired yet */
	bool cumulative_only;	    /* the last ack told a cumulative ack alone */
};

enum { REPAIR_FIRST_GROUP, REPAIR_FIRST_AWAITED }; /* attributes */
enum { REPAIR_FIRST_WAIT, REPAIR_FIRST_SETTLED };  /* shared variables */
enum { REPAIR_FIRST_PATIENCE };			   /* timers */

/* No missing segment stands first in line for longer. */
static const int64_t REPAIR_FIRST_PATIENCE_NS = 3 * NOPAL_SECOND;

static bool repair_first_may_be_repaired(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct repair_first *self = nopal_state(at);

	return !self->cumulative_only && !segment->urgent &&
	       nopal_get(at, segment, REPAIR_FIRST_GROUP) >
		       (uint64_t)nopal_shared_get(at, REPAIR_FIRST_SETTLED);
}

static enum nopal_verdict repair_first_on_missing(struct nopal_at at, struct nopal_segment *segment)
{
	struct repair_first *self = nopal_state(at);
	bool awaited = !segment->last && repair_first_may_be_repaired(at, segment);

	nopal_set(at, segment, REPAIR_FIRST_AWAITED, awaited);
	if (!awaited)
		return NOPAL_CONTINUE;
	if (nopal_queue_insert(at.session, &self->missing, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a segment that is missing");
	else if (!nopal_timer_running(at, REPAIR_FIRST_PATIENCE))
		nopal_timer_start(at, REPAIR_FIRST_PATIENCE,
				  at.session->now_ns + REPAIR_FIRST_PATIENCE_NS);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict repair_first_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct repair_first *self = nopal_state(at);

	self->cumulative_only = !ack->selective;
	return NOPAL_CONTINUE;
}

/* Nobody waits for the first missing segment any longer: it is resent unless it arrived, and the
 * next one is the first. */
static void repair_first_pop(struct nopal_at at, struct nopal_segment *segment)
{
	struct repair_first *self = nopal_state(at);

	nopal_queue_pop(&self->missing);
	if (self->missing.count)
		nopal_timer_start(at, REPAIR_FIRST_PATIENCE,
				  at.session->now_ns + REPAIR_FIRST_PATIENCE_NS);
	else
		nopal_timer_stop(at, REPAIR_FIRST_PATIENCE);
	nopal_set(at, segment, REPAIR_FIRST_AWAITED, false);
	if (!segment->done)
		nopal_segment_resend(at, segment);
}

static void repair_first_when_impatient(struct nopal_at at)
{
	struct repair_first *self = nopal_state(at);
	struct nopal_segment *segment;

	if (self->missing.count &&
	    (segment = nopal_queue_first(at.session, &self->missing)) != NULL)
		repair_first_pop(at, segment);
}

/* Groups are settled in the order of their numbers, and older segments have lower ones: the first
 * segment that may be repaired yet ends the walk. */
static enum nopal_verdict repair_first_on_turn_end(struct nopal_at at,
						   struct nopal_session *subject)
{
	struct repair_first *self = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	while (self->missing.count &&
	       (segment = nopal_queue_first(at.session, &self->missing)) != NULL) {
		if (!segment->done && repair_first_may_be_repaired(at, segment))
			break;
		repair_first_pop(at, segment);
	}
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_repair_first = {
	NOPAL_DESCRIBE(repair_first, reliability,
		       "a loss that redundancy may still repair is not resent"),
	.needs = NOPAL_RELATIONS(
		{ "retransmit", "it resends segments that redundancy cannot repair" },
		{ "redundancy", "without it nothing is ever repaired" }),
	.attributes = NOPAL_ATTRIBUTES(
		[REPAIR_FIRST_GROUP] = { "repair_group", NOPAL_READ },
		[REPAIR_FIRST_AWAITED] = { "repair_awaited", NOPAL_WRITE,
					   "1: redundancy may repair it, and it is not resent" }),
	.shared = NOPAL_SHARED(
		[REPAIR_FIRST_WAIT] = { "resends_wait", NOPAL_WRITE, 1,
					"1: a segment that may be repaired is not resent" },
		[REPAIR_FIRST_SETTLED] = { "repair_groups_settled", NOPAL_READ, 0,
					   "of groups up to this nothing more is repaired" }),
	.timers =
		NOPAL_TIMERS([REPAIR_FIRST_PATIENCE] = { "patience", repair_first_when_impatient }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_LOST, repair_first_on_missing, .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, repair_first_on_missing, .before = "reliability"),
		NOPAL_ON(ACK_PROCESSED, repair_first_on_processed),
		NOPAL_ON(TURN_END, repair_first_on_turn_end,
			 .before = "flow_control|rate_mechanism|window_mechanism")),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct repair_first),
	.idle = idle_queue,
};
