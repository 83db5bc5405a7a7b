/* SPDX-License-Identifier: MIT */
/*
 * recv_session.h -- the sessions of `nopal recv`.
 */
#ifndef NOPAL_RECV_SESSION_H
#define NOPAL_RECV_SESSION_H

#include "loop.h"
#include "part.h"
#include "progress.h"
#include "tool.h"

struct incoming;

struct receiver {
	struct loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct part_folder folder;
	struct progress progress;
	struct incoming *incomings;
	unsigned incoming_count;
	struct loop_event *ping;
	bool once;
	enum tool_exit exit;
};

/* For nopal_endpoint_allow; the receiver is the listener's user. */
extern const struct nopal_callbacks recv_session_callbacks;
/* Calls silent peers, so that the composition finds out whether they live. */
void recv_session_ping(struct receiver *receiver);

#endif
