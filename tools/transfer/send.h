/* SPDX-License-Identifier: MIT */
/*
 * send.h -- the sender of files to one receiver.
 */
#ifndef NOPAL_SEND_H
#define NOPAL_SEND_H

#include "file/reader.h"
#include "file/transfer.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "peer/hush.h"
#include "peer/live_judge.h"
#include "peer/rendezvous.h"
#include "peer/progress.h"

enum send_state {
	SEND_OPENING,
	SEND_OFFERED,
	SEND_WAITING, /* to offer again */
	SEND_CHECKING,
	SEND_SENDING,
	SEND_ENDED, /* END left; RESULT comes */
	SEND_CLOSING,
};

struct sender {
	struct loop *loop;
	const char *trace; /* into this file; NULL: none */
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct transfer_outbox out;
	struct progress progress;
	struct progress_file file;
	char **paths;
	const char *peer;
	struct rendezvous rendezvous;
	int path_count, at; /* which one is on its way */
	enum send_state state;
	enum tool_exit exit;
	bool interrupted, over;
	bool alone; /* nobody is there, which no handshake tells */
	struct reader reader;
	uint64_t check_to, check_hash;
	int64_t offered_ns, heard_ns;
	struct hush hush;
	struct live_judge judge;
	struct live_judge_options judges;
	bool noted;    /* a note of the protocol has come */
	int64_t pings; /* that left */
	int64_t moves; /* the most of send_moves() */
	struct loop_event *step, *paced, *again, *ping;
};

static inline int64_t send_now(const struct sender *sender)
{
	return nopal_world_now(loop_world(sender->loop));
}

void send_begin_file(struct sender *sender, const char *name);

#endif
