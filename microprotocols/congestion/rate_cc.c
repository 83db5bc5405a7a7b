/* SPDX-License-Identifier: MIT */
/*
 * rate_cc -- rate-based congestion control: segments leave no faster than the sending rate.
 *
 * The rate mechanism; a policy sets the rate, 0 is no limit, and where the receiver has a say, the
 * less of the two counts.  A token bucket over two quanta: what waits goes in quanta, one timer
 * each, and a timer that is late by less than a quantum loses nothing.
 *
 * This gate is the last but for the window: it lets a segment go only when nobody else keeps it
 * back and the window has room, and spends the credit when the segment leaves.  So no credit is
 * heaped up behind another gate, to be spent in one burst, and no resend waits for credit that such
 * segments took.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (b).
 * Differs:   limits every interval t to rate x t + two quanta, not the average; counts in
 *            billionths of a bit, so that nothing is rounded away.  Resends go first, then urgent
 *            segments.
 */
#include "../base/idle.h"

/* Credit is counted in billionths of a bit: bits per second times ns. */
#define RATE_CC_BYTE (8 * NOPAL_SECOND)
/* Faster than any path that we pace: above it nothing is limited, and below it no sum here leaves
 * 63 bits. */
#define RATE_CC_MAX_BPS (1000 * NOPAL_SECOND)
/* No segment that could go waits longer for a quantum. */
#define RATE_CC_PATIENCE_NS (10 * NOPAL_MILLISECOND)

struct rate_cc_parameters {
	int64_t quantum;
};

struct rate_cc {
	struct nopal_lanes waiting; /* for credit, or for others to let go */
	int64_t credit;		    /* as of counted_ns; never less than what is granted */
	int64_t counted_ns;
	int64_t rate_bps;	/* of the credit; 0: no limit */
	uint32_t starved_bytes; /* length of the segment that lacked credit */
};

enum { RATE_CC_GRANTED };
enum {
	RATE_CC_RATE,
	RATE_CC_WINDOW,
	RATE_CC_IN_FLIGHT,
	RATE_CC_RECEIVER,
	RATE_CC_GRANTED_BYTES,
	RATE_CC_MIN,
	RATE_CC_MIN_CREDIT,
};
enum { RATE_CC_QUANTUM };

enum rate_cc_verdict {
	RATE_CC_GO,
	RATE_CC_KEPT_BACK, /* by another gate */
	RATE_CC_NO_ROOM,   /* in the window */
	RATE_CC_NO_CREDIT,
};

static int64_t rate_cc_quantum(const struct rate_cc *gate, struct nopal_at at)
{
	const struct rate_cc_parameters *set = nopal_parameters(at);
	int64_t quantum = set->quantum * RATE_CC_BYTE;
	int64_t millisecond = gate->rate_bps * NOPAL_MILLISECOND;

	return quantum > millisecond ? quantum : millisecond;
}

/* The rate that policy, minimum and receiver allow; 0: no limit. */
static int64_t rate_cc_rate(struct nopal_at at)
{
	int64_t rate = nopal_shared_get(at, RATE_CC_RATE);
	int64_t max = nopal_shared_get(at, RATE_CC_RECEIVER);
	int64_t min = nopal_shared_get(at, RATE_CC_MIN);

	if (rate > 0 && rate < min)
		rate = min;
	if (rate <= 0 || (max > 0 && max < rate))
		rate = max;
	return rate > 0 && rate <= RATE_CC_MAX_BPS ? rate : 0;
}

/* Room of the bucket.  Segments that were let go are paid, whatever the rate is now: taken from a
 * smaller bucket, a slower rate would pay for a faster one.  A segment may be longer than any
 * quantum, where it is a whole message. */
static int64_t rate_cc_full(struct nopal_at at)
{
	const struct rate_cc *gate = nopal_state(at);
	int64_t min =
		(nopal_shared_get(at, RATE_CC_GRANTED_BYTES) + gate->starved_bytes) * RATE_CC_BYTE;
	int64_t full = 2 * rate_cc_quantum(gate, at);

	return full > min ? full : min;
}

/* Rare beside the segments that pass: not in the middle of what they run through. */
static __attribute__((noinline)) void rate_cc_change(struct nopal_at at, int64_t rate)
{
	struct rate_cc *gate = nopal_state(at);
	bool limited = gate->rate_bps;
	int64_t full;

	gate->rate_bps = rate;
	full = rate_cc_full(at);
	if (gate->credit > full || !limited)
		gate->credit = full;
}

/* Brings credit and rate up to now.  The credit of the time before counts at the rate of that
 * time. */
static void rate_cc_refill(struct nopal_at at)
{
	struct rate_cc *gate = nopal_state(at);
	int64_t rate = rate_cc_rate(at);
	int64_t full = rate_cc_full(at);
	int64_t elapsed = at.session->now_ns - gate->counted_ns;

	if (!gate->rate_bps || (full - gate->credit) / gate->rate_bps < elapsed)
		gate->credit = full;
	else
		gate->credit += elapsed * gate->rate_bps;
	gate->counted_ns = at.session->now_ns;
	if (rate != gate->rate_bps)
		rate_cc_change(at, rate);
}

static enum rate_cc_verdict rate_cc_may_go(struct nopal_at at, const struct nopal_segment *segment)
{
	struct rate_cc *gate = nopal_state(at);
	int64_t window = nopal_shared_get(at, RATE_CC_WINDOW);
	int64_t granted = nopal_shared_get(at, RATE_CC_GRANTED_BYTES);
	int64_t taken = nopal_shared_get(at, RATE_CC_IN_FLIGHT) + granted;
	uint32_t others = segment->waiting[NOPAL_SEND] & ~nopal_hold_bit(at, NOPAL_SEND);

	/* Of other gates the window, where there is one, is always last. */
	if (window != INT64_MAX ? others & (others - 1) : others)
		return RATE_CC_KEPT_BACK;
	if (taken > 0 && window - taken < segment->body.length &&
	    nopal_shared_get(at, RATE_CC_MIN_CREDIT) <= segment->body.length)
		return RATE_CC_NO_ROOM;
	if (gate->rate_bps && gate->credit < (granted + segment->body.length) * RATE_CC_BYTE) {
		gate->starved_bytes = segment->body.length;
		return RATE_CC_NO_CREDIT;
	}
	return RATE_CC_GO;
}

static void rate_cc_grant(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_shared_get(at, RATE_CC_GRANTED_BYTES) += segment->body.length;
	nopal_set(at, segment, RATE_CC_GRANTED, segment->body.length);
	nopal_release(at, segment, NOPAL_SEND);
}

/* Where the first has to wait on for credit, so have all others: wakes when a quantum can go at
 * once, or a segment that is longer.  A quantum spares timers where they are many: at slow rates
 * each segment goes as soon as it may. */
static void rate_cc_let_go(struct nopal_at at)
{
	struct rate_cc *gate = nopal_state(at);
	enum rate_cc_verdict verdict = RATE_CC_GO;
	struct nopal_lane_turn turn = { 0 };
	struct nopal_segment *segment;
	int64_t wanted, missing;

	rate_cc_refill(at);
	while ((segment = nopal_lanes_next(at, &gate->waiting, &turn)) != NULL) {
		verdict = rate_cc_may_go(at, segment);
		if (verdict == RATE_CC_KEPT_BACK) {
			nopal_lanes_pass(&turn);
			continue;
		}
		if (verdict != RATE_CC_GO)
			break;
		nopal_lanes_take(&gate->waiting, &turn);
		rate_cc_grant(at, segment);
	}
	if (!segment || verdict != RATE_CC_NO_CREDIT) {
		nopal_timer_stop(at, RATE_CC_QUANTUM);
		return;
	}
	wanted = rate_cc_quantum(gate, at);
	if (wanted > gate->rate_bps * RATE_CC_PATIENCE_NS)
		wanted = gate->rate_bps * RATE_CC_PATIENCE_NS;
	if (wanted < gate->starved_bytes * RATE_CC_BYTE)
		wanted = gate->starved_bytes * RATE_CC_BYTE;
	missing =
		wanted - gate->credit + nopal_shared_get(at, RATE_CC_GRANTED_BYTES) * RATE_CC_BYTE;
	nopal_timer_start(at, RATE_CC_QUANTUM, at.session->now_ns + missing / gate->rate_bps + 1);
}

static enum nopal_verdict rate_cc_on_wanted(struct nopal_at at, struct nopal_segment *segment)
{
	struct rate_cc *gate = nopal_state(at);

	if (!nopal_lanes_wait(&gate->waiting)) {
		rate_cc_refill(at);
		if (rate_cc_may_go(at, segment) == RATE_CC_GO) {
			rate_cc_grant(at, segment);
			return NOPAL_CONTINUE;
		}
	}
	if (nopal_lanes_insert(at.session, &gate->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to queue for the rate");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rate_cc_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_shared_get(at, RATE_CC_GRANTED_BYTES) -=
		(int64_t)nopal_get(at, segment, RATE_CC_GRANTED);
	nopal_set(at, segment, RATE_CC_GRANTED, 0);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rate_cc_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct rate_cc *gate = nopal_state(at);

	rate_cc_on_done(at, segment);
	if (!gate->rate_bps)
		return NOPAL_CONTINUE;
	rate_cc_refill(at);
	gate->credit -= segment->body.length * RATE_CC_BYTE;
	return NOPAL_CONTINUE;
}

/* While the timer runs, segments go in quanta; a new rate is a new timer. */
static enum nopal_verdict rate_cc_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct rate_cc *gate = nopal_state(at);

	(void)subject;
	if (nopal_lanes_wait(&gate->waiting) &&
	    (rate_cc_rate(at) != gate->rate_bps || !nopal_timer_running(at, RATE_CC_QUANTUM)))
		rate_cc_let_go(at);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_rate_cc = {
	NOPAL_DESCRIBE(
		rate_cc, congestion,
		"rate-based congestion control: segments leave no faster than the sending rate"),
	.many = true,
	.provides = NOPAL_ROLES({ "rate_mechanism", true }),
	.standard = "rate_mechanism",
	.needs = NOPAL_RELATIONS({ "rate_policy", "a policy has to set the rate" }),
	.parameters_size = sizeof(struct rate_cc_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(
		rate_cc, quantum, "quantum", SIZE, "4seg", "1seg", "4MiB",
		"bytes that go at once: at least 1 ms of the rate, and no wait beyond 10 ms")),
	.attributes = NOPAL_ATTRIBUTES(
		[RATE_CC_GRANTED] = { "rate_granted", NOPAL_WRITE,
				      "bytes that the rate let go and that have not left",
				      .kinds = NOPAL_CARRIED }),
	.shared =
		NOPAL_SHARED([RATE_CC_RATE] = { "sending_rate_bps", NOPAL_READ, 0,
						"bits of bodies a second; 0: no limit" },
			     [RATE_CC_WINDOW] = { "congestion_window_bytes", NOPAL_READ_OPTIONAL,
						  INT64_MAX, "bytes that the window lets go" },
			     [RATE_CC_IN_FLIGHT] = { "bytes_in_flight", NOPAL_READ_OPTIONAL, 0,
						     "bytes that it has let go" },
			     [RATE_CC_RECEIVER] = { "receiver_rate_bps", NOPAL_READ_OPTIONAL, 0,
						    "the receiver's limit; 0: none" },
			     [RATE_CC_GRANTED_BYTES] = { "rate_granted_bytes", NOPAL_WRITE, 0,
							 "let go here, not yet by the window" },
			     [RATE_CC_MIN] = { "min_rate_bps", NOPAL_READ_OPTIONAL, 0,
					       "no rate of a policy is below it" },
			     [RATE_CC_MIN_CREDIT] = { "min_rate_credit_bytes", NOPAL_READ_OPTIONAL,
						      0, "may leave whatever the window says" }),
	.holds = NOPAL_HOLDS({ "the sending rate", NOPAL_SEND, NOPAL_CARRIED }),
	.timers = NOPAL_TIMERS([RATE_CC_QUANTUM] = { "quantum", rate_cc_let_go }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_TO_NET, rate_cc_on_wanted, .kinds = NOPAL_CARRIED,
			 .after = "driver|reliability|acknowledgement|flow_control",
			 .before = "window_mechanism"),
		NOPAL_ON(SEGMENT_RESEND, rate_cc_on_wanted, .kinds = NOPAL_CARRIED,
			 .before = "window_mechanism"),
		NOPAL_ON(SEND_SEGMENT, rate_cc_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_DONE, rate_cc_on_done, .kinds = NOPAL_CARRIED),
		NOPAL_ON(TURN_END, rate_cc_on_turn_end, .before = "window_mechanism")),
	.state_size = sizeof(struct rate_cc),
	.idle = idle_lanes,
};
