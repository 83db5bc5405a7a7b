/* SPDX-License-Identifier: MIT */
/*
 * recv_incoming.h -- one session of `nopal recv`: of recv_session.c, of recv_claim.c, which counts
 * what it may have, and of recv_end.c, which says how it ended.
 */
#ifndef NOPAL_RECV_INCOMING_H
#define NOPAL_RECV_INCOMING_H

#include "file/transfer.h"
#include "peer/live_judge.h"
#include "transfer/recv_session.h"

enum recv_state { RECV_IDLE, RECV_CHECKING, RECV_ANSWERED, RECV_TAKING, RECV_COMMITTING };

/* Of a file of which others have the rest: it is synced, and then said. */
enum recv_share { RECV_WHOLE, RECV_SHARE_ASKED, RECV_SHARE_SAVING, RECV_SHARED };

/* One session. */
struct incoming {
	struct receiver *receiver;
	struct incoming *next;
	struct guest guest; /* without a session: it is in no list */
	struct transfer_outbox out;
	enum recv_state state;
	struct part *part;
	struct transfer_note offer;
	enum recv_share share;
	bool end_known;
	uint64_t end_size, end_hash;
	struct progress_file file;
	struct live_judge judge;
	bool noted;	       /* a note of the protocol has come */
	bool chunk_known;      /* by a DATA that came; else as our plan has it */
	uint64_t chunk_bytes;  /* of a DATA, all but the last */
	uint64_t first_number; /* of the file, for the judge */
	uint64_t started_at;   /* the offset of its START */
	struct loop_event *step, *job;
	uint64_t claimed; /* of its address, for the part */
	int64_t heard_ns, saved_ns, answered_ns;
	struct hush hush;
	unsigned files_good, files_bad;
	char error[TRANSFER_TEXT_ROOM];
};

/* Counts the part that is open for the session's address.  False: `error` says why that may not
 * be. */
bool recv_claim(struct incoming *incoming);
/* So many bytes of it stay on disk, unfinished. */
void recv_unclaim(struct incoming *incoming, uint64_t kept);

/* Where the composition tells no end, what is done has ended well. */
int recv_end_of(const struct incoming *incoming, int end);
void recv_end_say(struct incoming *incoming, int end, const char *text);
/* It was the one that met its sender: nobody else comes. */
void recv_end_meeting(const struct incoming *incoming, int end);

/* recv_judge.c */
void recv_judge_begin(struct incoming *incoming);
void recv_judge_note(struct incoming *incoming, const struct nopal_message *message,
		     const struct transfer_note *note);
/* A file is over, and all of it is known to have come or not. */
void recv_judge_file(struct incoming *incoming);
/* From time to time.  Not NULL: the file is to end with that. */
const char *recv_judge_look(struct incoming *incoming);
/* True: a promise was broken. */
bool recv_judge_ended(struct incoming *incoming, const struct nopal_session *session, int end,
		      const char *text);

#endif
