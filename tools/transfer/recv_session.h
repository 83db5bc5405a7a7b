/* SPDX-License-Identifier: MIT */
/*
 * recv_session.h -- the sessions of `nopal recv`, on one loop or several.
 *
 * A receiver is one loop with its sessions, and of its own thread alone.  What all of them share is
 * the group: its plan, folder and talk never change hands, the rest is under its lock.
 */
#ifndef NOPAL_RECV_SESSION_H
#define NOPAL_RECV_SESSION_H

#include <pthread.h>

#include "file/part.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "peer/guests.h"
#include "peer/hush.h"
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
	struct guests_house house;   /* has a lock of its own */
	struct nopal_shards *shards; /* NULL: there is one loop */
	struct receiver *receivers;
	unsigned count;
	bool once;
	struct live_judge_options judges;
	const struct nopal_address *meets; /* NULL: it listens */
	pthread_mutex_t lock;		   /* of what follows, and of `wanted` */
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
	int called_fd;	 /* other loops write to it */
	uint64_t wanted; /* a file's id that another loop asks for; 0: none */
	pthread_t thread;
};

/* Removes parts that never grew, and counts the others for whose they are.  0: an address may have
 * nine tenths of the free disk unfinished. */
void recv_claims_find(struct recv_group *group, uint64_t bytes_each);
/* For nopal_endpoint_allow; the receiver is the listener's user. */
extern const struct nopal_callbacks recv_session_callbacks;
/* Opens towards a sender that opens towards us.  False: it cannot. */
bool recv_session_meet(struct receiver *receiver, const struct nopal_address *peer);
/* Calls silent peers, so that the composition finds out whether they live, and ends files of which
 * nothing came. */
void recv_session_ping(struct receiver *receiver);
/* Ends the session that has this file, where its peer says nothing. */
void recv_session_give_up(struct receiver *receiver, uint64_t id);

#endif
