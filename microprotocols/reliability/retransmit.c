/* SPDX-License-Identifier: MIT */
/*
 * retransmit -- send a segment again when it is lost or overdue.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C and figure 4.
 * Differs:   asks the runtime for a new departure instead of clearing and
 *            setting its send bit, so that windows and rates must agree to each
 *            resend; gives up on a segment that was overdue `attempts` times.  A
 *            reported loss shows that the peer lives and is not counted.
 * Needs:     acknowledgement, segment_numbers.
 * Provides:  reliability.
 * Excludes:  lossy_order (what it skips would be sent again for nothing).
 * Handles:   SEGMENT_TO_NET, SEGMENT_LOST, SEGMENT_TIMEOUT, SEGMENT_RECEIVED.
 * Raises:    SEGMENT_RESEND, SESSION_BROKEN.
 * Holds:     send, done, deallocate: keeps the segment until the peer has it.
 * Wire:      nothing.
 * Shares:    writes reliability_unmet: 1, an unseen segment is still needed.
 * Parameters: attempts (default 16): how often one segment may be overdue.
 */
#include "microprotocol.h"

struct retransmit_parameters {
	int64_t attempts;
};

enum { RETRANSMIT_UNMET };   /* shared variables */
enum { RETRANSMIT_OVERDUE }; /* attributes */

static enum nopal_verdict retransmit_on_to_net(struct nopal_session *session,
					       const struct nopal_part *part,
					       struct nopal_segment *segment)
{
	nopal_release(session, part, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict retransmit_on_lost(struct nopal_session *session,
					     const struct nopal_part *part,
					     struct nopal_segment *segment)
{
	nopal_segment_resend(session, part, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict retransmit_on_timeout(struct nopal_session *session,
						const struct nopal_part *part,
						struct nopal_segment *segment)
{
	const struct retransmit_parameters *set = nopal_parameters(part);
	uint64_t overdue = nopal_get(segment, part, RETRANSMIT_OVERDUE) + 1;

	nopal_set(segment, part, RETRANSMIT_OVERDUE, overdue);
	if (overdue >= (uint64_t)set->attempts)
		nopal_session_break(
			session, NOPAL_GAVE_UP,
			"the peer fell silent: a segment used up its attempts");
	else
		nopal_segment_resend(session, part, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict retransmit_on_received(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	nopal_release(session, part, segment, NOPAL_FINISH);
	nopal_release(session, part, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter retransmit_table[] = {
	{ .name = "attempts",
	  .unit = NOPAL_COUNT,
	  .offset = offsetof(struct retransmit_parameters, attempts),
	  .initial = "16",
	  .least = "1",
	  .most = "1000",
	  .doc = "how often one segment may be overdue before the session "
		 "gives up" },
	{ 0 },
};

static const struct nopal_binding retransmit_bindings[] = {
	NOPAL_ON(SEGMENT_TO_NET, retransmit_on_to_net,
		 .before = "window_mechanism"),
	NOPAL_ON(SEGMENT_LOST, retransmit_on_lost),
	NOPAL_ON(SEGMENT_TIMEOUT, retransmit_on_timeout),
	NOPAL_ON(SEGMENT_RECEIVED, retransmit_on_received),
	{ 0 },
};

const struct nopal_microprotocol nopal_retransmit = {
	.abi = NOPAL_ABI,
	.name = "retransmit",
	.family = "reliability",
	.summary = "send a segment again when it is lost or overdue",
	.provides =
		(const struct nopal_role[]){ { "reliability", false }, { 0 } },
	.needs =
		(const struct nopal_relation[]){
			{ "acknowledgement",
			  "without status nothing is known to be missing" },
			{ "segment_numbers",
			  "the peer must tell a resend from a new segment" },
			{ 0 } },
	.excludes =
		(const struct nopal_relation[]){
			{ "lossy_order", "what lossy ordering skips would be "
					 "sent again for nothing" },
			{ 0 } },
	.parameters_size = sizeof(struct retransmit_parameters),
	.parameters = retransmit_table,
	.attributes =
		(const struct nopal_attribute[]){
			[RETRANSMIT_OVERDUE] = { .name = "times_overdue",
						 .access = NOPAL_WRITE,
						 .doc = "timeouts of the "
							"segment so far" },
			{ 0 } },
	.shared =
		(const struct nopal_shared[]){
			[RETRANSMIT_UNMET] = { "reliability_unmet", NOPAL_WRITE,
					       1,
					       "1: an unseen segment is still "
					       "needed" },
			{ 0 } },
	.holds =
		(const struct nopal_hold[]){
			{ "is it asked to leave", NOPAL_SEND, NOPAL_DATA,
			  false },
			{ "the peer has it", NOPAL_FINISH, NOPAL_DATA, false },
			{ "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA,
			  false },
			{ 0 } },
	.bindings = retransmit_bindings,
	.raises = (const char *const[]){ "SEGMENT_RESEND", "SESSION_BROKEN",
					 NULL },
};
