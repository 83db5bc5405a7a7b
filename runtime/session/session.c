/* SPDX-License-Identifier: MIT */
/*
 * session.c -- the life of a session: made, opened, drained, closed or broken, freed.  session.h
 * draws it.  A stack of layers opens from the bottom up and closes from the top down.
 */
#include <errno.h>
#include <string.h>

#include "session/session.h"
#include "compose/compose.h"
#include "engine/memory.h"
#include "engine/message.h"
#include "engine/turn.h"
#include "session/idle.h"
#include "session/send.h"

static const uint64_t SPLITMIX_STEP = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t SPLITMIX_MIX_1 = UINT64_C(0xbf58476d1ce4e5b9);
static const uint64_t SPLITMIX_MIX_2 = UINT64_C(0x94d049bb133111eb);

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
uint64_t nopal_random(struct nopal_session *session)
{
	uint64_t z = nopal__composite(session)->awake->random += SPLITMIX_STEP;

	z = (z ^ z >> 30) * SPLITMIX_MIX_1;
	z = (z ^ z >> 27) * SPLITMIX_MIX_2;
	return z ^ z >> 31;
}

void nopal_random_bytes(struct nopal_session *session, void *bytes, size_t length)
{
	struct nopal_world *world = nopal__composite(session)->world;

	world->ops->random_bytes(world, bytes, length);
}

const uint8_t *nopal_file(struct nopal_at at, unsigned which, size_t *ret_length)
{
	const struct nopal_layer *layer = nopal__composite(at.session)->layer;
	const struct nopal_composed_layer *composed =
		&layer->plan->composition->layers[layer->index];
	const struct nopal_file_bytes *file =
		&composed->members[at.part->index - layer->first_part].files[which];

	*ret_length = file->length;
	return file->bytes;
}

/* ------------------------------------------------------------------ making */

static const struct nopal_part *part_at(const struct nopal_composite *composite, uint32_t i)
{
	return &composite->layer->plan->parts[composite->layer->first_part + i];
}

static struct nopal_pool *pool_for(const struct nopal_composite *composite, size_t head)
{
	return nopal__pool_of(
		&composite->endpoint->pools,
		(uint32_t)(head + composite->layer->plan->slot_count * sizeof(uint64_t)));
}

bool nopal__awake_lay_out(struct nopal_composite *composite)
{
	const struct nopal_layer *layer = composite->layer;
	struct nopal_awake *awake = composite->awake;

	composite->shared = (void *)((char *)awake + layer->shared_at);
	awake->serial = (void *)((char *)awake + layer->serial_at);
	awake->timers = (void *)((char *)awake + layer->timers_at);
	awake->calls = awake->own ? awake->own->calls : layer->calls;
	awake->fused = awake->own ? NULL : layer->plan->fused;
	awake->segments.pool = pool_for(composite, sizeof(struct nopal_segment));
	awake->messages.pool = pool_for(composite, sizeof(struct nopal_message));
	return awake->segments.pool && awake->messages.pool;
}

/* Clears the fields that the plan's image of a fresh session has no use for. */
void nopal__awake_forget(struct nopal_composite *composite)
{
	struct nopal_awake *awake = composite->awake;

	awake->serial = NULL;
	awake->timers = NULL;
	awake->calls = NULL;
	awake->fused = NULL;
	awake->segments.pool = NULL;
	awake->messages.pool = NULL;
}

/* Its neighbours.  The last layer of a stack that is not the plan's last, and the first of one that
 * is not the plan's first, stand beside other stacks. */
static void ports_choose(struct nopal_composite *composite, uint32_t first, uint32_t end)
{
	const struct nopal_plan *plan = composite->layer->plan;
	uint32_t index = composite->layer->index;
	const struct nopal_junction *below = nopal__junction(plan, index + 1);
	const struct nopal_junction *above = nopal__junction(plan, index);

	if (index + 1 == plan->layer_count)
		composite->down = &nopal__endpoint_down;
	else if (below)
		composite->down = index + 1 == end ? below->down : below->whole_down;
	else
		composite->down = &nopal__layer_down;
	if (index == 0)
		composite->up = &nopal__application_up;
	else if (above)
		composite->up = index == first ? above->up : above->whole_up;
	else
		composite->up = &nopal__layer_up;
}

static int ports_attach(struct nopal_composite *composite)
{
	int error = composite->up->attach ? composite->up->attach(composite) : 0;

	if (error == 0 && composite->down->attach)
		error = composite->down->attach(composite);
	return error;
}

static void ports_detach(struct nopal_composite *composite)
{
	if (composite->down->detach)
		composite->down->detach(composite);
	if (composite->up->detach)
		composite->up->detach(composite);
}

static struct nopal_composite *composite_make(struct nopal_endpoint *endpoint,
					      struct nopal_plan *plan, uint32_t index,
					      uint32_t first, uint32_t end,
					      const struct nopal_address *peer)
{
	struct nopal_composite *composite = calloc(1, sizeof(*composite));

	if (!composite)
		return NULL;
	composite->layer = &plan->layers[index];
	ports_choose(composite, first, end);
	composite->endpoint = endpoint;
	composite->world = endpoint->port.world;
	composite->peer = *peer;
	composite->by_ipv6 = peer->port && !nopal_address_is_v4(peer);
	composite->world->counts_unsent |=
		plan->budget.unsent_bytes || plan->budget.unsent_messages;
	composite->now_ns = composite->world->now_ns;
	composite->awake = malloc(composite->layer->awake_bytes);
	if (composite->awake)
		memcpy(composite->awake, composite->layer->fresh, composite->layer->awake_bytes);
	if (ports_attach(composite) < 0 || !composite->awake || !nopal__awake_lay_out(composite)) {
		ports_detach(composite);
		free(composite->awake);
		free(composite);
		return NULL;
	}
	nopal_plan_ref(plan);
	composite->awake->random = composite->world->ops->random(composite->world);
	composite->awake->heard_ns = composite->now_ns;
	return composite;
}

static void composite_free(struct nopal_composite *composite)
{
	struct nopal_segment *segment = composite->awake
						? nopal__pool_oldest(&composite->awake->segments)
						: NULL; /* it could not be woken */

	while (segment) {
		struct nopal_segment *newer = nopal__pool_newer(segment);

		nopal_buffer_unref(segment->body.buffer);
		nopal__pool_give(&composite->awake->segments, segment);
		segment = newer;
	}
	ports_detach(composite);
	nopal_wheel_disarm(&composite->world->wheel, &composite->wake);
	nopal__memory_release(composite);
	nopal_plan_unref((struct nopal_plan *)(uintptr_t)composite->layer->plan);
	if (composite->awake)
		free(composite->awake->end_text);
	else
		free(composite->packed);
	free(composite->awake);
	free(composite);
}

static void stack_free(struct nopal_composite *bottom)
{
	while (bottom) {
		struct nopal_composite *over = nopal__over(bottom);

		composite_free(bottom);
		bottom = over;
	}
}

/* The cores from `first` on, the lowest of which is returned. */
static struct nopal_composite *composites_make(struct nopal_endpoint *endpoint,
					       struct nopal_plan *plan, uint32_t first,
					       uint32_t end, struct nopal_composite *above,
					       const struct nopal_address *peer)
{
	struct nopal_composite *bottom = NULL;

	nopal__fused_load(plan);
	for (uint32_t i = first; i < end; i++) {
		struct nopal_composite *composite =
			composite_make(endpoint, plan, i, first, end, peer);

		if (!composite) {
			stack_free(bottom);
			return NULL;
		}
		composite->above = bottom ? bottom : above;
		if (bottom)
			bottom->below = composite;
		bottom = composite;
	}
	return bottom;
}

static bool parts_open(struct nopal_composite *bottom)
{
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite)) {
		composite->local_id = bottom->local_id;
		for (uint32_t i = 0; i < composite->layer->part_count; i++) {
			struct nopal_at at = { &composite->session, part_at(composite, i) };

			if (at.part->microprotocol->open && at.part->microprotocol->open(at) < 0)
				return false;
		}
	}
	return true;
}

struct nopal_composite *nopal__stack_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					  uint32_t first, uint32_t end,
					  struct nopal_composite *above,
					  const struct nopal_address *peer, bool opener)
{
	struct nopal_composite *bottom = composites_make(endpoint, plan, first, end, above, peer);

	if (!bottom)
		return NULL;
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->opener = opener;
	if (nopal__endpoint_ops.enter(bottom) < 0) {
		stack_free(bottom);
		return NULL;
	}
	if (!parts_open(bottom)) {
		nopal__endpoint_ops.forget(bottom);
		stack_free(bottom);
		return NULL;
	}
	return bottom;
}

struct nopal_composite *nopal__session_make(struct nopal_endpoint *endpoint,
					    struct nopal_plan *plan,
					    const struct nopal_address *peer)
{
	return nopal__stack_make(endpoint, plan, plan->flow, plan->layer_count, NULL, peer, false);
}

static void parts_close(struct nopal_composite *composite)
{
	for (uint32_t i = composite->layer->part_count; i-- > 0;) {
		const struct nopal_part *part = part_at(composite, i);

		if (part->microprotocol->close)
			part->microprotocol->close((struct nopal_at){ &composite->session, part });
	}
}

void nopal__session_unmake(struct nopal_composite *bottom)
{
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		parts_close(composite);
	nopal__endpoint_ops.forget(bottom);
	stack_free(bottom);
}

/* ----------------------------------------------------------------- opening */

void nopal__session_start(struct nopal_composite *composite)
{
	nopal__touch(composite);
	if (composite->world->tracer) {
		uint16_t plan = nopal__trace_plan(composite->world->tracer, composite->layer->plan);

		nopal__trace(composite->world->tracer, composite->session.now_ns,
			     composite->local_id, NOPAL_TRACED_SESSION, composite->layer->index,
			     plan, composite->local_id,
			     nopal__trace_role(composite->opener, composite->peer_id));
	}
	nopal_raise_OPEN_SESSION(&composite->session, &composite->session);
	if (!composite->layer->connection && !composite->down->many &&
	    composite->life == NOPAL_LIFE_OPENING)
		nopal_session_opened(&composite->session);
}

static void half_open_end(struct nopal_composite *bottom)
{
	bottom->endpoint->half_open -= bottom->half_open;
	bottom->half_open = false;
}

static void drain_begin(struct nopal_composite *composite)
{
	composite->life = NOPAL_LIFE_DRAINING;
	nopal__session_drained(composite);
}

void nopal_session_opened(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (composite->life != NOPAL_LIFE_OPENING)
		return;
	composite->life = NOPAL_LIFE_OPEN;
	half_open_end(composite);
	nopal__endpoint_ops.opened(composite);
	nopal_raise_SESSION_OPENED(session, session);
	if (composite->up->opened)
		composite->up->opened(composite);
	nopal__messages_flush_opened(composite);
	if (composite->close_asked && composite->life == NOPAL_LIFE_OPEN)
		drain_begin(composite);
}

struct nopal_composite *nopal__stack_prepare(struct nopal_endpoint *endpoint,
					     struct nopal_plan *plan, uint32_t first, uint32_t end,
					     const struct nopal_address *peer,
					     const struct nopal_callbacks *callbacks, void *user)
{
	const struct nopal_callbacks *shared = nopal__callbacks_share(endpoint, callbacks);
	struct nopal_composite *bottom =
		shared && nopal__endpoint_ops.suits(endpoint, plan)
			? nopal__stack_make(endpoint, plan, first, end, NULL, peer, true)
			: NULL;

	if (!bottom) {
		nopal__callbacks_unshare(endpoint, shared);
		return NULL;
	}
	nopal__top(bottom)->callbacks = shared;
	nopal__top(bottom)->user = user;
	return bottom;
}

struct nopal_composite *nopal__stack_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					  uint32_t first, uint32_t end,
					  const struct nopal_address *peer,
					  const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_composite *bottom =
		nopal__stack_prepare(endpoint, plan, first, end, peer, callbacks, user);

	if (!bottom)
		return NULL;
	nopal__session_start(bottom);
	return nopal__top(bottom);
}

/* ----------------------------------------------------------------- closing */

/* A peer that lacks messages must not be told that all is well.  Among many destinations it is not
 * known of each whether it lacks any: the destinations that are there have closed in good order. */
static bool broke_for_missing(struct nopal_composite *composite)
{
	struct nopal_composite *bottom = nopal__stack_bottom(composite);
	char words[NOPAL_END_WORDS];

	if (composite->up != &nopal__application_up || bottom->down->many ||
	    nopal__closed_end(bottom, words) == NOPAL_ENDED_WELL)
		return false;
	nopal_session_break(&composite->session, NOPAL_UNDELIVERED, words);
	return true;
}

void nopal__session_drained(struct nopal_composite *composite)
{
	if (composite->life != NOPAL_LIFE_DRAINING || composite->awake->unfinished ||
	    broke_for_missing(composite))
		return;
	composite->life = NOPAL_LIFE_CLOSING;
	nopal_raise_CLOSE_SESSION(&composite->session, &composite->session);
	if (!composite->layer->connection)
		nopal_session_closed(&composite->session);
}

void nopal__session_close(struct nopal_composite *composite)
{
	nopal__touch(composite);
	if (composite->life == NOPAL_LIFE_OPEN)
		drain_begin(composite);
	else if (composite->life == NOPAL_LIFE_OPENING && composite->awake->unfinished)
		composite->close_asked = true;
	else if (composite->life == NOPAL_LIFE_OPENING)
		nopal__session_end(composite, NOPAL_ENDED_WELL, "closed before it opened");
}

void nopal_session_close(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(composite->world);

	nopal__session_close(composite);
	nopal__turn_end(composite->world, outermost);
}

void nopal_session_closed(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (composite->life == NOPAL_LIFE_ENDED)
		return;
	composite->down->closed(composite);
}

void nopal_session_peer_closed(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (composite->peer_closed || composite->life == NOPAL_LIFE_ENDED)
		return;
	composite->peer_closed = true;
	nopal_raise_PEER_CLOSED(session, session);
	/* Where the connection is in a layer below, this one has closed, and took what the peer
	 * sent meanwhile: now there is no more. */
	if (composite->life == NOPAL_LIFE_CLOSING && nopal__under(composite) &&
	    !composite->layer->connection)
		composite->life = NOPAL_LIFE_ENDED;
	composite->up->peer_closed(composite);
}

/* Ends the whole stack; the last events and callbacks follow with the turn. */
void nopal__session_end(struct nopal_composite *composite, enum nopal_end end, const char *text)
{
	struct nopal_composite *bottom = nopal__stack_bottom(composite);
	char words[NOPAL_END_WORDS];

	if (bottom->buried || nopal__endpoint_ops.ends(bottom, end))
		return;
	bottom->tells = nopal__is_lowest(bottom) && end != NOPAL_ENDED_WELL;
	bottom->end = end;
	if (end == NOPAL_ENDED_WELL)
		bottom->end = nopal__closed_end(bottom, words);
	half_open_end(bottom);
	if (bottom->awake)
		bottom->awake->end_text = nopal__endpoint_ops.end_text(
			bottom, bottom->end, bottom->end == end ? text : words);
	if (bottom->end == end && bottom->awake && bottom->awake->end_text)
		text = bottom->awake->end_text;
	for (composite = bottom; composite; composite = nopal__over(composite))
		composite->life = NOPAL_LIFE_ENDED;
	if (bottom->down->end)
		bottom->down->end(bottom, end, text);
	composite = nopal__top(bottom);
	if (composite->up->end)
		composite->up->end(composite, end, text);
	nopal__bury(bottom);
}

void nopal__session_ended_there(struct nopal_composite *composite, enum nopal_end end,
				const char *text)
{
	nopal__session_end(composite, end, text);
	nopal__stack_bottom(composite)->tells = false;
}

void nopal__session_free_stack(struct nopal_composite *bottom)
{
	struct nopal_composite *top = nopal__top(bottom);
	struct nopal_failure failure = { bottom->end, "" };

	if (bottom->awake && bottom->awake->end_text)
		failure.text = bottom->awake->end_text;
	else if (bottom->end == NOPAL_RESOURCE) /* there is no memory for words either */
		failure.text = "out of memory";
	if (bottom->tells)
		nopal__endpoint_ops.tell_end(bottom);
	for (struct nopal_composite *composite = top; composite;
	     composite = nopal__under(composite)) {
		if (!composite->awake)
			continue;
		if (bottom->end == NOPAL_ENDED_WELL)
			nopal_raise_SESSION_CLOSED(&composite->session, &composite->session);
		else
			nopal_raise_SESSION_BROKEN(&composite->session, &failure);
		nopal__endpoint_ops.finish(composite);
		parts_close(composite);
		nopal__messages_end(composite);
	}
	if (bottom->down->ended)
		bottom->down->ended(bottom);
	if (top->up->ended)
		top->up->ended(top, bottom->end, failure.text);
	for (struct nopal_composite *composite = top; composite;
	     composite = nopal__under(composite))
		if (composite->awake)
			nopal__messages_free(composite);
	nopal__endpoint_ops.forget(bottom);
	nopal__callbacks_unshare(bottom->endpoint, top->callbacks);
	stack_free(bottom);
}

const struct nopal_session_ops nopal__session_ops = {
	.end = nopal__session_end,
	.break_off = nopal_session_break,
	.drained = nopal__session_drained,
	.free_stack = nopal__session_free_stack,
	.resume = nopal__resume,
	.idle_watch = nopal__idle_watch,
	.idle_walk = nopal__idle_walk,
};

#define SHARED_TYPE(type)                                                                          \
	{                                                                                          \
#type, sizeof(struct type)                                                         \
	}
const struct nopal_shared_type nopal__shared_types[] = {
	SHARED_TYPE(nopal_composite),
	SHARED_TYPE(nopal_endpoint),
	SHARED_TYPE(nopal_segment),
	SHARED_TYPE(nopal_message),
	{ NULL, 0 },
};
