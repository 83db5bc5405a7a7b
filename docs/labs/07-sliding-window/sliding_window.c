/* SPDX-License-Identifier: MIT */
/*
 * sliding_window -- keep a window of segments in flight, and send again what was lost (lab 7)
 *
 * As handed out, every segment leaves at once, and nothing is acknowledged or sent again.
 */
#include <nopal/microprotocol.h>

enum { SLIDING_WINDOW_NUMBER }; /* its attributes: nopal_get(at, segment, SLIDING_WINDOW_NUMBER) */
enum { SLIDING_WINDOW_UNMET };	/* its shared variables */
enum { SLIDING_WINDOW_ACK };	/* its kinds of segment beside data */
enum { SLIDING_WINDOW_OLDEST }; /* its timers */

struct sliding_window_parameters {
	int64_t window;	    /* segments that may be in flight: 1 to 32 */
	int64_t timeout_ns; /* from a segment's last transmission */
	int64_t selective;  /* 0: go-back-N; 1: selective repeat */
	int64_t attempts;   /* timeouts in a row that may be in vain */
};

/* One for each session, zeroed; `nopal_state(at)` finds it.  Both ends have both halves. */
struct sliding_window {
	uint64_t base; /* of what we send: the lowest number that is not acknowledged */
	uint64_t sent; /* one past the highest number that has left */
	uint64_t next; /* of what the peer sends: every number below has arrived */
	uint64_t end;  /* one past the highest number that has arrived */
	bool owed;     /* something arrived since the last ack */
	/* Handles of segments by number, what waits for the window (struct nopal_queue), and which
	 * numbers above `next` have arrived, find their place here. */
};

/* Part 1.  A segment of ours wants to leave for the first time.  nopal_release(at, segment,
 * NOPAL_SEND) lets it go, now or later.  It may go when its number is below base + window. */
static enum nopal_verdict sliding_window_on_to_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

/* Part 1.  The segment leaves now; segment->transmissions is 1 for the first time.  Keep its
 * handle, segment->handle, to find it again with nopal_segment_find(at.session, handle). */
static enum nopal_verdict sliding_window_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Part 1.  The timer fired: nopal_timer_start(at, SLIDING_WINDOW_OLDEST, deadline_ns) starts it.
 * nopal_segment_resend(at, segment) sends again; segment->transmitted_ns is when it last left.  After
 * `attempts` timeouts in vain, nopal_session_break(at.session, NOPAL_GAVE_UP, "..."). */
static void sliding_window_when_oldest(struct nopal_at at)
{
	(void)at;
}

/* Part 1.  An ack arrived; nopal_read() takes its numbers from `reader`.  A segment that the peer
 * has: outcome NOPAL_OUTCOME_DELIVERED, nopal_segment_settle(), and release NOPAL_DONE and
 * NOPAL_DEALLOCATE.  Part 2: a hole is sent again. */
static enum nopal_verdict sliding_window_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);

	(void)at, (void)reader;
	return NOPAL_STOP;
}

/* Part 1.  A data segment of the peer arrived.  NOPAL_STOP: it is not taken, nobody remembers it.
 * NOPAL_CONTINUE: it is, unless its number was there before.  Part 2: take what is early, too. */
static enum nopal_verdict sliding_window_on_from_net(struct nopal_at at,
						     struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Part 1.  The data segment is taken, and its number is a new one. */
static enum nopal_verdict sliding_window_on_verified(struct nopal_at at,
						     struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Part 1.  All that arrived together was handled: one ack for it leaves.  nopal_control_begin(at,
 * SLIDING_WINDOW_ACK, 12, &writer) makes it, nopal_write() fills it in, and
 * nopal_control_send(at.session, ack, nopal_written(&writer)) sends it. */
static enum nopal_verdict sliding_window_on_turn_end(struct nopal_at at,
						     struct nopal_session *subject)
{
	(void)at, (void)subject;
	return NOPAL_CONTINUE;
}

/* Before anything happens: the first number of each direction is 1. */
static int sliding_window_open(struct nopal_at at)
{
	struct sliding_window *self = nopal_state(at);

	self->base = self->sent = self->next = self->end = 1;
	return 0;
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
};
