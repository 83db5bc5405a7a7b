/* SPDX-License-Identifier: MIT */
/*
 * oracle.h -- a session pair whose promises are checked after every event.
 *
 * What a composition promises is read from its roles; the oracle then watches
 * both ends: a microprotocol `an_oracle`, put into any config, looks at the
 * barriers, windows and budgets after each event, and the application side looks
 * at what is delivered.  The first violation is kept as text.
 *
 * Either the sender talks alone, all at once, and the network may stay as bad as
 * it is; or both sides talk, in bursts over a while, and have some messages left
 * for the time after the network has become calm: these arrive whatever the
 * composition, or something got stuck.
 */
#ifndef NOPAL_TEST_ORACLE_H
#define NOPAL_TEST_ORACLE_H

#include "nopal.h"
#include "session.h"

enum {
	ORACLE_MESSAGES = 256,
	ORACLE_LONGEST = 6000, /* bytes of a message */
	ORACLE_LATE = 6,       /* of a side's messages, sent when it is calm */
};

/* What the sender said of a message, where the composition listens. */
enum {
	ORACLE_OUT_OF_BAND = 1,
	ORACLE_EXPENDABLE = 2, /* has a deadline, or a number of attempts */
};

struct oracle_promises {
	bool reliable, in_order, once, intact, handshake;
	bool gapless; /* nothing is delivered before all that was sent before */
	bool complete; /* nobody drops what comes late */
	bool foreign;  /* a stranger's numbers begin with what is heard first */
	bool related;  /* a message comes after those that it names */
	bool prompt; /* what the peer has is delivered: nobody holds or skips it */
};

struct oracle;

struct oracle_side {
	struct oracle *oracle;
	struct oracle_side *peer;
	struct nopal_session *session;
	uint32_t messages, pushed; /* that it sends */
	bool ended;
	int end;
	uint32_t
		last_event_seen; /* 1: SESSION_CLOSED or SESSION_BROKEN was raised */
	uint32_t delivered, fates;
	uint8_t seen[ORACLE_MESSAGES]; /* by index, of the peer's messages */
	int64_t newest; /* highest index delivered, but for what is out of band */
	uint8_t marks[ORACLE_MESSAGES]; /* of its messages */
	int16_t after
		[ORACLE_MESSAGES]; /* the message that goes before, or -1 */
	bool closing;
	uint64_t hash;			 /* of what was delivered, in order */
	int64_t due_ns[ORACLE_MESSAGES]; /* when its messages are sent */
	struct nopal_counters counters;	 /* as of its end */
};

struct oracle {
	struct nopal_world *world;
	struct nopal_plan *plan;
	const struct oracle_run *run;
	struct oracle_promises promises;
	bool corrupts; /* the network damages datagrams */
	bool replays;  /* it repeats them, and that is refused like damage */
	bool unheard; /* without a handshake: all that would introduce it was lost */
	bool told; /* a checker ended it, for what the composition never promised;
		    * nothing is watched from then on */
	struct oracle_side sender, receiver;
	uint32_t longest;
	uint64_t random;
	char violation[256]; /* empty: none */
	uint64_t events;
	uint64_t trace; /* its hash, where the run is traced */
};

struct oracle_run {
	const char *config;    /* name or text with a newline */
	const char *link;      /* netem words */
	const char *calm_link; /* from calm_ns on; NULL: never */
	int64_t calm_ns;
	uint64_t seed;
	uint32_t messages;   /* of the sender, at most ORACLE_MESSAGES */
	int64_t patience_ns; /* virtual time before the run is given up */
	/* both talk: */
	uint32_t
		answers; /* messages of the receiver; 0: the sender alone talks */
	int64_t spread_ns; /* time in which all but the last ORACLE_LATE are sent */
	bool traced;
	const char *trace_file; /* (optional) where the trace goes */
};

/* Runs one session pair to its end.  Fills `oracle` (its world is gone) and
 * returns true when no promise was broken. */
bool oracle_run(struct oracle *oracle, const struct oracle_run *run);
/* The microprotocol, for configs of one's own. */
void oracle_register(void);

/* Between the files of the oracle: oracle_talk.c */
uint64_t oracle_draw(struct oracle *oracle);
/* When its messages are due, and sending those that are. */
void oracle_plan_messages(struct oracle_side *side);
void oracle_push(struct oracle_side *side);
void oracle_close(struct oracle_side *side);
/* Without a handshake, both sides of a talk end when all must have arrived. */
bool oracle_closes_itself(const struct oracle *oracle);
/* The index of a message of `sender`; negative: it sent no such message. */
int64_t oracle_index_of(const struct oracle_side *sender, const uint8_t *bytes,
			size_t length);

/* Keeps the first violation. */
void oracle_violated(struct oracle *oracle, const char *how, ...)
	__attribute__((format(printf, 2, 3)));

#endif
