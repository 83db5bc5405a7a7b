/* SPDX-License-Identifier: MIT */
/*
 * window_rules.h -- the rules that the windows of TCP's family have in common, for a policy that
 * fills in its own increase and decrease.
 *
 *   slow start --threshold--> avoidance --lost, marked--> recovery --resolved--> avoidance
 *        ^                                                                       |
 *        +------------------------------- timeout -------------------------------+
 *
 * Below the threshold the window grows by all bytes that are acknowledged, beyond it by the
 * policy's `grow`.  The policy's `keep` reduces it once for all that was out (loss_epoch.h), for a
 * mark of congestion as for a loss; a timeout leaves one segment, and slow start up to `keep`.  The
 * window does not grow while losses are unresolved, nor where the application limits, and no loss
 * leaves less than two segments.
 *
 * A policy starts its state with struct loss_epoch, its parameters with struct
 * window_parameters, its shared variables with WINDOW_SHARED, and its descriptor with
 * WINDOW_RULES(NAME, roles that it needs, its rules).
 */
#ifndef NOPAL_WINDOW_RULES_H
#define NOPAL_WINDOW_RULES_H

#include "known_window.h"
#include "loss_epoch.h"

/* First in the policy's own table of shared variables. */
enum {
	WINDOW_BYTES,
	WINDOW_THRESHOLD,
	WINDOW_APP_LIMITED,
	WINDOW_KNOWN,
	WINDOW_NEXT, /* the policy's own begin here */
};

#define WINDOW_SHARED                                                                              \
	[WINDOW_BYTES] = { "congestion_window_bytes", NOPAL_WRITE, 0, "room on the network" },     \
	[WINDOW_THRESHOLD] = { "slow_start_threshold_bytes", NOPAL_WRITE, INT64_MAX,               \
			       "slow start below it" },                                            \
	[WINDOW_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,                            \
				 "1: the window was not what limited us" },                        \
	[WINDOW_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,                           \
			   "first window of earlier sessions, where it is larger" }

/* A policy's own round trips, behind WINDOW_SHARED: as is, smoothed or latest, and the least; and
 * the rate, where the policy sets it, too. */
enum { WINDOW_RTT = WINDOW_NEXT, WINDOW_MIN_RTT, WINDOW_RATE };
#define WINDOW_SHARED_RTT(name)                                                                    \
	[WINDOW_RTT] = { name, NOPAL_READ, 0, "with the time in queues" }, [WINDOW_MIN_RTT] = {    \
		"minimum_rtt_ns", NOPAL_READ, 0, "without queues"                                  \
	}

struct window_parameters {
	int64_t initial;
};

/* Where the rate is the policy's, too, behind WINDOW_SHARED_RTT. */
#define WINDOW_SHARED_RATE                                                                         \
	[WINDOW_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,                                      \
			  "bits of bodies a second; 0: no limit" }

/* Bytes that are given in segments; `member` of the policy's parameters. */
#define WINDOW_SEGMENTS(parameters, member, value, text)                                           \
	{                                                                                          \
		.name = #member, .unit = NOPAL_SIZE,                                               \
		.offset = offsetof(struct parameters, member), .initial = value, .min = "1seg",    \
		.max = "1000seg", .doc = text                                                      \
	}
#define WINDOW_INITIAL                                                                             \
	WINDOW_SEGMENTS(window_parameters, initial, "10seg",                                       \
			"first window (RFC 6928: ten segments)")

/* The window after `acked` more bytes. */
typedef int64_t window_grow(struct nopal_at at, int64_t window, int64_t acked);
/* The window after this ack, in slow start. */
typedef int64_t window_start(struct nopal_at at, int64_t window, const struct nopal_ack *ack);
/* The window that a loss leaves; more than there is becomes the threshold alone. */
typedef int64_t window_keep(struct nopal_at at, int64_t window);
typedef bool window_begins(struct nopal_at at, const struct nopal_segment *segment);
typedef bool window_resolves(struct nopal_at at, const struct nopal_ack *ack);
typedef void window_sees(struct nopal_at at, const struct nopal_ack *ack);
typedef void window_told(struct nopal_at at);

struct window_rules {
	/* (optional) Beyond slow start; `see` may do it instead, once a round trip. */
	window_grow *grow;
	window_keep *keep;
	/* (optional) Slow start of one's own. */
	window_start *start;
	/* (optional) Before and after the window moves with an ack that acknowledged something. */
	window_sees *see, *after;
	/* (optional) Once a round (window_round.h). */
	window_told *judge;
	/* (optional) Does the loss begin a recovery?  Where it was not out at the reduction. */
	window_begins *begins;
	/* (optional) Does the ack end it?  Where all that was out is resolved. */
	window_resolves *resolves;
	/* (optional) After the reduction for a loss, and after a timeout. */
	window_told *reduced, *timed_out;
	/* (optional) The first window is set: as the session is made, and where earlier sessions
	 * know a larger one. */
	window_told *opened;
};

static inline const struct window_rules *window_rules_of(struct nopal_at at)
{
	return at.part->microprotocol->rules;
}

static inline bool window_rules_is_slow_start(struct nopal_at at)
{
	return nopal_shared_get(at, WINDOW_BYTES) < nopal_shared_get(at, WINDOW_THRESHOLD);
}

/* In slow start: up to the threshold. */
static inline int64_t window_rules_start(struct nopal_at at, int64_t window, int64_t acked)
{
	int64_t room = nopal_shared_get(at, WINDOW_THRESHOLD) - window;

	return window + (acked < room ? acked : room);
}

static inline void window_rules_reduce(struct nopal_at at)
{
	int64_t window = nopal_shared_get(at, WINDOW_BYTES);
	int64_t kept = window_rules_of(at)->keep(at, window);

	nopal_shared_set(at, WINDOW_THRESHOLD, loss_epoch_min(at.session, kept));
	if (kept <= window)
		nopal_shared_set(at, WINDOW_BYTES, loss_epoch_min(at.session, kept));
}

static inline enum nopal_verdict window_rules_on_lost(struct nopal_at at,
						      struct nopal_segment *segment)
{
	const struct window_rules *rules = window_rules_of(at);
	struct loss_epoch *epoch = nopal_state(at);

	if (!(rules->begins ? rules->begins(at, segment) : loss_epoch_is_new(epoch, segment)))
		return NOPAL_CONTINUE;
	loss_epoch_begin(at.session, epoch);
	window_rules_reduce(at);
	if (rules->reduced)
		rules->reduced(at);
	return NOPAL_CONTINUE;
}

static inline enum nopal_verdict window_rules_on_marked(struct nopal_at at,
							struct nopal_session *subject)
{
	struct loss_epoch *epoch = nopal_state(at);

	(void)subject;
	if (loss_epoch_marked(at.session, epoch, nopal_shared_get(at, WINDOW_BYTES)))
		window_rules_reduce(at);
	return NOPAL_CONTINUE;
}

/* One timeout raises the event for all that is timed out; only the first counts. */
static inline enum nopal_verdict window_rules_on_timeout(struct nopal_at at,
							 struct nopal_segment *segment)
{
	const struct window_rules *rules = window_rules_of(at);
	int64_t min = nopal_body_limit(at.session);

	if (!loss_epoch_timed_out(at.session, nopal_state(at), segment))
		return NOPAL_CONTINUE;
	/* A second timeout in a row has no window left to learn from (RFC 5681, section 3.1). */
	if (nopal_shared_get(at, WINDOW_BYTES) > min)
		window_rules_reduce(at);
	nopal_shared_set(at, WINDOW_BYTES, min);
	if (rules->timed_out)
		rules->timed_out(at);
	return NOPAL_CONTINUE;
}

static inline enum nopal_verdict window_rules_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	const struct window_rules *rules = window_rules_of(at);
	struct loss_epoch *epoch = nopal_state(at);
	int64_t acked = (int64_t)ack->newly_acked_bytes, window, before;

	if (!acked)
		return NOPAL_CONTINUE;
	if (rules->see)
		rules->see(at, ack);
	if (epoch->recovering) {
		epoch->recovering = rules->resolves ? !rules->resolves(at, ack)
						    : !loss_epoch_is_resolved(at.session, epoch);
	} else if (!nopal_shared_get(at, WINDOW_APP_LIMITED)) {
		window = before = nopal_shared_get(at, WINDOW_BYTES);
		if (window_rules_is_slow_start(at) && rules->start) {
			window = rules->start(at, window, ack);
			acked = 0;
		} else if (window_rules_is_slow_start(at)) {
			window = window_rules_start(at, window, acked);
			acked -= window - before;
		}
		if (acked > 0 && rules->grow)
			window = rules->grow(at, window, acked);
		nopal_shared_set(at, WINDOW_BYTES, window);
	}
	if (rules->after)
		rules->after(at, ack);
	return NOPAL_CONTINUE;
}

static inline int window_rules_open(struct nopal_at at)
{
	const struct window_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, WINDOW_BYTES, set->initial);
	if (window_rules_of(at)->opened)
		window_rules_of(at)->opened(at);
	return 0;
}

/* Before the first segment wants to leave. */
static inline enum nopal_verdict window_rules_on_open_session(struct nopal_at at,
							      struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, WINDOW_BYTES, WINDOW_KNOWN);
	if (window_rules_of(at)->opened)
		window_rules_of(at)->opened(at);
	return NOPAL_CONTINUE;
}

/* The bytes that fill the path without a queue, of bytes that took `rtt_ns`. */
static inline int64_t window_rules_held(int64_t bytes, int64_t min_ns, int64_t rtt_ns)
{
	if (rtt_ns <= min_ns)
		return bytes;
	return (int64_t)nopal_scale((uint64_t)bytes, (uint64_t)min_ns, (uint64_t)rtt_ns);
}

/* A segment for each window of acknowledged bytes (RFC 5681, section 3.1).  Bytes left of a window
 * count on (RFC 3465), so that no ack is rounded away; `*counted`: acknowledged since the last
 * step. */
static inline int64_t window_rules_add(struct nopal_at at, int64_t *counted, int64_t window,
				       int64_t acked)
{
	*counted += acked;
	while (*counted >= window) {
		*counted -= window;
		window += nopal_body_limit(at.session);
	}
	return window;
}

/* The window after `acked` more bytes, where a whole window of them brings `step`; `*rest`: of the
 * last division. */
static inline int64_t window_rules_step(int64_t window, int64_t step, int64_t acked, uint64_t *rest)
{
	uint64_t sum = (uint64_t)step * (uint64_t)acked + *rest;

	*rest = sum % (uint64_t)window;
	return window + (int64_t)(sum / (uint64_t)window);
}

/* Fast convergence (RFC 9438, section 4.7): the window to come back to after a loss at `window`,
 * which left `kept`.  A flow whose window shrinks from loss to loss leaves room for others. */
static inline int64_t window_rules_converge(int64_t before, int64_t window, int64_t kept)
{
	return window < before ? (window + kept) / 2 : window;
}

static inline int64_t window_rules_half(struct nopal_at at, int64_t window)
{
	(void)at;
	return window / 2;
}

/* Losses before reliability asks for the segment to leave again. */
static const struct nopal_binding window_rules_bindings[] = {
	NOPAL_ON(OPEN_SESSION, window_rules_on_open_session, .before = "connection"),
	NOPAL_ON(SEGMENT_LOST, window_rules_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, window_rules_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(CONGESTION_MARKED, window_rules_on_marked),
	NOPAL_ON(ACK_PROCESSED, window_rules_on_ack, .after = "loss_detection"),
	{ 0 },
};

/* Roles that a policy needs. */
#define WINDOW_NEEDS                                                                               \
	{ "acknowledgement", "policies act on arrivals and losses" },                              \
	{                                                                                          \
		"window_mechanism", "a mechanism has to keep to the window"                        \
	}
#define WINDOW_NEEDS_RTT                                                                           \
	WINDOW_NEEDS,                                                                              \
	{                                                                                          \
		"rtt", "the round trip tells when, or how far, it grows"                           \
	}

/* The part of the descriptor that all these policies share; behind the roles stand the members of
 * their struct window_rules. */
#define WINDOW_RULES_BASE(policy, ...)                                                             \
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED), .open = window_rules_open,        \
	.bindings = window_rules_bindings, .state_size = sizeof(struct policy),                    \
	.rules = &(const struct window_rules)                                                      \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define WINDOW_RULES(policy, roles, ...)                                                           \
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "window_policy", false }),        \
	.needs = NOPAL_RELATIONS(roles), WINDOW_RULES_BASE(policy, __VA_ARGS__)
#define WINDOW_PARAMETERS                                                                          \
	.parameters_size = sizeof(struct window_parameters),                                       \
	.parameters = NOPAL_PARAMETERS(WINDOW_INITIAL)

#endif
