/* SPDX-License-Identifier: MIT */
/*
 * destination.h -- a peer of a file: a receiver of `nopal send`, or a server of `nopal fetch`.  Where
 * there are several, its session is one of a group, and its row stands in the table of
 * send_table.h.
 */
#ifndef NOPAL_DESTINATION_H
#define NOPAL_DESTINATION_H

#include "file/reader.h"
#include "judge/judge.h"

/* The row's word about the peer. */
enum table_state {
	TABLE_WAITING, /* nothing was sent to the peer yet */
	TABLE_TAKING,
	TABLE_COMPLETE, /* the file is whole, its hash agrees, and it is on the peer's disk */
	TABLE_HERE,	/* the same, and it was there before */
	TABLE_SHARE,	/* the peer has, or gave, its part of a file that is spread */
	TABLE_REFUSED,
	TABLE_UNREACHED,
	TABLE_DIED,
	TABLE_FAILED,
};

/* The notes between this side and the peer, as they are drawn in send_one.c, send_many_file.h and
 * fetch_talk.h. */
enum phase {
	PHASE_AWAY, /* to be tried, or to be tried again */
	PHASE_OUT,  /* for good: the row says why */
	PHASE_OPENING,
	PHASE_ASKED,
	PHASE_WAITING, /* to be asked again */
	PHASE_ANSWERED,
	PHASE_TAKING, /* the receiver takes DATA, or the server gives them */
	PHASE_ENDED,  /* END or SHARE left; an answer comes */
};

struct destination {
	struct nopal_address address;
	uint32_t id; /* in the group; 0: there is no session */
	enum phase phase;
	struct transfer_outbox out;
	int64_t heard_ns, again_ns;
	uint64_t hash; /* of the `has` bytes; or of the file that the server announced */
	/* the row */
	const char *peer; /* as the user gave its address */
	enum table_state state;
	char *why;	      /* or NULL */
	const char *fix;      /* or NULL */
	uint64_t bytes;	      /* that arrived at the peer; or that the peer gave */
	uint64_t twice_bytes; /* that the peer gave after others */
	int64_t took_ns;      /* until the state was known */
	/* of a receiver */
	unsigned streams; /* to it; notes go by the first, DATA by all */
	bool dead;	  /* it gets no more files */
	bool has_it;	  /* the whole file, from the beginning */
	uint64_t has;	  /* bytes of the beginning */
	uint64_t given;	  /* bytes of messages to the receiver, as of the last look */
	uint64_t notes;	  /* bytes of `given` that are no DATA */
	int64_t offered_ns;
	int64_t spoke_ns;   /* as heard_ns, without the pings of this side */
	struct range *held; /* by the receiver, as it said */
	size_t held_count;
	/* of a server */
	struct transfer_note offer; /* of type OFFER, once it came */
	unsigned turn;		    /* its place among the announcements */
	unsigned aborts;	    /* of sessions in phase ASKED, one after another */
	bool wrong;		    /* a block was wrong: the row is final */
};

/* The peer with this id in the group; NULL: none. */
struct destination *destination_find(struct destination *ones, unsigned count, uint64_t id);
/* The peer has this id in the group from now on, and its notes this `property`. */
void destination_name(struct destination *one, unsigned property, uint32_t id);
/* Offers the file to a receiver. */
void destination_offer(struct destination *one, const struct reader *reader);
/* The RESULT of a receiver: true: it has the file; false: `why` (TRANSFER_TEXT_ROOM). */
bool destination_takes(const struct destination *one, const struct transfer_note *result,
		       struct judge_facts *facts, char *why);
/* Asks a peer that was silent for a second whether it lives; in a note about this file. */
void destination_ping(struct destination *one, uint32_t file, int64_t now_ns);
/* The state of the row is known from now on; `why` (or NULL) is copied, `fix` (or NULL)
 * borrowed. */
void destination_set(struct destination *one, enum table_state state, const char *why,
		     const char *fix, int64_t took_ns);
/* The state of a peer whose session has ended so. */
enum table_state table_state_of_end(enum nopal_end end);
/* Has the receiver the whole file? */
bool destination_is_whole(const struct destination *one);

#endif
