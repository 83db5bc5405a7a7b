/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h -- `--rendezvous`: both sides open towards each other, and neither listens.
 */
#ifndef NOPAL_RENDEZVOUS_H
#define NOPAL_RENDEZVOUS_H

#include "frame/loop.h"
#include "frame/tool.h"

struct rendezvous {
	bool wanted;
	struct nopal_address local; /* the address that the peer opens towards */
};

/* Option `--rendezvous [ADDR:]PORT`, for a session with this peer.  False: a problem was
 * printed. */
bool rendezvous_parse(const struct tool_call *call, const struct nopal_address *peer,
		      const struct nopal_plan *plan, struct rendezvous *ret_rendezvous);
/* Can both sides of a session of the plan open?  False: a problem was printed. */
bool rendezvous_fits(const struct nopal_plan *plan);
/* An endpoint on the local address, or without rendezvous on any port.  NULL: a problem was
 * printed. */
struct nopal_endpoint *rendezvous_endpoint(const struct rendezvous *rendezvous, struct loop *loop,
					   const struct nopal_address *peer);
/* Opens a session with the peer, by rendezvous where it is wanted. */
struct nopal_session *rendezvous_open(const struct rendezvous *rendezvous,
				      struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				      const struct nopal_address *peer,
				      const struct nopal_callbacks *callbacks, void *user);
/* As tool_ended_fix; `wanted`: of a session by rendezvous. */
const char *rendezvous_ended_fix(bool wanted, enum nopal_end end);

#endif
