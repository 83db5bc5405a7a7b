/* SPDX-License-Identifier: MIT */
/*
 * duplicate_ack -- later segments arrived, so an earlier one is lost.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B and figure 3; RFC
 *            5681, section 3.2; RFC 9002, section 6.1.1.
 * Differs:   counts how far the peer's largest packet number is past a
 *            departure instead of counting acknowledgements: what the peer
 *            acknowledges in one stroke is not undercounted, and a resend can
 *            be found lost too.
 * Needs:     acknowledgement.
 * Provides:  loss_detection.
 * Excludes:  nothing.
 * Handles:   ACK_PROCESSED.
 * Raises:    SEGMENT_LOST.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    nothing.
 * Parameters: threshold (default 3): departures that overtook one before it
 *            counts as lost.
 */
#include "microprotocol.h"

struct duplicate_ack_parameters {
	int64_t threshold;
};

static void duplicate_ack_lost(struct nopal_session *session,
			       uint64_t packet_number,
			       struct nopal_handle handle)
{
	struct nopal_segment *segment;

	nopal_departure_settle(session, packet_number);
	segment = nopal_segment_find(session, handle);
	if (segment)
		nopal_raise_SEGMENT_LOST(session, segment);
}

/* What the acknowledgement did not report and is old enough is lost.  Each
 * departure is settled once, so the walk is short. */
static void duplicate_ack_all(struct nopal_session *session, uint64_t until)
{
	uint64_t at = nopal_oldest_departure(session);

	for (; at <= until; at++) {
		const struct nopal_departure *departure =
			nopal_departure_find(session, at);

		if (departure && departure->open)
			duplicate_ack_lost(session, at, departure->segment);
	}
}

/* Without a full report only the segment at the floor is known to be missing. */
static void duplicate_ack_floor(struct nopal_session *session,
				const struct nopal_ack *ack, uint64_t until)
{
	const struct nopal_departure *departure;
	const struct nopal_segment *segment;

	if (!ack->floor_segment.generation)
		return;
	segment = nopal_segment_find(session, ack->floor_segment);
	if (!segment || segment->packet_number > until)
		return;
	departure = nopal_departure_find(session, segment->packet_number);
	if (departure && departure->open)
		duplicate_ack_lost(session, segment->packet_number,
				   ack->floor_segment);
}

static enum nopal_verdict
duplicate_ack_on_processed(struct nopal_session *session,
			   const struct nopal_part *part, struct nopal_ack *ack)
{
	const struct duplicate_ack_parameters *set = nopal_parameters(part);

	if (ack->largest < (uint64_t)set->threshold)
		return NOPAL_CONTINUE;
	if (ack->selective)
		duplicate_ack_all(session,
				  ack->largest - (uint64_t)set->threshold);
	else
		duplicate_ack_floor(session, ack,
				    ack->largest - (uint64_t)set->threshold);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter duplicate_ack_table[] = {
	{ .name = "threshold",
	  .unit = NOPAL_COUNT,
	  .offset = offsetof(struct duplicate_ack_parameters, threshold),
	  .initial = "3", /* RFC 5681, section 3.2 */
	  .least = "1",
	  .most = "1000",
	  .doc = "departures that overtook one before it counts as lost" },
	{ 0 },
};

static const struct nopal_binding duplicate_ack_bindings[] = {
	NOPAL_ON(ACK_PROCESSED, duplicate_ack_on_processed,
		 .before = "congestion_policy"),
	{ 0 },
};

const struct nopal_microprotocol nopal_duplicate_ack = {
	.abi = NOPAL_ABI,
	.name = "duplicate_ack",
	.family = "status",
	.summary = "later segments arrived, so an earlier one is lost",
	.provides = (const struct nopal_role[]){ { "loss_detection", false },
						 { 0 } },
	.needs = (const struct nopal_relation[]){
		{ "acknowledgement", "it judges what was acknowledged" },
		{ 0 } },
	.parameters_size = sizeof(struct duplicate_ack_parameters),
	.parameters = duplicate_ack_table,
	.bindings = duplicate_ack_bindings,
	.raises = (const char *const[]){ "SEGMENT_LOST", NULL },
};
