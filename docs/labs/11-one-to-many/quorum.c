/* SPDX-License-Identifier: MIT */
/*
 * quorum -- a message to many is done when P have it, or all who live (lab 11)
 *
 * As handed out, messages leave to all destinations, and none is ever done.
 */
#include <nopal/microprotocol.h>

/* its attributes: nopal_get(at, segment, QUORUM_ARRIVED), nopal_set(at, segment, ..., n) */
enum { QUORUM_ARRIVED, QUORUM_REQUIRED, QUORUM_DESTINATION };

struct quorum_parameters {
	int64_t acks; /* P, where the message does not say its own */
};

/* Part 1.  The P of a message: its property `required`, or the parameter where that is 0. */
static uint64_t quorum_needed(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct quorum_parameters *set = nopal_parameters(at);

	(void)segment;
	return (uint64_t)set->acks;
}

/* The segment has just left: segment->copies destinations have it under way. */
static enum nopal_verdict quorum_on_leave(struct nopal_at at, struct nopal_segment *segment)
{
	(void)quorum_needed(at, segment);
	return NOPAL_CONTINUE;
}

/* One destination has its copy (copy->outcome is NOPAL_OUTCOME_DELIVERED), or has ended without it.
 * copy->segment->copies are still open.
 * Done: segment->outcome says NOPAL_OUTCOME_DELIVERED or NOPAL_OUTCOME_LOST, then
 * nopal_segment_settle(at.session, segment) and nopal_release(at, segment, NOPAL_DONE), once: ask
 * nopal_holds(at, segment, NOPAL_DONE).  Part 2: members may end.  Part 3: NOPAL_DEALLOCATE is
 * released when no copy is open any more. */
static enum nopal_verdict quorum_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	(void)at, (void)copy;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_quorum = {
	NOPAL_DESCRIBE(quorum, labs, "a message to many is done when P have it, or all who live"),
	.many = true,
	.provides = NOPAL_ROLES({ "fan_out", true }),
	.needs = NOPAL_RELATIONS({ "destinations", "it counts those that have a message" }),
	.promises = NOPAL_PROMISES({ NOPAL_RECEIVERS, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
				     "so many destinations must have a message, or all who live" }),
	.parameters_size = sizeof(struct quorum_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(quorum, acks, "acks", COUNT, "3", "1", "1000",
						    "P: destinations that must have a message")),
	.attributes = NOPAL_ATTRIBUTES(
		[QUORUM_ARRIVED] = { "quorum_arrived", NOPAL_WRITE, "destinations that have it" },
		[QUORUM_REQUIRED] = { "required", NOPAL_PROPERTY,
				      "destinations that must have it; 0: as acks says" },
		[QUORUM_DESTINATION] = { "destination", NOPAL_PROPERTY, "for this one alone" }),
	.holds = NOPAL_HOLDS({ "P destinations have it, or all who live", NOPAL_DONE, NOPAL_DATA },
			     { "copies of it are under way", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(COPIES_LEAVE, quorum_on_leave),
				   NOPAL_ON(COPY_DONE, quorum_on_copy)),
};
