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
	struct nopal_address local; /* what the peer opens towards */
};

/* An option `--rendezvous [ADDR:]PORT` beside the peer's address, if it is there.  False: a problem
 * was printed. */
bool rendezvous_parse(const struct tool_call *call, const struct nopal_address *peer,
		      const struct nopal_plan *plan, struct rendezvous *ret_rendezvous);
/* Can sessions of the plan meet?  False: a problem was printed. */
bool rendezvous_fits(const struct nopal_plan *plan);
/* From there, or, where it is not wanted, from any port.  NULL: it was said why. */
struct nopal_endpoint *rendezvous_endpoint(const struct rendezvous *rendezvous, struct loop *loop,
					   const struct nopal_address *peer);
/* Meets the peer or, where it is not wanted, opens. */
struct nopal_session *rendezvous_open(const struct rendezvous *rendezvous,
				      struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				      const struct nopal_address *peer,
				      const struct nopal_callbacks *callbacks, void *user);
/* As tool_ended_fix, of a session that met its peer, or was to. */
const char *rendezvous_ended_fix(bool wanted, enum nopal_end end);

#endif
