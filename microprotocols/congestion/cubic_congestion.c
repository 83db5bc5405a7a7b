/* SPDX-License-Identifier: MIT */
/*
 * cubic_congestion -- a window that grows as the cube of time since its loss.
 *
 *   window(t) = C (t - K)^3 + W_max      K = cbrt((W_max - window(0)) / C)
 *
 * in segments and seconds, C = 0.4; after a loss 0.7 of the window is kept.
 *
 * Paper:     Ha, Rhee, Xu, CUBIC, 2008; RFC 9438.  As a policy: Bridges et al.,
 *            CTP, ToN 2007, section III.D (b).  Slow start ends by delay as in
 *            RFC 9406 (HyStart++), section 4.2.
 * Differs:   integers only: time in ticks of 100 us, the cube root by Newton,
 *            remainders kept.  Time in which the application limits does not
 *            pass.  An epoch of loss ends when every packet number that was out
 *            at the reduction is resolved.  Slow start that saw delay grow ends
 *            at once, without the conservative rounds of RFC 9406.
 * Needs:     acknowledgement, window_mechanism, rtt.
 * Provides:  congestion_policy, window_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, slow_start_threshold_bytes; reads
 *            smoothed_rtt_ns, latest_rtt_ns, app_limited, known_window_bytes
 *            (optional, 0): the first window, where it is larger.
 * Parameters: initial (default 10seg): first window; hystart (default on): leave
 *            slow start when the delay grows.
 */
#include "window_policy.h"

enum {
	CUBIC_CONGESTION_SRTT = WINDOW_POLICY_NEXT,
	CUBIC_CONGESTION_LATEST,
};

/* RFC 9438: C = 2/5, beta = 7/10, alpha = 3 (1 - beta) / (1 + beta) = 9/17. */
#define CUBIC_CONGESTION_TICK (100 * NOPAL_MICROSECOND)
enum {
	CUBIC_CONGESTION_C = 2,
	CUBIC_CONGESTION_PER = 5,
	CUBIC_CONGESTION_BETA = 7,
	CUBIC_CONGESTION_TENTHS = 10,
	CUBIC_CONGESTION_ALPHA = 9,
	CUBIC_CONGESTION_ALPHA_PER = 17,
	/* One second is 10^4 ticks: its cube.  The cube of the longest time that counts, 200 s,
	 * fits 63 bits. */
	CUBIC_CONGESTION_MOST_TICKS = 2000000,
	/* RFC 9406, section 4.3. */
	CUBIC_CONGESTION_SAMPLES = 8,
	CUBIC_CONGESTION_RTT_SHARE = 8,
};
#define CUBIC_CONGESTION_CUBED_SECOND (1000 * NOPAL_SECOND)
#define CUBIC_CONGESTION_LEAST_RISE   (4 * NOPAL_MILLISECOND)
#define CUBIC_CONGESTION_MOST_RISE    (16 * NOPAL_MILLISECOND)

struct cubic_congestion_parameters {
	struct window_policy_parameters policy;
	int64_t hystart;
};

struct cubic_congestion {
	struct window_policy policy;
	int64_t maximum_bytes;	/* W_max */
	int64_t prior_bytes;	/* window before the last reduction */
	int64_t friendly_bytes; /* W_est: what Reno would have */
	uint64_t friendly_rest; /* of its last division */
	uint64_t growth_rest;
	int64_t elapsed_ns; /* of this avoidance, t */
	int64_t acked_ns;   /* last ack */
	int64_t k_ticks;
	bool avoiding; /* an epoch of the cube has begun */
	bool fresh;    /* ... without a loss before it: K is 0 */

	uint64_t round_end; /* packet number that ends the round */
	int64_t round_rtt_ns, last_round_rtt_ns;
	uint32_t round_samples;
};

/* Largest r with r^3 <= value. */
static uint64_t cubic_congestion_root(uint64_t value)
{
	uint64_t root = 1, next;

	if (value == 0)
		return 0;
	/* From above, by powers of two: Newton then falls monotonously. */
	for (uint64_t rest = value; rest; rest >>= 3)
		root <<= 1;
	while ((next = (2 * root + value / (root * root)) / 3) < root)
		root = next;
	return root;
}

/* K in ticks: how long until the cube is back at W_max. */
static int64_t cubic_congestion_k(int64_t missing_bytes, uint32_t segment_bytes)
{
	uint64_t cube;

	if (missing_bytes <= 0)
		return 0;
	cube = nopal_scale((uint64_t)missing_bytes * CUBIC_CONGESTION_PER,
			   CUBIC_CONGESTION_CUBED_SECOND,
			   (uint64_t)segment_bytes * CUBIC_CONGESTION_C);
	return (int64_t)cubic_congestion_root(cube);
}

/* W_cubic at `ticks`, at least 0. */
static int64_t cubic_congestion_target(const struct cubic_congestion *cubic, int64_t ticks,
				       uint32_t segment_bytes)
{
	int64_t away = ticks - cubic->k_ticks;
	uint64_t side = (uint64_t)(away < 0 ? -away : away);
	int64_t bytes;

	if (side > CUBIC_CONGESTION_MOST_TICKS)
		side = CUBIC_CONGESTION_MOST_TICKS;
	bytes = (int64_t)nopal_scale(
		side * side * side, (uint64_t)segment_bytes * CUBIC_CONGESTION_C,
		CUBIC_CONGESTION_PER * (uint64_t)CUBIC_CONGESTION_CUBED_SECOND);
	if (away >= 0)
		return cubic->maximum_bytes + bytes;
	return cubic->maximum_bytes > bytes ? cubic->maximum_bytes - bytes : 0;
}

static int64_t cubic_congestion_share(int64_t bytes, int64_t tenths)
{
	return bytes * tenths / CUBIC_CONGESTION_TENTHS;
}

/* What a loss leaves; W_max with fast convergence: a flow whose window shrinks from loss to loss
 * leaves room for others (RFC 9438, section 4.7). */
static int64_t cubic_congestion_kept(struct nopal_at at, int64_t window)
{
	struct cubic_congestion *cubic = nopal_state(at);

	cubic->prior_bytes = window;
	if (window < cubic->maximum_bytes)
		cubic->maximum_bytes =
			cubic_congestion_share(window,
					       CUBIC_CONGESTION_TENTHS + CUBIC_CONGESTION_BETA) /
			2;
	else
		cubic->maximum_bytes = window;
	cubic->avoiding = false;
	cubic->fresh = false;
	return cubic_congestion_share(window, CUBIC_CONGESTION_BETA);
}

static enum nopal_verdict cubic_congestion_on_lost(struct nopal_at at,
						   struct nopal_segment *segment)
{
	return window_policy_lost(at, segment, cubic_congestion_kept);
}

/* The same, though nothing is lost (RFC 9438, section 4.6). */
static enum nopal_verdict cubic_congestion_on_marked(struct nopal_at at,
						     struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, cubic_congestion_kept);
}

static enum nopal_verdict cubic_congestion_on_timeout(struct nopal_at at,
						      struct nopal_segment *segment)
{
	struct cubic_congestion *cubic = nopal_state(at);

	if (window_policy_timed_out(at, segment, cubic_congestion_kept))
		cubic->fresh = true;
	return NOPAL_CONTINUE;
}

/* The epoch of the cube begins: after slow start at its turning point. */
static void cubic_congestion_begin(struct cubic_congestion *cubic, int64_t window,
				   uint32_t segment_bytes)
{
	if (cubic->fresh || cubic->maximum_bytes < window)
		cubic->maximum_bytes = window;
	if (cubic->fresh)
		cubic->prior_bytes = window;
	cubic->k_ticks = cubic_congestion_k(cubic->maximum_bytes - window, segment_bytes);
	cubic->friendly_bytes = window;
	cubic->friendly_rest = 0;
	cubic->growth_rest = 0;
	cubic->elapsed_ns = 0;
	cubic->avoiding = true;
}

/* RFC 9438, section 4.3: what Reno would have by now. */
static void cubic_congestion_befriend(struct cubic_congestion *cubic, int64_t window,
				      uint64_t acked, uint32_t segment_bytes)
{
	bool slower = cubic->friendly_bytes < cubic->prior_bytes;
	uint64_t alpha = slower ? CUBIC_CONGESTION_ALPHA : CUBIC_CONGESTION_ALPHA_PER;
	uint64_t per = CUBIC_CONGESTION_ALPHA_PER * (uint64_t)window;
	uint64_t sum = acked * segment_bytes * alpha + cubic->friendly_rest;

	cubic->friendly_bytes += (int64_t)(sum / per);
	cubic->friendly_rest = sum % per;
}

static int64_t cubic_congestion_avoid(struct nopal_at at, int64_t window, uint64_t acked)
{
	struct cubic_congestion *cubic = nopal_state(at);
	uint32_t segment_bytes = nopal_body_limit(at.session);
	int64_t srtt = nopal_shared(at, CUBIC_CONGESTION_SRTT);
	int64_t ticks = (cubic->elapsed_ns + srtt) / CUBIC_CONGESTION_TICK;
	int64_t target = cubic_congestion_target(cubic, ticks, segment_bytes);
	uint64_t sum;

	cubic_congestion_befriend(cubic, window, acked, segment_bytes);
	if (target > window + window / 2)
		target = window + window / 2;
	if (target > window) {
		sum = (uint64_t)(target - window) * acked + cubic->growth_rest;
		cubic->growth_rest = sum % (uint64_t)window;
		window += (int64_t)(sum / (uint64_t)window);
	}
	return window > cubic->friendly_bytes ? window : cubic->friendly_bytes;
}

/* The least round trip of a round against that of the round before: a queue has begun to grow (RFC
 * 9406, section 4.2). */
static bool cubic_congestion_is_delayed(struct nopal_at at, const struct nopal_ack *ack)
{
	struct cubic_congestion *cubic = nopal_state(at);
	int64_t latest = nopal_shared(at, CUBIC_CONGESTION_LATEST);
	int64_t rise;

	if (ack->largest >= cubic->round_end) {
		cubic->round_end = nopal_next_packet_number(at.session);
		cubic->last_round_rtt_ns = cubic->round_rtt_ns;
		cubic->round_rtt_ns = NOPAL_NEVER;
		cubic->round_samples = 0;
	}
	if (!ack->largest_is_new || latest <= 0)
		return false;
	cubic->round_samples++;
	if (latest < cubic->round_rtt_ns)
		cubic->round_rtt_ns = latest;
	rise = cubic->last_round_rtt_ns / CUBIC_CONGESTION_RTT_SHARE;
	if (rise < CUBIC_CONGESTION_LEAST_RISE)
		rise = CUBIC_CONGESTION_LEAST_RISE;
	if (rise > CUBIC_CONGESTION_MOST_RISE)
		rise = CUBIC_CONGESTION_MOST_RISE;
	return cubic->round_samples >= CUBIC_CONGESTION_SAMPLES &&
	       cubic->round_rtt_ns - rise >= cubic->last_round_rtt_ns;
}

static void cubic_congestion_grow(struct nopal_at at, const struct nopal_ack *ack,
				  int64_t passed_ns)
{
	const struct cubic_congestion_parameters *set = nopal_parameters(at);
	struct cubic_congestion *cubic = nopal_state(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	uint64_t acked = ack->newly_acked_bytes;

	if (window < nopal_shared(at, WINDOW_POLICY_THRESHOLD)) {
		window += (int64_t)acked;
		if (set->hystart && cubic_congestion_is_delayed(at, ack))
			nopal_share(at, WINDOW_POLICY_THRESHOLD, window);
	} else {
		if (!cubic->avoiding)
			cubic_congestion_begin(cubic, window, nopal_body_limit(at.session));
		else
			cubic->elapsed_ns += passed_ns;
		window = cubic_congestion_avoid(at, window, acked);
	}
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static enum nopal_verdict cubic_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct cubic_congestion *cubic = nopal_state(at);
	int64_t passed_ns = at.session->now_ns - cubic->acked_ns;

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	cubic->acked_ns = at.session->now_ns;
	if (cubic->policy.epoch.recovering)
		loss_epoch_ends(at.session, &cubic->policy.epoch);
	else if (!nopal_shared(at, WINDOW_POLICY_APP_LIMITED))
		cubic_congestion_grow(at, ack, passed_ns);
	return NOPAL_CONTINUE;
}

static int cubic_congestion_open(struct nopal_at at)
{
	struct cubic_congestion *cubic = nopal_state(at);

	cubic->fresh = true;
	cubic->round_rtt_ns = NOPAL_NEVER;
	cubic->last_round_rtt_ns = NOPAL_NEVER;
	return window_policy_open(at);
}

static const struct nopal_parameter cubic_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	NOPAL_ON_OFF(cubic_congestion, hystart, "hystart", "on",
		     "leave slow start when the delay grows"),
	{ 0 },
};

static const struct nopal_binding cubic_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, cubic_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, cubic_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, cubic_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, cubic_congestion_on_marked),
	{ 0 },
};

static const struct nopal_relation cubic_congestion_needs[] = {
	WINDOW_POLICY_NEEDS,
	{ "rtt", "the cube looks a round trip ahead" },
	{ 0 },
};

static const struct nopal_shared cubic_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	[CUBIC_CONGESTION_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
				    "how far ahead the cube looks" },
	[CUBIC_CONGESTION_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "does a queue grow" },
	{ 0 },
};

const struct nopal_microprotocol nopal_cubic_congestion = {
	.abi = NOPAL_ABI,
	.name = "cubic_congestion",
	.family = "congestion",
	.summary = "a window that grows as the cube of time since its loss",
	.provides = window_policy_provides,
	.standard = "congestion_policy|window_policy",
	.needs = cubic_congestion_needs,
	.promises = window_policy_promises,
	.parameters_size = sizeof(struct cubic_congestion_parameters),
	.parameters = cubic_congestion_parameters,
	.shared = cubic_congestion_shared,
	.bindings = cubic_congestion_bindings,
	.state_size = sizeof(struct cubic_congestion),
	.open = cubic_congestion_open,
};
