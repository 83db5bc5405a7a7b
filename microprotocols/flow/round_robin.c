/* SPDX-License-Identifier: MIT */
/*
 * round_robin -- streams of one flow send in turns, so many segments each.
 *
 * Paper:     Gu and Grossman, UDTv4, section 3.3 (the flow reads its connections
 *            round robin, in blocks of 32 packets).
 * Differs:   a stream gets its turn when nothing waits to leave the flow any more:
 *            the line there is one block, however much a stream has.  Urgent
 *            segments wait for no turn, nor does what a stream sends again: it goes
 *            first at every gate.
 */
#include "../base/idle.h"

struct round_robin_parameters {
	int64_t block;
};

static enum nopal_verdict round_robin_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_queue *waiting = nopal_state(at);

	if (segment->urgent) {
		nopal_release(at, segment, NOPAL_SEND);
		return NOPAL_CONTINUE;
	}
	if (nopal_queue_push(at.session, waiting, segment) < 0) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a segment that waits for its turn");
		return NOPAL_STOP;
	}
	nopal_flow_wait(at.session);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict round_robin_on_turn(struct nopal_at at, struct nopal_session *subject)
{
	const struct round_robin_parameters *set = nopal_parameters(at);
	struct nopal_queue *waiting = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	/* Before they leave: nobody is to think that nothing comes after them. */
	if (waiting->count > set->block)
		nopal_flow_wait(at.session);
	for (int64_t left = set->block; left && (segment = nopal_queue_first(at.session, waiting));
	     left--) {
		nopal_queue_pop(waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
	if (waiting->count)
		nopal_flow_wait(at.session);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_round_robin = {
	NOPAL_DESCRIBE(round_robin, flow,
		       "streams of one flow send in turns, so many segments each"),
	.provides = NOPAL_ROLES({ "stream_turns", true }),
	.needs = NOPAL_RELATIONS({ "flow", "turns are taken by those that stand on one" }),
	.parameters_size = sizeof(struct round_robin_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(round_robin, block, "block", COUNT, "32", "1",
					      "65536", "segments that a stream sends in one turn")),
	.holds = NOPAL_HOLDS({ "the stream's turn", NOPAL_SEND, NOPAL_DATA, .sticky = true }),
	.state_size = sizeof(struct nopal_queue),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, round_robin_on_to_net),
				   NOPAL_ON(FLOW_TURN, round_robin_on_turn)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.idle = idle_queue,
};
