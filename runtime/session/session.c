/* SPDX-License-Identifier: MIT */
/*
 * session.c -- the life of a session: made, opened, drained, closed or broken, freed.  session.h
 * draws it.  A stack of layers opens from the bottom up and closes from the top down.
 */
#include <errno.h>
#include <string.h>

#include "wire/demux.h"
#include "wire/doubt.h"
#include "wire/farewell.h"
#include "wire/path_cache.h"
#include "wire/rendezvous.h"

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

static bool is_destination(const struct nopal_core *core)
{
	return core->layer->index && core->layer->index == core->layer->plan->destinations;
}

/* Of a core that is the uppermost of one. */
static bool destination_make(struct nopal_core *core)
{
	if (!is_destination(core))
		return true;
	core->destination = calloc(
		1, sizeof(*core->destination) +
			   (core->layer->plan->channel
				    ? (NOPAL_REPAIR_WORDS + NOPAL_PACE_WORDS) * sizeof(uint64_t)
				    : 0));
	if (core->destination)
		core->destination->id = 1;
	return core->destination != NULL;
}

static struct nopal_core *core_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				    const struct nopal_layer *layer,
				    const struct nopal_address *peer)
{
	struct nopal_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->layer = layer;
	core->lowest = layer->index + 1u == plan->layer_count;
	core->fans_out = layer->index + 1u == plan->destinations;
	core->endpoint = endpoint;
	core->world = endpoint->port.world;
	core->peer = *peer;
	core->by_ipv6 = peer->port && !nopal_address_is_v4(peer);
	core->now_ns = core->world->now_ns;
	if (!destination_make(core) || !core_lay_out(core)) {
		if (is_destination(core))
			free(core->destination);
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
		    part->microprotocol->open(&core->session, part) < 0)
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
	if (core->is_group)
		nopal__group_free(core);
	else if (core->is_flow)
		nopal__streams_free(core);
	else if (core->fans_out)
		nopal__channel_leave(core);
	else if (is_destination(core))
		free(core->destination);
	nopal_wheel_disarm(&core->world->wheel, &core->wake);
	nopal__path_record_release(core);
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
		struct nopal_core *core = core_make(endpoint, plan, &plan->layers[i], peer);

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
	if ((end && end == plan->destinations && nopal__group_attach(bottom) < 0) ||
	    (first && first == plan->flow && nopal__streams_attach(nopal__top(bottom)) < 0) ||
	    nopal__endpoint_enter(bottom) < 0) {
		stack_free(bottom);
		return NULL;
	}
	if (stack_parts_open(bottom) < 0) {
		nopal__endpoint_forget(bottom);
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
			part->microprotocol->close(&core->session, part);
	}
}

void nopal__session_unmake(struct nopal_core *bottom)
{
	for (struct nopal_core *core = bottom; core; core = nopal__over(core))
		parts_close(core);
	nopal__endpoint_forget(bottom);
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
	if (!core->layer->connection && !core->is_group && core->life == NOPAL_LIFE_OPENING)
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
	if (core->meets)
		nopal__meeting_over(core);
	nopal_raise_SESSION_OPENED(session, session);
	if (core->is_flow)
		nopal__streams_start(core);
	else if (nopal__over(core))
		nopal__session_start(core->above);
	else if (core->callbacks && core->callbacks->opened)
		core->callbacks->opened(session, core->user);
	if (core->above && core->above->fans_out)
		nopal__destination_opened(core);
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
		shared && nopal__demux_suits(endpoint, plan)
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

struct nopal_session *nopal_session_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					 const struct nopal_address *peer,
					 const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_world *world = endpoint->port.world;
	struct nopal_core *top;
	bool outermost;

	if (plan->destinations)
		return nopal__group_with_one(endpoint, plan, peer, callbacks, user);
	if (plan->flow)
		return nopal__flow_open(endpoint, plan, peer, callbacks, user);
	outermost = nopal__turn_begin(world);
	top = nopal__stack_open(endpoint, plan, 0, plan->layer_count, peer, callbacks, user);
	nopal__turn_end(world, outermost);
	return top ? &top->session : NULL;
}

/* ----------------------------------------------------------------- closing */

/* Who lacks something had better not hear that all is well.  Among many that is not known of each:
 * those that are there have closed in good order. */
static bool broke_for_missing(struct nopal_core *core)
{
	struct nopal_core *bottom = nopal__stack_bottom(core);
	char words[NOPAL_END_WORDS];

	if (core->above || bottom->is_group || nopal__closed_end(bottom, words) == NOPAL_ENDED_WELL)
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
	if (core->is_group) {
		nopal__group_close(core);
		return;
	}
	if (!nopal__under(core)) {
		nopal__session_end(core, NOPAL_ENDED_WELL, "closed in good order");
		return;
	}
	if (core->peer_closed)
		core->life = NOPAL_LIFE_ENDED;
	nopal__session_close(core->below);
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
	if (nopal__over(core))
		nopal_session_peer_closed(&core->above->session);
	else if (!core->is_flow && core->callbacks && core->callbacks->peer_closed)
		core->callbacks->peer_closed(session, core->user);
	else
		nopal__session_close(core);
}

/* Ends the whole stack; the last events and callbacks follow with the turn. */
void nopal__session_end(struct nopal_core *core, enum nopal_end end, const char *text)
{
	struct nopal_core *bottom = nopal__stack_bottom(core);
	char words[NOPAL_END_WORDS];

	if (bottom->buried || (bottom->meets && nopal__meeting_ends(bottom, end)))
		return;
	bottom->tells = bottom->lowest && end != NOPAL_ENDED_WELL;
	bottom->end = end;
	if (end == NOPAL_ENDED_WELL)
		bottom->end = nopal__closed_end(bottom, words);
	half_open_end(bottom);
	if (bottom->awake)
		bottom->awake->end_text =
			nopal__doubt_text(bottom, bottom->end, bottom->end == end ? text : words);
	if (bottom->end == end && bottom->awake && bottom->awake->end_text)
		text = bottom->awake->end_text;
	for (core = bottom; core; core = nopal__over(core))
		core->life = NOPAL_LIFE_ENDED;
	if (bottom->is_group)
		nopal__group_end(bottom, end, text);
	core = nopal__top(bottom);
	if (core->is_flow)
		nopal__streams_end(core, end, text);
	if (core->above && core->above->is_group)
		core->destination->ended = true;
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
	nopal__train_finish(core);
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
		nopal__farewell_tell(bottom);
	for (struct nopal_core *core = top; core; core = nopal__under(core))
		if (core->awake) {
			last_event(core, bottom->end, text);
			nopal__messages_end(core);
		}
	if (top->above && top->above->is_group)
		nopal__destination_ended(top, bottom->end, text);
	if (bottom->below)
		nopal__stream_ended(bottom);
	if (!top->is_flow && top->callbacks && top->callbacks->ended)
		top->callbacks->ended(&top->session, (int)bottom->end, text, top->user);
	for (struct nopal_core *core = top; core; core = nopal__under(core))
		if (core->awake)
			nopal__messages_free(core);
	nopal__endpoint_forget(bottom);
	nopal__callbacks_unshare(bottom->endpoint, top->callbacks);
	stack_free(bottom);
}

/* ---------------------------------------------------------------- delivery */

void nopal__session_received(struct nopal_core *core, struct nopal_message *message)
{
	if (core->callbacks && core->callbacks->received)
		core->callbacks->received(&core->session, message, core->user);
}
