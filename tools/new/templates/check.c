/* SPDX-License-Identifier: MIT */
/*
 * sample -- watch that few messages in a row are missing.
 *
 *   deliveries  1  2  5          `missing` = 1: the session breaks at 5, as 3 and 4 did not come
 *
 * A checker takes no part: it holds nothing, stops nothing, and has a number of its own, so that
 * it depends on no part that it watches.  A message that comes behind later ones is not counted.
 *
 * Paper:     Hayden, The Ensemble System, 1998: checkers are layers too.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_NUMBER }; /* its attributes */

struct sample_parameters {
	int64_t missing;
};

struct sample {
	uint64_t sent;	  /* messages that the application sent */
	uint64_t highest; /* number that was delivered */
};

static enum nopal_verdict sample_on_sent(struct nopal_at at, struct nopal_message *message)
{
	struct sample *self = nopal_state(at);

	nopal_set(at, message, SAMPLE_NUMBER, ++self->sent);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sample_on_delivery(struct nopal_at at, struct nopal_message *message)
{
	const struct sample_parameters *set = nopal_parameters(at);
	struct sample *self = nopal_state(at);
	uint64_t number = nopal_get(at, message, SAMPLE_NUMBER);

	if (number <= self->highest)
		return NOPAL_CONTINUE;
	if (number - self->highest - 1 > (uint64_t)set->missing)
		nopal_session_break(at.session, NOPAL_RUNTIME_LIMIT,
				    "sample: too many messages in a row are missing");
	self->highest = number;
	nopal_serial_seen(at, SAMPLE_NUMBER, number);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, check, "watch that few messages in a row are missing"),
	.provides = NOPAL_ROLES({ "checker", false }),
	.excludes = NOPAL_RELATIONS(
		{ .role = "coalesce", .because = "messages of one segment would have one number" }),
	.parameters_size = sizeof(struct sample_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(sample, missing, "missing", COUNT, "4", "0",
						    "1000", "messages in a row that may")),
	.attributes = NOPAL_ATTRIBUTES([SAMPLE_NUMBER] = { "sample_number", NOPAL_WRITE,
							   "place in the order of sending",
							   .wire_bytes = 4, .kinds = NOPAL_DATA,
							   .serial = true }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, sample_on_sent, .before = "message_segments"),
		NOPAL_ON(MSG_TO_USER, sample_on_delivery)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct sample),
};
