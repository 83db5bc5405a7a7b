/* SPDX-License-Identifier: MIT */
/*
 * vegas_congestion -- Vegas congestion control: a few segments queued, and no more.
 *
 *   expected = window / least rtt       actual = window / rtt of the round
 *   queued   = (expected - actual) * least rtt
 *
 * Once a round trip: a segment more where less than `alpha` is queued, a segment less where more
 * than `beta` is.  Slow start doubles every other round trip; the rounds between tell what is
 * queued, and end it where that is more than `gamma`.
 *
 * Paper:     Brakmo and Peterson, TCP Vegas: end to end congestion avoidance on a
 *            global Internet, IEEE JSAC 13(8), 1995, sections III.B and III.C.  As
 *            a policy: Bridges et al., CTP, ToN 2007, section III.D (b).
 * Differs:   counts bytes; the round trip of a round is the least one seen in it,
 *            so that bursts of our own are no queue; when slow start ends the
 *            window becomes what the path held, and `gamma`.  A loss, or a mark
 *            of congestion, halves the window once for all that was out.  When to
 *            send again is not decided here (section III.A of the paper is the
 *            detection's business).
 */
#include "window_round.h"

struct vegas_parameters {
	struct window_parameters window;
	int64_t alpha, beta, gamma;
};

struct vegas_congestion {
	struct window_round round;
};

/* Segments acknowledged in a round left before it, at the window that it began with.  Only those of
 * a round in which the window stood still can be compared: they are acknowledged in the next one,
 * which grows.  Where too much is queued, that growth is taken back, and the doubling that made the
 * queue.  Beyond slow start a segment is added, or taken. */
static void vegas_judge(struct nopal_at at)
{
	const struct vegas_parameters *set = nopal_parameters(at);
	const struct vegas_congestion *vegas = nopal_state(at);
	int64_t window = nopal_shared_get(at, WINDOW_BYTES);
	int64_t held =
		window_rules_held(vegas->round.window_bytes, nopal_shared_get(at, WINDOW_MIN_RTT),
				  vegas->round.rtt.min_ns);
	int64_t queued = vegas->round.window_bytes - held;

	if (window_rules_is_slow_start(at)) {
		if (vegas->round.judged % 2 || queued <= set->gamma)
			return;
		window = held + set->gamma;
		nopal_shared_set(at, WINDOW_THRESHOLD, loss_epoch_min(at.session, window));
	} else if (queued < set->alpha) {
		window += nopal_body_limit(at.session);
	} else if (queued > set->beta) {
		window -= nopal_body_limit(at.session);
	}
	nopal_shared_set(at, WINDOW_BYTES, loss_epoch_min(at.session, window));
}

/* Every other round the window stands still. */
static int64_t vegas_start(struct nopal_at at, int64_t window, const struct nopal_ack *ack)
{
	const struct vegas_congestion *vegas = nopal_state(at);
	int64_t acked = vegas->round.judged % 2 ? 0 : (int64_t)ack->newly_acked_bytes;

	return window_rules_start(at, window, acked);
}

/* The slow start that follows a timeout begins by doubling. */
static int64_t vegas_keep(struct nopal_at at, int64_t window)
{
	struct vegas_congestion *vegas = nopal_state(at);

	vegas->round.judged = 0;
	return window / 2;
}

static void vegas_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct vegas_parameters *set = parameters;

	if (set->beta < set->alpha)
		nopal_problem(problems, "beta", "too much queued would be less than too little",
			      "make beta at least alpha");
}

const struct nopal_microprotocol nopal_vegas_congestion = {
	NOPAL_DESCRIBE(vegas_congestion, congestion,
		       "Vegas congestion control: a few segments queued, and no more"),
	WINDOW_RULES(vegas_congestion, WINDOW_NEEDS_RTT, .keep = vegas_keep, .start = vegas_start,
		     .see = window_round_compare, .judge = vegas_judge,
		     .opened = window_round_begin_first),
	.parameters_size = sizeof(struct vegas_parameters),
	.parameters = NOPAL_PARAMETERS(
		WINDOW_INITIAL,
		WINDOW_SEGMENTS(vegas_parameters, alpha, "2seg", "less queued is too little"),
		WINDOW_SEGMENTS(vegas_parameters, beta, "4seg", "more queued is too much"),
		WINDOW_SEGMENTS(vegas_parameters, gamma, "1seg", "more queued ends slow start")),
	.validate = vegas_validate,
	.shared = NOPAL_SHARED(WINDOW_SHARED, WINDOW_SHARED_RTT("latest_rtt_ns")),
};
