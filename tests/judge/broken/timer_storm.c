/* SPDX-License-Identifier: MIT */
/* timer_storm -- starts its timer again for now, for ever. */
#include <nopal/microprotocol.h>

static void timer_storm_expired(struct nopal_at at)
{
	nopal_timer_start(at, 0, at.session->now_ns);
}

static enum nopal_verdict timer_storm_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	(void)subject;
	timer_storm_expired(at);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_timer_storm = {
	.abi = NOPAL_ABI,
	.name = "timer_storm",
	.family = "broken",
	.summary = "starts its timer again for now, for ever",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SESSION_OPENED, timer_storm_on_opened),
						    { 0 } },
	.timers = (const struct nopal_timer[]){ { "again", timer_storm_expired }, { 0 } },
};
