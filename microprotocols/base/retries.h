/* SPDX-License-Identifier: MIT */
/*
 * retries.h -- how a handshake repeats its requests, and how a session closes: what virtual_circuit
 * and three_way have in common.
 */
#ifndef NOPAL_RETRIES_H
#define NOPAL_RETRIES_H

#include <nopal/microprotocol.h>

struct retries {
	int64_t first_ns, max_ns, attempts, linger_ns;
};

/* The rows of a struct of parameters that begins with a member `retries`. */
#define RETRIES_PARAMETERS(name)                                                                   \
	NOPAL_NUMBER(name, retries.first_ns, "retry", TIME, "250ms", "1ms", "10s",                 \
		     "wait for the first answer, doubled each time"),                              \
		NOPAL_NUMBER(name, retries.max_ns, "retry_most", TIME, "2s", "1ms", "60s",         \
			     "the longest wait for an answer", .waits = NOPAL_WAITS_LONGEST),      \
		NOPAL_NUMBER(name, retries.attempts, "attempts", COUNT, "8", "1", "100",           \
			     "requests without an answer before giving up",                        \
			     .waits = NOPAL_WAITS_ATTEMPTS),                                       \
		NOPAL_NUMBER(name, retries.linger_ns, "linger", TIME, "500ms", "0ms", "60s",       \
			     "how long the side that acknowledged last still answers")

/* Where the parameters begin with `retries`. */
static inline void retries_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct retries *set = parameters;

	if (set->max_ns < set->first_ns)
		nopal_problem(problems, "retry_most", "the longest wait is shorter than the first",
			      "make retry_most at least retry");
}

/* How long to wait when so many requests have left. */
static inline int64_t retries_wait(const struct retries *set, uint32_t sends)
{
	int64_t wait_ns = set->first_ns;

	while (--sends && wait_ns < set->max_ns)
		wait_ns *= 2;
	return wait_ns < set->max_ns ? wait_ns : set->max_ns;
}

/* Each side's close, and the requests to close that left without an answer. */
struct closing {
	bool ours;   /* our close is out */
	bool acked;  /* and the peer has it */
	bool theirs; /* the peer has closed */
	uint32_t sends;
};

/* One more request leaves: when the next one is due.  A peer that has closed too only lingers: no
 * back-off then.  One that stays open is asked now and then, to see it live. */
static inline int64_t closing_wait(struct closing *closing, const struct retries *set)
{
	closing->sends++;
	if (closing->acked)
		return set->max_ns;
	return closing->theirs ? set->first_ns : retries_wait(set, closing->sends);
}

/* When that is due: true, a request leaves again; else the session has ended, by the failure that
 * `silence` tells where the peer has not closed. */
static inline bool closing_goes_on(struct nopal_session *session, const struct closing *closing,
				   const struct retries *set, const char *silence)
{
	if (closing->sends < set->attempts)
		return true;
	if (closing->theirs)
		nopal_session_closed(session);
	else
		nopal_session_break(session, NOPAL_PEER_LOST, silence);
	return false;
}

/* The side that acknowledged last has answered for long enough. */
static inline void closing_when_lingered(struct nopal_at at)
{
	nopal_session_closed(at.session);
}

#endif
