/* SPDX-License-Identifier: MIT */
/*
 * demux.h -- whose a datagram is: demux.c.
 */
#ifndef NOPAL_DEMUX_H
#define NOPAL_DEMUX_H

#include "session.h"

/* The session with this id, if that address is its peer's, or may become one of
 * them.  NULL: nobody. */
struct nopal_core *nopal__session_of(const struct nopal_endpoint *endpoint,
				     const struct nopal_address *from,
				     uint32_t id);
struct nopal_core *nopal__session_at(const struct nopal_endpoint *endpoint,
				     const struct nopal_address *from);
int nopal__demux_enter(struct nopal_core *bottom);
/* From now on its address is its own; one that opens to us anew is another now. */
int nopal__demux_accept(struct nopal_core *bottom);
void nopal__demux_forget(struct nopal_core *bottom);
/* Can sessions of this plan be told from those that are here? */
bool nopal__demux_suits(struct nopal_endpoint *endpoint,
			const struct nopal_plan *plan);

#endif
