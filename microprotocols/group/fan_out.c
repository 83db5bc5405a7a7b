/* SPDX-License-Identifier: MIT */
/*
 * fan_out -- a message to many is done when all, or so many, have it.
 *
 * Paper:     the one-to-many, multi-stream transport, section 3.3 (all, any, P of
 *            K destinations).
 * Differs:   destinations are sessions of their own: each has its own handshake,
 *            numbers and congestion control, and resends to the silent alone are
 *            what each of them does by itself.
 *            A message is for the destinations that are there when it leaves.  A
 *            destination that the application removes is not waited for.  A slow
 *            destination does not hold up the others: it leaves the group, or misses
 *            messages until it has caught up.
 *
 * The property `required` gives a message a rule of its own: any (1), so many, or all (-1).
 *
 * The outcome of a message is `arrived` when enough have it, at once and for good; it is `missing`
 * as soon as so many cannot come together any more.  Where the layer below cannot tell, it is
 * unknown.  Where a missing copy has expired, so has the message; and where all of its destinations
 * were removed, the message is waived.
 */
#include <nopal/microprotocol.h>

struct fan_out_parameters {
	int64_t acks, backlog, slow;
};

enum { FAN_OUT_LEAVE, FAN_OUT_SKIP }; /* slow */

/* attributes */
enum {
	FAN_OUT_DESTINATION,
	FAN_OUT_ARRIVED,
	FAN_OUT_UNKNOWN,
	FAN_OUT_NEEDED,
	FAN_OUT_EXPIRED,
	FAN_OUT_REQUIRED,
};

/* Pauses, or breaks, the destinations whose backlog is too far above the smallest one. */
static enum nopal_verdict fan_out_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct fan_out_parameters *set = nopal_parameters(at);
	uint32_t count = nopal_destination_count(at.session);
	uint64_t min = UINT64_MAX;

	(void)segment;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t backlog = nopal_destination_backlog(at.session, i);

		if (nopal_destination_takes(nopal_destination_at(at.session, i)) && backlog < min)
			min = backlog;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct nopal_destination *destination = nopal_destination_at(at.session, i);
		uint64_t backlog = nopal_destination_backlog(at.session, i);

		destination->paused = backlog > min && backlog - min > (uint64_t)set->backlog;
		if (destination->paused && set->slow == FAN_OUT_LEAVE)
			nopal_destination_break(at.session, i, NOPAL_RESOURCE,
						"it is too far behind the others");
	}
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- outcomes */

/* How many must have this message; 0: all to whom it went. */
static uint64_t fan_out_rule(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct fan_out_parameters *set = nopal_parameters(at);
	uint64_t required = nopal_get(at, segment, FAN_OUT_REQUIRED);

	if (!required)
		return (uint64_t)set->acks;
	return required == UINT64_MAX ? 0 : required;
}

static void fan_out_add(struct nopal_at at, struct nopal_segment *segment, unsigned attribute,
			uint64_t more)
{
	nopal_set(at, segment, attribute, nopal_get(at, segment, attribute) + more);
}

static void fan_out_done(struct nopal_at at, struct nopal_segment *segment,
			 enum nopal_outcome outcome)
{
	segment->outcome = (uint8_t)outcome;
	nopal_segment_settle(at.session, segment);
	nopal_release(at, segment, NOPAL_DONE);
}

static void fan_out_judge(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t needed = nopal_get(at, segment, FAN_OUT_NEEDED);
	uint64_t arrived = nopal_get(at, segment, FAN_OUT_ARRIVED);
	uint64_t unknown = nopal_get(at, segment, FAN_OUT_UNKNOWN);

	if (nopal_holds(at, segment, NOPAL_DONE)) {
		if (needed && arrived >= needed)
			fan_out_done(at, segment, NOPAL_OUTCOME_DELIVERED);
		else if (!segment->copies && arrived + unknown && arrived + unknown >= needed)
			fan_out_done(at, segment,
				     needed ? NOPAL_OUTCOME_UNKNOWN : NOPAL_OUTCOME_WAIVED);
		else if (!segment->copies || arrived + unknown + segment->copies < needed)
			fan_out_done(at, segment,
				     nopal_get(at, segment, FAN_OUT_EXPIRED) ? NOPAL_OUTCOME_EXPIRED
									     : NOPAL_OUTCOME_LOST);
	}
	if (!segment->copies && nopal_holds(at, segment, NOPAL_DEALLOCATE))
		nopal_release(at, segment, NOPAL_DEALLOCATE);
}

static enum nopal_verdict fan_out_on_leave(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t rule = fan_out_rule(at, segment);

	if (nopal_is_for_one(at.session, segment))
		nopal_set(at, segment, FAN_OUT_NEEDED, 1);
	else if (rule)
		nopal_set(at, segment, FAN_OUT_NEEDED, rule);
	else
		nopal_set(at, segment, FAN_OUT_NEEDED,
			  nopal_get(at, segment, FAN_OUT_ARRIVED) + segment->copies);
	fan_out_judge(at, segment);
	return NOPAL_CONTINUE;
}

/* Runs before the message is given to other destinations in place of this one.  The copy of one
 * that was removed is not needed where all are; where all were removed, the outcome is unknown: in
 * good order they get the message still.  A copy that moved to another stream of its host is counted
 * there.  A destination that never opened has got nothing, unless
 * it was removed in good order: it may open yet. */
static enum nopal_verdict fan_out_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	const struct nopal_destination *destination = copy->destination;
	struct nopal_segment *segment = copy->segment;

	if (copy->moved)
		return NOPAL_CONTINUE;
	if (copy->outcome == NOPAL_OUTCOME_DELIVERED) {
		fan_out_add(at, segment, FAN_OUT_ARRIVED, 1);
	} else if (destination->removed && !fan_out_rule(at, segment)) {
		fan_out_add(at, segment, FAN_OUT_NEEDED, (uint64_t)-1);
		if (!nopal_get(at, segment, FAN_OUT_NEEDED))
			fan_out_add(at, segment, FAN_OUT_UNKNOWN, 1);
	} else if (copy->outcome == NOPAL_OUTCOME_UNKNOWN &&
		   (destination->open || destination->removed)) {
		fan_out_add(at, segment, FAN_OUT_UNKNOWN, 1);
	} else if (copy->outcome == NOPAL_OUTCOME_EXPIRED) {
		fan_out_add(at, segment, FAN_OUT_EXPIRED, 1);
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict fan_out_on_counted(struct nopal_at at, struct nopal_copy *copy)
{
	fan_out_judge(at, copy->segment);
	return NOPAL_CONTINUE;
}

static const struct nopal_binding fan_out_bindings[] = {
	NOPAL_ON(SEND_SEGMENT, fan_out_on_send),
	NOPAL_ON(COPIES_LEAVE, fan_out_on_leave),
	NOPAL_ON(COPY_DONE, fan_out_on_copy, .before = "destination_choice"),
	NOPAL_ON(COPY_DONE, fan_out_on_counted, .after = "destination_choice"),
	{ 0 },
};

const struct nopal_microprotocol nopal_fan_out = {
	NOPAL_DESCRIBE(fan_out, group, "a message to many is done when all, or so many, have it"),
	.many = true,
	.provides = NOPAL_ROLES({ "fan_out", true }),
	.standard = "fan_out",
	.needs = NOPAL_RELATIONS({ "destinations", "it counts those that have a message" },
				 { "application|streams",
				   "answers are told apart here alone, and not in a layer above" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_PROGRESS, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
		  "a destination that was skipped waits for the messages that it was not given",
		  .when = "slow=skip", .with = "reliable_order" },
		{ NOPAL_RECEIVERS, NOPAL_FAN_OUT, NOPAL_LOWERS, NOPAL_SO_MANY,
		  "so many destinations must have a message", .when = "acks", .bound = "acks" },
		{ NOPAL_RECEIVERS, NOPAL_FAN_OUT, NOPAL_LOWERS, NOPAL_KEEPING_UP,
		  "a destination that is too slow gets no new messages until it has caught up",
		  .when = "slow=skip", .bound = "backlog" }),
	.parameters_size = sizeof(struct fan_out_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(fan_out, acks, "acks", COUNT, "0", "0", "1000000",
			     "destinations that must have a message; 0: all to whom it went"),
		NOPAL_NUMBER(
			fan_out, backlog, "backlog", SIZE, "64MiB", "1B", "1024GiB",
			"open messages that a destination may have beyond the one with fewest"),
		NOPAL_WORDS(
			fan_out, slow, "slow", "leave", "leave|skip",
			"one that has more: leave, its session ends; skip, it gets no new messages")),
	.attributes = NOPAL_ATTRIBUTES(
		[FAN_OUT_DESTINATION] = { "destination", NOPAL_PROPERTY,
					  "for this one alone; arriving: from whom" },
		[FAN_OUT_ARRIVED] = { "copies_arrived", NOPAL_WRITE, "destinations that have it" },
		[FAN_OUT_UNKNOWN] = { "copies_unknown", NOPAL_WRITE,
				      "destinations of which nobody can say" },
		[FAN_OUT_NEEDED] = { "copies_needed", NOPAL_WRITE,
				     "destinations that must have it" },
		[FAN_OUT_EXPIRED] = { "copies_expired", NOPAL_WRITE,
				      "destinations at which it expired" },
		[FAN_OUT_REQUIRED] = { "required", NOPAL_PROPERTY,
				       "destinations that must have it; 0: as acks says, -1: all" }),
	.holds = NOPAL_HOLDS({ "so many destinations have it", NOPAL_DONE, NOPAL_DATA },
			     { "copies of it are under way", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.bindings = fan_out_bindings,
};
