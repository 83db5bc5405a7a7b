/* SPDX-License-Identifier: MIT */
/*
 * composite.c -- a composite as its plan lays it out: the head of its state, and its timers.
 */
#include "engine/composite.h"

void nopal__send_limit(struct nopal_awake *awake)
{
	awake->send_limit = awake->budget.send_bytes;
	if (awake->send_wanted && awake->send_wanted < awake->send_limit)
		awake->send_limit = awake->send_wanted;
}

static void instance_begin(const struct nopal_layer *layer, void *fresh)
{
	struct nopal_awake *awake = fresh;
	struct nopal_timer_state *timers = (void *)((char *)fresh + layer->timers_at);

	awake->budget = layer->plan->budget;
	nopal__send_limit(awake);
	for (uint32_t i = 0; i < layer->timer_count + NOPAL_TIMERS_OWN; i++)
		timers[i].deadline_ns = NOPAL_NEVER;
}

const struct nopal_instance nopal__instance = {
	.head_bytes = sizeof(struct nopal_awake),
	.timer_bytes = sizeof(struct nopal_timer_state),
	.own_timers = NOPAL_TIMERS_OWN,
	.begin = instance_begin,
};
