/* SPDX-License-Identifier: MIT */
/*
 * cubic.c -- the round trip and the congestion window of the monolith: the same arithmetic as
 * rtt_estimation and cubic_congestion, on plain fields.
 */
#include "connection.h"
#include <nopal/microprotocol.h>

/* RFC 6298, sections 2 and 5; RFC 9002, section 6.1.2 for the granularity. */
enum { RTT_ALPHA_SHIFT = 3, RTT_BETA_SHIFT = 2, RTT_VARIANCES = 4 };
static const int64_t RTT_GRANULARITY_NS = NOPAL_MILLISECOND;

/* RFC 9438: C = 2/5, beta = 7/10, alpha = 9/17.  Time in ticks of 100 us: a second is 10^4 of
 * them. */
enum {
	CUBIC_C = 2,
	CUBIC_C_PER = 5,
	CUBIC_BETA = 7,
	CUBIC_TENTHS = 10,
	CUBIC_ALPHA = 9,
	CUBIC_ALPHA_PER = 17,
	CUBIC_MIN_SEGMENTS = 2,
	CUBIC_MAX_TICKS = 2000000,
	/* RFC 9406, section 4.3. */
	CUBIC_ROUND_SAMPLES = 8,
	CUBIC_RISE_SHARE = 8,
};
static const int64_t CUBIC_TICK_NS = 100 * NOPAL_MICROSECOND;
static const uint64_t CUBIC_CUBED_SECOND = 1000 * NOPAL_SECOND;
static const int64_t CUBIC_MIN_RISE_NS = 4 * NOPAL_MILLISECOND;
static const int64_t CUBIC_MAX_RISE_NS = 16 * NOPAL_MILLISECOND;

static inline int64_t between(int64_t value, int64_t min, int64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

/* --------------------------------------------------------------- round trips */

void monolith__rtt_begin(struct monolith_connection *connection)
{
	connection->rtt.timeout_ns = connection->setup->rtt_first_ns;
}

static void rtt_smooth(struct monolith_rtt *rtt, int64_t sample_ns)
{
	int64_t error_ns = rtt->smoothed_ns > sample_ns ? rtt->smoothed_ns - sample_ns
							: sample_ns - rtt->smoothed_ns;

	if (rtt->smoothed_ns == 0) {
		rtt->smoothed_ns = sample_ns;
		rtt->variance_ns = sample_ns / 2;
		return;
	}
	rtt->variance_ns += (error_ns - rtt->variance_ns) / (1 << RTT_BETA_SHIFT);
	rtt->smoothed_ns += (sample_ns - rtt->smoothed_ns) / (1 << RTT_ALPHA_SHIFT);
}

/* The largest of the last few: one that overtook others does not count. */
static int64_t rtt_steady(struct monolith_rtt *rtt, int64_t sample_ns)
{
	int64_t largest_ns = sample_ns;

	rtt->newest = (rtt->newest + 1) % MONOLITH_STEADY;
	rtt->recent_ns[rtt->newest] = sample_ns;
	for (unsigned i = 0; i < MONOLITH_STEADY; i++)
		if (rtt->recent_ns[i] > largest_ns)
			largest_ns = rtt->recent_ns[i];
	return largest_ns;
}

void monolith__rtt_sample(struct monolith_connection *connection, const struct monolith_ack *ack)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_rtt *rtt = &connection->rtt;
	int64_t sample_ns, steady_ns, spread_ns;

	if (ack->floor > rtt->floor) {
		rtt->overtakes |= rtt->floor && !ack->largest_is_new;
		rtt->floor = ack->floor;
	}
	if (!ack->largest_is_new || !ack->largest_sent_ns)
		return;
	sample_ns = between(connection->now_ns - ack->largest_sent_ns, 1, setup->rtt_max_ns);
	steady_ns = rtt_steady(rtt, sample_ns);
	if (rtt->minimum_ns == 0 || steady_ns < rtt->minimum_ns)
		rtt->minimum_ns = steady_ns;
	if (rtt->overtakes)
		sample_ns = steady_ns;
	else if (ack->delay_ns <= sample_ns - rtt->minimum_ns)
		sample_ns -= ack->delay_ns;
	rtt->latest_ns = sample_ns;
	rtt_smooth(rtt, sample_ns);
	spread_ns = rtt->variance_ns * RTT_VARIANCES;
	if (spread_ns < RTT_GRANULARITY_NS)
		spread_ns = RTT_GRANULARITY_NS;
	rtt->timeout_ns =
		between(rtt->smoothed_ns + spread_ns, setup->rtt_min_ns, setup->rtt_max_ns);
}

/* ------------------------------------------------------------------ reductions */

void monolith__cubic_begin(struct monolith_connection *connection)
{
	connection->cubic = (struct monolith_cubic){
		.threshold_bytes = INT64_MAX,
		.fresh = true,
		.round_rtt_ns = NOPAL_NEVER,
		.last_round_rtt_ns = NOPAL_NEVER,
	};
	connection->sender.window = connection->setup->cubic_initial;
}

/* A window that shrinks from loss to loss leaves room for others. */
static void cubic_reduce(struct monolith_connection *connection)
{
	struct monolith_cubic *cubic = &connection->cubic;
	int64_t window = connection->sender.window;
	int64_t min = CUBIC_MIN_SEGMENTS * (int64_t)connection->setup->body_bytes;

	cubic->prior_bytes = window;
	if (window < cubic->maximum_bytes)
		cubic->maximum_bytes = window * (CUBIC_TENTHS + CUBIC_BETA) / CUBIC_TENTHS / 2;
	else
		cubic->maximum_bytes = window;
	cubic->threshold_bytes = window * CUBIC_BETA / CUBIC_TENTHS;
	if (cubic->threshold_bytes < min)
		cubic->threshold_bytes = min;
	cubic->avoiding = false;
	cubic->fresh = false;
	cubic->reduced_at = connection->sender.packet_next;
}

void monolith__cubic_lost(struct monolith_connection *connection, uint64_t packet)
{
	struct monolith_cubic *cubic = &connection->cubic;

	if (packet < cubic->reduced_at)
		return;
	cubic_reduce(connection);
	cubic->recovering = true;
	connection->sender.window = cubic->threshold_bytes;
}

void monolith__cubic_timeout(struct monolith_connection *connection, uint64_t packet)
{
	struct monolith_cubic *cubic = &connection->cubic;
	int64_t one = connection->setup->body_bytes;

	if (packet < cubic->timed_out_at)
		return;
	if (connection->sender.window > one)
		cubic_reduce(connection);
	cubic->recovering = false;
	cubic->fresh = true;
	cubic->reduced_at = connection->sender.packet_next;
	cubic->timed_out_at = cubic->reduced_at;
	connection->sender.window = one;
}

/* --------------------------------------------------------------------- growth */

/* Largest r with r^3 <= value, from above by Newton. */
static uint64_t cube_root(uint64_t value)
{
	uint64_t root = 1, next;

	if (value == 0)
		return 0;
	for (uint64_t rest = value; rest; rest >>= 3)
		root <<= 1;
	while ((next = (2 * root + value / (root * root)) / 3) < root)
		root = next;
	return root;
}

static void cubic_epoch(struct monolith_cubic *cubic, int64_t window, uint64_t segment_bytes)
{
	if (cubic->fresh || cubic->maximum_bytes < window)
		cubic->maximum_bytes = window;
	if (cubic->fresh)
		cubic->prior_bytes = window;
	cubic->k_ticks = (int64_t)cube_root(
		nopal_scale((uint64_t)(cubic->maximum_bytes - window) * CUBIC_C_PER,
			    CUBIC_CUBED_SECOND, segment_bytes * CUBIC_C));
	cubic->friendly_bytes = window;
	cubic->friendly_rest = 0;
	cubic->growth_rest = 0;
	cubic->elapsed_ns = 0;
	cubic->avoiding = true;
}

static int64_t cubic_target(const struct monolith_cubic *cubic, int64_t ticks,
			    uint64_t segment_bytes)
{
	int64_t away = ticks - cubic->k_ticks, bytes;
	uint64_t side = (uint64_t)(away < 0 ? -away : away);

	if (side > CUBIC_MAX_TICKS)
		side = CUBIC_MAX_TICKS;
	bytes = (int64_t)nopal_scale(side * side * side, segment_bytes * CUBIC_C,
				     CUBIC_C_PER * CUBIC_CUBED_SECOND);
	if (away >= 0)
		return cubic->maximum_bytes + bytes;
	return cubic->maximum_bytes > bytes ? cubic->maximum_bytes - bytes : 0;
}

/* The window of Reno by now. */
static void cubic_befriend(struct monolith_cubic *cubic, uint64_t window, uint64_t acked,
			   uint64_t segment_bytes)
{
	bool slower = cubic->friendly_bytes < cubic->prior_bytes;
	uint64_t per = CUBIC_ALPHA_PER * window;
	uint64_t sum = acked * segment_bytes * (slower ? CUBIC_ALPHA : CUBIC_ALPHA_PER) +
		       cubic->friendly_rest;

	cubic->friendly_bytes += (int64_t)(sum / per);
	cubic->friendly_rest = sum % per;
}

static int64_t cubic_avoid(struct monolith_connection *connection, int64_t window, uint64_t acked)
{
	struct monolith_cubic *cubic = &connection->cubic;
	uint64_t segment_bytes = connection->setup->body_bytes;
	int64_t ticks = (cubic->elapsed_ns + connection->rtt.smoothed_ns) / CUBIC_TICK_NS;
	int64_t target = cubic_target(cubic, ticks, segment_bytes);

	cubic_befriend(cubic, (uint64_t)window, acked, segment_bytes);
	if (target > window + window / 2)
		target = window + window / 2;
	if (target > window) {
		uint64_t sum = (uint64_t)(target - window) * acked + cubic->growth_rest;

		cubic->growth_rest = sum % (uint64_t)window;
		window += (int64_t)(sum / (uint64_t)window);
	}
	return window > cubic->friendly_bytes ? window : cubic->friendly_bytes;
}

/* Has a queue begun to grow? */
static bool cubic_is_delayed(struct monolith_connection *connection, const struct monolith_ack *ack)
{
	struct monolith_cubic *cubic = &connection->cubic;
	int64_t latest_ns = connection->rtt.latest_ns, rise_ns;

	if (ack->largest >= cubic->round_end) {
		cubic->round_end = connection->sender.packet_next;
		cubic->last_round_rtt_ns = cubic->round_rtt_ns;
		cubic->round_rtt_ns = NOPAL_NEVER;
		cubic->round_samples = 0;
	}
	if (!ack->largest_is_new || latest_ns <= 0)
		return false;
	cubic->round_samples++;
	if (latest_ns < cubic->round_rtt_ns)
		cubic->round_rtt_ns = latest_ns;
	rise_ns = between(cubic->last_round_rtt_ns / CUBIC_RISE_SHARE, CUBIC_MIN_RISE_NS,
			  CUBIC_MAX_RISE_NS);
	return cubic->round_samples >= CUBIC_ROUND_SAMPLES &&
	       cubic->round_rtt_ns - rise_ns >= cubic->last_round_rtt_ns;
}

static void cubic_grow(struct monolith_connection *connection, const struct monolith_ack *ack,
		       int64_t passed_ns)
{
	struct monolith_cubic *cubic = &connection->cubic;
	int64_t window = connection->sender.window;

	if (window < cubic->threshold_bytes) {
		window += (int64_t)ack->acked_bytes;
		if (connection->setup->cubic_hystart && cubic_is_delayed(connection, ack))
			cubic->threshold_bytes = window;
	} else {
		if (!cubic->avoiding)
			cubic_epoch(cubic, window, connection->setup->body_bytes);
		else
			cubic->elapsed_ns += passed_ns;
		window = cubic_avoid(connection, window, ack->acked_bytes);
	}
	connection->sender.window = window;
}

void monolith__cubic_acked(struct monolith_connection *connection, const struct monolith_ack *ack)
{
	struct monolith_cubic *cubic = &connection->cubic;
	int64_t passed_ns = connection->now_ns - cubic->acked_ns;

	if (!ack->acked_bytes)
		return;
	cubic->acked_ns = connection->now_ns;
	if (cubic->recovering)
		cubic->recovering = connection->sender.packet_oldest < cubic->reduced_at;
	else if (!connection->sender.app_limited)
		cubic_grow(connection, ack, passed_ns);
}
