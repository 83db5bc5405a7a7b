/* SPDX-License-Identifier: MIT */
/*
 * reference.c -- playout: deliver in order, each message as long after its sending as the fastest
 * one took, and `delay` more; the reference solution of lab 8.
 *
 *   sent        1    2    3    4
 *   arrivals      1      2      4  3             transit 2 is slower by lag 2 than transit 1
 *   deliveries         1    2    3    4          `delay` behind the fastest
 *
 *   due = arrival + delay - lag;  lag > delay: too late
 */
#include <nopal/microprotocol.h>

enum { PLAYOUT_NUMBER, PLAYOUT_STAMP }; /* its attributes */
enum { PLAYOUT_DELAY };			/* its shared variables */
enum { PLAYOUT_DUE };			/* its timers */
enum { PLAYOUT_PLACES = 256 };		/* messages that may wait */

struct playout_parameters {
	int64_t delay_ns;
};

struct playout {
	uint32_t fastest_us; /* the shortest transit, modulo 2^32: the clocks of both ends differ */
	bool begun;
	uint64_t next; /* messages below this number were delivered or are too late */
	uint64_t end;  /* one past the highest that waits */
	struct {
		struct nopal_handle message; /* generation 0: none */
		int64_t due_ns;
	} place[PLAYOUT_PLACES]; /* by number */
};

static uint32_t playout_us(int64_t ns)
{
	return (uint32_t)(ns / NOPAL_MICROSECOND);
}

static enum nopal_verdict playout_on_sent(struct nopal_at at, struct nopal_message *message)
{
	nopal_set(at, message, PLAYOUT_STAMP, playout_us(message->created_ns));
	return NOPAL_CONTINUE;
}

/* How much longer the message took than the fastest so far. */
static int64_t playout_lag_ns(struct nopal_at at, const struct nopal_message *message)
{
	struct playout *self = nopal_state(at);
	uint32_t transit_us =
		playout_us(at.session->now_ns) - (uint32_t)nopal_get(at, message, PLAYOUT_STAMP);

	if (!self->begun || (int32_t)(transit_us - self->fastest_us) < 0)
		self->fastest_us = transit_us;
	self->begun = true;
	return (int64_t)(int32_t)(transit_us - self->fastest_us) * NOPAL_MICROSECOND;
}

/* A delivery calls the application, and may come back here: places are settled before. */
static void playout_deliver_below(struct nopal_at at, uint64_t number)
{
	struct playout *self = nopal_state(at);

	while (self->next < number && self->next < self->end) {
		struct nopal_handle *place = &self->place[self->next++ % PLAYOUT_PLACES].message;
		struct nopal_message *message = nopal_message_find(at.session, *place);

		*place = (struct nopal_handle){ 0 };
		if (message)
			nopal_message_release(at, message);
	}
	if (self->next < number)
		self->next = number;
}

/* What is due goes with all that wait below it; the timer stands at the first due time. */
static void playout_when_due(struct nopal_at at)
{
	struct playout *self = nopal_state(at);
	int64_t next_ns = NOPAL_NEVER;
	uint64_t due = 0;

	for (uint64_t number = self->next; number < self->end; number++)
		if (self->place[number % PLAYOUT_PLACES].message.generation &&
		    self->place[number % PLAYOUT_PLACES].due_ns <= at.session->now_ns)
			due = number + 1;
	playout_deliver_below(at, due);
	for (uint64_t number = self->next; number < self->end; number++)
		if (self->place[number % PLAYOUT_PLACES].message.generation &&
		    self->place[number % PLAYOUT_PLACES].due_ns < next_ns)
			next_ns = self->place[number % PLAYOUT_PLACES].due_ns;
	if (next_ns != NOPAL_NEVER)
		nopal_timer_start(at, PLAYOUT_DUE, next_ns);
}

static enum nopal_verdict playout_on_arrived(struct nopal_at at, struct nopal_message *message)
{
	const struct playout_parameters *set = nopal_parameters(at);
	struct playout *self = nopal_state(at);
	uint64_t number = nopal_get(at, message, PLAYOUT_NUMBER), place = number % PLAYOUT_PLACES;
	int64_t lag_ns = playout_lag_ns(at, message);

	if (number < self->next || lag_ns > set->delay_ns ||
	    (number < self->end && self->place[place].message.generation)) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	if (number >= self->next + PLAYOUT_PLACES)
		playout_deliver_below(at, number - PLAYOUT_PLACES + 1);
	self->place[place].message = message->handle;
	self->place[place].due_ns = at.session->now_ns + set->delay_ns - lag_ns;
	if (self->end <= number)
		self->end = number + 1;
	playout_when_due(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict playout_on_peer_closed(struct nopal_at at, struct nopal_session *subject)
{
	struct playout *self = nopal_state(at);

	(void)subject;
	playout_deliver_below(at, self->end);
	return NOPAL_CONTINUE;
}

static int playout_open(struct nopal_at at)
{
	const struct playout_parameters *set = nopal_parameters(at);
	struct playout *self = nopal_state(at);

	self->next = self->end = 1; /* the first number */
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
