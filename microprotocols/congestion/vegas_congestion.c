/* SPDX-License-Identifier: MIT */
/*
 * vegas_congestion -- a window that keeps a few segments queued, and no more.
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
 *            of congestion, halves the window once for all that was out.  When to send again is not decided
 *            here (section III.A of the paper is the detection's business).
 * Needs:     acknowledgement, rtt, window_mechanism.
 * Provides:  congestion_policy, window_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, slow_start_threshold_bytes; reads
 *            latest_rtt_ns, minimum_rtt_ns, app_limited, known_window_bytes
 *            (optional, 0): the first window, where it is larger.
 * Parameters: initial (default 10seg): first window; alpha (default 2seg): less
 *            queued is too little; beta (default 4seg): more is too much; gamma
 *            (default 1seg): so much ends slow start.
 */
#include "window_policy.h"

enum {
	VEGAS_CONGESTION_LATEST = WINDOW_POLICY_NEXT,
	VEGAS_CONGESTION_LEAST_RTT,
};

/* As RFC 9406, section 4.3, has it. */
enum { VEGAS_CONGESTION_SAMPLES = 8 };

struct vegas_congestion_parameters {
	struct window_policy_parameters policy;
	int64_t alpha, beta, gamma;
};

struct vegas_congestion {
	struct window_policy policy;
	uint64_t round_end;   /* packet number that ends the round */
	int64_t round_rtt_ns; /* least of the round; NOPAL_NEVER: none */
	uint32_t round_samples;
	int64_t round_window; /* as it began */
	bool round_limited;   /* the application was the limit in it */
	bool growing;	      /* a round of slow start that doubles */
};

static void vegas_congestion_set(struct nopal_at at, int64_t window)
{
	nopal_share(at, WINDOW_POLICY_WINDOW, loss_epoch_least(at.session, window));
}

static int64_t vegas_congestion_kept(struct nopal_at at, int64_t window)
{
	(void)at;
	return window / 2;
}

static enum nopal_verdict vegas_congestion_on_lost(struct nopal_at at,
						   struct nopal_segment *segment)
{
	return window_policy_lost(at, segment, vegas_congestion_kept);
}

static enum nopal_verdict vegas_congestion_on_marked(struct nopal_at at,
						     struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, vegas_congestion_kept);
}

static enum nopal_verdict vegas_congestion_on_timeout(struct nopal_at at,
						      struct nopal_segment *segment)
{
	struct vegas_congestion *vegas = nopal_state(at);

	if (window_policy_timed_out(at, segment, vegas_congestion_kept))
		vegas->growing = true;
	return NOPAL_CONTINUE;
}

/* What of the window lay in queues: what is acknowledged in a round left before it, at the window
 * that it began with. */
static int64_t vegas_congestion_queued(struct nopal_at at)
{
	const struct vegas_congestion *vegas = nopal_state(at);
	int64_t least = nopal_shared(at, VEGAS_CONGESTION_LEAST_RTT);

	if (vegas->round_rtt_ns <= least)
		return 0;
	return (int64_t)nopal_scale((uint64_t)vegas->round_window,
				    (uint64_t)(vegas->round_rtt_ns - least),
				    (uint64_t)vegas->round_rtt_ns);
}

/* Only what left in a round in which the window stood still can be compared: it is acknowledged in
 * the next one, which grows.  Where too much is queued, that growth is taken back, and the doubling
 * that made the queue. */
static void vegas_congestion_judge(struct nopal_at at)
{
	const struct vegas_congestion_parameters *set = nopal_parameters(at);
	struct vegas_congestion *vegas = nopal_state(at);
	int64_t queued = vegas_congestion_queued(at);
	int64_t window;

	if (queued <= set->gamma)
		return;
	window = loss_epoch_least(at.session, vegas->round_window - queued + set->gamma);
	nopal_share(at, WINDOW_POLICY_THRESHOLD, window);
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static void vegas_congestion_avoid(struct nopal_at at)
{
	const struct vegas_congestion_parameters *set = nopal_parameters(at);
	int64_t queued = vegas_congestion_queued(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);

	if (queued < set->alpha)
		vegas_congestion_set(at, window + nopal_body_limit(at.session));
	else if (queued > set->beta)
		vegas_congestion_set(at, window - nopal_body_limit(at.session));
}

static bool vegas_congestion_is_starting(struct nopal_at at)
{
	return nopal_shared(at, WINDOW_POLICY_WINDOW) < nopal_shared(at, WINDOW_POLICY_THRESHOLD);
}

static void vegas_congestion_end_round(struct nopal_at at)
{
	struct vegas_congestion *vegas = nopal_state(at);
	bool tells =
		vegas->round_samples && !vegas->round_limited && !vegas->policy.epoch.recovering;

	if (tells && !vegas_congestion_is_starting(at))
		vegas_congestion_avoid(at);
	else if (tells && vegas->growing)
		vegas_congestion_judge(at);
	if (tells)
		vegas->growing = !vegas->growing;
	vegas->round_end = nopal_next_packet_number(at.session);
	vegas->round_window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	vegas->round_rtt_ns = NOPAL_NEVER;
	vegas->round_samples = 0;
	vegas->round_limited = false;
}

/* In slow start the first few samples are enough: where the path is not full, they left behind a
 * pause, and met no queue. */
static void vegas_congestion_sample(struct nopal_at at, const struct nopal_ack *ack)
{
	struct vegas_congestion *vegas = nopal_state(at);
	int64_t latest = nopal_shared(at, VEGAS_CONGESTION_LATEST);

	if (!ack->largest_is_new || latest <= 0)
		return;
	if (latest < vegas->round_rtt_ns)
		vegas->round_rtt_ns = latest;
	if (++vegas->round_samples == VEGAS_CONGESTION_SAMPLES && vegas->growing &&
	    !vegas->policy.epoch.recovering && vegas_congestion_is_starting(at))
		vegas_congestion_judge(at);
}

static void vegas_congestion_grow(struct nopal_at at, int64_t acked)
{
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	int64_t threshold = nopal_shared(at, WINDOW_POLICY_THRESHOLD);

	window = threshold - window > acked ? window + acked : threshold;
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static enum nopal_verdict vegas_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct vegas_congestion *vegas = nopal_state(at);
	bool limited = nopal_shared(at, WINDOW_POLICY_APP_LIMITED);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	if (ack->largest >= vegas->round_end)
		vegas_congestion_end_round(at);
	vegas->round_limited |= limited;
	vegas_congestion_sample(at, ack);
	if (vegas->policy.epoch.recovering)
		loss_epoch_ends(at.session, &vegas->policy.epoch);
	else if (vegas->growing && !limited && vegas_congestion_is_starting(at))
		vegas_congestion_grow(at, (int64_t)ack->newly_acked_bytes);
	return NOPAL_CONTINUE;
}

/* The first window is the first round. */
static void vegas_congestion_begin(struct nopal_at at)
{
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	struct vegas_congestion *vegas = nopal_state(at);

	vegas->round_end = (uint64_t)window / nopal_body_limit(at.session);
	vegas->round_window = window;
}

static int vegas_congestion_open(struct nopal_at at)
{
	struct vegas_congestion *vegas = nopal_state(at);

	vegas->growing = true;
	vegas->round_rtt_ns = NOPAL_NEVER;
	window_policy_open(at);
	vegas_congestion_begin(at);
	return 0;
}

static enum nopal_verdict vegas_congestion_on_open_session(struct nopal_at at,
							   struct nopal_session *subject)
{
	enum nopal_verdict verdict = window_policy_on_open_session(at, subject);

	vegas_congestion_begin(at);
	return verdict;
}

static void vegas_congestion_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct vegas_congestion_parameters *set = parameters;

	if (set->beta < set->alpha)
		nopal_problem(problems, "beta", "what is too much is less than what is too little",
			      "make beta at least alpha");
}

static const struct nopal_parameter vegas_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	NOPAL_NUMBER(vegas_congestion, alpha, "alpha", SIZE, "2seg", "1seg", "1000seg",
		     "less than this in queues is too little"),
	NOPAL_NUMBER(vegas_congestion, beta, "beta", SIZE, "4seg", "1seg", "1000seg",
		     "more than this in queues is too much"),
	NOPAL_NUMBER(vegas_congestion, gamma, "gamma", SIZE, "1seg", "1seg", "1000seg",
		     "more than this in queues ends slow start"),
	{ 0 },
};

static const struct nopal_binding vegas_congestion_bindings[] = {
	NOPAL_ON(OPEN_SESSION, vegas_congestion_on_open_session, .before = "connection"),
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, vegas_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, vegas_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, vegas_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, vegas_congestion_on_marked),
	{ 0 },
};

static const struct nopal_relation vegas_congestion_needs[] = {
	{ "acknowledgement", "it acts on what arrived and what did not" },
	{ "rtt", "the round trip is what it watches" },
	{ "window_mechanism", "somebody has to keep the window" },
	{ 0 },
};

static const struct nopal_shared vegas_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	[VEGAS_CONGESTION_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "samples of a round" },
	[VEGAS_CONGESTION_LEAST_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0,
					 "the round trip without a queue" },
	{ 0 },
};

const struct nopal_microprotocol nopal_vegas_congestion = {
	.abi = NOPAL_ABI,
	.name = "vegas_congestion",
	.family = "congestion",
	.summary = "a window that keeps a few segments queued, and no more",
	.provides = window_policy_provides,
	.promises = window_policy_promises,
	.needs = vegas_congestion_needs,
	.parameters_size = sizeof(struct vegas_congestion_parameters),
	.parameters = vegas_congestion_parameters,
	.validate = vegas_congestion_validate,
	.shared = vegas_congestion_shared,
	.bindings = vegas_congestion_bindings,
	.state_size = sizeof(struct vegas_congestion),
	.open = vegas_congestion_open,
};
