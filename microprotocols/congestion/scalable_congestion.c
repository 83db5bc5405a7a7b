/* SPDX-License-Identifier: MIT */
/*
 * scalable_congestion -- a window that grows and shrinks by shares of itself.
 *
 *   acknowledged: window += acked / 100      lost: window -= window / 8
 *
 * So the time from a loss to the window before it is the same, 13 round trips, however large the
 * window is.
 *
 * Paper:     Kelly, Scalable TCP: improving performance in highspeed wide area
 *            networks, ACM CCR 33(2), 2003.  One of the policies of UDT (Gu and
 *            Grossman, UDTv4, section 4.3).
 * Differs:   grows by a segment a round trip at least, as TCP does, so also between
 *            the paper's 16 segments, below which TCP's rules hold, and 100.  Where
 *            several segments are lost at once that is one loss; a mark of
 *            congestion counts as a loss.
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
#include "window_policy.h"

enum {
	SCALABLE_CONGESTION_PER = 100,	 /* a = 0.01 */
	SCALABLE_CONGESTION_PART = 8,	 /* b = 0.125 */
	SCALABLE_CONGESTION_LEGACY = 16, /* segments: section 3, lwnd */
};

struct scalable_congestion {
	struct window_policy policy;
	int64_t counted_bytes; /* acked since the last growth */
};

static int64_t scalable_congestion_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct scalable_congestion *scalable = nopal_state(at);
	int64_t segment = nopal_body_limit(at.session);
	int64_t per = SCALABLE_CONGESTION_PER * segment;

	if (per > window)
		per = window;
	scalable->counted_bytes += acked;
	window += scalable->counted_bytes / per * segment;
	scalable->counted_bytes %= per;
	return window;
}

static int64_t scalable_congestion_kept(struct nopal_at at, int64_t window)
{
	if (window <= SCALABLE_CONGESTION_LEGACY * (int64_t)nopal_body_limit(at.session))
		return window / 2;
	return window - window / SCALABLE_CONGESTION_PART;
}

static enum nopal_verdict scalable_congestion_on_lost(struct nopal_at at,
						      struct nopal_segment *segment)
{
	return window_policy_lost(at, segment, scalable_congestion_kept);
}

static enum nopal_verdict scalable_congestion_on_timeout(struct nopal_at at,
							 struct nopal_segment *segment)
{
	window_policy_timed_out(at, segment, scalable_congestion_kept);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict scalable_congestion_on_marked(struct nopal_at at,
							struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, scalable_congestion_kept);
}

static enum nopal_verdict scalable_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	return window_policy_acked(at, ack, scalable_congestion_grow);
}

static const struct nopal_parameter scalable_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	{ 0 },
};

static const struct nopal_binding scalable_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, scalable_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, scalable_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, scalable_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, scalable_congestion_on_marked),
	{ 0 },
};

static const struct nopal_shared scalable_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	{ 0 },
};

const struct nopal_microprotocol nopal_scalable_congestion = {
	.abi = NOPAL_ABI,
	.name = "scalable_congestion",
	.family = "congestion",
	.summary = "a window that grows and shrinks by shares of itself",
	.provides = window_policy_provides,
	.needs = window_policy_needs,
	.promises = window_policy_promises,
	.parameters_size = sizeof(struct window_policy_parameters),
	.parameters = scalable_congestion_parameters,
	.shared = scalable_congestion_shared,
	.bindings = scalable_congestion_bindings,
	.state_size = sizeof(struct scalable_congestion),
	.open = window_policy_open,
};
