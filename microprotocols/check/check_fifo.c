/* SPDX-License-Identifier: MIT */
/*
 * check_fifo -- watch that deliveries keep the order of sending.
 *
 * Paper:     Hayden, The Ensemble System, 1998: checkers are layers too.
 * Differs:   a checker here takes no part: it holds nothing and stops nothing;
 *            a violation breaks the session and says what was seen.  A message out
 *            of band has no place in the order.
 */
#include <nopal/microprotocol.h>

/* attributes */
enum { CHECK_FIFO_FIRST, CHECK_FIFO_NEXT, CHECK_FIFO_OUT_OF_BAND };

struct check_fifo {
	uint64_t next; /* one past the last number that was delivered */
};

static enum nopal_verdict check_fifo_on_msg_to_user(struct nopal_at at,
						    struct nopal_message *message)
{
	struct check_fifo *self = nopal_state(at);
	uint64_t first = nopal_get(at, message, CHECK_FIFO_FIRST);
	uint64_t next = nopal_get(at, message, CHECK_FIFO_NEXT);

	if (nopal_get(at, message, CHECK_FIFO_OUT_OF_BAND))
		return NOPAL_CONTINUE;
	if (next <= first)
		nopal_session_break(at.session, NOPAL_RUNTIME_LIMIT,
				    "check_fifo: a message without a number is delivered");
	else if (first < self->next)
		nopal_session_break(at.session, NOPAL_RUNTIME_LIMIT,
				    "check_fifo: a message is delivered twice or out of order");
	else
		self->next = next;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_check_fifo = {
	NOPAL_DESCRIBE(check_fifo, check, "watch that deliveries keep the order of sending"),
	.provides = NOPAL_ROLES({ "checker" }),
	.needs = NOPAL_RELATIONS(
		{ "message_numbers|segment_numbers", "numbers are the order that is watched" }),
	.attributes =
		NOPAL_ATTRIBUTES([CHECK_FIFO_FIRST] = { "order_first", NOPAL_READ },
				 [CHECK_FIFO_NEXT] = { "order_next", NOPAL_READ },
				 [CHECK_FIFO_OUT_OF_BAND] = { "out_of_band", NOPAL_READ_OPTIONAL }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_TO_USER, check_fifo_on_msg_to_user)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct check_fifo),
};
