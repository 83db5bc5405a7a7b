/* SPDX-License-Identifier: MIT */
/*
 * recv_loops.h -- the loops of `nopal recv`, each in a thread of its own, and their calls to each
 * other.
 */
#ifndef NOPAL_RECV_LOOPS_H
#define NOPAL_RECV_LOOPS_H

#include "transfer/recv_session.h"

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

#endif
