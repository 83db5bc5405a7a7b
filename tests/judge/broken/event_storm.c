/* SPDX-License-Identifier: MIT */
/* event_storm -- queues an event in each of its handlers. */
#include <nopal/microprotocol.h>

static enum nopal_verdict event_storm_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	nopal_queue_TURN_END(at.session, subject);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_event_storm = {
	.abi = NOPAL_ABI,
	.name = "event_storm",
	.family = "broken",
	.summary = "queues an event in each of its handlers",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(TURN_END, event_storm_on_turn_end),
						    { 0 } },
};
