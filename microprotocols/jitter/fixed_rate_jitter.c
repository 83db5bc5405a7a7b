/* SPDX-License-Identifier: MIT */
/*
 * fixed_rate_jitter -- deliver messages a fixed time apart.
 *
 * The first message is delivered `delay` after it came, and each other one as many intervals later
 * as its number is higher: a missing message leaves its place empty.  A message that comes after
 * its time is dropped.  None goes before one with a lower number: an order may have released both.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   places are numbers, so that a loss does not shift later messages;
 *            waiting messages are bounded; a sender that paused gets a new schedule,
 *            behind the messages of the old one; a message that was overtaken is no
 *            sign of a pause; when the peer closes, waiting messages go at once.
 */
#include "playout.h"

struct fixed_rate_jitter_parameters {
	struct playout_limits limits;
	int64_t interval_ns;
};

/* Numbers that lie further apart have nothing to do with each other. */
enum { FIXED_RATE_JITTER_APART = 1 << 20 };

/* A schedule that begins with this number, behind the waiting messages.  False: that is too far
 * away. */
static bool fixed_rate_jitter_begin(struct nopal_at at, uint64_t number)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	int64_t behind_ns = 0;

	if (playout->count)
		behind_ns = playout_at(playout, &set->limits, playout->count - 1)->due_ns +
			    set->interval_ns;
	playout_begin(playout, &set->limits, number, at.session->now_ns);
	if (playout->zero_ns < behind_ns)
		playout->zero_ns = behind_ns;
	return playout_fits(playout, &set->limits, number, playout->zero_ns, at.session->now_ns);
}

static const struct nopal_shared fixed_rate_jitter_shared[] = { PLAYOUT_DROPPED_ROW, { 0 } };

/* A number has no place in the schedule where its time has passed, as where a message with a higher
 * number went, or where it is far away. */
static enum nopal_verdict fixed_rate_jitter_on_message(struct nopal_at at,
						       struct nopal_message *message)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	uint64_t number = nopal_get(at, message, PLAYOUT_MARK);
	int64_t apart = (int64_t)(number - playout->zero_mark), due_ns = INT64_MIN;
	bool fits = false;

	if (playout->begun) {
		if (apart <= FIXED_RATE_JITTER_APART && apart >= -FIXED_RATE_JITTER_APART &&
		    number >= playout->passed)
			due_ns = playout->zero_ns + apart * set->interval_ns;
		fits = playout_fits(playout, &set->limits, number, due_ns, at.session->now_ns);
	}
	if (!playout->begun || playout->strays >= set->limits.strays) {
		fits = fixed_rate_jitter_begin(at, number);
		due_ns = playout->zero_ns;
	}
	if (fits) {
		playout_move(playout, number, due_ns);
		playout_keep(at, message, number, due_ns);
	} else {
		playout_drop(at, message);
	}
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_fixed_rate_jitter = {
	NOPAL_DESCRIBE(fixed_rate_jitter, jitter, "deliver messages a fixed time apart"),
	.provides = NOPAL_ROLES({ "jitter", true }),
	.needs = NOPAL_RELATIONS(
		{ "message_numbers", "numbers are places in time" },
		{ "application", "a segment that another layer sends again has lost its place" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "a message that comes after its time, or finds no room, is dropped",
		  .bound = "delay" },
		{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
		  "messages have a time of delivery", .bound = "delay" }),
	.parameters_size = sizeof(struct fixed_rate_jitter_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(fixed_rate_jitter, interval_ns, "interval", TIME,
					      "20ms", "1us", "10s", "between two messages"),
				 PLAYOUT_PARAMETERS(fixed_rate_jitter)),
	.attributes = NOPAL_ATTRIBUTES([PLAYOUT_MARK] = { "order_first", NOPAL_READ },
				       PLAYOUT_USELESS_ROW),
	.shared = fixed_rate_jitter_shared,
	.holds = NOPAL_HOLDS({ "its time has come", NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([PLAYOUT_DUE] = { "due", playout_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_NET, fixed_rate_jitter_on_message,
			 .before = "order|partial_order"),
		NOPAL_ON(MSG_FROM_NET, playout_on_useless, .after = "order|partial_order"),
		NOPAL_ON(PEER_CLOSED, playout_on_peer_closed, .after = "order")),
	.state_size = sizeof(struct playout),
	.idle = playout_idle,
};
