/* SPDX-License-Identifier: MIT */
/*
 * buffer_sizing -- send buffer sizing: as much under way as the path can use.
 *
 *   limit = factor x bytes acknowledged in a round trip + two messages
 *
 * The bytes acknowledged in a round trip are bandwidth x delay.  A round trip ends when something
 * is acknowledged that left after it began, so no clock measures it, and no burst of acks makes it
 * larger than the flight at its two ends.  While it grows from one to the next, twice as much: the
 * window does, too.  Messages count whole until all of each is acknowledged: hence the two.  Where
 * more than that has arrived of messages that wait for something lost, it does not count: it waits
 * for no room.
 *
 * The limit grows as soon as more is acknowledged.  After an interval it follows the need of the
 * interval, but down to half of itself at most.  The limit is for bytes that the application may
 * add: nothing that is under way is touched.  The plan's send_buffer is its maximum.
 *
 * Paper:     Gu and Grossman, UDTv4, section 3.4 (buffer auto-sizing: 2 x BDP), and
 *            2.5 (garbage collection halves a buffer that is half empty).
 * Differs:   UDT's receiver estimates the bandwidth, and its sender never decreases
 *            the limit; here the sender measures both at once, and decreases it, in
 *            seconds instead of minutes: what waits in a buffer that is larger than
 *            the path can use is late.
 */
#include <nopal/microprotocol.h>

enum {
	BUFFER_SIZING_SMOOTHED,
	BUFFER_SIZING_KNOWN,
};
enum { BUFFER_SIZING_REVIEW };
enum {
	BUFFER_SIZING_MESSAGES = 2,
	BUFFER_SIZING_GROWTH = 2,      /* of a window in a round trip */
	BUFFER_SIZING_GROWTH_PART = 4, /* more by this: it grows */
	BUFFER_SIZING_TRIPS = 4,       /* of an interval, at least */
};

struct buffer_sizing_parameters {
	int64_t factor, min, idle_ns;
};

/* The most that was needed of late. */
struct buffer_sizing_need {
	int64_t max;
	int64_t lately; /* in this interval */
};

struct buffer_sizing {
	struct buffer_sizing_need trip; /* bytes acknowledged in a round trip */
	struct buffer_sizing_need message;
	int64_t acked;	   /* in this round trip */
	int64_t before;	   /* the most, as it began */
	uint64_t trip_end; /* packet number */
	bool growing;
	int64_t open;	 /* messages that are not done */
	int64_t arrived; /* bytes of them */
	int64_t spare;	 /* of these, as the limit was set */
};

/* True: it is more than before. */
static bool buffer_sizing_take(struct buffer_sizing_need *need, int64_t bytes)
{
	if (bytes > need->lately)
		need->lately = bytes;
	if (bytes <= need->max)
		return false;
	need->max = bytes;
	return true;
}

static void buffer_sizing_age(struct buffer_sizing_need *need)
{
	int64_t half = need->max / 2;

	need->max = need->lately > half ? need->lately : half;
	need->lately = 0;
}

static int64_t buffer_sizing_spare(const struct buffer_sizing *self)
{
	int64_t min = BUFFER_SIZING_MESSAGES * self->message.max;

	return self->arrived > min ? self->arrived : min;
}

/* While the limit is above the least, somebody has to see that it is used. */
static void buffer_sizing_apply(struct nopal_at at)
{
	const struct buffer_sizing_parameters *set = nopal_parameters(at);
	struct buffer_sizing *self = nopal_state(at);
	int64_t limit = set->factor * self->trip.max;
	int64_t trips_ns = BUFFER_SIZING_TRIPS * nopal_shared_get(at, BUFFER_SIZING_SMOOTHED);

	if (self->growing)
		limit *= BUFFER_SIZING_GROWTH;
	self->spare = buffer_sizing_spare(self);
	limit += self->spare;
	if (limit <= set->min)
		limit = set->min;
	else if (!nopal_timer_running(at, BUFFER_SIZING_REVIEW))
		nopal_timer_start(at, BUFFER_SIZING_REVIEW,
				  at.session->now_ns +
					  (trips_ns > set->idle_ns ? trips_ns : set->idle_ns));
	nopal_send_limit_set(at.session, (uint64_t)limit);
}

static void buffer_sizing_when_review(struct nopal_at at)
{
	struct buffer_sizing *self = nopal_state(at);

	buffer_sizing_age(&self->trip);
	buffer_sizing_age(&self->message);
	buffer_sizing_apply(at);
}

static enum nopal_verdict buffer_sizing_on_open_session(struct nopal_at at,
							struct nopal_session *subject)
{
	struct buffer_sizing *self = nopal_state(at);

	(void)subject;
	buffer_sizing_take(&self->trip, nopal_shared_get(at, BUFFER_SIZING_KNOWN));
	buffer_sizing_apply(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict buffer_sizing_on_message(struct nopal_at at,
						   struct nopal_message *message)
{
	struct buffer_sizing *self = nopal_state(at);

	self->open++;
	if (buffer_sizing_take(&self->message, (int64_t)message->length))
		buffer_sizing_apply(at);
	return NOPAL_CONTINUE;
}

/* A part that changes the length of a message is forgiven when none is open. */
static enum nopal_verdict buffer_sizing_on_done(struct nopal_at at, struct nopal_message *message)
{
	struct buffer_sizing *self = nopal_state(at);

	self->arrived -= (int64_t)message->length;
	if (--self->open <= 0)
		self->open = self->arrived = 0;
	if (self->spare != buffer_sizing_spare(self))
		buffer_sizing_apply(at);
	return NOPAL_CONTINUE;
}

/* Also before the round trip has ended: a window that grows needs the room now. */
static enum nopal_verdict buffer_sizing_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct buffer_sizing *self = nopal_state(at);
	bool grows;

	self->acked += (int64_t)ack->newly_acked_bytes;
	if (self->open)
		self->arrived += (int64_t)ack->newly_acked_bytes;
	if (buffer_sizing_take(&self->trip, self->acked) || self->arrived > self->spare)
		buffer_sizing_apply(at);
	if (ack->largest < self->trip_end)
		return NOPAL_CONTINUE;
	grows = self->trip.max - self->before > self->before / BUFFER_SIZING_GROWTH_PART;
	self->before = self->trip.max;
	self->acked = 0;
	self->trip_end = nopal_next_packet_number(at.session);
	if (grows != self->growing) {
		self->growing = grows;
		buffer_sizing_apply(at);
	}
	return NOPAL_CONTINUE;
}

/* The limit is the least again: the measurements that led there are of no use. */
static void buffer_sizing_idle(struct nopal_at at)
{
	struct buffer_sizing *self = nopal_state(at);

	if (nopal_timer_running(at, BUFFER_SIZING_REVIEW))
		self->acked = 0;
	else
		*self = (struct buffer_sizing){ .growing = false };
}

const struct nopal_microprotocol nopal_buffer_sizing = {
	NOPAL_DESCRIBE(buffer_sizing, flow,
		       "send buffer sizing: as much under way as the path can use"),
	.needs = NOPAL_RELATIONS(
		{ "acknowledgement", "acknowledged bytes tell the need of the path" }),
	.parameters_size = sizeof(struct buffer_sizing_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(buffer_sizing, factor, "factor", COUNT, "2", "1", "64",
			     "times bandwidth x delay"),
		NOPAL_NUMBER(buffer_sizing, min, "least", SIZE, "64KiB", "1KiB", "1GiB",
			     "no limit is below it"),
		NOPAL_NUMBER(buffer_sizing, idle_ns, "idle", TIME, "1s", "10ms", "1h",
			     "after so long it falls to what was needed, by half at most")),
	.shared = NOPAL_SHARED(
		[BUFFER_SIZING_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
					     "an interval of use is four of them at least" },
		[BUFFER_SIZING_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,
					  "of earlier sessions, as if it had been acknowledged" }),
	.timers = NOPAL_TIMERS([BUFFER_SIZING_REVIEW] = { "review", buffer_sizing_when_review }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, buffer_sizing_on_open_session, .before = "connection"),
		NOPAL_ON(MSG_FROM_USER, buffer_sizing_on_message, .before = "message_segments"),
		NOPAL_ON(MSG_DONE, buffer_sizing_on_done),
		NOPAL_ON(ACK_PROCESSED, buffer_sizing_on_ack)),
	.state_size = sizeof(struct buffer_sizing),
	.idle = buffer_sizing_idle,
};
