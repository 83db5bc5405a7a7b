/* SPDX-License-Identifier: MIT */
/*
 * recv_session.h -- `nopal recv`: its sessions, on one loop or several, their promises, and the bytes
 * that one address may have unfinished in the folder.
 *
 * A receiver is one loop with its sessions, and belongs to its own thread alone.  All receivers
 * share the group: its plan, folder and progress never change hands, the rest is under its lock.
 */
#ifndef NOPAL_RECV_SESSION_H
#define NOPAL_RECV_SESSION_H

#include <pthread.h>

#include "file/part.h"
#include "file/transfer.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "peer/guests.h"
#include "peer/live_judge.h"
#include "peer/progress.h"

struct incoming;
struct receiver;

struct recv_group {
	struct nopal_plan *plan;
	struct part_folder folder;
	uint8_t reset_key[NOPAL_RESET_KEY_BYTES];
	bool keeps_key;
	struct progress progress;
	struct guests_house house;   /* with its own lock */
	struct nopal_shards *shards; /* NULL: there is one loop */
	struct receiver *receivers;
	unsigned count;
	unsigned loops; /* receivers that recv_loops_open is to open */
	const char *trace;
	bool once;
	struct live_judge_options judges;
	const struct nopal_address *rendezvous; /* NULL: the receivers listen */
	pthread_mutex_t lock;			/* of the next fields, and of `wanted` */
	bool over;
	bool broken; /* a session broke a promise */
	enum tool_exit exit;
};

struct receiver {
	struct recv_group *group;
	struct loop *loop;
	struct nopal_endpoint *endpoint;
	struct incoming *incomings;
	struct guests guests;
	struct loop_event *ping, *called;
	int called_fd;	 /* eventfd, for other loops */
	uint64_t wanted; /* a file's id that another loop asks for; 0: none */
	pthread_t thread;
};

enum recv_state { RECV_IDLE, RECV_CHECKING, RECV_ANSWERED, RECV_TAKING, RECV_COMMITTING };

/* The share of a file of which others have the rest: synced, and then reported. */
enum recv_share { RECV_WHOLE, RECV_SHARE_ASKED, RECV_SHARE_SAVING, RECV_SHARED };

/* One session. */
struct incoming {
	struct receiver *receiver;
	struct incoming *next;
	struct guest guest; /* in no list while it has no session */
	struct transfer_outbox out;
	enum recv_state state;
	struct part *part;
	struct transfer_note offer;
	enum recv_share share;
	struct transfer_note end; /* of type END, once it came */
	struct progress_file file;
	struct live_judge judge;
	bool noted;	       /* a note of the protocol has come */
	bool chunk_known;      /* from a DATA that came; else from the plan here */
	uint64_t chunk_bytes;  /* of a DATA, all but the last */
	uint64_t first_number; /* of the file, for the judge */
	uint64_t started_at;   /* the offset of its START */
	struct loop_event *step, *job;
	uint64_t claimed; /* of its address, for the part */
	int64_t heard_ns, answered_ns;
	bool said_silent;
	unsigned files_good, files_bad;
	char error[TRANSFER_TEXT_ROOM];
};

/* -------------------------------------------------------------------- recv_session.c */

/* For nopal_endpoint_allow, with the receiver as its user. */
extern const struct nopal_callbacks recv_session_callbacks;
/* Opens towards a sender that opens towards the receiver.  False: no session. */
bool recv_session_rendezvous(struct receiver *receiver, const struct nopal_address *peer);
/* Of the receiver `user`, again and again: calls silent peers, so that the composition finds out
 * whether they live, and ends files of which nothing came. */
void recv_session_ping(void *user);
/* Ends the session that has this file, where its peer says nothing. */
void recv_session_give_up(struct receiver *receiver, uint64_t id);

/* -------------------------- recv_loops.c: loops, each in a thread of its own, and their calls */

/* Opens as many loops as the group (`user`) wants, with their endpoints on `local`: a listen_call.
 * False: a problem was printed or added. */
bool recv_loops_open(const struct nopal_address *local, void *user,
		     struct nopal_problems *problems);
/* Runs them until recv_loops_stop: the first in this thread. */
void recv_loops_run(struct recv_group *group);
void recv_loops_close(struct recv_group *group);
/* All of them end; the first `exit` counts.  From any loop. */
void recv_loops_stop(struct recv_group *group, enum tool_exit exit);
/* The others give up this file, if they have it and its peer is silent. */
void recv_loops_want(struct receiver *receiver, uint64_t id);

/* --------------------------------------------------------------------- recv_judge.c */

void recv_judge_begin(struct incoming *incoming);
void recv_judge_note(struct incoming *incoming, const struct nopal_message *message,
		     const struct transfer_note *note);
/* A file is over, and all of it is known to have come or not. */
void recv_judge_file(struct incoming *incoming);
/* Called from time to time.  Not NULL: the error with which the file is to end. */
const char *recv_judge_look(struct incoming *incoming);
/* True: a promise was broken. */
bool recv_judge_ended(struct incoming *incoming, const struct nopal_session *session,
		      enum nopal_end end, const char *text);

/* --------------------------------------------------------------------- recv_claim.c */

/* Removes empty parts, and counts the others for their owners.  `bytes_each` 0: an address may have
 * nine tenths of the free disk unfinished. */
void recv_claims_find(struct recv_group *group, uint64_t bytes_each);
/* Counts the part that is open for the session's address.  False: `error` says why that may not
 * be. */
bool recv_claim(struct incoming *incoming);
/* So many bytes of it stay on disk, unfinished. */
void recv_unclaim(struct incoming *incoming, uint64_t kept);

#endif
