/* SPDX-License-Identifier: MIT */
/*
 * highspeed_congestion -- HighSpeed TCP congestion control (RFC 3649).
 *
 *   a round trip: window += a(window)     lost: window -= b(window) * window
 *
 * Up to 38 segments a is 1 and b is 1/2, as TCP has it.  From there on b falls and the loss rate
 * that the window stands for falls with the logarithm of the window, to 0.1 and to one loss in 10^7
 * segments at 83000 segments; a follows from both.
 *
 * Paper:     RFC 3649 (Floyd, HighSpeed TCP for large congestion windows), section
 *            5.  One of the policies of UDT (Gu and Grossman, UDTv4, section 4.3).
 * Differs:   computes what the RFC has a table for (appendix B), in integers; a and
 *            b stay as they are beyond 83000 segments.  Slow start is not limited
 *            (RFC 3742).  A mark of congestion counts as a loss.
 */
#include "binary_log.h"
#include "window_rules.h"

/* Section 5: two points of the response function in segments, the segments for one loss, and b in
 * parts of the window. */
enum { HIGHSPEED_LOW = 38, HIGHSPEED_HIGH = 83000 };
enum { HIGHSPEED_LOW_LOSS = 1000, HIGHSPEED_HIGH_LOSS = 10000000 };
enum { HIGHSPEED_LOW_B = BINARY_LOG_UNITY / 2, HIGHSPEED_HIGH_B = BINARY_LOG_UNITY / 10 };

struct highspeed_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked since the last growth */
	int64_t due_bytes;     /* ... that bring the next; 0: to be computed */
};

/* Where the window is between both points, as its logarithm has it. */
static int64_t highspeed_place(struct nopal_session *session, int64_t window)
{
	int64_t low = binary_log(HIGHSPEED_LOW);
	int64_t high = binary_log(HIGHSPEED_HIGH);
	int64_t here = binary_log((uint64_t)window) - binary_log(nopal_body_limit(session));

	if (here <= low)
		return 0;
	if (here >= high)
		return BINARY_LOG_UNITY;
	return (here - low) * BINARY_LOG_UNITY / (high - low);
}

/* The point between `low` and `high` at this place. */
static int64_t highspeed_between(int64_t low, int64_t high, int64_t place)
{
	return low + (high - low) * place / BINARY_LOG_UNITY;
}

/* b, in parts of BINARY_LOG_UNITY. */
static int64_t highspeed_b(int64_t place)
{
	return highspeed_between(HIGHSPEED_LOW_B, HIGHSPEED_HIGH_B, place);
}

/* A step of one segment is due for each part 1/a of a window: a = window^2 * loss rate * 2 b / (2 -
 * b), and 1 at least. */
static int64_t highspeed_due(struct nopal_session *session, int64_t window)
{
	int64_t low = 2 * binary_log(HIGHSPEED_LOW) - binary_log(HIGHSPEED_LOW_LOSS);
	int64_t high = 2 * binary_log(HIGHSPEED_HIGH) - binary_log(HIGHSPEED_HIGH_LOSS);
	int64_t place = highspeed_place(session, window), b = highspeed_b(place);
	int64_t losses = binary_power(highspeed_between(low, high, place));
	int64_t a = losses * 2 * b / (2 * BINARY_LOG_UNITY - b);

	if (a <= BINARY_LOG_UNITY)
		return window;
	return (int64_t)nopal_scale((uint64_t)window, BINARY_LOG_UNITY, (uint64_t)a);
}

static int64_t highspeed_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct highspeed_congestion *highspeed = nopal_state(at);

	highspeed->counted_bytes += acked;
	if (!highspeed->due_bytes)
		highspeed->due_bytes = highspeed_due(at.session, window);
	while (highspeed->counted_bytes >= highspeed->due_bytes) {
		highspeed->counted_bytes -= highspeed->due_bytes;
		window += nopal_body_limit(at.session);
		highspeed->due_bytes = highspeed_due(at.session, window);
	}
	return window;
}

static int64_t highspeed_keep(struct nopal_at at, int64_t window)
{
	struct highspeed_congestion *highspeed = nopal_state(at);
	int64_t b = highspeed_b(highspeed_place(at.session, window));

	highspeed->due_bytes = 0;
	return window - (int64_t)nopal_scale((uint64_t)window, (uint64_t)b, BINARY_LOG_UNITY);
}

const struct nopal_microprotocol nopal_highspeed_congestion = {
	NOPAL_DESCRIBE(highspeed_congestion, congestion,
		       "HighSpeed TCP congestion control (RFC 3649)"),
	WINDOW_RULES(highspeed_congestion, WINDOW_NEEDS, .grow = highspeed_grow,
		     .keep = highspeed_keep),
	WINDOW_PARAMETERS,
	.shared = NOPAL_SHARED(WINDOW_SHARED),
};
