/* SPDX-License-Identifier: MIT */
/*
 * scalable_congestion -- Scalable TCP congestion control: growth and reduction by shares of the
 * window.
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
 */
#include "window_rules.h"

enum {
	SCALABLE_PER = 100,   /* a = 0.01 */
	SCALABLE_PART = 8,    /* b = 0.125 */
	SCALABLE_LEGACY = 16, /* segments: section 3, lwnd */
};

struct scalable_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked since the last growth */
};

static int64_t scalable_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct scalable_congestion *scalable = nopal_state(at);
	int64_t segment = nopal_body_limit(at.session);
	int64_t per = SCALABLE_PER * segment;

	if (per > window)
		per = window;
	scalable->counted_bytes += acked;
	window += scalable->counted_bytes / per * segment;
	scalable->counted_bytes %= per;
	return window;
}

static int64_t scalable_keep(struct nopal_at at, int64_t window)
{
	if (window <= SCALABLE_LEGACY * (int64_t)nopal_body_limit(at.session))
		return window / 2;
	return window - window / SCALABLE_PART;
}

const struct nopal_microprotocol nopal_scalable_congestion = {
	NOPAL_DESCRIBE(
		scalable_congestion, congestion,
		"Scalable TCP congestion control: growth and reduction by shares of the window"),
	WINDOW_RULES(scalable_congestion, WINDOW_NEEDS, .grow = scalable_grow,
		     .keep = scalable_keep),
	WINDOW_PARAMETERS,
	.shared = NOPAL_SHARED(WINDOW_SHARED),
};
