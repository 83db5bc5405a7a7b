/* SPDX-License-Identifier: MIT */
/*
 * ask.c -- what the application asks of its session, but to send; and what the session asks of the
 * application.
 */
#include <errno.h>

#include "engine/turn.h"

/* In every layer: who tells the peer may be below. */
int nopal_session_accept_rate(struct nopal_session *session, uint64_t bps)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_world *world = composite->world;
	struct nopal_rate rate = { bps };
	const struct nopal_part *any;
	bool outermost;

	if (!nopal__be_awake(composite) || composite->life == NOPAL_LIFE_ENDED)
		return -EPIPE;
	if (!nopal_plan_handlers(composite->layer->plan, NOPAL_RATE_FROM_USER, &any, 1))
		return -ENOTSUP;
	outermost = nopal__turn_begin(world);
	for (; composite; composite = composite->below) {
		nopal__touch(composite);
		nopal_raise_RATE_FROM_USER(&composite->session, &rate);
	}
	nopal__turn_end(world, outermost);
	return 0;
}

int nopal_receive_post(struct nopal_session *session, uint64_t tag, uint64_t mask, uint64_t cookie)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_receive receive = { tag, mask, cookie, 0 };
	bool outermost;

	if (!nopal_plan_provides(composite->layer->plan, "tag_matching"))
		return -ENOSYS;
	if (!nopal__be_awake(composite) || composite->life == NOPAL_LIFE_ENDED)
		return -EPIPE;
	outermost = nopal__turn_begin(composite->world);
	nopal__touch(composite);
	nopal_raise_RECEIVE_POSTED(session, &receive);
	nopal__turn_end(composite->world, outermost);
	return receive.refused;
}

/* The uppermost layer has the callbacks. */
static struct nopal_composite *with_callbacks(struct nopal_composite *composite)
{
	while (composite->above)
		composite = composite->above;
	return composite;
}

void nopal_session_tell_rate(struct nopal_session *session, int64_t bps)
{
	struct nopal_composite *top = with_callbacks(nopal__composite(session));

	if (top->callbacks && top->callbacks->rate)
		top->callbacks->rate(&top->session, bps, top->user);
}

int64_t nopal_session_reserve(struct nopal_session *session, int64_t bps)
{
	struct nopal_composite *composite = with_callbacks(nopal__composite(session));
	int64_t granted = 0;

	if (composite->callbacks && composite->callbacks->reserve)
		granted = composite->callbacks->reserve(&composite->session, bps, composite->user);
	return granted > 0 ? granted : 0;
}

bool nopal_session_shared(const struct nopal_session *session, const char *name, int64_t *ret_value)
{
	if (!nopal__be_awake(nopal__composite(session)))
		return false;
	for (const struct nopal_composite *composite = nopal__composite(session); composite;
	     composite = composite->below)
		for (uint32_t i = 0; i < composite->layer->shared_count; i++)
			if (composite->layer->shared[i].written &&
			    strcmp(composite->layer->shared[i].name, name) == 0) {
				*ret_value = composite->session.shared[i];
				return true;
			}
	return false;
}

bool nopal_session_is_open(const struct nopal_session *session)
{
	enum nopal_life life = nopal__composite(session)->life;

	return life != NOPAL_LIFE_OPENING && life != NOPAL_LIFE_ENDED;
}
