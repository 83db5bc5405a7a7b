/* SPDX-License-Identifier: MIT */
/* lost_timer -- holds segments for a while, and its timer lets none go. */
#include <nopal/microprotocol.h>

static void lost_timer_expired(struct nopal_at at)
{
	(void)at;
}

static enum nopal_verdict lost_timer_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	nopal_timer_start(at, 0, at.session->now_ns + NOPAL_MILLISECOND);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_lost_timer = {
	.abi = NOPAL_ABI,
	.name = "lost_timer",
	.family = "broken",
	.summary = "holds segments for a while, and its timer lets none go",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, lost_timer_on_to_net),
						    { 0 } },
	.timers = (const struct nopal_timer[]){ { "let go", lost_timer_expired }, { 0 } },
	.holds = (const struct nopal_hold[]){ { "its timer", NOPAL_SEND, NOPAL_DATA, false },
					      { 0 } },
};
