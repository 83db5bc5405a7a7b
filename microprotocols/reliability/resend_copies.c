/* SPDX-License-Identifier: MIT */
/*
 * resend_copies -- a resend leaves with copies while nothing else waits to leave.
 *
 * At the end of a transfer, each further loss of the same segment costs a round trip or a timeout,
 * and no other segment waits for the room that a copy takes.  So a segment that was lost or timed
 * out leaves `copies` times more, a millisecond apart, as long as nothing else waits to leave.
 *
 *   lost -> resend -- 1 ms -> copy -- 1 ms -> copy
 *                     (another segment waits, or this one arrived: no copy)
 *
 * Paper:     Flach et al., Reducing web latency: the virtue of gentle aggression, SIGCOMM 2013.
 * Differs:   copies resends alone, and only where the sender has nothing else to send.
 */
#include "../base/idle.h"

struct resend_copies_parameters {
	int64_t copies;
};

enum { RESEND_COPIES_LEFT };	    /* attributes */
enum { RESEND_COPIES_APP_LIMITED }; /* shared variables */
enum { RESEND_COPIES_DUE };	    /* timers */

/* Between a resend and its copy: one burst of losses does not take both, and where a round trip is
 * shorter the answer comes before the copy. */
static const int64_t RESEND_COPIES_APART_NS = NOPAL_MILLISECOND;

static enum nopal_verdict resend_copies_on_missing(struct nopal_at at,
						   struct nopal_segment *segment)
{
	const struct resend_copies_parameters *set = nopal_parameters(at);

	nopal_set(at, segment, RESEND_COPIES_LEFT, (uint64_t)set->copies);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict resend_copies_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_queue *away = nopal_state(at);

	if (!nopal_get(at, segment, RESEND_COPIES_LEFT) ||
	    !nopal_shared_get(at, RESEND_COPIES_APP_LIMITED))
		return NOPAL_CONTINUE;
	if (nopal_queue_push(at.session, away, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a segment that leaves again");
	else if (!nopal_timer_running(at, RESEND_COPIES_DUE))
		nopal_timer_start(at, RESEND_COPIES_DUE,
				  at.session->now_ns + RESEND_COPIES_APART_NS);
	return NOPAL_CONTINUE;
}

/* Segments that wait to leave go before all copies: then no copy is made. */
static void resend_copies_when_due(struct nopal_at at)
{
	bool room = nopal_shared_get(at, RESEND_COPIES_APP_LIMITED) != 0;
	struct nopal_queue *away = nopal_state(at);
	struct nopal_segment *segment;

	while (away->count && (segment = nopal_queue_first(at.session, away)) != NULL) {
		uint64_t left = nopal_get(at, segment, RESEND_COPIES_LEFT);

		nopal_queue_pop(away);
		if (!room || segment->done || segment->wanted || segment->last || !left)
			continue;
		nopal_set(at, segment, RESEND_COPIES_LEFT, left - 1);
		nopal_segment_resend(at, segment);
	}
}

const struct nopal_microprotocol nopal_resend_copies = {
	NOPAL_DESCRIBE(resend_copies, reliability,
		       "a resend leaves with copies while nothing else waits to leave"),
	.needs = NOPAL_RELATIONS(
		{ "retransmit", "it lets the copy leave" },
		{ "window_mechanism", "it says whether anything else waits to leave" }),
	.parameters_size = sizeof(struct resend_copies_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(resend_copies, copies, "copies", COUNT, "2", "1", "7",
			     "copies of each resend, where nothing else waits to leave")),
	.attributes =
		NOPAL_ATTRIBUTES([RESEND_COPIES_LEFT] = { "copies_left", NOPAL_WRITE,
							  "copies of its resend that may leave" }),
	.shared = NOPAL_SHARED([RESEND_COPIES_APP_LIMITED] = { "app_limited", NOPAL_READ, 0,
							       "1: nothing else waits to leave" }),
	.timers = NOPAL_TIMERS([RESEND_COPIES_DUE] = { "due", resend_copies_when_due }),
	.bindings = NOPAL_BINDINGS(
		/* Before the resend that may leave at once. */
		NOPAL_ON(SEGMENT_LOST, resend_copies_on_missing, .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, resend_copies_on_missing, .before = "reliability"),
		NOPAL_ON(SEND_SEGMENT, resend_copies_on_send)),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct nopal_queue),
	.idle = idle_queue,
};
