/* SPDX-License-Identifier: MIT */
/*
 * window_policy.h -- what window policies have in common, and all but two rules of those that
 * differ in these: how a window grows beyond slow start, and what a loss leaves of it.
 *
 * Below the threshold the window grows by what is acknowledged.  It is reduced once for all that
 * was out (loss_epoch.h), for a mark of congestion as for a loss; a timeout leaves one segment, and
 * slow start up to what a loss would have left.  It does not grow while losses are unresolved, nor
 * where the application limits.
 *
 * For a policy of this kind: struct window_policy is first in its state, struct
 * window_policy_parameters in its parameters, WINDOW_POLICY_SHARED in its shared variables,
 * WINDOW_POLICY_BEGINS in its bindings, and its handlers hand its rules to the functions below.
 * One with more rules of its own does without some of these functions; parameters, shared variables
 * and the beginning ask nothing of its state.
 */
#ifndef NOPAL_WINDOW_POLICY_H
#define NOPAL_WINDOW_POLICY_H

#include "known_window.h"
#include "loss_epoch.h"

/* First in the policy's own table of shared variables. */
enum window_policy_shared {
	WINDOW_POLICY_WINDOW,
	WINDOW_POLICY_THRESHOLD,
	WINDOW_POLICY_APP_LIMITED,
	WINDOW_POLICY_KNOWN,
	WINDOW_POLICY_NEXT, /* the policy's own begin here */
};

#define WINDOW_POLICY_SHARED                                                                       \
	[WINDOW_POLICY_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0,                      \
				   "room on the network" },                                        \
	[WINDOW_POLICY_THRESHOLD] = { "slow_start_threshold_bytes", NOPAL_WRITE, INT64_MAX,        \
				      "slow start below it" },                                     \
	[WINDOW_POLICY_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,                     \
					"1: the window was not what limited us" },                 \
	[WINDOW_POLICY_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,                    \
				  "of earlier sessions" }

struct window_policy_parameters {
	int64_t initial;
};

#define WINDOW_POLICY_PARAMETERS                                                                   \
	NOPAL_NUMBER(window_policy, initial, "initial", SIZE, "10seg", "1seg", "1000seg",          \
		     "first window (RFC 6928: ten segments)")

struct window_policy {
	struct loss_epoch epoch;
};

/* The window after `acked` more bytes; not called in slow start. */
typedef int64_t window_policy_growth(struct nopal_at at, int64_t window, int64_t acked);
/* What a loss leaves of the window; the least one is seen to. */
typedef int64_t window_policy_kept(struct nopal_at at, int64_t window);

static const struct nopal_role window_policy_provides[] = {
	{ "congestion_policy", true },
	{ "window_policy" },
	{ 0 },
};

static const struct nopal_promise window_policy_promises[] = {
	NOPAL_CONGESTION_CONTROLLED,
	{ 0 },
};

#define WINDOW_POLICY_NEEDS                                                                        \
	{ "acknowledgement", "it acts on what arrived and what did not" },                         \
	{                                                                                          \
		"window_mechanism", "somebody has to keep the window"                              \
	}
static const struct nopal_relation window_policy_needs[] = {
	WINDOW_POLICY_NEEDS,
	{ 0 },
};

static inline void window_policy_reduce(struct nopal_at at, window_policy_kept *kept)
{
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);

	window = loss_epoch_least(at.session, kept(at, window));
	nopal_share(at, WINDOW_POLICY_THRESHOLD, window);
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static inline enum nopal_verdict window_policy_lost(struct nopal_at at,
						    const struct nopal_segment *segment,
						    window_policy_kept *kept)
{
	struct window_policy *policy = nopal_state(at);

	if (loss_epoch_lost(at.session, &policy->epoch, segment))
		window_policy_reduce(at, kept);
	return NOPAL_CONTINUE;
}

static inline enum nopal_verdict window_policy_marked(struct nopal_at at, window_policy_kept *kept)
{
	struct window_policy *policy = nopal_state(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);

	if (loss_epoch_marked(at.session, &policy->epoch, window))
		window_policy_reduce(at, kept);
	return NOPAL_CONTINUE;
}

/* True: the first of what one timeout finds overdue. */
static inline bool window_policy_timed_out(struct nopal_at at, const struct nopal_segment *segment,
					   window_policy_kept *kept)
{
	struct window_policy *policy = nopal_state(at);
	int64_t least = nopal_body_limit(at.session);

	if (!loss_epoch_timed_out(at.session, &policy->epoch, segment))
		return false;
	/* A second timeout in a row has no window left to learn from. */
	if (nopal_shared(at, WINDOW_POLICY_WINDOW) > least)
		window_policy_reduce(at, kept);
	nopal_share(at, WINDOW_POLICY_WINDOW, least);
	return true;
}

static inline void window_policy_grow(struct nopal_at at, int64_t acked,
				      window_policy_growth *growth)
{
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	int64_t most = nopal_shared(at, WINDOW_POLICY_THRESHOLD) - window;

	if (most > 0) {
		int64_t step = acked < most ? acked : most;

		window += step;
		acked -= step;
	}
	if (acked > 0)
		window = growth(at, window, acked);
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static inline enum nopal_verdict window_policy_acked(struct nopal_at at,
						     const struct nopal_ack *ack,
						     window_policy_growth *growth)
{
	struct window_policy *policy = nopal_state(at);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	if (policy->epoch.recovering)
		loss_epoch_ends(at.session, &policy->epoch);
	else if (!nopal_shared(at, WINDOW_POLICY_APP_LIMITED))
		window_policy_grow(at, (int64_t)ack->newly_acked_bytes, growth);
	return NOPAL_CONTINUE;
}

static inline int window_policy_open(struct nopal_at at)
{
	const struct window_policy_parameters *set = nopal_parameters(at);

	nopal_share(at, WINDOW_POLICY_WINDOW, set->initial);
	return 0;
}

/* Before the first segment wants to leave. */
static inline enum nopal_verdict window_policy_on_open_session(struct nopal_at at,
							       struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, WINDOW_POLICY_WINDOW, WINDOW_POLICY_KNOWN);
	return NOPAL_CONTINUE;
}

#define WINDOW_POLICY_BEGINS                                                                       \
	NOPAL_ON(OPEN_SESSION, window_policy_on_open_session, .before = "connection")

#endif
