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
	uint64_t z = nopal__core(session)->awake->random += SPLITMIX_STEP;

	z = (z ^ z >> 30) * SPLITMIX_MIX_1;
	z = (z ^ z >> 27) * SPLITMIX_MIX_2;
	return z ^ z >> 31;
}

void nopal_random_bytes(struct nopal_session *session, void *bytes, size_t length)
{
	struct nopal_world *world = nopal__core(session)->world;

	world->ops->random_bytes(world, bytes, length);
}

const uint8_t *nopal_file(struct nopal_at at, unsigned which, size_t *ret_length)
{
	const struct nopal_layer *layer = nopal__core(at.session)->layer;
	const struct nopal_composed_layer *composed =
		&layer->plan->composition->layers[layer->index];
	const struct nopal_file_bytes *file =
		&composed->members[at.part->index - layer->first_part].files[which];

	*ret_length = file->length;
	return file->bytes;
}

/* ------------------------------------------------------------------ making */

static const struct nopal_part *part_at(const struct nopal_core *core, uint32_t i)
{
	return &core->layer->plan->parts[core->layer->first_part + i];
}

static struct nopal_pool *pool_for(const struct nopal_core *core, size_t head)
{
	return nopal__pool_of(&core->endpoint->pools,
			      (uint32_t)(head + core->layer->plan->slot_count * sizeof(uint64_t)));
}

bool nopal__awake_lay_out(struct nopal_core *core)
{
	const struct nopal_layer *layer = core->layer;
	struct nopal_awake *awake = core->awake;

	core->shared = (void *)((char *)awake + layer->shared_at);
	awake->serial = (void *)((char *)awake + layer->serial_at);
	awake->timers = (void *)((char *)awake + layer->timers_at);
	awake->calls = awake->own ? awake->own->calls : layer->calls;
	awake->fused = awake->own ? NULL : layer->plan->fused;
	awake->segments.pool = pool_for(core, sizeof(struct nopal_segment));
	awake->messages.pool = pool_for(core, sizeof(struct nopal_message));
	return awake->segments.pool && awake->messages.pool;
}

/* What the plan's image of a fresh session has no use for. */
void nopal__awake_forget(struct nopal_core *core)
{
	struct nopal_awake *awake = core->awake;

	awake->serial = NULL;
	awake->timers = NULL;
	awake->calls = NULL;
	awake->fused = NULL;
	awake->segments.pool = NULL;
	awake->messages.pool = NULL;
}

static bool core_lay_out(struct nopal_core *core)
{
	core->awake = malloc(core->layer->awake_bytes);
	if (!core->awake)
		return false;
	memcpy(core->awake, core->layer->fresh, core->layer->awake_bytes);
	return nopal__awake_lay_out(core);
}

/* Its neighbours.  The last layer of a stack that is not the plan's last, and the first of one that
 * is not the plan's first, stand beside other stacks. */
static void ports_choose(struct nopal_core *core, uint32_t first, uint32_t end)
{
	const struct nopal_plan *plan = core->layer->plan;
	uint32_t index = core->layer->index;
	const struct nopal_junction *below = nopal__junction(plan, index + 1);
	const struct nopal_junction *above = nopal__junction(plan, index);

	if (index + 1 == plan->layer_count)
		core->down = &nopal__endpoint_down;
	else if (below)
		core->down = index + 1 == end ? below->down : below->whole_down;
	else
		core->down = &nopal__layer_down;
	if (index == 0)
		core->up = &nopal__application_up;
	else if (above)
		core->up = index == first ? above->up : above->whole_up;
	else
		core->up = &nopal__layer_up;
}

static int ports_attach(struct nopal_core *core)
{
	int error = core->up->attach ? core->up->attach(core) : 0;

	if (error == 0 && core->down->attach)
		error = core->down->attach(core);
	return error;
}

static void ports_detach(struct nopal_core *core)
{
	if (core->down->detach)
		core->down->detach(core);
	if (core->up->detach)
		core->up->detach(core);
}

static struct nopal_core *core_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				    uint32_t index, uint32_t first, uint32_t end,
				    const struct nopal_address *peer)
{
	struct nopal_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->layer = &plan->layers[index];
	ports_choose(core, first, end);
	core->endpoint = endpoint;
	core->world = endpoint->port.world;
	core->peer = *peer;
	core->by_ipv6 = peer->port && !nopal_address_is_v4(peer);
	core->now_ns = core->world->now_ns;
	if (ports_attach(core) < 0 || !core_lay_out(core)) {
		ports_detach(core);
		free(core->awake);
		free(core);
		return NULL;
	}
	nopal_plan_ref(plan);
	core->awake->random = core->world->ops->random(core->world);
	core->awake->heard_ns = core->now_ns;
	return core;
}

static int parts_open(struct nopal_core *core)
{
	for (uint32_t i = 0; i < core->layer->part_count; i++) {
		const struct nopal_part *part = part_at(core, i);

		if (part->microprotocol->open &&
		    part->microprotocol->open((struct nopal_at){ &core->session, part }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void core_free(struct nopal_core *core)
{
	struct nopal_segment *segment = core->awake ? nopal__pool_oldest(&core->awake->segments)
						    : NULL; /* it could not be woken */

	while (segment) {
		struct nopal_segment *newer = nopal__pool_newer(segment);

		nopal_buffer_unref(segment->body.buffer);
		nopal__pool_give(&core->awake->segments, segment);
		segment = newer;
	}
	ports_detach(core);
	nopal_wheel_disarm(&core->world->wheel, &core->wake);
	nopal__memory_release(core);
	nopal_plan_unref((struct nopal_plan *)(uintptr_t)core->layer->plan);
	if (core->awake)
		free(core->awake->end_text);
	else
		free(core->packed);
	free(core->awake);
	free(core);
}

static void stack_free(struct nopal_core *bottom)
{
	while (bottom) {
		struct nopal_core *over = nopal__over(bottom);

		core_free(bottom);
		bottom = over;
	}
}

/* The cores from `first` on, the lowest of which is returned. */
static struct nopal_core *cores_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				     uint32_t first, uint32_t end, struct nopal_core *above,
				     const struct nopal_address *peer)
{
	struct nopal_core *bottom = NULL;

	nopal__fused_load(plan);
	for (uint32_t i = first; i < end; i++) {
		struct nopal_core *core = core_make(endpoint, plan, i, first, end, peer);

		if (!core) {
			stack_free(bottom);
			return NULL;
		}
		core->above = bottom ? bottom : above;
		if (bottom)
			bottom->below = core;
		bottom = core;
	}
	return bottom;
}

static int stack_parts_open(struct nopal_core *bottom)
{
	for (struct nopal_core *core = bottom; core; core = nopal__over(core)) {
		core->local_id = bottom->local_id;
		if (parts_open(core) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct nopal_core *nopal__stack_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				     uint32_t first, uint32_t end, struct nopal_core *above,
				     const struct nopal_address *peer, bool opener)
{
	struct nopal_core *bottom = cores_make(endpoint, plan, first, end, above, peer);

	if (!bottom)
		return NULL;
	for (struct nopal_core *core = bottom; core; core = nopal__over(core))
		core->opener = opener;
	if (nopal__endpoint_ops.enter(bottom) < 0) {
		stack_free(bottom);
		return NULL;
	}
	if (stack_parts_open(bottom) < 0) {
		nopal__endpoint_ops.forget(bottom);
		stack_free(bottom);
		return NULL;
	}
	return bottom;
}

struct nopal_core *nopal__session_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				       const struct nopal_address *peer)
{
	return nopal__stack_make(endpoint, plan, plan->flow, plan->layer_count, NULL, peer, false);
}

static void parts_close(struct nopal_core *core)
{
	for (uint32_t i = core->layer->part_count; i-- > 0;) {
		const struct nopal_part *part = part_at(core, i);

		if (part->microprotocol->close)
			part->microprotocol->close((struct nopal_at){ &core->session, part });
	}
}

void nopal__session_unmake(struct nopal_core *bottom)
{
	for (struct nopal_core *core = bottom; core; core = nopal__over(core))
		parts_close(core);
	nopal__endpoint_ops.forget(bottom);
	stack_free(bottom);
}

/* ----------------------------------------------------------------- opening */

void nopal__session_start(struct nopal_core *core)
{
	nopal__touch(core);
	if (core->world->tracer) {
		uint16_t plan = nopal__trace_plan(core->world->tracer, core->layer->plan);

		nopal__trace(core->world->tracer, core->session.now_ns, core->local_id,
			     NOPAL_TRACED_SESSION, core->layer->index, plan, core->local_id,
			     nopal__trace_role(core->opener, core->peer_id));
	}
	nopal_raise_OPEN_SESSION(&core->session, &core->session);
	if (!core->layer->connection && !core->down->many && core->life == NOPAL_LIFE_OPENING)
		nopal_session_opened(&core->session);
}

static void half_open_end(struct nopal_core *bottom)
{
	bottom->endpoint->half_open -= bottom->half_open;
	bottom->half_open = false;
}

static void drain_begin(struct nopal_core *core)
{
	core->life = NOPAL_LIFE_DRAINING;
	nopal__session_drained(core);
}

void nopal_session_opened(struct nopal_session *session)
{
	struct nopal_core *core = nopal__core(session);

	if (core->life != NOPAL_LIFE_OPENING)
		return;
	core->life = NOPAL_LIFE_OPEN;
	half_open_end(core);
	nopal__endpoint_ops.opened(core);
	nopal_raise_SESSION_OPENED(session, session);
	if (core->up->opened)
		core->up->opened(core);
	nopal__messages_flush_opened(core);
	if (core->close_asked && core->life == NOPAL_LIFE_OPEN)
		drain_begin(core);
}

struct nopal_core *nopal__stack_prepare(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					uint32_t first, uint32_t end,
					const struct nopal_address *peer,
					const struct nopal_callbacks *callbacks, void *user)
{
	const struct nopal_callbacks *shared = nopal__callbacks_share(endpoint, callbacks);
	struct nopal_core *bottom =
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

struct nopal_core *nopal__stack_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				     uint32_t first, uint32_t end, const struct nopal_address *peer,
				     const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_core *bottom =
		nopal__stack_prepare(endpoint, plan, first, end, peer, callbacks, user);

	if (!bottom)
		return NULL;
	nopal__session_start(bottom);
	return nopal__top(bottom);
}

/* ----------------------------------------------------------------- closing */

/* Who lacks something had better not hear that all is well.  Among many that is not known of each:
 * those that are there have closed in good order. */
static bool broke_for_missing(struct nopal_core *core)
{
	struct nopal_core *bottom = nopal__stack_bottom(core);
	char words[NOPAL_END_WORDS];

	if (core->up != &nopal__application_up || bottom->down->many ||
	    nopal__closed_end(bottom, words) == NOPAL_ENDED_WELL)
		return false;
	nopal_session_break(&core->session, NOPAL_UNDELIVERED, words);
	return true;
}

void nopal__session_drained(struct nopal_core *core)
{
	if (core->life != NOPAL_LIFE_DRAINING || core->awake->unfinished || broke_for_missing(core))
		return;
	core->life = NOPAL_LIFE_CLOSING;
	nopal_raise_CLOSE_SESSION(&core->session, &core->session);
	if (!core->layer->connection)
		nopal_session_closed(&core->session);
}

void nopal__session_close(struct nopal_core *core)
{
	nopal__touch(core);
	if (core->life == NOPAL_LIFE_OPEN)
		drain_begin(core);
	else if (core->life == NOPAL_LIFE_OPENING && core->awake->unfinished)
		core->close_asked = true;
	else if (core->life == NOPAL_LIFE_OPENING)
		nopal__session_end(core, NOPAL_ENDED_WELL, "closed before it opened");
}

void nopal_session_close(struct nopal_session *session)
{
	struct nopal_core *core = nopal__core(session);
	bool outermost = nopal__turn_begin(core->world);

	nopal__session_close(core);
	nopal__turn_end(core->world, outermost);
}

void nopal_session_closed(struct nopal_session *session)
{
	struct nopal_core *core = nopal__core(session);

	if (core->life == NOPAL_LIFE_ENDED)
		return;
	core->down->closed(core);
}

/* Where the connection is in a layer below, this one has closed, and took what the peer sent
 * meanwhile: now there is no more. */
static void closed_on_both_sides(struct nopal_core *core)
{
	if (core->life == NOPAL_LIFE_CLOSING && nopal__under(core) && !core->layer->connection)
		core->life = NOPAL_LIFE_ENDED;
}

void nopal_session_peer_closed(struct nopal_session *session)
{
	struct nopal_core *core = nopal__core(session);

	if (core->peer_closed || core->life == NOPAL_LIFE_ENDED)
		return;
	core->peer_closed = true;
	nopal_raise_PEER_CLOSED(session, session);
	closed_on_both_sides(core);
	core->up->peer_closed(core);
}

/* Ends the whole stack; the last events and callbacks follow with the turn. */
void nopal__session_end(struct nopal_core *core, enum nopal_end end, const char *text)
{
	struct nopal_core *bottom = nopal__stack_bottom(core);
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
	for (core = bottom; core; core = nopal__over(core))
		core->life = NOPAL_LIFE_ENDED;
	if (bottom->down->end)
		bottom->down->end(bottom, end, text);
	core = nopal__top(bottom);
	if (core->up->end)
		core->up->end(core, end, text);
	nopal__bury(bottom);
}

void nopal__session_ended_there(struct nopal_core *core, enum nopal_end end, const char *text)
{
	nopal__session_end(core, end, text);
	nopal__stack_bottom(core)->tells = false;
}

static void last_event(struct nopal_core *core, enum nopal_end end, const char *text)
{
	struct nopal_failure failure = { end, text };

	if (end == NOPAL_ENDED_WELL)
		nopal_raise_SESSION_CLOSED(&core->session, &core->session);
	else
		nopal_raise_SESSION_BROKEN(&core->session, &failure);
	nopal__endpoint_ops.finish(core);
	parts_close(core);
}

/* Where a session could not wake, there is no memory for words either. */
static const char *end_text(const struct nopal_core *bottom)
{
	if (bottom->awake && bottom->awake->end_text)
		return bottom->awake->end_text;
	return bottom->end == NOPAL_RESOURCE ? "out of memory" : "";
}

void nopal__session_free_stack(struct nopal_core *bottom)
{
	struct nopal_core *top = nopal__top(bottom);

	const char *text = end_text(bottom);

	if (bottom->tells)
		nopal__endpoint_ops.tell_end(bottom);
	for (struct nopal_core *core = top; core; core = nopal__under(core))
		if (core->awake) {
			last_event(core, bottom->end, text);
			nopal__messages_end(core);
		}
	if (bottom->down->ended)
		bottom->down->ended(bottom);
	if (top->up->ended)
		top->up->ended(top, bottom->end, text);
	for (struct nopal_core *core = top; core; core = nopal__under(core))
		if (core->awake)
			nopal__messages_free(core);
	nopal__endpoint_ops.forget(bottom);
	nopal__callbacks_unshare(bottom->endpoint, top->callbacks);
	stack_free(bottom);
}

const struct nopal_session_ops nopal__session_ops = {
	.end = nopal__session_end,
	.break_off = nopal_session_break,
	.drained = nopal__session_drained,
	.free_stack = nopal__session_free_stack,
	.resume = nopal__rouse,
	.idle_watch = nopal__rest_watch,
	.idle_walk = nopal__rest_walk,
};

#define SHARED_TYPE(type)                                                                          \
	{                                                                                          \
#type, sizeof(struct type)                                                         \
	}
const struct nopal_shared_type nopal__shared_types[] = {
	SHARED_TYPE(nopal_core),
	SHARED_TYPE(nopal_endpoint),
	SHARED_TYPE(nopal_segment),
	SHARED_TYPE(nopal_message),
	{ NULL, 0 },
};
