/* SPDX-License-Identifier: MIT */
/*
 * send_many_file.h -- a file on its way to many receivers: where each of them is, and where all.
 *
 *   GATHERING   offers go out, answers come
 *      |  \
 *      |  CHECKING, SETTLING   who has it already is done with
 *      v  /
 *   SENDING   DATA to the group <-----------+
 *      |  \                                 |
 *      |  DRAINING   where it is spread:    |  what was lost
 *      v  /          an outcome for each        |  with who had it
 *   ENDING   results; or who holds what ----+
 *      |
 *      v
 *   CLOSING
 *
 * All begin together, so that the bytes leave once: at 0, or where the shortest beginning ends,
 * when all have one (send_many_check.c).  Who refuses it, or has it, leaves the group before the
 * first byte.  Who does not answer any more is no matter for the others: its session ends, and the
 * table says why.
 *
 * Where the config spreads messages over receivers, each keeps what it got.  What was lost with one
 * of them is sent again to those that are left, as they say themselves what they hold.
 */
#ifndef NOPAL_SEND_MANY_FILE_H
#define NOPAL_SEND_MANY_FILE_H

#include <nopal/microprotocol.h>
#include "file/reader.h"
#include "file/ranges.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "peer/live_judge.h"
#include "transfer/send_table.h"

enum { MANY_DATA = 1 }; /* cookie of DATA notes, whose outcomes are counted */

enum many_stage {
	MANY_GATHERING,
	MANY_CHECKING,
	MANY_SETTLING,
	MANY_SENDING,
	MANY_DRAINING,
	MANY_ENDING,
	MANY_CLOSING,
};

/* Where one of them is with the file. */
enum many_state {
	MANY_OUT, /* it is over for it: its row says how */
	MANY_OPENING,
	MANY_OFFERED,
	MANY_WAITING, /* to be offered it again */
	MANY_ANSWERED,
	MANY_TAKING,
	MANY_ENDED, /* END or SHARE left; an answer comes */
};

struct many_one {
	struct nopal_address address;
	struct table_row *row;
	uint32_t id; /* in the group; 0: it has left */
	enum many_state state;
	bool dead;    /* it gets no more files */
	bool has_it;  /* all of it, from the beginning */
	uint64_t has; /* so much of the file, as it says, with such a hash */
	uint64_t its_hash;
	struct transfer_outbox out;
	uint64_t given; /* bytes of messages to it, as of the last look */
	uint64_t notes; /* of these, what is no DATA */
	int64_t offered_ns, again_ns, heard_ns;
	int64_t spoke_ns;   /* heard_ns, but that a ping of ours is no word of it */
	struct range *held; /* as it said */
	size_t held_count;
};

struct many {
	struct loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *group; /* NULL before and after its life */
	struct table table;
	struct reader reader;
	struct many_one *ones;
	struct nopal_destination_info *infos; /* room for all */
	unsigned count, destination;	      /* a property */
	char **paths;
	int path_count, at;
	enum many_stage stage;
	uint64_t from; /* where all go on who have a beginning; its hash */
	struct file_hash from_hash;
	uint64_t outcomes;	  /* of DATA */
	struct transfer_note end; /* what follows them */
	unsigned rounds;
	struct range *held; /* by all, in order */
	size_t held_count;
	bool interrupted;
	struct live_judge judge; /* of the group */
	uint64_t moves;		 /* as of the last look: see send_many_moves() */
	struct live_judge_options judges;
	enum tool_exit exit;
	struct loop_event *step, *paced, *tick, *next;
};

int64_t many_now(const struct many *many);
/* The receiver has this id in the group from now on. */
void many_name(const struct many *many, struct many_one *one, uint32_t id);
/* By its id in the group; NULL: none. */
struct many_one *many_find(const struct many *many, uint64_t id);
bool many_any(const struct many *many, enum many_state state);
/* The file is over for this receiver. */
void many_over(struct many *many, struct many_one *one, enum table_state state, const char *why);
/* And what it was told arrives there, and its session ends. */
void many_leave(struct many *many, struct many_one *one, enum table_state state, const char *why);
void many_offer(struct many *many, struct many_one *one);
void many_say(const struct many *many, struct many_one *one, enum transfer_type type,
	      uint64_t offset);
/* The fault is here: all are told. */
void many_fail(struct many *many);
/* DATA for all that answered and do not have it. */
void many_start(struct many *many);
/* Something changed: is the stage over? */
void many_go_on(struct many *many);
/* Sends what the group takes. */
void many_pump(struct many *many);
/* False: some notes still wait. */
bool many_flush(struct many *many);
/* How much has arrived there, from the session with it. */
void many_measure(const struct many *many, struct many_one *one,
		  const struct nopal_destination_info *info);
void many_measure_all(struct many *many);

#endif
