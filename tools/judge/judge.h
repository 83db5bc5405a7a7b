/* SPDX-License-Identifier: MIT */
/*
 * judge.h -- the facts of a run, held against the promises of its plan.
 *
 *   facts ----+
 *             +--> judge() --> a verdict for each quality --> judge_say()
 *   promises -+                     |
 *   holds and deeds of parts -------+--> judge_blame(): one microprotocol
 *
 * `nopal sim` counts the facts of both ends, the live tools those of one end.  Facts that were not
 * seen are not judged.
 */
#ifndef NOPAL_JUDGE_H
#define NOPAL_JUDGE_H

#include <stdio.h>
#include <jansson.h>

#include <nopal/nopal.h>

enum {
	JUDGE_UNSEEN = -2, /* ends: this side was not looked at */
	JUDGE_OPEN = -1,   /* the session has not ended; else enum nopal_end */
	JUDGE_TEXT = 256,
	JUDGE_SUSPECTS = 256,
	JUDGE_BARRIERS = 5,	       /* those of segments and messages, and NOPAL_BARRIERS */
	JUDGE_RULES = NOPAL_QUALITIES, /* judged like a quality: see judge_rules */
	JUDGE_CASES,
};

/* Something that happened to messages: how often, and to which one first. */
struct judge_count {
	uint64_t times, first;
};
static inline void judge_note(struct judge_count *count, uint64_t number)
{
	if (count->times++ == 0)
		count->first = number;
}

/* One direction of a session.  Numbers of messages count from 0. */
struct judge_facts {
	const char *names; /* properties of the messages; NULL: none */
	int sender_end, receiver_end;
	bool numbered;		 /* numbers and order of the messages that came are known */
	bool counted;		 /* the counts of messages sent and delivered are known */
	bool bytes_seen;	 /* the bytes that were sent are known */
	bool link_corrupts;	 /* bytes may change on the way */
	bool receiver_restarted; /* there was more than one session for it */
	bool all_receivers;	 /* all receivers that were to have it have it */
	uint64_t sent, delivered;
	struct judge_count missing;   /* sent, and never came */
	struct judge_count gaps;      /* the same, and a later one came */
	struct judge_count overtaken; /* came after one that was sent later */
	struct judge_count twice;     /* came once more */
	struct judge_count wrong;     /* came with other bytes */
	bool related;		      /* tags, labels and the messages that others name are known */
	struct judge_count tag_overtaken; /* came after a later one with the same tag */
	struct judge_count early;	  /* came before the one that it names */
	struct judge_count relabelled;	  /* came with another label or tag */
	struct judge_count lies;	  /* told to have arrived, and never came */
	struct judge_count given_up;	  /* told to be given up, and never came */
	uint64_t dropped;		  /* known to the parts as given up, discarded or late */
	/* The standstill, in words; NULL: nothing did. */
	const char *stuck;
	bool unclosed; /* but all had been done */
	bool garbled;  /* as a whole, other bytes came than were sent */
	bool arrived; /* the messages that stand still have arrived where they are to be delivered */
	/* Of both ends, as far as they were seen. */
	uint64_t misuses;	/* releases without a hold */
	uint64_t data, control; /* transmissions, resends among them */
	int64_t open_ns;	/* how long they were open */
	uint64_t steps;		/* of virtual time; 0: not known */
	uint64_t expiries;	/* of timers; 0: not known */
	uint64_t spins;		/* of these, for nothing but the next one, at once */
	uint64_t hoarded;	/* segments that were done, and one kept for ever */
	uint64_t stranded;	/* messages that arrived, and were never delivered */
};

enum judge_verdict { JUDGE_NOT, JUDGE_HELD, JUDGE_BROKEN };

struct judge_case {
	enum judge_verdict verdict;
	char evidence[JUDGE_TEXT]; /* where it is broken */
};

/* Holds and deeds of the plan's parts. */
struct judge_suspect {
	const char *layer, *microprotocol;
	const char *why; /* the reason of its holds */
	bool gate;	 /* it lets segments leave when their time has come */
	bool answers;	 /* it provides acknowledgement */
	/* by barrier; see struct nopal_held */
	uint64_t held[JUDGE_BARRIERS], alone[JUDGE_BARRIERS];
	uint32_t oldest[JUDGE_BARRIERS], oldest_alone[JUDGE_BARRIERS];
	uint64_t deed[NOPAL_DEED_COUNT];
};
struct judge_suspects {
	struct judge_suspect one[JUDGE_SUSPECTS];
	size_t count;
};

/* Rules of the runtime: forbidden to each microprotocol, whatever is promised. */
enum judge_against {
	JUDGE_AGAINST_NOTHING,
	JUDGE_MISUSE, /* releases without a hold */
	JUDGE_HOARD,  /* frees nothing */
	JUDGE_STORM,  /* answers answers */
	JUDGE_WAKES,  /* wakes for nothing */
};

struct judgement {
	const struct nopal_plan *plan;
	struct nopal_service promised;
	struct judge_case of[JUDGE_CASES];
	int end;		    /* the bad end that was seen; NOPAL_ENDED_WELL: none was */
	enum judge_against against; /* the rule that is broken */
	bool arrived;		    /* the first missing message had arrived there */
	bool given_up;		    /* or was given up here */
	bool unclosed;		    /* all was done but to end the session */
	const char *blamed;	    /* microprotocol; NULL: none */
	char because[JUDGE_TEXT];
};

void judge(const struct nopal_plan *plan, const struct judge_facts *facts,
	   struct judgement *ret_judgement);
/* The parameter that bounds a promise, in its unit; 0: none does. */
int64_t judge_bound(const struct nopal_plan *plan, const struct nopal_guarantee *one);
/* How long sessions of the plan may stand still and go on all the same. */
struct judge_patience {
	int64_t wait_ns; /* and transmit nothing */
	int64_t all_ns;	 /* and transmit nothing new */
};
struct judge_patience judge_patience(const struct nopal_plan *plan);
/* Are there so many datagrams or wake-ups, for the data, that the run is not to go on? */
bool judge_storms(const struct judge_facts *facts);
bool judge_is_broken(const struct judgement *judgement);
/* Takes over the broken promises of the other, as of another session. */
void judge_join(struct judgement *judgement, const struct judgement *other);

/* Names the microprotocol that broke a promise, or ended the session badly: the one that its holds
 * or deeds convict, or else the giver of the promise. */
void judge_blame(struct judgement *judgement, const struct judge_suspects *suspects);
void judge_suspect_held(struct judge_suspects *suspects, const struct nopal_session *session);
/* Messages that came and were not delivered: of the part that keeps most of them. */
uint64_t judge_stranded(const struct nopal_session *session);
/* Segments of a session that were done and are kept by one alone; 0 unless they are all that it
 * ever sent. */
uint64_t judge_hoarded(const struct nopal_session *session);
void judge_suspect_deeds(struct judge_suspects *suspects, struct nopal_world *world);

/* A line for each broken promise, and one for the blamed microprotocol.  False: all promises were
 * held, and nothing was printed. */
bool judge_say(const struct judgement *judgement, FILE *out);
/* A line with the promises that this run could not judge; or none. */
void judge_say_not(const struct judgement *judgement, FILE *out);
/* Holders and their holds, a line a holder. */
void judge_say_held(const struct judge_suspects *suspects, FILE *out);
json_t *judge_json(const struct judgement *judgement);

#endif
