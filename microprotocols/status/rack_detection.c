/* SPDX-License-Identifier: MIT */
/*
 * rack_detection -- RACK loss detection (RFC 8985): a segment that was overtaken is lost, in time.
 *
 * With the newest of the transmissions that arrived, N, one that left before it is lost when so
 * much has passed since it left as N took to be acknowledged, and the window for reordering more:
 *
 *   left            N left       N acknowledged
 *    |---- window ---->|              |
 *    |-------- round trip of N ------>|---- window ---->| lost
 *
 * So few that overtook it are enough, with a timer in place of more of them (early retransmit), and
 * many are no proof where the path reorders.  The window is nothing while no reordering was seen
 * and three have overtaken one, or such a loss is being mended; else it is a quarter of the least
 * round trip, or how far the path was seen to reorder and a quarter more: by how much the round
 * trip of one that came late was longer than N's.  After 16 rounds with losses and no such sight
 * that is forgotten.
 *
 * Paper:     RFC 8985, sections 5 and 6; Bridges et al., CTP, ToN 2007, section
 *            III.B.
 * Differs:   each transmission has a number of its own, so a resend is judged as any
 *            other; the window grows to what was seen, not by trial, and without
 *            DSACK: what was given up too soon is known when what arrives is
 *            older than the resend; probes at the tail are tail_probe's.
 */
#include "found_lost.h"

struct rack_detection_parameters {
	int64_t threshold;
};

/* shared variables */
enum { RACK_MINIMUM };
enum { RACK_JUDGE }; /* timers */

enum {
	RACK_WINDOW_PART = 4, /* RFC 8985, section 6.2, step 4 */
	RACK_PERSIST = 16,    /* the same */
};

struct rack_detection {
	/* the newest transmission that arrived */
	uint64_t newest;
	int64_t rtt_ns; /* until its acknowledgement */

	uint64_t before;       /* `newest` until this ack */
	int64_t before_rtt_ns; /* its round trip */
	bool complete;	       /* that ack told of all arrivals */
	bool selective;	       /* the peer reports what lies above the cumulative ack */
	struct found_lost_told told;
	struct nopal_handle cumulative; /* segment at it, as of the last ack */

	uint32_t above;	  /* arrived beyond the oldest that is open */
	uint64_t mended;  /* packets below left before the last loss was found */
	bool reorders;	  /* it was seen that the path does */
	int64_t late_ns;  /* by how much */
	uint32_t persist; /* rounds with losses until that is forgotten */
};

/* -------------------------------------------------------------------- arrivals */

static enum nopal_verdict rack_detection_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct rack_detection *self = nopal_state(at);

	self->before = self->newest;
	self->before_rtt_ns = self->rtt_ns;
	if (ack->largest <= self->newest || ack->largest_sent_ns < 0)
		return NOPAL_CONTINUE;
	self->newest = ack->largest;
	self->rtt_ns = at.session->now_ns - ack->largest_sent_ns;
	return NOPAL_CONTINUE;
}

/* A segment left at `left_ns`, before one that arrived earlier. */
static void rack_late(struct nopal_session *session, struct rack_detection *self, int64_t left_ns)
{
	int64_t late_ns = session->now_ns - left_ns - self->before_rtt_ns;

	self->reorders = true;
	self->persist = RACK_PERSIST;
	if (late_ns > self->late_ns)
		self->late_ns = late_ns;
}

/* Where nothing that left after the loss was found can be what arrived, the transmission that was
 * given up did. */
static enum nopal_verdict rack_detection_on_received(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct rack_detection *self = nopal_state(at);

	if (nopal_get(at, segment, FOUND_LOST_AGAIN) > self->newest) {
		rack_late(at.session, self, (int64_t)nopal_get(at, segment, FOUND_LOST_LEFT_NS));
		return NOPAL_CONTINUE;
	}
	nopal_set(at, segment, FOUND_LOST_LEFT_NS, 0);
	if (segment->packet_number > nopal_oldest_transmission(at.session))
		self->above++;
	if (segment->transmissions == 1 && self->complete && segment->packet_number < self->before)
		rack_late(at.session, self, segment->transmitted_ns);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- judgement */

/* From a transmission until it is lost. */
static int64_t rack_wait(struct nopal_at at)
{
	const struct rack_detection_parameters *set = nopal_parameters(at);
	const struct rack_detection *self = nopal_state(at);
	int64_t quarter_ns = nopal_shared_get(at, RACK_MINIMUM) / RACK_WINDOW_PART;
	int64_t late_ns = self->late_ns + self->late_ns / RACK_WINDOW_PART;

	if (!self->reorders &&
	    (self->above >= (uint64_t)set->threshold || self->newest < self->mended))
		return self->rtt_ns;
	return self->rtt_ns + (late_ns > quarter_ns ? late_ns : quarter_ns);
}

static void rack_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct rack_detection *self = nopal_state(at);

	/* The first loss of a round trip. */
	if (self->newest >= self->mended) {
		self->mended = nopal_next_packet_number(at.session);
		if (self->persist && --self->persist == 0)
			self->late_ns = 0;
	}
	found_lost(at, segment);
}

/* Transmissions are in the order of their times: the walk ends at the first that may still come,
 * and settled ones are not met again. */
static void rack_judge_all(struct nopal_at at)
{
	const struct rack_detection *self = nopal_state(at);
	int64_t wait_ns = rack_wait(at);

	for (uint64_t place = nopal_oldest_transmission(at.session); place < self->newest;
	     place++) {
		struct nopal_segment *segment = found_lost_open(at, &self->told, place);

		if (!segment)
			continue;
		if (segment->transmitted_ns + wait_ns > at.session->now_ns) {
			nopal_timer_start(at, RACK_JUDGE, segment->transmitted_ns + wait_ns);
			return;
		}
		rack_lost(at, segment);
	}
	nopal_timer_stop(at, RACK_JUDGE);
}

/* Without a full report only the segment at the cumulative ack is known to be missing, and packet
 * numbers tell how many have overtaken it at most. */
static void rack_judge_cumulative(struct nopal_at at)
{
	const struct rack_detection_parameters *set = nopal_parameters(at);
	struct rack_detection *self = nopal_state(at);
	struct nopal_segment *segment = found_lost_cumulative(at, self->cumulative);
	int64_t until_ns;

	if (!segment || segment->packet_number >= self->newest)
		return;
	self->above = (uint32_t)set->threshold;
	if (self->newest < segment->packet_number + self->above)
		self->above = 0;
	until_ns = segment->transmitted_ns + rack_wait(at);
	if (until_ns <= at.session->now_ns)
		rack_lost(at, segment);
	else
		nopal_timer_start(at, RACK_JUDGE, until_ns);
}

/* With an ack, or where none came to judge by. */
static void rack_detection_judge(struct nopal_at at)
{
	const struct rack_detection *self = nopal_state(at);

	if (self->selective)
		rack_judge_all(at);
	else
		rack_judge_cumulative(at);
}

static enum nopal_verdict rack_detection_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct rack_detection *self = nopal_state(at);

	self->selective |= ack->selective;
	self->complete = ack->selective && !ack->told_end;
	self->told = found_lost_told(ack);
	self->cumulative = ack->cumulative_segment;
	if (ack->selective)
		rack_judge_all(at);
	else
		rack_judge_cumulative(at);
	if (nopal_oldest_transmission(at.session) > self->newest)
		self->above = 0;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_rack_detection = {
	NOPAL_DESCRIBE(
		rack_detection, status,
		"RACK loss detection (RFC 8985): a segment that was overtaken is lost, in time"),
	.provides = NOPAL_ROLES({ "loss_detection" }),
	.needs = NOPAL_RELATIONS({ "acknowledgement", "losses are judged by acks" },
				 { "rtt", "its window is a part of the round trip" }),
	.excludes = NOPAL_RELATIONS({ "duplicate_ack", "one judge of losses is enough" }),
	.parameters_size = sizeof(struct rack_detection_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* RFC 8985, section 6.2: DupThresh */
		NOPAL_NUMBER(
			rack_detection, threshold, "threshold", COUNT, "3", "1", "1000",
			"transmissions that overtook one, at which no window is needed in order")),
	.attributes = NOPAL_ATTRIBUTES(FOUND_LOST_ATTRIBUTES),
	.shared =
		NOPAL_SHARED([RACK_MINIMUM] = { "minimum_rtt_ns", NOPAL_READ, 0, "the least one" }),
	.timers = NOPAL_TIMERS([RACK_JUDGE] = { "judge", rack_detection_judge }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(ACK_FROM_NET, rack_detection_on_ack),
				   NOPAL_ON(SEGMENT_RECEIVED, rack_detection_on_received),
				   NOPAL_ON(ACK_PROCESSED, rack_detection_on_processed,
					    .before = "congestion_policy")),
	.raises = NOPAL_RAISES("SEGMENT_LOST"),
	.state_size = sizeof(struct rack_detection),
};
