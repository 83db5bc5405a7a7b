/* SPDX-License-Identifier: MIT */
/*
 * adaptive_redundancy -- adaptive redundancy: as much parity as the measured losses need.
 *
 * A policy: it sets how much parity the blocks to come get, and the mechanism that makes them knows
 * nothing of losses.  The receiver tells how many packets the path lost; the sender takes the least
 * parity with which, were losses independent, no more than `target` of all segments would stay
 * missing: with a share p lost and r of k + r parity, p times the chance that r or more of the
 * other k + r - 1 are lost too.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section IV.B (policies apart from
 *            mechanisms); Bolot, Fosse-Parisis, Towsley, Adaptive FEC-based Error
 *            Control for Internet Telephony, INFOCOM 1999.
 * Differs:   the receiver reports, with acknowledgements or without: a rebuilt segment is
 *            acknowledged like one that arrived, so acks do not tell what the path lost.  The
 *            estimate rises twice as fast as it falls, and its standard
 *            error is added.  Bursts longer than chance makes them are not foreseen: set `target`
 *            lower, or `least` higher, for these.  Redundancy is never exempt from congestion
 *            control.
 * Wire:      loss_report: a packet number 4, packets up to it that came so far 4, both modulo 2^32.
 */
#include <nopal/microprotocol.h>

#include "arrivals.h"

enum { ADAPTIVE_REDUNDANCY_PACKET };	  /* attributes */
enum { ADAPTIVE_REDUNDANCY_LOSS_REPORT }; /* kinds */
/* shared variables */
enum {
	ADAPTIVE_REDUNDANCY_SOURCES,
	ADAPTIVE_REDUNDANCY_PARITY,
	ADAPTIVE_REDUNDANCY_LOSS,
};

enum {
	ADAPTIVE_REDUNDANCY_NUMBER_BYTES = 4,
	ADAPTIVE_REDUNDANCY_REPORT_BYTES = 8,
	ADAPTIVE_REDUNDANCY_RISE = 2,  /* as fast as it falls */
	ADAPTIVE_REDUNDANCY_MAX = 254, /* parity beside one source */
	ADAPTIVE_REDUNDANCY_MILLION = 1000000,
	ADAPTIVE_REDUNDANCY_ROOT_BIT = 1 << 19, /* of half a million */
};
/* The sum of the chances of all cases. */
static const uint64_t ADAPTIVE_REDUNDANCY_SURELY = UINT64_C(1) << 32;

struct adaptive_redundancy_parameters {
	int64_t target_ppm, min, max, every, reorder, memory;
};

struct adaptive_redundancy {
	struct arrivals arrivals;	 /* of the peer's packets */
	uint32_t peer_latest, peer_came; /* the peer's last report of ours */
};

/* -------------------------------------------------------------- losses of the path */

/* A segment that redundancy rebuilt has no packet number. */
static enum nopal_verdict adaptive_redundancy_on_carried(struct nopal_at at,
							 struct nopal_segment *segment)
{
	const struct adaptive_redundancy_parameters *set = nopal_parameters(at);
	struct adaptive_redundancy *self = nopal_state(at);
	uint64_t number = segment->packet_number;

	if (number)
		arrivals_note(&self->arrivals, (uint64_t)set->reorder, number);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict adaptive_redundancy_on_turn_end(struct nopal_at at,
							  struct nopal_session *subject)
{
	const struct adaptive_redundancy_parameters *set = nopal_parameters(at);
	struct adaptive_redundancy *self = nopal_state(at);
	struct nopal_writer writer;
	uint64_t reorder = (uint64_t)set->reorder, came;
	struct nopal_segment *report;

	(void)subject;
	if (self->arrivals.latest < self->arrivals.told + (uint64_t)set->every + reorder)
		return NOPAL_CONTINUE;
	report = nopal_control_begin(at, ADAPTIVE_REDUNDANCY_LOSS_REPORT,
				     ADAPTIVE_REDUNDANCY_REPORT_BYTES, &writer);
	if (!report)
		return NOPAL_CONTINUE;
	came = arrivals_tell(&self->arrivals, reorder);
	nopal_write(&writer, (uint32_t)self->arrivals.told, ADAPTIVE_REDUNDANCY_NUMBER_BYTES);
	nopal_write(&writer, (uint32_t)came, ADAPTIVE_REDUNDANCY_NUMBER_BYTES);
	nopal_control_send(at.session, report, ADAPTIVE_REDUNDANCY_REPORT_BYTES);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------ enough parity */

/* chance[j]: that j of so many are lost; then of one more. */
static void adaptive_redundancy_one_more(uint64_t chance[], uint64_t max, uint64_t loss_ppm)
{
	uint64_t there_ppm = ADAPTIVE_REDUNDANCY_MILLION - loss_ppm;

	for (uint64_t j = max; j > 0; j--)
		chance[j] = (chance[j] * there_ppm + chance[j - 1] * loss_ppm) /
			    ADAPTIVE_REDUNDANCY_MILLION;
	chance[0] = chance[0] * there_ppm / ADAPTIVE_REDUNDANCY_MILLION;
}

/* The least parity that is enough, or `most`.  The remainder of each rounding counts as lost. */
static int64_t adaptive_redundancy_needed(const struct adaptive_redundancy_parameters *set,
					  uint64_t sources, uint64_t loss_ppm)
{
	uint64_t chance[ADAPTIVE_REDUNDANCY_MAX + 1] = { ADAPTIVE_REDUNDANCY_SURELY };
	uint64_t max = (uint64_t)set->max, parity = 0;

	for (uint64_t others = 1; others < sources; others++)
		adaptive_redundancy_one_more(chance, max, loss_ppm);
	for (; parity < max; parity++) {
		uint64_t too_many = ADAPTIVE_REDUNDANCY_SURELY;

		for (uint64_t j = 0; j < parity; j++)
			too_many -= chance[j];
		if (nopal_scale(loss_ppm, too_many, ADAPTIVE_REDUNDANCY_SURELY) <=
		    (uint64_t)set->target_ppm)
			break;
		adaptive_redundancy_one_more(chance, max, loss_ppm);
	}
	return (int64_t)parity > set->min ? (int64_t)parity : set->min;
}

/* The estimate plus its standard error, for `memory` packets: the root of p (1 - p) / memory. */
static uint64_t adaptive_redundancy_feared(uint64_t loss_ppm, uint64_t memory)
{
	uint64_t there_ppm = ADAPTIVE_REDUNDANCY_MILLION - loss_ppm;
	uint64_t square = loss_ppm * there_ppm / memory, root = 0, max_ppm;

	for (uint64_t bit = ADAPTIVE_REDUNDANCY_ROOT_BIT; bit; bit /= 2)
		if ((root + bit) * (root + bit) <= square)
			root += bit;
	max_ppm = loss_ppm + root;
	return max_ppm < ADAPTIVE_REDUNDANCY_MILLION ? max_ppm : ADAPTIVE_REDUNDANCY_MILLION;
}

/* A report is believed when it is newer than the last one, about packets that left, and of no more
 * than these. */
static enum nopal_verdict adaptive_redundancy_on_report(struct nopal_at at,
							struct nopal_segment *segment)
{
	const struct adaptive_redundancy_parameters *set = nopal_parameters(at);
	struct adaptive_redundancy *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint32_t latest = (uint32_t)nopal_read(&reader, ADAPTIVE_REDUNDANCY_NUMBER_BYTES);
	uint32_t came = (uint32_t)nopal_read(&reader, ADAPTIVE_REDUNDANCY_NUMBER_BYTES);
	uint32_t next = (uint32_t)nopal_next_packet_number(at.session);
	uint32_t sent = latest - self->peer_latest, arrived = came - self->peer_came;
	int64_t sources = nopal_shared_get(at, ADAPTIVE_REDUNDANCY_SOURCES);
	int64_t loss_ppm = nopal_shared_get(at, ADAPTIVE_REDUNDANCY_LOSS);
	int64_t sample_ppm, weight = sent;
	uint64_t feared_ppm;

	if (!nopal_read_complete(&reader) || !sent || sent >= next - self->peer_latest ||
	    arrived > sent)
		return NOPAL_STOP;
	self->peer_latest = latest;
	self->peer_came = came;
	sample_ppm = (int64_t)(sent - arrived) * ADAPTIVE_REDUNDANCY_MILLION / sent;
	if (sample_ppm > loss_ppm)
		weight *= ADAPTIVE_REDUNDANCY_RISE;
	if (weight > set->memory)
		weight = set->memory;
	loss_ppm += (sample_ppm - loss_ppm) * weight / set->memory;
	feared_ppm = adaptive_redundancy_feared((uint64_t)loss_ppm, (uint64_t)set->memory);
	nopal_shared_set(at, ADAPTIVE_REDUNDANCY_LOSS, loss_ppm);
	nopal_shared_set(at, ADAPTIVE_REDUNDANCY_PARITY,
			 adaptive_redundancy_needed(set, (uint64_t)sources, feared_ppm));
	return NOPAL_STOP;
}

static void adaptive_redundancy_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct adaptive_redundancy_parameters *set = parameters;

	if (set->max < set->min)
		nopal_problem(problems, "most", "the most parity is less than the least",
			      "make most at least least");
}

const struct nopal_microprotocol nopal_adaptive_redundancy = {
	NOPAL_DESCRIBE(adaptive_redundancy, reliability,
		       "adaptive redundancy: as much parity as the measured losses need"),
	.provides = NOPAL_ROLES({ "redundancy_policy", true }),
	.needs = NOPAL_RELATIONS({ "redundancy", "somebody has to make the parity" }),
	.parameters_size = sizeof(struct adaptive_redundancy_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(adaptive_redundancy, target_ppm, "target", PERCENT, "0.1%", "0.001%",
			     "50%", "share of segments that may stay missing"),
		NOPAL_NUMBER(adaptive_redundancy, min, "least", COUNT, "1", "0", "254",
			     "parity of a block, whatever is lost"),
		NOPAL_NUMBER(adaptive_redundancy, max, "most", COUNT, "16", "0", "254",
			     "parity of a block, whatever is lost"),
		NOPAL_NUMBER(adaptive_redundancy, every, "every", COUNT, "64", "1", "65535",
			     "packets from report to report"),
		NOPAL_NUMBER(adaptive_redundancy, reorder, "reorder", COUNT, "16", "1", "63",
			     "packets that may overtake one before it counts as lost"),
		NOPAL_NUMBER(adaptive_redundancy, memory, "memory", COUNT, "256", "1", "1000000",
			     "packets after which the past is forgotten")),
	.validate = adaptive_redundancy_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[ADAPTIVE_REDUNDANCY_PACKET] = { "packet_number", NOPAL_READ,
						 .wire_bytes = ADAPTIVE_REDUNDANCY_NUMBER_BYTES,
						 .kinds = NOPAL_CARRIED, .serial = true }),
	.shared = NOPAL_SHARED(
		[ADAPTIVE_REDUNDANCY_SOURCES] = { "block_segments", NOPAL_READ, 0,
						  "sources of a block" },
		[ADAPTIVE_REDUNDANCY_PARITY] = { "parity_segments", NOPAL_WRITE, 255,
						 "parity of blocks to come" },
		[ADAPTIVE_REDUNDANCY_LOSS] = { "path_loss_ppm", NOPAL_WRITE, 0,
					       "share of packets that the path loses" }),
	.kinds = NOPAL_KINDS(
		[ADAPTIVE_REDUNDANCY_LOSS_REPORT] = { "loss_report", NOPAL_KIND_CONTROL,
						      "packets that came of the path's" }),
	.bindings = NOPAL_BINDINGS(
		/* Before the duplicate filter: a resend is one more packet of the path. */
		NOPAL_ON(SEGMENT_FROM_NET, adaptive_redundancy_on_carried, .kinds = NOPAL_CARRIED,
			 .before = "duplicate_filter"),
		NOPAL_ON_OWN(ADAPTIVE_REDUNDANCY_LOSS_REPORT, adaptive_redundancy_on_report),
		NOPAL_ON(TURN_END, adaptive_redundancy_on_turn_end)),
	.state_size = sizeof(struct adaptive_redundancy),
};
