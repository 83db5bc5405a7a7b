/* SPDX-License-Identifier: MIT */
/*
 * highspeed_congestion -- TCP's window, steeper the larger it is.
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
 * Needs:     acknowledgement, window_mechanism.
 * Provides:  congestion_policy, window_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, slow_start_threshold_bytes; reads
 *            app_limited, known_window_bytes (optional, 0): the first window, where
 *            it is larger.
 * Parameters: initial (default 10seg): first window.
 */
#include "binary_log.h"
#include "window_policy.h"

/* Section 5: two points of the response function, and b at both. */
enum {
	HIGHSPEED_CONGESTION_LOW = 38, /* segments */
	HIGHSPEED_CONGESTION_HIGH = 83000,
	HIGHSPEED_CONGESTION_LOW_LOSS = 1000, /* segments for one loss */
	HIGHSPEED_CONGESTION_HIGH_LOSS = 10000000,
	HIGHSPEED_CONGESTION_LOW_TENTHS = 5, /* tenths of the window */
	HIGHSPEED_CONGESTION_HIGH_TENTHS = 1,
	HIGHSPEED_CONGESTION_TENTHS = 10,
};

struct highspeed_congestion {
	struct window_policy policy;
	int64_t counted_bytes; /* acked since the last growth */
	int64_t due_bytes;     /* ... that bring the next; 0: to be computed */
};

/* Where the window is between both points, as its logarithm has it. */
static int64_t highspeed_congestion_place(struct nopal_session *session, int64_t window)
{
	int64_t low = binary_log(HIGHSPEED_CONGESTION_LOW);
	int64_t high = binary_log(HIGHSPEED_CONGESTION_HIGH);
	int64_t here = binary_log((uint64_t)window) - binary_log(nopal_body_limit(session));

	if (here <= low)
		return 0;
	if (here >= high)
		return BINARY_LOG_UNITY;
	return (here - low) * BINARY_LOG_UNITY / (high - low);
}

/* ... and what is as far from `low` to `high`. */
static int64_t highspeed_congestion_between(int64_t low, int64_t high, int64_t place)
{
	return low + (high - low) * place / BINARY_LOG_UNITY;
}

/* b, in parts of BINARY_LOG_UNITY. */
static int64_t highspeed_congestion_b(int64_t place)
{
	return highspeed_congestion_between(
		HIGHSPEED_CONGESTION_LOW_TENTHS * BINARY_LOG_UNITY / HIGHSPEED_CONGESTION_TENTHS,
		HIGHSPEED_CONGESTION_HIGH_TENTHS * BINARY_LOG_UNITY / HIGHSPEED_CONGESTION_TENTHS,
		place);
}

/* Logarithm of the square of a window over the segments for one loss. */
static int64_t highspeed_congestion_losses(uint64_t window, uint64_t per_loss)
{
	return 2 * binary_log(window) - binary_log(per_loss);
}

/* a = window^2 * loss rate * 2 b / (2 - b), and 1 at least. */
static int64_t highspeed_congestion_a(int64_t place)
{
	int64_t losses = highspeed_congestion_between(
		highspeed_congestion_losses(HIGHSPEED_CONGESTION_LOW,
					    HIGHSPEED_CONGESTION_LOW_LOSS),
		highspeed_congestion_losses(HIGHSPEED_CONGESTION_HIGH,
					    HIGHSPEED_CONGESTION_HIGH_LOSS),
		place);
	int64_t b = highspeed_congestion_b(place);
	int64_t a = binary_power(losses) * 2 * b / (2 * BINARY_LOG_UNITY - b);

	return a > BINARY_LOG_UNITY ? a : BINARY_LOG_UNITY;
}

/* A step of one segment is due for each part 1/a of a window. */
static int64_t highspeed_congestion_due(struct nopal_session *session, int64_t window)
{
	int64_t place = highspeed_congestion_place(session, window);

	return (int64_t)nopal_scale((uint64_t)window, BINARY_LOG_UNITY,
				    (uint64_t)highspeed_congestion_a(place));
}

static int64_t highspeed_congestion_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct highspeed_congestion *highspeed = nopal_state(at);

	highspeed->counted_bytes += acked;
	if (!highspeed->due_bytes)
		highspeed->due_bytes = highspeed_congestion_due(at.session, window);
	while (highspeed->counted_bytes >= highspeed->due_bytes) {
		highspeed->counted_bytes -= highspeed->due_bytes;
		window += nopal_body_limit(at.session);
		highspeed->due_bytes = highspeed_congestion_due(at.session, window);
	}
	return window;
}

static int64_t highspeed_congestion_kept(struct nopal_at at, int64_t window)
{
	struct highspeed_congestion *highspeed = nopal_state(at);
	int64_t b = highspeed_congestion_b(highspeed_congestion_place(at.session, window));

	highspeed->due_bytes = 0;
	return window - (int64_t)nopal_scale((uint64_t)window, (uint64_t)b, BINARY_LOG_UNITY);
}

static enum nopal_verdict highspeed_congestion_on_lost(struct nopal_at at,
						       struct nopal_segment *segment)
{
	return window_policy_lost(at, segment, highspeed_congestion_kept);
}

static enum nopal_verdict highspeed_congestion_on_timeout(struct nopal_at at,
							  struct nopal_segment *segment)
{
	window_policy_timed_out(at, segment, highspeed_congestion_kept);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict highspeed_congestion_on_marked(struct nopal_at at,
							 struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, highspeed_congestion_kept);
}

static enum nopal_verdict highspeed_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	return window_policy_acked(at, ack, highspeed_congestion_grow);
}

static const struct nopal_parameter highspeed_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	{ 0 },
};

static const struct nopal_binding highspeed_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, highspeed_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, highspeed_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, highspeed_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, highspeed_congestion_on_marked),
	{ 0 },
};

static const struct nopal_shared highspeed_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	{ 0 },
};

const struct nopal_microprotocol nopal_highspeed_congestion = {
	.abi = NOPAL_ABI,
	.name = "highspeed_congestion",
	.family = "congestion",
	.summary = "TCP's window, steeper the larger it is",
	.provides = window_policy_provides,
	.needs = window_policy_needs,
	.promises = window_policy_promises,
	.parameters_size = sizeof(struct window_policy_parameters),
	.parameters = highspeed_congestion_parameters,
	.shared = highspeed_congestion_shared,
	.bindings = highspeed_congestion_bindings,
	.state_size = sizeof(struct highspeed_congestion),
	.open = window_policy_open,
};
