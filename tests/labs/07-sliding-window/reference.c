/* SPDX-License-Identifier: MIT */
/*
 * reference.c -- sliding_window: keep a window of segments in flight, and send again what was lost;
 * the reference solution of lab 7.
 *
 *   sender, window 4                         receiver
 *   data 7 ------------------------------->  7 arrived: next 8
 *   data 8 --------------- x                 (8 is lost)
 *   data 9 ------------------------------->  9 arrived: next 8, end 10, hole 8
 *   data 10 ------------------------------>  10 arrived: next 8, end 11, hole 8
 *        <--------- ack next 8, end 11, holes 1
 *   end - 8 > 2: 8 leaves again, at once and once
 */
#include <nopal/microprotocol.h>

enum { SLIDING_WINDOW_NUMBER }; /* its attributes */
enum { SLIDING_WINDOW_UNMET };	/* its shared variables */
enum { SLIDING_WINDOW_ACK };	/* its kinds */
enum { SLIDING_WINDOW_OLDEST }; /* its timers */
enum {
	SLIDING_WINDOW_MAX = 32,    /* the largest window: bits of `holes` */
	SLIDING_WINDOW_PLACES = 64, /* by number; a power of two */
	SLIDING_WINDOW_ACK_BYTES = 12,
	SLIDING_WINDOW_FAST = 2, /* segments above a hole that make it a loss */
};

struct sliding_window_parameters {
	int64_t window, timeout_ns, selective, attempts;
};

struct sliding_window {
	/* of what we send */
	uint64_t base; /* the lowest number that is not acknowledged */
	uint64_t sent; /* one past the highest number that has left */
	struct nopal_handle segment[SLIDING_WINDOW_PLACES]; /* generation 0: acknowledged */
	struct nopal_queue waiting;			    /* beyond the window */
	int64_t vain;					    /* timeouts since the window moved */

	/* of what the peer sends */
	uint64_t next;	  /* every number below has arrived */
	uint64_t end;	  /* one past the highest number that has arrived */
	uint64_t arrived; /* a bit a number, modulo 64 */
	bool owed;	  /* something came since the last ack */
};

static uint64_t sliding_window_bit(uint64_t number)
{
	return UINT64_C(1) << number % SLIDING_WINDOW_PLACES;
}

/* ------------------------------------------------------------- the sender */

static bool sliding_window_in_window(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct sliding_window_parameters *set = nopal_parameters(at);
	const struct sliding_window *self = nopal_state(at);

	return nopal_get(at, segment, SLIDING_WINDOW_NUMBER) < self->base + (uint64_t)set->window;
}

static enum nopal_verdict sliding_window_on_to_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct sliding_window *self = nopal_state(at);

	if (!self->waiting.count && sliding_window_in_window(at, segment))
		nopal_release(at, segment, NOPAL_SEND);
	else if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to wait");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sliding_window_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sliding_window_parameters *set = nopal_parameters(at);
	struct sliding_window *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SLIDING_WINDOW_NUMBER);

	if (segment->transmissions == 1) {
		self->segment[number % SLIDING_WINDOW_PLACES] = segment->handle;
		self->sent = number + 1;
	}
	if (!nopal_timer_running(at, SLIDING_WINDOW_OLDEST))
		nopal_timer_start(at, SLIDING_WINDOW_OLDEST, at.session->now_ns + set->timeout_ns);
	return NOPAL_CONTINUE;
}

/* NULL: the peer has it. */
static struct nopal_segment *sliding_window_find(struct nopal_at at, uint64_t number)
{
	const struct sliding_window *self = nopal_state(at);

	return nopal_segment_find(at.session, self->segment[number % SLIDING_WINDOW_PLACES]);
}

/* One timer for all: it stands at the earliest time at which one can be due, and looks when it
 * fires. */
static void sliding_window_when_oldest(struct nopal_at at)
{
	const struct sliding_window_parameters *set = nopal_parameters(at);
	struct sliding_window *self = nopal_state(at);
	int64_t next_ns = NOPAL_NEVER;
	bool expired = false;

	for (uint64_t number = self->base; number < self->sent; number++) {
		struct nopal_segment *segment = sliding_window_find(at, number);
		int64_t due_ns = segment ? segment->transmitted_ns + set->timeout_ns : NOPAL_NEVER;

		if (segment && (due_ns <= at.session->now_ns || (expired && !set->selective))) {
			expired = true;
			due_ns = at.session->now_ns + set->timeout_ns;
			nopal_segment_resend(at, segment);
		}
		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	if (expired && ++self->vain >= set->attempts)
		nopal_session_break(at.session, NOPAL_GAVE_UP, "the peer fell silent");
	else if (next_ns != NOPAL_NEVER)
		nopal_timer_start(at, SLIDING_WINDOW_OLDEST, next_ns);
}

/* The place is empty before the application hears of it: it may send at once. */
static void sliding_window_acked(struct nopal_at at, uint64_t number)
{
	struct sliding_window *self = nopal_state(at);
	struct nopal_segment *segment = sliding_window_find(at, number);

	self->segment[number % SLIDING_WINDOW_PLACES] = (struct nopal_handle){ 0 };
	if (!segment)
		return;
	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	nopal_segment_settle(at.session, segment);
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
}

static void sliding_window_slide(struct nopal_at at, uint64_t next)
{
	struct sliding_window *self = nopal_state(at);
	struct nopal_segment *segment;
	uint64_t number = self->base;

	self->base = next;
	self->vain = 0;
	while (number < next)
		sliding_window_acked(at, number++);
	while ((segment = nopal_queue_first(at.session, &self->waiting)) &&
	       sliding_window_in_window(at, segment)) {
		nopal_queue_pop(&self->waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
}

/* What lies between `next` and `end`: the holes are missing, the others have arrived.  A hole that has
 * left again is on its way, or the timer's. */
static void sliding_window_take_holes(struct nopal_at at, uint64_t next, uint64_t end,
				      uint64_t holes)
{
	const struct sliding_window_parameters *set = nopal_parameters(at);

	for (uint64_t number = next; number < end; number++) {
		struct nopal_segment *segment = sliding_window_find(at, number);

		if (!(holes >> (number - next) & 1))
			sliding_window_acked(at, number);
		else if (segment && set->selective && segment->transmissions == 1 &&
			 end - number > SLIDING_WINDOW_FAST)
			nopal_segment_resend(at, segment);
	}
}

static enum nopal_verdict sliding_window_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	struct sliding_window *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint32_t next = (uint32_t)nopal_read(&reader, 4) - (uint32_t)self->base;
	uint32_t end = (uint32_t)nopal_read(&reader, 4) - (uint32_t)self->base;
	uint64_t holes = nopal_read(&reader, 4), base = self->base;

	/* late, or about numbers that never left */
	if (!nopal_read_complete(&reader) || next > end || end > self->sent - base)
		return NOPAL_STOP;
	if (next)
		sliding_window_slide(at, base + next);
	sliding_window_take_holes(at, base + next, base + end, holes);
	return NOPAL_STOP;
}

/* ----------------------------------------------------------- the receiver */

/* What is not taken now has not been seen, and may come again. */
static enum nopal_verdict sliding_window_on_from_net(struct nopal_at at,
						     struct nopal_segment *segment)
{
	const struct sliding_window_parameters *set = nopal_parameters(at);
	struct sliding_window *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SLIDING_WINDOW_NUMBER);
	uint64_t room = set->selective ? (uint64_t)set->window : 1;

	self->owed = true;
	return number >= self->next && number < self->next + room ? NOPAL_CONTINUE : NOPAL_STOP;
}

static enum nopal_verdict sliding_window_on_verified(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct sliding_window *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SLIDING_WINDOW_NUMBER);

	self->arrived |= sliding_window_bit(number);
	if (self->end <= number)
		self->end = number + 1;
	while (self->arrived & sliding_window_bit(self->next))
		self->arrived &= ~sliding_window_bit(self->next++);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sliding_window_on_turn_end(struct nopal_at at,
						     struct nopal_session *subject)
{
	struct sliding_window *self = nopal_state(at);
	struct nopal_segment *ack;
	struct nopal_writer writer;
	uint64_t holes = 0;

	(void)subject;
	if (!self->owed)
		return NOPAL_CONTINUE;
	ack = nopal_control_begin(at, SLIDING_WINDOW_ACK, SLIDING_WINDOW_ACK_BYTES, &writer);
	if (!ack)
		return NOPAL_CONTINUE;
	for (uint64_t number = self->next; number < self->end; number++)
		if (!(self->arrived & sliding_window_bit(number)))
			holes |= UINT64_C(1) << (number - self->next);
	nopal_write(&writer, self->next, 4);
	nopal_write(&writer, self->end, 4);
	nopal_write(&writer, holes, 4);
	nopal_control_send(at.session, ack, nopal_written(&writer));
	self->owed = false;
	return NOPAL_CONTINUE;
}

static int sliding_window_open(struct nopal_at at)
{
	struct sliding_window *self = nopal_state(at);

	self->base = self->sent = self->next = self->end = 1; /* the first number */
	return 0;
}

static void sliding_window_idle(struct nopal_at at)
{
	struct sliding_window *self = nopal_state(at);

	nopal_queue_idle(at.session, &self->waiting);
}

const struct nopal_microprotocol nopal_sliding_window = {
	NOPAL_DESCRIBE(sliding_window, labs,
		       "keep a window of segments in flight, and send again what was lost"),
	.provides = NOPAL_ROLES({ "reliability", true }),
	.needs = NOPAL_RELATIONS({ "segment_numbers", "the window is one of numbers" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
				     "a segment is sent again until the peer has it" },
				   { NOPAL_DEATH, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_WHILE_SENDING,
				     "timeouts in vain have an end", .bound = "attempts" },
				   { NOPAL_OUTCOME, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_AT_TRANSPORT,
				     "the peer says what arrived" },
				   { NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     "the window in a round trip, and no more" },
				   { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     "a resend leaves after segments that were sent later" }),
	.parameters_size = sizeof(struct sliding_window_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(sliding_window, window, "window", COUNT, "16", "1", "32",
			     "segments that may be in flight", .wire = true),
		NOPAL_NUMBER(sliding_window, timeout_ns, "timeout", TIME, "200ms", "1ms", "1min",
			     "wait for an ack, from a segment's last transmission"),
		NOPAL_ON_OFF(sliding_window, selective, "selective", "on",
			     "keep what came early, and send again what is missing alone",
			     .wire = true),
		NOPAL_NUMBER(sliding_window, attempts, "attempts", COUNT, "16", "1", "1000",
			     "timeouts in a row that may be in vain")),
	.attributes = NOPAL_ATTRIBUTES([SLIDING_WINDOW_NUMBER] = { "segment_number", NOPAL_READ }),
	.shared = NOPAL_SHARED([SLIDING_WINDOW_UNMET] = { "reliability_unmet", NOPAL_WRITE, 1,
							  "1: all that is missing comes again" }),
	.kinds = NOPAL_KINDS([SLIDING_WINDOW_ACK] = { "ack", NOPAL_KIND_CONTROL,
						      "next 4, end 4, holes 4" }),
	.holds = NOPAL_HOLDS({ "it is in the window", NOPAL_SEND, NOPAL_DATA },
			     { "the peer has it", NOPAL_DONE, NOPAL_DATA },
			     { "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([SLIDING_WINDOW_OLDEST] = { "oldest", sliding_window_when_oldest }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_TO_NET, sliding_window_on_to_net),
		NOPAL_ON(SEND_SEGMENT, sliding_window_on_send),
		NOPAL_ON_OWN(SLIDING_WINDOW_ACK, sliding_window_on_ack),
		NOPAL_ON(SEGMENT_FROM_NET, sliding_window_on_from_net, .before = "segment_numbers"),
		NOPAL_ON(SEGMENT_VERIFIED, sliding_window_on_verified,
			 .before = "message_segments"),
		NOPAL_ON(TURN_END, sliding_window_on_turn_end)),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct sliding_window),
	.open = sliding_window_open,
	.idle = sliding_window_idle,
};
