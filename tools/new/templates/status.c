/* SPDX-License-Identifier: MIT */
/*
 * sample -- the mean of the round trips, and a timeout by it.
 *
 *   smoothed += (latest - smoothed) / 8          timeout = factor * smoothed, 10 ms at least
 *
 * Paper:     RFC 793, section 3.7, whose beta is `factor`.
 * Differs:   each transmission has a number of its own, so that resends give round trips, too.
 */
#include <nopal/microprotocol.h>

/* shared variables */
enum { SAMPLE_SMOOTHED, SAMPLE_VARIANCE, SAMPLE_MINIMUM, SAMPLE_LATEST, SAMPLE_TIMEOUT };
enum { SAMPLE_SHARE = 8, SAMPLE_MILLION = 1000000 };

static const int64_t SAMPLE_LEAST_NS = 10 * NOPAL_MILLISECOND;

struct sample_parameters {
	int64_t factor_ppm;
};

static enum nopal_verdict sample_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	const struct sample_parameters *set = nopal_parameters(at);
	int64_t smoothed_ns = nopal_shared_get(at, SAMPLE_SMOOTHED);
	int64_t minimum_ns = nopal_shared_get(at, SAMPLE_MINIMUM);
	int64_t latest_ns, timeout_ns;

	if (!ack->largest_is_new || ack->largest_sent_ns < 0)
		return NOPAL_CONTINUE; /* no round trip follows from it */
	latest_ns = at.session->now_ns - ack->largest_sent_ns;
	if (latest_ns < 1)
		latest_ns = 1; /* 0 says that nothing is known yet */
	if (smoothed_ns == 0)
		smoothed_ns = latest_ns;
	smoothed_ns += (latest_ns - smoothed_ns) / SAMPLE_SHARE;
	timeout_ns = (int64_t)nopal_scale((uint64_t)smoothed_ns, (uint64_t)set->factor_ppm,
					  SAMPLE_MILLION);
	nopal_shared_set(at, SAMPLE_LATEST, latest_ns);
	nopal_shared_set(at, SAMPLE_SMOOTHED, smoothed_ns);
	if (minimum_ns == 0 || latest_ns < minimum_ns)
		nopal_shared_set(at, SAMPLE_MINIMUM, latest_ns);
	nopal_shared_set(at, SAMPLE_TIMEOUT,
			 timeout_ns > SAMPLE_LEAST_NS ? timeout_ns : SAMPLE_LEAST_NS);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, status, "the mean of the round trips, and a timeout by it"),
	.provides = NOPAL_ROLES({ "rtt", true }),
	.needs = NOPAL_RELATIONS(
		{ .role = "acknowledgement", .because = "an ack ends a round trip" }),
	.parameters_size = sizeof(struct sample_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(sample, factor_ppm, "factor", PERCENT, "200%",
						    "50%", "1000%", "timeout, of the mean")),
	.shared =
		NOPAL_SHARED([SAMPLE_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_WRITE, 0,
						   "0: not known yet" },
			     [SAMPLE_VARIANCE] = { "rtt_variance_ns", NOPAL_WRITE, 0,
						   "not computed: always 0" },
			     [SAMPLE_MINIMUM] = { "minimum_rtt_ns", NOPAL_WRITE, 0,
						  "the shortest seen" },
			     [SAMPLE_LATEST] = { "latest_rtt_ns", NOPAL_WRITE, 0, "the last one" },
			     [SAMPLE_TIMEOUT] = { "timeout_ns", NOPAL_WRITE, NOPAL_SECOND,
						  "longest wait for a status" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(ACK_FROM_NET, sample_on_ack)),
};
