/* SPDX-License-Identifier: MIT */
/*
 * bic_congestion -- BIC congestion control: a search for the largest window without loss.
 *
 *   below the window of the last loss: half of the way to it in a round trip
 *   beyond it: as far again as it is away from it already
 *   never more than 32 segments in a round trip, never less than 1/100
 *
 * Binary search: the loss was at a window too large, what it left is too small.
 *
 * Paper:     Xu, Harfoush, Rhee, Binary increase congestion control (BIC) for fast
 *            long-distance networks, INFOCOM 2004.  One of the policies of UDT (Gu
 *            and Grossman, UDTv4, section 4.3).
 * Differs:   counts bytes, so that a search passes the window that it is for when
 *            it is near enough, and probing beyond begins with the least step.  A
 *            timeout changes what is searched for as a loss does.  A mark of
 *            congestion counts as a loss.
 */
#include "window_rules.h"

/* The paper's own: section IV. */
enum {
	BIC_MAX = 32,	   /* segments in a round trip: S_max */
	BIC_MIN_PER = 100, /* S_min = 0.01 */
	BIC_PART = 8,	   /* beta = 0.125 */
	BIC_LEGACY = 14,   /* segments: low_window */
};

struct bic_congestion {
	struct loss_epoch epoch;
	int64_t target_bytes; /* W_max: where the last loss was */
	uint64_t growth_rest; /* of its last division */
};

/* `step`: how far the window goes in a round trip. */
static int64_t bic_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct bic_congestion *bic = nopal_state(at);
	int64_t segment = nopal_body_limit(at.session);
	int64_t away = bic->target_bytes - window;
	int64_t step = away > 0 ? away / 2 : -away;

	if (step > BIC_MAX * segment)
		step = BIC_MAX * segment;
	if (step < segment / BIC_MIN_PER)
		step = segment / BIC_MIN_PER;
	if (window < BIC_LEGACY * segment)
		step = segment;
	return window_rules_step(window, step, acked, &bic->growth_rest);
}

static int64_t bic_keep(struct nopal_at at, int64_t window)
{
	struct bic_congestion *bic = nopal_state(at);
	int64_t left = window - window / BIC_PART;

	bic->target_bytes = window_rules_converge(bic->target_bytes, window, left);
	if (window < BIC_LEGACY * (int64_t)nopal_body_limit(at.session))
		return window / 2;
	return left;
}

const struct nopal_microprotocol nopal_bic_congestion = {
	NOPAL_DESCRIBE(bic_congestion, congestion,
		       "BIC congestion control: a search for the largest window without loss"),
	WINDOW_RULES(bic_congestion, WINDOW_NEEDS, .grow = bic_grow, .keep = bic_keep),
	WINDOW_PARAMETERS,
	.shared = NOPAL_SHARED(WINDOW_SHARED),
};
