/* SPDX-License-Identifier: MIT */
/*
 * meet.h -- `--meet`: both sides open towards each other, and neither listens.
 */
#ifndef NOPAL_MEET_H
#define NOPAL_MEET_H

#include "frame/loop.h"
#include "frame/tool.h"

struct meet {
	bool wanted;
	struct nopal_address local; /* what the peer opens towards */
};

/* An option `--meet [ADDR:]PORT` beside the peer's address, if it is there.  False: a problem was
 * printed. */
bool meet_parse(const struct tool_call *call, const struct nopal_address *peer,
		const struct nopal_plan *plan, struct meet *ret_meet);
/* Can sessions of the plan meet?  False: a problem was printed. */
bool meet_fits(const struct nopal_plan *plan);
/* From there, or, where it is not wanted, from any port.  NULL: it was said why. */
struct nopal_endpoint *meet_endpoint(const struct meet *meet, struct loop *loop,
				     const struct nopal_address *peer);
/* Meets the peer or, where it is not wanted, opens. */
struct nopal_session *meet_open(const struct meet *meet, struct nopal_endpoint *endpoint,
				struct nopal_plan *plan, const struct nopal_address *peer,
				const struct nopal_callbacks *callbacks, void *user);
/* As tool_ended_fix, of a session that met its peer, or was to. */
const char *meet_ended_fix(bool wanted, int end);

#endif
