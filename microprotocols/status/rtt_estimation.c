/* SPDX-License-Identifier: MIT */
/*
 * rtt_estimation -- round-trip time estimation, and the timeout by it (RFC 6298).
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B; Jacobson, Congestion
 *            avoidance and control, SIGCOMM 1988; RFC 6298, section 2.
 * Differs:   every transmission has a number of its own, so a resend gives as good a sample as a
 *            first transmission (no rule of Karn's is needed); the delay that the peer tells is
 *            deducted, as in RFC 9002, section 5.3, but never below the shortest round trip seen;
 *            that one takes four samples in a row, so that a packet that overtook others does not
 *            make it too short.  Where packets overtake, the first to come is faster than most:
 *            there, each segment counts, a sample is the largest of eight, and nothing is
 *            deducted.  Its variables are 0 before the first sample.
 */
#include <nopal/microprotocol.h>

struct rtt_estimation_parameters {
	int64_t initial_ns, minimum_ns, maximum_ns;
};

enum { RTT_LATE }; /* attributes */
/* shared variables */
enum {
	RTT_SMOOTHED,
	RTT_VARIANCE,
	RTT_MINIMUM,
	RTT_LATEST,
	RTT_TIMEOUT,
	RTT_FORWARD,
	RTT_KNOWN,
	RTT_KNOWN_VARIANCE,
};

enum {
	RTT_STEADY = 4, /* samples in a row that a minimum takes */
	RTT_BATCH = 8,	/* segments of a sample, where they overtake */
};

struct rtt_estimation {
	int64_t recent_ns[RTT_STEADY];
	uint32_t newest;
	uint64_t cumulative, largest; /* highest that acks told */
	/* The cumulative ack rose though nothing later arrived, or an ack came that knew less than
	 * one before it. */
	bool overtakes;
	uint32_t batch;	  /* segments of a sample to be */
	int64_t batch_ns; /* their largest */
	bool usual;	  /* the minimum is of such a sample */
};

/* RFC 6298, section 2: alpha 1/8, beta 1/4, K 4. */
enum {
	RTT_ALPHA_SHIFT = 3,
	RTT_BETA_SHIFT = 2,
	RTT_VARIANCES = 4,
};
/* The G of RFC 6298; RFC 9002, section 6.1.2 recommends this. */
static const int64_t RTT_GRANULARITY_NS = NOPAL_MILLISECOND;

static int64_t rtt_clamp(int64_t value, int64_t min, int64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

static void rtt_share_timeout(struct nopal_at at, int64_t rtt_ns, int64_t variance_ns)
{
	const struct rtt_estimation_parameters *set = nopal_parameters(at);
	int64_t spread_ns = variance_ns * RTT_VARIANCES;

	if (spread_ns < RTT_GRANULARITY_NS)
		spread_ns = RTT_GRANULARITY_NS;
	nopal_shared_set(at, RTT_TIMEOUT,
			 rtt_clamp(rtt_ns + spread_ns, set->minimum_ns, set->maximum_ns));
}

static void rtt_take(struct nopal_at at, int64_t rtt_ns)
{
	int64_t smoothed = nopal_shared_get(at, RTT_SMOOTHED);
	int64_t variance = nopal_shared_get(at, RTT_VARIANCE);
	int64_t error = smoothed > rtt_ns ? smoothed - rtt_ns : rtt_ns - smoothed;

	if (smoothed == 0) {
		smoothed = rtt_ns;
		variance = rtt_ns / 2;
	} else {
		variance += (error - variance) / (1 << RTT_BETA_SHIFT);
		smoothed += (rtt_ns - smoothed) / (1 << RTT_ALPHA_SHIFT);
	}
	nopal_shared_set(at, RTT_LATEST, rtt_ns);
	nopal_shared_set(at, RTT_SMOOTHED, smoothed);
	nopal_shared_set(at, RTT_VARIANCE, variance);
	rtt_share_timeout(at, smoothed, variance);
}

/* A timeout by the measurements of others is no less than that of a first sample: the path may have
 * changed since. */
static enum nopal_verdict rtt_estimation_on_open_session(struct nopal_at at,
							 struct nopal_session *subject)
{
	int64_t known = nopal_shared_get(at, RTT_KNOWN);
	int64_t variance = nopal_shared_get(at, RTT_KNOWN_VARIANCE);

	(void)subject;
	if (known > 0)
		rtt_share_timeout(at, known, variance > known / 2 ? variance : known / 2);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rtt_estimation_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	const struct rtt_estimation_parameters *set = nopal_parameters(at);
	int64_t minimum = nopal_shared_get(at, RTT_MINIMUM);
	uint64_t forward = (uint64_t)nopal_shared_get(at, RTT_FORWARD);
	struct rtt_estimation *self = nopal_state(at);
	int64_t rtt_ns, steady_ns;

	self->overtakes |= ack->largest < self->largest ||
			   (self->cumulative && self->cumulative >= forward &&
			    ack->cumulative > self->cumulative && !ack->largest_is_new);
	if (ack->cumulative > self->cumulative)
		self->cumulative = ack->cumulative;
	if (ack->largest > self->largest)
		self->largest = ack->largest;
	if (self->overtakes) {
		/* A sample of the segments that earlier acks told of: within one of them that
		 * overtook others, the oldest segment has the usual round trip.  The minimum until
		 * it turned out that packets overtake was an overtaker's. */
		if (self->batch < RTT_BATCH)
			return NOPAL_CONTINUE;
		if (!self->usual || self->batch_ns < minimum)
			nopal_shared_set(at, RTT_MINIMUM, self->batch_ns);
		self->usual = true;
		rtt_take(at, self->batch_ns);
		self->batch_ns = 0;
		self->batch = 0;
		return NOPAL_CONTINUE;
	}
	if (!ack->largest_is_new || ack->largest_sent_ns < 0 ||
	    ack->largest_sent_ns > at.session->now_ns)
		return NOPAL_CONTINUE;
	/* 0 says that there is no sample yet. */
	rtt_ns = rtt_clamp(at.session->now_ns - ack->largest_sent_ns, 1, set->maximum_ns);
	/* The largest of the last few: a packet that overtakes others has a round trip that no
	 * other will have. */
	steady_ns = rtt_ns;
	self->newest = (self->newest + 1) % RTT_STEADY;
	self->recent_ns[self->newest] = rtt_ns;
	for (unsigned i = 0; i < RTT_STEADY; i++)
		if (self->recent_ns[i] > steady_ns)
			steady_ns = self->recent_ns[i];
	if (minimum == 0 || steady_ns < minimum)
		minimum = steady_ns;
	if (ack->delay_ns > 0 && ack->delay_ns <= rtt_ns - minimum)
		rtt_ns -= ack->delay_ns;
	nopal_shared_set(at, RTT_MINIMUM, minimum);
	rtt_take(at, rtt_ns);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rtt_estimation_on_received(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct rtt_estimation *self = nopal_state(at);
	int64_t left_ns = segment->transmissions == 1 ? segment->transmitted_ns : 0;
	int64_t age_ns;

	if (!self->overtakes)
		return NOPAL_CONTINUE;
	if (!left_ns && nopal_has(at, RTT_LATE))
		left_ns = (int64_t)nopal_get(at, segment, RTT_LATE);
	if (!left_ns)
		return NOPAL_CONTINUE;
	age_ns = at.session->now_ns - left_ns;
	self->batch++;
	if (age_ns > self->batch_ns)
		self->batch_ns = age_ns;
	return NOPAL_CONTINUE;
}

static int rtt_estimation_open(struct nopal_at at)
{
	const struct rtt_estimation_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, RTT_TIMEOUT, set->initial_ns);
	return 0;
}

static void rtt_estimation_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct rtt_estimation_parameters *set = parameters;

	if (set->maximum_ns < set->minimum_ns)
		nopal_problem(problems, "timeout_max", "the longest timeout is below the shortest",
			      "make timeout_max at least timeout_min");
}

const struct nopal_microprotocol nopal_rtt_estimation = {
	NOPAL_DESCRIBE(rtt_estimation, status,
		       "round-trip time estimation, and the timeout by it (RFC 6298)"),
	.provides = NOPAL_ROLES({ "rtt", true }),
	.standard = "rtt",
	.needs = NOPAL_RELATIONS({ "acknowledgement", "acknowledgements are its samples" }),
	.parameters_size = sizeof(struct rtt_estimation_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(rtt_estimation, initial_ns, "initial_timeout", TIME, "1s", "1ms", "1h",
			     "timeout before the first sample"),
		NOPAL_NUMBER(rtt_estimation, minimum_ns, "timeout_min", TIME, "200ms", "1ms", "1h",
			     "the shortest timeout; longer than the peer may delay an ack"),
		NOPAL_NUMBER(rtt_estimation, maximum_ns, "timeout_max", TIME, "60s", "1ms", "1h",
			     "the longest timeout", .waits = NOPAL_WAITS_LONGEST)),
	.validate = rtt_estimation_validate,
	.attributes = NOPAL_ATTRIBUTES([RTT_LATE] = { "late_left_ns", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(
		[RTT_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_WRITE, 0, "0 before the first sample" },
		[RTT_VARIANCE] = { "rtt_variance_ns", NOPAL_WRITE, 0, "mean deviation of samples" },
		[RTT_MINIMUM] = { "minimum_rtt_ns", NOPAL_WRITE, 0, "the shortest seen" },
		[RTT_LATEST] = { "latest_rtt_ns", NOPAL_WRITE, 0, "the last sample" },
		[RTT_TIMEOUT] = { "timeout_ns", NOPAL_WRITE, NOPAL_SECOND,
				  "longest wait for a status" },
		[RTT_FORWARD] = { "forward_point", NOPAL_READ_OPTIONAL, 0,
				  "up to there the cumulative ack moves without an arrival" },
		[RTT_KNOWN] = { "known_rtt_ns", NOPAL_READ_OPTIONAL, 0,
				"of earlier sessions: a first sample for the timeout" },
		[RTT_KNOWN_VARIANCE] = { "known_rtt_variance_ns", NOPAL_READ_OPTIONAL, 0,
					 "of earlier sessions" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, rtt_estimation_on_open_session, .before = "connection"),
		NOPAL_ON(ACK_FROM_NET, rtt_estimation_on_ack),
		NOPAL_ON(SEGMENT_RECEIVED, rtt_estimation_on_received, .after = "loss_detection")),
	.state_size = sizeof(struct rtt_estimation),
	.open = rtt_estimation_open,
};
