/* SPDX-License-Identifier: MIT */
/*
 * reference.c -- quorum: a message to many is done when P have it, or all who live; the reference
 * solution of lab 11.
 *
 *   copies of a message, P = 3      A    B    C    D    E
 *   B and C have it                 .    has  has  .    .      2 have it, 3 open
 *   A dies                          x    has  has  .    .      2 have it, 2 open
 *   E has it                        x    has  has  .    has    3: delivered; D may have it later
 */
#include <nopal/microprotocol.h>

enum { QUORUM_ARRIVED, QUORUM_REQUIRED, QUORUM_DESTINATION }; /* its attributes */

struct quorum_parameters {
	int64_t acks;
};

/* P of a message: its property `required`, or the parameter; 1 where it is for one alone. */
static uint64_t quorum_needed(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct quorum_parameters *set = nopal_parameters(at);
	uint64_t required = nopal_get(at, segment, QUORUM_REQUIRED);

	if (nopal_is_for_one(at.session, segment))
		return 1;
	return required ? required : (uint64_t)set->acks;
}

/* Delivered with the copy that makes P, or with the last one, where one of all arrived; the
 * segment is kept while copies of it are open. */
static void quorum_judge(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t arrived = nopal_get(at, segment, QUORUM_ARRIVED);
	bool enough = arrived >= quorum_needed(at, segment);

	if (nopal_holds(at, segment, NOPAL_DONE) && (enough || !segment->copies)) {
		segment->outcome = arrived ? NOPAL_OUTCOME_DELIVERED : NOPAL_OUTCOME_LOST;
		nopal_segment_settle(at.session, segment);
		nopal_release(at, segment, NOPAL_DONE);
	}
	if (nopal_holds(at, segment, NOPAL_DEALLOCATE) && !segment->copies)
		nopal_release(at, segment, NOPAL_DEALLOCATE);
}

static enum nopal_verdict quorum_on_leave(struct nopal_at at, struct nopal_segment *segment)
{
	quorum_judge(at, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict quorum_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	struct nopal_segment *segment = copy->segment;

	if (copy->outcome == NOPAL_OUTCOME_DELIVERED)
		nopal_set(at, segment, QUORUM_ARRIVED, nopal_get(at, segment, QUORUM_ARRIVED) + 1);
	quorum_judge(at, segment);
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
