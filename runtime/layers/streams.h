/* SPDX-License-Identifier: MIT */
/*
 * streams.h -- many to one: streams of their own on one flow: streams.c.
 */
#ifndef NOPAL_STREAMS_H
#define NOPAL_STREAMS_H

#include "engine/composite.h"

/* The streams of a flow: stacks of their own above one. */
struct nopal_streams {
	struct nopal_map by_id;		/* of the lowest core of each */
	struct nopal_composite *latest; /* that was asked for; NULL: none is there */
	/* ids of those that wait for their turn; a ring */
	uint32_t *waiting, first_waiting, count_waiting, room_waiting;
	uint32_t opened;	       /* by us */
	bool in_turn;		       /* one of them has its turn */
	struct nopal_numbers accepted; /* of the peer's, by half their id */
};

/* Do streams stand on it? */
bool nopal__is_flow(const struct nopal_composite *composite);
/* The stream with this id, or a new one of the peer's; NULL: it has ended, or may not be. */
struct nopal_composite *nopal__stream_for(struct nopal_composite *flow, uint64_t id);
/* Of a stream, where others may still open on it; NULL: none. */
struct nopal_composite *nopal__flow_of(const struct nopal_session *session);
/* The flow that sessions of the plan share to this peer; NULL: none is there yet. */
struct nopal_composite *nopal__flow_find(const struct nopal_open *open);

#endif
