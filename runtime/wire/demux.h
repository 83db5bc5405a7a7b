/* SPDX-License-Identifier: MIT */
/*
 * demux.h -- the session of a datagram: demux.c.
 */
#ifndef NOPAL_DEMUX_H
#define NOPAL_DEMUX_H

#include "session/endpoint_sessions.h"

/* The session with this id, if that address is its peer's, or may become one of its paths.  NULL:
 * none. */
struct nopal_composite *nopal__session_of(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from, uint32_t id);
struct nopal_composite *nopal__session_at(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from);
/* The session whose peer has this address and this id; NULL: none is known. */
struct nopal_composite *nopal__session_with(const struct nopal_endpoint *endpoint,
					    const struct nopal_address *from, uint32_t peer_id);
/* The peer's address and id are known, or others than they were. */
void nopal__demux_know_peer(struct nopal_composite *bottom);
/* A session with this id of ours, and this one of its peer's. */
enum nopal_known {
	NOPAL_UNHEARD_OF,
	NOPAL_KNOWN,
	NOPAL_KNOWN_OTHERWISE, /* its peer has another id */
	NOPAL_KNOWN_NOT,       /* at another shard, or it does not know its peer yet */
};
enum nopal_known nopal__demux_knows(const struct nopal_endpoint *endpoint, uint32_t id,
				    uint32_t peer_id);
int nopal__demux_enter(struct nopal_composite *bottom);
/* From now on the address is the session's own; a peer that opens anew gets another. */
int nopal__demux_accept(struct nopal_composite *bottom);
void nopal__demux_forget(struct nopal_composite *bottom);
/* Can sessions of this plan be told from the sessions of the endpoint? */
bool nopal__demux_suits(struct nopal_endpoint *endpoint, const struct nopal_plan *plan);

#endif
