/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h -- sessions that wait for a peer that opens to us as we do to the peer.
 */
#ifndef NOPAL_RENDEZVOUS_H
#define NOPAL_RENDEZVOUS_H

#include "session/endpoint_sessions.h"

/* The session that opens to this address and waits for its opening; NULL: none.  The session may
 * end while the caller has it, but is not freed before the turn ends. */
struct nopal_composite *nopal__rendezvous_with(const struct nopal_endpoint *endpoint,
					       const struct nopal_address *address);
/* Its peer opens with another composition, which the peer found out (`by_peer`) or this side.
 * Takes the text, which may be NULL.  The session ends when both sides know. */
void nopal__rendezvous_differs(struct nopal_composite *bottom, char *text, bool by_peer);
/* The session is a listener's from now on, of the opener with this id. */
void nopal__rendezvous_turn(struct nopal_composite *bottom, uint32_t peer_id);
/* The session waits no more. */
void nopal__rendezvous_over(struct nopal_composite *bottom);
/* The same, where it ends.  True: it has ended already, for a better reason. */
bool nopal__rendezvous_ends(struct nopal_composite *bottom, enum nopal_end end);

/* Opens towards a peer that opens, too: the top of the layers that streams share.  NULL: see
 * nopal_session_open(). */
struct nopal_composite *nopal__rendezvous_open(const struct nopal_open *open);

#endif
