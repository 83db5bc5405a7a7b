/* SPDX-License-Identifier: MIT */
/*
 * fixed_rate_jitter -- deliver messages a fixed time apart.
 *
 * The first message is delivered `delay` after it came, and each other one as many intervals later
 * as its number is higher: a missing message leaves its place empty.  What comes after its time is
 * dropped.  Nothing goes before what has a lower number: an order may have released both.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   places are numbers, so that a loss does not shift what follows; what
 *            waits is bounded; a sender that paused gets a new schedule, behind
 *            what waits in the old one; what was overtaken is no sign of a pause;
 *            when the peer closes, what waits goes at once.
 */
#include "playout.h"

struct fixed_rate_jitter_parameters {
	int64_t interval_ns;
	struct playout_limits limits;
};

enum { FIXED_RATE_JITTER_FIRST, FIXED_RATE_JITTER_USELESS }; /* attributes */
enum { FIXED_RATE_JITTER_DROPPED };			     /* shared variables */
enum { FIXED_RATE_JITTER_DUE };				     /* timers */

/* Numbers that lie further apart have nothing to do with each other. */
enum { FIXED_RATE_JITTER_APART = 1 << 20 };

static void fixed_rate_jitter_when_due(struct nopal_at at)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);

	playout_deliver(at, playout, &set->limits, at.session->now_ns);
	playout_watch(at, FIXED_RATE_JITTER_DUE, playout, &set->limits);
}

/* When the number is due; long ago, where that is out of reach, or where what has a higher one
 * went. */
static int64_t fixed_rate_jitter_due(struct nopal_at at, const struct playout *playout,
				     uint64_t number)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	int64_t apart = (int64_t)(number - playout->zero_mark);

	if (apart > FIXED_RATE_JITTER_APART || apart < -FIXED_RATE_JITTER_APART ||
	    number < playout->passed)
		return INT64_MIN;
	return playout->zero_ns + apart * set->interval_ns;
}

static void fixed_rate_jitter_drop(struct nopal_at at, struct nopal_message *message)
{
	nopal_shared_get(at, FIXED_RATE_JITTER_DROPPED)++;
	nopal_set(at, message, FIXED_RATE_JITTER_USELESS, 1);
}

/* A schedule that begins with this number, behind what waits.  False: that is too far away. */
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

/* False: its time has passed, or is far away. */
static bool fixed_rate_jitter_place(struct nopal_at at, uint64_t number, int64_t *ret_due_ns)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	int64_t due_ns = INT64_MIN;
	bool fits = false;

	if (playout->begun) {
		due_ns = fixed_rate_jitter_due(at, playout, number);
		fits = playout_fits(playout, &set->limits, number, due_ns, at.session->now_ns);
	}
	if (!playout->begun || playout->strays >= set->limits.strays) {
		fits = fixed_rate_jitter_begin(at, number);
		due_ns = playout->zero_ns;
	}
	if (fits)
		playout_move(playout, number, due_ns);
	*ret_due_ns = due_ns;
	return fits;
}

static enum nopal_verdict fixed_rate_jitter_on_message(struct nopal_at at,
						       struct nopal_message *message)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	uint64_t number = nopal_get(at, message, FIXED_RATE_JITTER_FIRST);
	struct playout_entry entry = { .number = number,
				       .bytes = message->length,
				       .message = message->handle };

	if (!fixed_rate_jitter_place(at, number, &entry.due_ns))
		fixed_rate_jitter_drop(at, message);
	else if (!playout_fit_in(playout, &set->limits, &entry))
		nopal_set(at, message, FIXED_RATE_JITTER_USELESS, 1);
	else if (!playout_add(at.session, playout, &set->limits, &entry))
		fixed_rate_jitter_drop(at, message);
	else
		playout_watch(at, FIXED_RATE_JITTER_DUE, playout, &set->limits);
	return NOPAL_CONTINUE;
}

/* After the order has seen it. */
static enum nopal_verdict fixed_rate_jitter_on_useless(struct nopal_at at,
						       struct nopal_message *message)
{
	if (!nopal_get(at, message, FIXED_RATE_JITTER_USELESS))
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

static enum nopal_verdict fixed_rate_jitter_on_peer_closed(struct nopal_at at,
							   struct nopal_session *subject)
{
	const struct fixed_rate_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);

	(void)subject;
	playout_deliver(at, playout, &set->limits, INT64_MAX);
	return NOPAL_CONTINUE;
}

static void fixed_rate_jitter_idle(struct nopal_at at)
{
	playout_idle(at.session, nopal_state(at));
}

static const struct nopal_parameter fixed_rate_jitter_parameters[] = {
	NOPAL_NUMBER(fixed_rate_jitter, interval_ns, "interval", TIME, "20ms", "1us", "10s",
		     "between two messages"),
	PLAYOUT_PARAMETERS(fixed_rate_jitter),
	{ 0 },
};

static const struct nopal_binding fixed_rate_jitter_bindings[] = {
	NOPAL_ON(MSG_FROM_NET, fixed_rate_jitter_on_message, .before = "order|partial_order"),
	NOPAL_ON(MSG_FROM_NET, fixed_rate_jitter_on_useless, .after = "order|partial_order"),
	NOPAL_ON(PEER_CLOSED, fixed_rate_jitter_on_peer_closed, .after = "order"),
	{ 0 },
};

static const struct nopal_attribute fixed_rate_jitter_attributes[] = {
	[FIXED_RATE_JITTER_FIRST] = { "order_first", NOPAL_READ },
	[FIXED_RATE_JITTER_USELESS] = { "jitter_useless", NOPAL_WRITE, "1: it has no time" },
	{ 0 },
};

static const struct nopal_shared fixed_rate_jitter_shared[] = {
	[FIXED_RATE_JITTER_DROPPED] = { "jitter_dropped", NOPAL_WRITE, 0,
					"messages too late, or without room" },
	{ 0 },
};

static const struct nopal_promise fixed_rate_jitter_promises[] = {
	{ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
	  "a message that comes after its time, or finds no room, is dropped", .bound = "delay" },
	{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
	  "messages have a time of delivery", .bound = "delay" },
	{ 0 },
};

const struct nopal_microprotocol nopal_fixed_rate_jitter = {
	.abi = NOPAL_ABI,
	.name = "fixed_rate_jitter",
	.family = "jitter",
	.summary = "deliver messages a fixed time apart",
	.provides = NOPAL_ROLES({ "jitter", true }),
	.needs = NOPAL_RELATIONS(
		{ "message_numbers", "numbers are places in time" },
		{ "application", "what another layer sends again has lost its place" }),
	.promises = fixed_rate_jitter_promises,
	.parameters_size = sizeof(struct fixed_rate_jitter_parameters),
	.parameters = fixed_rate_jitter_parameters,
	.attributes = fixed_rate_jitter_attributes,
	.shared = fixed_rate_jitter_shared,
	.holds = NOPAL_HOLDS({ "its time has come", NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([FIXED_RATE_JITTER_DUE] = { "due", fixed_rate_jitter_when_due }),
	.bindings = fixed_rate_jitter_bindings,
	.state_size = sizeof(struct playout),
	.idle = fixed_rate_jitter_idle,
};
