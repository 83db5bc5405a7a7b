/* SPDX-License-Identifier: MIT */
/*
 * playout -- deliver in order, each message `delay` behind the fastest one (lab 8)
 *
 * As handed out, every message goes up as it arrives.
 */
#include <nopal/microprotocol.h>

enum { PLAYOUT_NUMBER, PLAYOUT_STAMP }; /* its attributes */
enum { PLAYOUT_DELAY };			/* its shared variables */
enum { PLAYOUT_DUE };			/* its timers */
enum { PLAYOUT_PLACES = 256 };		/* messages that may wait */

struct playout_parameters {
	int64_t delay_ns; /* nopal_parameters(at) finds it */
};

/* One for each session, zeroed; nopal_state(at) finds it. */
struct playout {
	uint64_t next; /* messages below this number were delivered or are too late */
	/* What waits, and the fastest transit so far, find their place here.  Keep a message by its
	 * handle, message->handle: nopal_message_find(at.session, handle) finds it again. */
};

static uint32_t playout_us(int64_t ns)
{
	return (uint32_t)(ns / NOPAL_MICROSECOND);
}

/* The application sends a message: its stamp travels with it, in 4 bytes. */
static enum nopal_verdict playout_on_sent(struct nopal_at at, struct nopal_message *message)
{
	nopal_set(at, message, PLAYOUT_STAMP, playout_us(message->created_ns));
	return NOPAL_CONTINUE;
}

/* Part 2.  The timer that nopal_timer_start(at, PLAYOUT_DUE, deadline_ns) started has fired.
 * at.session->now_ns is the time. */
static void playout_when_due(struct nopal_at at)
{
	(void)at;
}

/* Part 1.  A message arrived: its number is nopal_get(at, message, PLAYOUT_NUMBER), and
 * PLAYOUT_STAMP has its stamp.  nopal_message_release(at, message) delivers it, now or later; where
 * it is never to be delivered, nopal_message_discard(at.session, message) and NOPAL_STOP. */
static enum nopal_verdict playout_on_arrived(struct nopal_at at, struct nopal_message *message)
{
	nopal_message_release(at, message);
	return NOPAL_CONTINUE;
}

/* Part 1.  The peer will send no more: what waits goes up, in order. */
static enum nopal_verdict playout_on_peer_closed(struct nopal_at at, struct nopal_session *subject)
{
	(void)at, (void)subject;
	return NOPAL_CONTINUE;
}

static int playout_open(struct nopal_at at)
{
	const struct playout_parameters *set = nopal_parameters(at);
	struct playout *self = nopal_state(at);

	self->next = 1; /* the first number */
	nopal_shared_set(at, PLAYOUT_DELAY, set->delay_ns);
	return 0;
}

const struct nopal_microprotocol nopal_playout = {
	NOPAL_DESCRIBE(playout, labs,
		       "deliver in order, each message `delay` behind the fastest one"),
	.provides = NOPAL_ROLES({ "order", true }, { "lossy_order" }, { "jitter", true }),
	.needs = NOPAL_RELATIONS({ "message_numbers", "numbers are the order" }),
	.excludes =
		NOPAL_RELATIONS({ "reliability", "a message that is sent again comes too late" },
				{ "coalesce", "messages of one segment would have one number" }),
	.promises = NOPAL_PROMISES(
		NOPAL_NUMBERS_ONCE,
		{ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_FORWARD | NOPAL_BY_TAG,
		  "a message that comes after its successors is dropped" },
		{ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "a message that comes after its time is dropped", .bound = "delay" },
		{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
		  "messages have a time of delivery", .bound = "delay" }),
	.parameters_size = sizeof(struct playout_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(playout, delay_ns, "delay", TIME, "60ms", "0ms",
						    "5s", "behind the fastest message")),
	.attributes = NOPAL_ATTRIBUTES([PLAYOUT_NUMBER] = { "message_number", NOPAL_READ },
				       [PLAYOUT_STAMP] = { "playout_stamp", NOPAL_WRITE,
							   "when it was sent, in microseconds",
							   .wire_bytes = 4, .kinds = NOPAL_DATA }),
	.shared = NOPAL_SHARED([PLAYOUT_DELAY] = { "playout_delay_ns", NOPAL_WRITE, 0,
						   "the parameter delay" }),
	.holds = NOPAL_HOLDS({ "its time has come", NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([PLAYOUT_DUE] = { "due", playout_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, playout_on_sent, .before = "message_segments"),
		NOPAL_ON(MSG_FROM_NET, playout_on_arrived),
		NOPAL_ON(PEER_CLOSED, playout_on_peer_closed)),
	.state_size = sizeof(struct playout),
	.open = playout_open,
};
