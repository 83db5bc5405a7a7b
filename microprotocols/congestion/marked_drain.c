/* SPDX-License-Identifier: MIT */
/*
 * marked_drain -- marks of congestion drain the queue of BBR
 *
 * BBR ignores marks.  Here one says that a queue stands: it ends startup, or begins the slow phase,
 * once a round trip (RFC 3168, section 6.1.2).
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_model.h"

enum { MARKED_DRAIN_REQUESTS, MARKED_DRAIN_BANDWIDTH };

struct marked_drain {
	uint64_t until; /* packets below were out at the last mark */
};

static enum nopal_verdict marked_drain_on_marked(struct nopal_at at, struct nopal_session *subject)
{
	struct marked_drain *self = nopal_state(at);

	(void)subject;
	if (!nopal_shared_get(at, MARKED_DRAIN_BANDWIDTH) ||
	    nopal_oldest_transmission(at.session) < self->until)
		return NOPAL_CONTINUE;
	self->until = nopal_next_packet_number(at.session);
	nopal_shared_get(at, MARKED_DRAIN_REQUESTS)++;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_marked_drain = {
	NOPAL_DESCRIBE(marked_drain, congestion, "marks of congestion drain the queue of BBR"),
	BBR_MODIFIER,
	.shared = NOPAL_SHARED([MARKED_DRAIN_REQUESTS] = { BBR_DRAINS(NOPAL_WRITE) },
			       [MARKED_DRAIN_BANDWIDTH] = { BBR_MODEL_BANDWIDTH(NOPAL_READ) }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(CONGESTION_MARKED, marked_drain_on_marked)),
	.state_size = sizeof(struct marked_drain),
};
