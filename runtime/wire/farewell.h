/* SPDX-License-Identifier: MIT */
/*
 * farewell.h -- a session that ends by itself tells its peer why: farewell.c.
 */
#ifndef NOPAL_FAREWELL_H
#define NOPAL_FAREWELL_H

#include "session/endpoint_sessions.h"

/* The reason of the end goes to the peer, which is heard of no more. */
void nopal__farewell_tell(struct nopal_composite *bottom);
/* To a peer that still sends to a session which ended lately; false: there is none of this id, or
 * its last datagram is not shorter than this. */
bool nopal__farewell_repeat(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t id, uint32_t longer_than);

/* The peer says why its session ended; takes the segment. */
void nopal__farewell_receive(struct nopal_composite *bottom, struct nopal_segment *segment);

#endif
