/* SPDX-License-Identifier: MIT */
/*
 * duplicate_ack -- duplicate ACK loss detection: a segment that later ones overtook is lost.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B and figure 3; RFC
 *            5681, section 3.2; RFC 6675, section 4; RFC 8985, section 6.
 * Differs:   counts transmissions that overtook one instead of acknowledgements:
 *            what the peer acknowledges in one stroke is not undercounted, a
 *            resend can be found lost too, after a round trip, and one that
 *            jumped far ahead makes no others lost; what fewer have overtaken
 *            is lost a round trip and a quarter after it left, where nothing
 *            waits to leave that could overtake it.  Where a transmission arrives
 *            after later ones had, the path reorders: from then on an overtaken
 *            one gets that much time and a quarter more.  How far the path
 *            reorders is measured, not tried out by resends that were for
 *            nothing (DSACK in RFC 8985), and forgotten when it was not seen
 *            for 32 to 64 round trips.
 */
#include "found_lost.h"

struct duplicate_ack_parameters {
	int64_t threshold, adapt;
};

/* shared variables */
enum { DUPLICATE_ACK_SMOOTHED, DUPLICATE_ACK_LIMITED };
enum { DUPLICATE_ACK_JUDGE }; /* timers */

enum {
	DUPLICATE_ACK_NEWEST = 16,  /* arrivals that are remembered */
	DUPLICATE_ACK_MARGIN = 4,   /* patience: a quarter more than was seen */
	DUPLICATE_ACK_FEW_PART = 4, /* of a round trip: RFC 8985, section 6.2 */
	DUPLICATE_ACK_MEMORY = 32,  /* round trips until half is forgotten */
};

struct duplicate_ack {
	uint64_t largest;  /* packet number that the peer reported */
	int64_t sent_ns;   /* its transmission */
	uint64_t before;   /* `largest` until this ack */
	int64_t before_ns; /* `sent_ns` until then */
	bool complete;	   /* that ack told of all arrivals */
	bool selective;	   /* the peer reports what lies above the cumulative ack */
	struct found_lost_told told;

	int64_t late_ns, late_before_ns; /* most of late, and before that */
	uint64_t round_end;		 /* packet that ends the round trip */
	uint32_t rounds;
	int64_t patience_ns; /* with transmissions that were overtaken */

	int64_t newest_ns; /* transmission of the newest arrival */
	uint32_t count;
	uint64_t newest[DUPLICATE_ACK_NEWEST]; /* that arrived, largest first */
};

/* -------------------------------------------------------------------- arrivals */

/* Arrivals that must be newer than a transmission that is lost. */
static uint32_t duplicate_ack_votes(struct nopal_at at)
{
	const struct duplicate_ack_parameters *set = nopal_parameters(at);

	return set->threshold < DUPLICATE_ACK_NEWEST ? (uint32_t)set->threshold
						     : DUPLICATE_ACK_NEWEST;
}

static void duplicate_ack_set_patience(struct nopal_at at)
{
	const struct duplicate_ack_parameters *set = nopal_parameters(at);
	struct duplicate_ack *self = nopal_state(at);
	bool timed = nopal_shared_get(at, DUPLICATE_ACK_SMOOTHED) != 0;
	int64_t late_ns =
		self->late_ns > self->late_before_ns ? self->late_ns : self->late_before_ns;

	self->patience_ns = 0;
	if (set->adapt && timed)
		self->patience_ns = late_ns + late_ns / DUPLICATE_ACK_MARGIN;
}

static enum nopal_verdict duplicate_ack_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct duplicate_ack *self = nopal_state(at);

	self->before = self->largest;
	self->before_ns = self->sent_ns;
	if (ack->largest <= self->largest)
		return NOPAL_CONTINUE;
	self->largest = ack->largest;
	self->sent_ns = ack->largest_sent_ns;
	if (self->largest < self->round_end)
		return NOPAL_CONTINUE;
	self->round_end = nopal_next_packet_number(at.session);
	if (++self->rounds < DUPLICATE_ACK_MEMORY)
		return NOPAL_CONTINUE;
	/* Reordering is forgotten by halves. */
	self->rounds = 0;
	self->late_before_ns = self->late_ns;
	self->late_ns = 0;
	duplicate_ack_set_patience(at);
	return NOPAL_CONTINUE;
}

static void duplicate_ack_arrived(struct duplicate_ack *self, uint32_t votes, uint64_t number,
				  int64_t transmitted_ns)
{
	uint32_t at = self->count;

	if (at == votes && number <= self->newest[--at])
		return;
	for (; at && self->newest[at - 1] < number; at--)
		self->newest[at] = self->newest[at - 1];
	self->newest[at] = number;
	if (at == 0)
		self->newest_ns = transmitted_ns;
	if (self->count < votes)
		self->count++;
}

/* A segment left at `left_ns` and came after one that had left at `before_ns`. */
static void duplicate_ack_late(struct nopal_at at, int64_t left_ns)
{
	struct duplicate_ack *self = nopal_state(at);

	if (self->before_ns - left_ns <= self->late_ns)
		return;
	self->late_ns = self->before_ns - left_ns;
	duplicate_ack_set_patience(at);
}

/* Where nothing that left after the loss was found can be what arrived, the transmission that was
 * given up did: too soon.  Else where the last transmission cannot be what arrived, a copy before
 * it did. */
static enum nopal_verdict duplicate_ack_on_received(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct duplicate_ack *self = nopal_state(at);
	uint64_t again = nopal_get(at, segment, FOUND_LOST_AGAIN);
	uint64_t number = segment->packet_number;

	if (segment->wanted || number > self->largest)
		number = again;
	if (again > self->largest) {
		duplicate_ack_late(at, (int64_t)nopal_get(at, segment, FOUND_LOST_LEFT_NS));
		return NOPAL_CONTINUE;
	}
	nopal_set(at, segment, FOUND_LOST_LEFT_NS, 0);
	if (segment->transmissions == 1 && self->complete && number < self->before)
		duplicate_ack_late(at, segment->transmitted_ns);
	if (number)
		duplicate_ack_arrived(self, duplicate_ack_votes(at), number,
				      segment->transmitted_ns);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- judgement */

/* Until when a transmission may still come that enough arrivals have overtaken; now: no longer.  A
 * resend gets a round trip in any case: a first transmission that was given up too soon must not
 * make all that follow be. */
static int64_t duplicate_ack_until(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct duplicate_ack *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, DUPLICATE_ACK_SMOOTHED);
	int64_t left_ns = segment->transmitted_ns;

	if (segment->transmissions == 1 &&
	    (!self->patience_ns || self->newest_ns - left_ns >= self->patience_ns))
		return at.session->now_ns;
	return left_ns + rtt_ns + self->patience_ns;
}

/* The same where fewer have: at the end of a train there are no more to come.  Before its end there
 * are, and nothing is hurried: where many share a full queue, resends that leave sooner only fill
 * it more. */
static int64_t duplicate_ack_until_few(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct duplicate_ack *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, DUPLICATE_ACK_SMOOTHED);
	int64_t wait_ns = rtt_ns / DUPLICATE_ACK_FEW_PART;

	if (!rtt_ns || !nopal_shared_get(at, DUPLICATE_ACK_LIMITED))
		return NOPAL_NEVER;
	if (wait_ns < self->patience_ns)
		wait_ns = self->patience_ns;
	return segment->transmitted_ns + rtt_ns + wait_ns;
}

/* Enough arrivals have overtaken transmissions below `enough`, and some those below `end`.
 * Transmissions are settled once, and the walk ends where one that is no resend may still come, so
 * it is short. */
static void duplicate_ack_all(struct nopal_at at, uint64_t enough, uint64_t end)
{
	const struct duplicate_ack *self = nopal_state(at);
	int64_t again_ns = NOPAL_NEVER;

	for (uint64_t place = nopal_oldest_transmission(at.session); place < end; place++) {
		struct nopal_segment *segment = found_lost_open(at, &self->told, place);
		int64_t until_ns;

		if (!segment)
			continue;
		until_ns = place < enough ? duplicate_ack_until(at, segment)
					  : duplicate_ack_until_few(at, segment);
		if (until_ns <= at.session->now_ns) {
			found_lost(at, segment);
			continue;
		}
		if (until_ns < again_ns)
			again_ns = until_ns;
		if (segment->transmissions == 1)
			break;
	}
	if (again_ns != NOPAL_NEVER)
		nopal_timer_start(at, DUPLICATE_ACK_JUDGE, again_ns);
}

static void duplicate_ack_overtaken(struct nopal_at at)
{
	const struct duplicate_ack_parameters *set = nopal_parameters(at);
	const struct duplicate_ack *self = nopal_state(at);
	uint32_t votes = duplicate_ack_votes(at);
	uint64_t enough = 0;

	if (!self->count)
		return;
	if (self->count == votes && self->largest >= (uint64_t)set->threshold) {
		enough = self->largest - (uint64_t)set->threshold + 1;
		if (enough > self->newest[votes - 1])
			enough = self->newest[votes - 1];
	}
	duplicate_ack_all(at, enough, self->newest[0]);
}

static enum nopal_verdict duplicate_ack_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	const struct duplicate_ack_parameters *set = nopal_parameters(at);
	struct duplicate_ack *self = nopal_state(at);
	struct nopal_segment *segment;

	self->selective |= ack->selective;
	self->complete = ack->selective && !ack->told_end;
	self->told = found_lost_told(ack);
	if (ack->selective) {
		duplicate_ack_overtaken(at);
		return NOPAL_CONTINUE;
	}
	/* Without a full report only the segment at the cumulative ack is known to be missing. */
	segment = found_lost_cumulative(at, ack->cumulative_segment);
	if (segment && segment->packet_number + (uint64_t)set->threshold <= ack->largest &&
	    duplicate_ack_until(at, segment) <= at.session->now_ns)
		found_lost(at, segment);
	return NOPAL_CONTINUE;
}

/* No ack came to judge by. */
static void duplicate_ack_when_judge(struct nopal_at at)
{
	const struct duplicate_ack *self = nopal_state(at);

	if (self->selective)
		duplicate_ack_overtaken(at);
}

const struct nopal_microprotocol nopal_duplicate_ack = {
	NOPAL_DESCRIBE(duplicate_ack, status,
		       "duplicate ACK loss detection: a segment that later ones overtook is lost"),
	.provides = NOPAL_ROLES({ "loss_detection" }),
	.standard = "loss_detection",
	.needs = NOPAL_RELATIONS({ "acknowledgement", "losses are judged by acks" }),
	.parameters_size = sizeof(struct duplicate_ack_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* RFC 5681, section 3.2 */
		NOPAL_NUMBER(duplicate_ack, threshold, "threshold", COUNT, "3", "1", "1000",
			     "transmissions that overtook one before it counts as lost"),
		NOPAL_ON_OFF(duplicate_ack, adapt, "adapt", "on",
			     "wait longer where the path reorders")),
	.attributes = NOPAL_ATTRIBUTES(FOUND_LOST_ATTRIBUTES),
	.shared = NOPAL_SHARED(
		[DUPLICATE_ACK_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
					     "a round trip; 0: `threshold` counts alone" },
		[DUPLICATE_ACK_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
					    "1: nothing else waits to leave" }),
	.timers = NOPAL_TIMERS([DUPLICATE_ACK_JUDGE] = { "judge", duplicate_ack_when_judge }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(ACK_FROM_NET, duplicate_ack_on_ack),
		NOPAL_ON(SEGMENT_RECEIVED, duplicate_ack_on_received),
		NOPAL_ON(ACK_PROCESSED, duplicate_ack_on_processed, .before = "congestion_policy")),
	.raises = NOPAL_RAISES("SEGMENT_LOST"),
	.state_size = sizeof(struct duplicate_ack),
};
