/* SPDX-License-Identifier: MIT */
/*
 * minimum_rate -- minimum sending rate beside congestion control: a leaky bucket.
 *
 *     rate -->( bucket )--> each segment that leaves takes its bytes, or empties it
 *
 * Data that leave at the rate or faster keep the bucket empty, and congestion control alone decides.
 * Where it is slower, the bucket fills, and a segment for which there is enough leaves although the
 * window is closed, or the sending rate lower.  Below this rate the session does not back off: it
 * is for paths on which the rate is granted, and for streams that are of no use with less.
 *
 * Paper:     Wang, UDTCP, 2003, section 7.2 (a leaky bucket beside TCP's congestion control).
 * Differs:   serves rate-based control, too.
 */
#include <nopal/microprotocol.h>

/* Credit is counted in billionths of a bit: bits per second times ns. */
#define MINIMUM_RATE_BYTE (8 * NOPAL_SECOND)

struct minimum_rate_parameters {
	int64_t rate_bps;
};

struct minimum_rate {
	int64_t credit, counted_ns;
};

enum {
	MINIMUM_RATE_CREDIT,
	MINIMUM_RATE_RATE,
	MINIMUM_RATE_APP_LIMITED,
};
enum { MINIMUM_RATE_DUE };

/* The bucket holds two segments: one that goes, and time for the timer to be late. */
static void minimum_rate_refill(struct nopal_at at)
{
	const struct minimum_rate_parameters *set = nopal_parameters(at);
	struct minimum_rate *self = nopal_state(at);
	int64_t full = 2 * MINIMUM_RATE_BYTE * (int64_t)nopal_body_limit(at.session);
	int64_t elapsed_ns = at.session->now_ns - self->counted_ns;

	if (self->credit >= full || (full - self->credit) / set->rate_bps < elapsed_ns)
		self->credit = full;
	else
		self->credit += elapsed_ns * set->rate_bps;
	self->counted_ns = at.session->now_ns;
	nopal_shared_set(at, MINIMUM_RATE_CREDIT, self->credit / MINIMUM_RATE_BYTE);
}

static enum nopal_verdict minimum_rate_on_open_session(struct nopal_at at,
						       struct nopal_session *subject)
{
	const struct minimum_rate_parameters *set = nopal_parameters(at);
	struct minimum_rate *self = nopal_state(at);

	(void)subject;
	self->counted_ns = at.session->now_ns;
	nopal_shared_set(at, MINIMUM_RATE_RATE, set->rate_bps);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict minimum_rate_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct minimum_rate *self = nopal_state(at);

	minimum_rate_refill(at);
	self->credit -= MINIMUM_RATE_BYTE * (int64_t)segment->body.length;
	if (self->credit < 0)
		self->credit = 0;
	nopal_shared_set(at, MINIMUM_RATE_CREDIT, self->credit / MINIMUM_RATE_BYTE);
	return NOPAL_CONTINUE;
}

/* Data wait: wakes when there is credit for a segment, which the end of that turn lets go. */
static enum nopal_verdict minimum_rate_on_turn_end(struct nopal_at at,
						   struct nopal_session *subject)
{
	const struct minimum_rate_parameters *set = nopal_parameters(at);
	const struct minimum_rate *self = nopal_state(at);
	int64_t missing;

	(void)subject;
	if (nopal_shared_get(at, MINIMUM_RATE_APP_LIMITED)) {
		nopal_timer_stop(at, MINIMUM_RATE_DUE);
		return NOPAL_CONTINUE;
	}
	missing = MINIMUM_RATE_BYTE * (1 + (int64_t)nopal_body_limit(at.session)) - self->credit;
	if (missing > 0 && !nopal_timer_running(at, MINIMUM_RATE_DUE))
		nopal_timer_start(at, MINIMUM_RATE_DUE,
				  self->counted_ns + missing / set->rate_bps + 1);
	return NOPAL_CONTINUE;
}

static void minimum_rate_when_due(struct nopal_at at)
{
	minimum_rate_refill(at);
}

const struct nopal_microprotocol nopal_minimum_rate = {
	NOPAL_DESCRIBE(minimum_rate, congestion,
		       "minimum sending rate beside congestion control: a leaky bucket"),
	.provides = NOPAL_ROLES({ "minimum_rate", true }),
	.needs = NOPAL_RELATIONS({ "window_mechanism|rate_mechanism",
				   "nothing else keeps data back for the network's sake" }),
	.promises = NOPAL_PROMISES({ NOPAL_PACE, NOPAL_SENDING, NOPAL_LOWERS, NOPAL_FIXED_RATE,
				     "below its rate nothing slows the sender: there it is not "
				     "TCP-friendly",
				     .bound = "rate" }),
	.parameters_size = sizeof(struct minimum_rate_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(minimum_rate, rate_bps, "rate", RATE, "64kbit", "1kbit", "100gbit",
			     "bits of bodies a second that always may leave")),
	.shared = NOPAL_SHARED([MINIMUM_RATE_CREDIT] = { "min_rate_credit_bytes", NOPAL_WRITE, 0,
							 "may leave whatever window and rate say" },
			       [MINIMUM_RATE_RATE] = { "min_rate_bps", NOPAL_WRITE, 0,
						       "no rate is below it" },
			       [MINIMUM_RATE_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 1,
							      "1: nothing waits for the window" }),
	.timers = NOPAL_TIMERS([MINIMUM_RATE_DUE] = { "due", minimum_rate_when_due }),
	.bindings =
		NOPAL_BINDINGS(NOPAL_ON(OPEN_SESSION, minimum_rate_on_open_session),
			       NOPAL_ON(SEND_SEGMENT, minimum_rate_on_send, .kinds = NOPAL_CARRIED),
			       NOPAL_ON(TURN_END, minimum_rate_on_turn_end,
					.after = "window_mechanism|rate_mechanism")),
	.state_size = sizeof(struct minimum_rate),
};
