/* SPDX-License-Identifier: MIT */
/*
 * timestamp_jitter -- deliver messages with the intervals of their timestamps.
 *
 * A message has the timestamp that the application gave it, or the time of its sending.  The first
 * one is delivered `delay` after it came, and each other one as much later as its timestamp says:
 * to one tick of the clock, whatever the network did, unless the message came too late for that.
 * Where messages have numbers, none goes before one that was sent before it and waits: a timestamp
 * that goes back does not break an order.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E; RFC 3550, section 5.1
 *            (a timestamp of 32 bits in units of the medium).
 * Differs:   waiting messages are bounded; a sender whose clock jumped gets a new
 *            schedule; when the peer closes, waiting messages go at once.
 * Wire:      timestamp: its lower 32 bits.
 */
#include "playout.h"

struct timestamp_jitter_parameters {
	struct playout_limits limits;
	int64_t clock, late;
};

enum { TIMESTAMP_JITTER_FIRST = PLAYOUT_ATTRIBUTES }; /* attributes */
enum { TIMESTAMP_JITTER_LATE = PLAYOUT_SHARED };      /* shared variables */
enum { TIMESTAMP_JITTER_WIRE_BYTES = 4 };
enum { TIMESTAMP_JITTER_DROP, TIMESTAMP_JITTER_DELIVER }; /* of `late` */

static enum nopal_verdict timestamp_jitter_on_from_user(struct nopal_at at,
							struct nopal_message *message)
{
	const struct timestamp_jitter_parameters *set = nopal_parameters(at);

	if (!nopal_get(at, message, PLAYOUT_MARK))
		nopal_set(at, message, PLAYOUT_MARK,
			  nopal_scale((uint64_t)message->created_ns, (uint64_t)set->clock,
				      NOPAL_SECOND));
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- arrivals */

/* When the mark is due.  False: its time has passed, or is far away.  The schedule moves on by
 * whole seconds, which are whole numbers of ticks: so nothing is ever rounded twice. */
static bool timestamp_jitter_place(struct nopal_at at, uint64_t mark, uint64_t number,
				   int64_t *ret_due_ns)
{
	const struct timestamp_jitter_parameters *set = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	/* the short way around the 32 bits */
	int64_t ticks = (int32_t)((uint32_t)mark - (uint32_t)playout->zero_mark);
	int64_t seconds = ticks / set->clock;
	int64_t ns = (int64_t)nopal_scale((uint64_t)(ticks < 0 ? -ticks : ticks), NOPAL_SECOND,
					  (uint64_t)set->clock);

	*ret_due_ns = playout->zero_ns + (ticks < 0 ? -ns : ns);
	if (number && number < playout->passed)
		*ret_due_ns = INT64_MIN;
	if (playout->begun &&
	    playout_fits(playout, &set->limits, number, *ret_due_ns, at.session->now_ns)) {
		if (seconds > 0)
			playout_move(playout, playout->zero_mark + (uint64_t)(seconds * set->clock),
				     playout->zero_ns + seconds * NOPAL_SECOND);
		return true;
	}
	if (playout->begun && playout->strays < set->limits.strays)
		return false;
	playout_begin(playout, &set->limits, mark, at.session->now_ns);
	*ret_due_ns = playout->zero_ns;
	return playout_fits(playout, &set->limits, number, playout->zero_ns, at.session->now_ns);
}

static enum nopal_verdict timestamp_jitter_on_message(struct nopal_at at,
						      struct nopal_message *message)
{
	const struct timestamp_jitter_parameters *set = nopal_parameters(at);
	uint64_t mark = nopal_get(at, message, PLAYOUT_MARK);
	uint64_t number = nopal_get(at, message, TIMESTAMP_JITTER_FIRST);
	int64_t due_ns;

	if (timestamp_jitter_place(at, mark, number, &due_ns)) {
		playout_keep(at, message, number, due_ns);
	} else if (set->late == TIMESTAMP_JITTER_DROP || due_ns > at.session->now_ns) {
		playout_drop(at, message);
	} else {
		nopal_shared_get(at, TIMESTAMP_JITTER_LATE)++;
		playout_keep(at, message, number, at.session->now_ns);
		playout_deliver(at, nopal_state(at), &set->limits, at.session->now_ns);
	}
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_timestamp_jitter = {
	NOPAL_DESCRIBE(timestamp_jitter, jitter,
		       "deliver messages with the intervals of their timestamps"),
	.provides = NOPAL_ROLES({ "jitter", true }),
	.needs = NOPAL_RELATIONS(
		{ "application", "a segment that another layer sends again has lost its place" }),
	.excludes = NOPAL_RELATIONS(
		{ "coalesce", "a segment has the timestamp of its first message only" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "a message that comes after its time, or finds no room, is dropped",
		  .bound = "delay" },
		{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
		  "messages have a time of delivery", .when = "late=drop", .bound = "delay" },
		{ NOPAL_ORDER, NOPAL_TIMING, NOPAL_LOWERS, 0,
		  "a timestamp that goes back goes first", .of = "timestamp",
		  .without = "message_numbers" }),
	.parameters_size = sizeof(struct timestamp_jitter_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(timestamp_jitter, clock, "clock", COUNT, "1000000", "1", "100000000",
			     "ticks of a timestamp in a second", .wire = true),
		NOPAL_WORDS(timestamp_jitter, late, "late", "drop", "drop|deliver",
			    "a message that comes after its time: dropped, or delivered"),
		PLAYOUT_PARAMETERS(timestamp_jitter)),
	.attributes = NOPAL_ATTRIBUTES(
		[PLAYOUT_MARK] = { "timestamp", NOPAL_PROPERTY,
				   "when it is of the medium, in ticks; 0: when it is sent",
				   .wire_bytes = TIMESTAMP_JITTER_WIRE_BYTES, .kinds = NOPAL_DATA },
		PLAYOUT_USELESS_ROW,
		[TIMESTAMP_JITTER_FIRST] = { "order_first", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(PLAYOUT_DROPPED_ROW,
			       [TIMESTAMP_JITTER_LATE] = { "jitter_late", NOPAL_WRITE, 0,
							   "messages that were delivered late" }),
	.holds = NOPAL_HOLDS({ "its time has come", NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([PLAYOUT_DUE] = { "due", playout_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, timestamp_jitter_on_from_user,
			 .before = "message_segments"),
		NOPAL_ON(MSG_FROM_NET, timestamp_jitter_on_message,
			 .before = "order|partial_order"),
		NOPAL_ON(MSG_FROM_NET, playout_on_useless, .after = "order|partial_order"),
		NOPAL_ON(PEER_CLOSED, playout_on_peer_closed, .after = "order")),
	.state_size = sizeof(struct playout),
	.idle = playout_idle,
};
