/* SPDX-License-Identifier: MIT */
/*
 * withdrawal -- withdrawal of stale data: a message that has not left in time is taken back.
 *
 *   sender, after = 200 ms
 *   0 ms    frame 1 leaves, frame 2 waits for the window
 *   60 ms   frame 3 waits behind it
 *   200 ms  no ack came: frame 2 is withdrawn, its outcome is "lost"
 *   210 ms  an ack opens the window: frame 3 leaves, the newer one
 *
 * A message of which something has left stays.  To the peer a withdrawn one looks lost.
 *
 * Paper:     Wang, UDTCP, 2003, section 7.1 (the unsent message is withdrawn when congestion
 *            control has stopped for 200 ms).
 * Differs:   counts from when the application sent the message, whatever keeps it back.
 */
#include "expiry.h"

struct withdrawal_parameters {
	int64_t after_ns;
};

struct withdrawal {
	struct expiry expiry;
};

enum { WITHDRAWAL_STALE };

static void withdrawal_watch(struct nopal_at at)
{
	const struct withdrawal *self = nopal_state(at);
	int64_t next_ns = expiry_next_ns(&self->expiry);

	if (next_ns != NOPAL_NEVER)
		nopal_timer_start(at, WITHDRAWAL_STALE, next_ns);
}

static void withdrawal_when_stale(struct nopal_at at)
{
	struct withdrawal *self = nopal_state(at);

	while (expiry_next_ns(&self->expiry) <= at.session->now_ns) {
		struct nopal_message *message =
			nopal_message_find(at.session, expiry_take(&self->expiry));

		if (message)
			nopal_message_withdraw(at.session, message);
	}
	withdrawal_watch(at);
}

static enum nopal_verdict withdrawal_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	const struct withdrawal_parameters *set = nopal_parameters(at);
	struct withdrawal *self = nopal_state(at);

	if (expiry_add(at.session, &self->expiry, message->created_ns + set->after_ns,
		       message->handle) < 0) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to remember when a message is stale");
		return NOPAL_STOP;
	}
	withdrawal_watch(at);
	return NOPAL_CONTINUE;
}

static void withdrawal_idle(struct nopal_at at)
{
	struct withdrawal *self = nopal_state(at);

	expiry_rest(at.session, &self->expiry);
}

const struct nopal_microprotocol nopal_withdrawal = {
	NOPAL_DESCRIBE(
		withdrawal, reliability,
		"withdrawal of stale data: a message that has not left in time is taken back"),
	.provides = NOPAL_ROLES({ "withdrawal", true }),
	.excludes = NOPAL_RELATIONS(
		{ "reliability",
		  "what must arrive is not taken back; partial_reliability has deadlines" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				     "what has not left in time is taken back", .bound = "after" }),
	.parameters_size = sizeof(struct withdrawal_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(withdrawal, after_ns, "after", TIME, "200ms", "1ms", "1h",
			     "the longest wait of a message of which nothing has left")),
	.timers = NOPAL_TIMERS([WITHDRAWAL_STALE] = { "stale", withdrawal_when_stale }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, withdrawal_on_from_user, .before = "message_segments")),
	.state_size = sizeof(struct withdrawal),
	.idle = withdrawal_idle,
};
