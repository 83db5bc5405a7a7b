/* SPDX-License-Identifier: MIT */
/*
 * pacing -- spread of a window over a round trip, in place of bursts.
 *
 *   rate = gain * window / smoothed rtt
 *
 * Sets the rate where a window is what controls: windowed_cc says how much may be out, rate_cc how
 * fast it leaves.  The gain is above one, so that the window stays the limit, and two in slow
 * start, where the window doubles in that time.
 *
 * Paper:     Aggarwal, Savage, Anderson, Understanding the performance of TCP
 *            pacing, INFOCOM 2000.  As two mechanisms at once: Bridges et al.,
 *            CTP, ToN 2007, section III.D (b).
 * Differs:   the gains are those of Linux's fq pacing (2 below half of the slow
 *            start threshold, 1.2 beyond), for a rate of exactly one window a
 *            round trip falls behind the window that grows.
 */
#include <nopal/microprotocol.h>

enum { PACING_RATE, PACING_WINDOW, PACING_SRTT, PACING_THRESHOLD, PACING_KNOWN };

#define PACING_MILLION UINT64_C(1000000)

struct pacing_parameters {
	int64_t start_ppm, steady_ppm;
};

struct pacing {
	/* The rate was computed from these. */
	int64_t window_bytes, srtt_ns, gain_ppm;
};

/* All that changes window or round trip is over by then; segments that wait for the rate leave in
 * the same turn. */
static enum nopal_verdict pacing_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct pacing_parameters *set = nopal_parameters(at);
	struct pacing *pacing = nopal_state(at);
	int64_t window = nopal_shared_get(at, PACING_WINDOW);
	int64_t srtt = nopal_shared_get(at, PACING_SRTT);
	bool starting = window < nopal_shared_get(at, PACING_THRESHOLD) / 2;
	int64_t gain = starting ? set->start_ppm : set->steady_ppm;
	uint64_t rate;

	(void)subject;
	if (srtt <= 0)
		srtt = nopal_shared_get(at, PACING_KNOWN);
	if (srtt <= 0 ||
	    (window == pacing->window_bytes && srtt == pacing->srtt_ns && gain == pacing->gain_ppm))
		return NOPAL_CONTINUE;
	pacing->window_bytes = window;
	pacing->srtt_ns = srtt;
	pacing->gain_ppm = gain;
	rate = nopal_rate_of((uint64_t)window, srtt);
	rate = nopal_scale(rate, (uint64_t)gain, PACING_MILLION);
	nopal_shared_set(at, PACING_RATE, rate < INT64_MAX ? (int64_t)rate : INT64_MAX);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_pacing = {
	NOPAL_DESCRIBE(pacing, congestion,
		       "spread of a window over a round trip, in place of bursts"),
	.provides = NOPAL_ROLES({ "pacing", true }, { "rate_policy" }),
	.needs = NOPAL_RELATIONS({ "congestion_policy", "a policy has to set the window" },
				 { "rtt", "a window is spread over a round trip" },
				 { "window_mechanism", "a mechanism has to keep to the window" },
				 { "rate_mechanism", "a mechanism has to keep to the rate" }),
	.parameters_size = sizeof(struct pacing_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(pacing, start_ppm, "start", PERCENT, "200%",
						    "100%", "1000%", "gain in slow start"),
				       NOPAL_NUMBER(pacing, steady_ppm, "steady", PERCENT, "120%",
						    "100%", "1000%", "gain after it")),
	.shared = NOPAL_SHARED(
		[PACING_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,
				  "bits of bodies a second; 0: no limit" },
		[PACING_WINDOW] = { "congestion_window_bytes", NOPAL_READ, 0,
				    "bytes that are spread" },
		[PACING_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
				  "time that the window is spread over" },
		[PACING_THRESHOLD] = { "slow_start_threshold_bytes", NOPAL_READ_OPTIONAL, 0,
				       "slow start below it" },
		[PACING_KNOWN] = { "known_rtt_ns", NOPAL_READ_OPTIONAL, 0,
				   "of earlier sessions: the round trip before the first sample" }),
	.bindings =
		NOPAL_BINDINGS(NOPAL_ON(TURN_END, pacing_on_turn_end, .before = "rate_mechanism")),
	.state_size = sizeof(struct pacing),
};
