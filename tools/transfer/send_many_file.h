/* SPDX-License-Identifier: MIT */
/*
 * send_many_file.h -- a file on its way to several receivers: the stage of the file, and the state
 * of each receiver.
 *
 *   GATHERING   offers go out, answers come
 *      |  \
 *      |  CHECKING, SETTLING   receivers that have the file already are done
 *      v  /
 *   SENDING   DATA to the group <-----------+
 *      |  \                                 |
 *      |  DRAINING   of a spread file:      |  pieces that were lost
 *      v  /          an outcome for each    |  with their receiver
 *   ENDING   results; or ranges held -------+
 *      |
 *      v
 *   CLOSING
 *
 * All begin together, so that the bytes leave once: at 0, or, where each receiver has a beginning
 * of the file, at the end of the shortest one.  The beginnings are compared by hash: the file is
 * read once, as far as the longest of them.  Where one receiver has none, or other bytes, all begin
 * anew.  A receiver that refuses the file, or has it, leaves the group before the first byte.  The
 * session of a receiver that does not answer any more ends, its row says why, and the others go on.
 *
 * Where the config spreads messages over receivers, each keeps its share.  Pieces that were lost
 * with a receiver are sent again to the others, by the ranges that these say they hold.
 */
#ifndef NOPAL_SEND_MANY_FILE_H
#define NOPAL_SEND_MANY_FILE_H

#include <nopal/microprotocol.h>
#include "file/reader.h"
#include "frame/loop.h"
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

struct many {
	struct loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *group; /* NULL before and after its life */
	struct table table;
	struct reader reader;
	struct destination *ones;	      /* rows of the table */
	struct nopal_destination_info *infos; /* room for all */
	unsigned count, streams;	      /* of receivers; to all of them */
	unsigned destination;		      /* a property */
	char **paths;
	int path_count, at;
	enum many_stage stage;
	uint64_t from; /* the shortest beginning, where all go on; its hash */
	struct file_hash from_hash;
	uint64_t outcomes;	  /* of DATA */
	struct transfer_note end; /* END or SHARE */
	unsigned rounds;
	int64_t enough_ns;  /* since when as many have answered as must; 0: they have not */
	struct range *held; /* by all receivers, in order */
	size_t held_count;
	bool interrupted;
	struct live_judge judge; /* of the group */
	uint64_t moves;		 /* as of the last tick */
	struct live_judge_options judges;
	enum tool_exit exit;
	struct loop_event *step, *tick;
};

bool many_any(const struct many *many, enum phase state);
/* The file is over for this receiver. */
void many_over(struct many *many, struct destination *one, enum table_state state, const char *why,
	       const char *fix);
/* The same, and its session ends when the last note has arrived. */
void many_leave(struct many *many, struct destination *one, enum table_state state, const char *why,
		const char *fix);
/* Something changed: is the stage over? */
void many_go_on(struct many *many);
/* Compares beginnings, a step at a time. */
void many_check(struct many *many);
/* Sends as much as the group takes. */
void many_pump(struct many *many);
/* False: some notes still wait. */
bool many_flush(struct many *many);
/* Counts the bytes that have arrived at each receiver. */
void many_measure(const struct many *many, struct destination *one,
		  const struct nopal_destination_info *info);
void many_measure_all(struct many *many);
/* A receiver says which ranges of a spread file it holds. */
void many_on_held(struct many *many, struct destination *one, const struct nopal_message *message);
void many_forget_held(struct destination *one);

#endif
