/* SPDX-License-Identifier: MIT */
/*
 * oracle.h -- a session pair whose promises are checked after every event.
 *
 * What a composition promises is read from its roles; the oracle then watches
 * both ends: a microprotocol `an_oracle`, put into any config, looks at the
 * barriers, windows and budgets after each event, and the application side looks
 * at what is delivered.  The first violation is kept as text.
 */
#ifndef NOPAL_TEST_ORACLE_H
#define NOPAL_TEST_ORACLE_H

#include "nopal.h"
#include "session.h"

enum { ORACLE_MESSAGES = 256 };

struct oracle_promises {
	bool reliable, in_order, once, intact, handshake;
};

struct oracle;

struct oracle_side {
	struct oracle *oracle;
	struct nopal_session *session;
	bool ended;
	int end;
	uint32_t
		last_event_seen; /* 1: SESSION_CLOSED or SESSION_BROKEN was raised */
	uint32_t delivered, fates;
	uint8_t seen[ORACLE_MESSAGES];
	int64_t newest; /* highest index delivered */
	uint64_t hash;	/* of what was delivered, in order */
};

struct oracle {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct oracle_promises promises;
	struct oracle_side sender, receiver;
	uint32_t messages, pushed;
	uint32_t longest;
	uint64_t random;
	char violation[256]; /* empty: none */
	uint64_t events;
};

struct oracle_run {
	const char *config;    /* name or text with a newline */
	const char *link;      /* netem words */
	const char *calm_link; /* from calm_ns on; NULL: never */
	int64_t calm_ns;
	uint64_t seed;
	uint32_t messages;   /* at most ORACLE_MESSAGES */
	int64_t patience_ns; /* virtual time before the run is given up */
};

/* Runs one session pair to its end.  Fills `oracle` (its world is gone) and
 * returns true when no promise was broken. */
bool oracle_run(struct oracle *oracle, const struct oracle_run *run);
/* The microprotocol, for configs of one's own. */
void oracle_register(void);

#endif
