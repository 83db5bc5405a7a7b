/* SPDX-License-Identifier: MIT */
/*
 * endpoint.c -- one UDP port: arrivals, listeners, transmissions that wait for the kernel.
 */
#include <errno.h>
#include <string.h>

#include "wire/wire.h"
#include "wire/guard.h"
#include "engine/ring.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/idle.h"
#include "session/session.h"

struct nopal_port *nopal__endpoint_port(struct nopal_endpoint *endpoint)
{
	return &endpoint->port;
}

const struct nopal_endpoint_counters *nopal_endpoint_counters(const struct nopal_endpoint *endpoint)
{
	return &endpoint->port.counters;
}

void nopal_endpoint_local(const struct nopal_endpoint *endpoint, struct nopal_address *ret_address)
{
	*ret_address = endpoint->port.local;
}

const char *nopal_endpoint_transport(const struct nopal_endpoint *endpoint)
{
	struct nopal_endpoint *port = (struct nopal_endpoint *)(uintptr_t)endpoint;

	return endpoint->port.world->ops->transport(port);
}

static int endpoint_enter(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	int error = nopal__demux_enter(bottom);

	if (error < 0)
		return error;
	nopal__endpoint_link(bottom, &endpoint->sessions);
	endpoint->port.counters.sessions++;
	return 0;
}

static void train_forget(struct nopal_endpoint *endpoint, const struct nopal_composite *bottom)
{
	if (endpoint->train_of != bottom)
		return;
	nopal__endpoint_flush(endpoint);
	endpoint->train_of = NULL;
}

static void endpoint_forget(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;

	nopal__path_record_release(bottom);
	if (!bottom->at)
		return;
	train_forget(endpoint, bottom);
	for (struct nopal_endpoint *alias = endpoint->aliases; alias; alias = alias->next_alias)
		train_forget(alias, bottom);
	for (uint32_t i = 0; i < endpoint->ready_count; i++) {
		struct nopal_ready *ready =
			&endpoint->ready[(endpoint->ready_head + i) % endpoint->ready_room];

		if (ready->composite == bottom)
			ready->composite = NULL;
	}
	nopal__demux_forget(bottom);
	nopal__endpoint_unlink(bottom);
	endpoint->port.counters.sessions--;
}

/* ---------------------------------------------------- transmissions that wait */

static void ready_push(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	struct nopal_endpoint *endpoint = composite->endpoint;

	if (endpoint->ready_count == endpoint->ready_room &&
	    !nopal__ring_grow(NULL, &endpoint->ready, &endpoint->ready_head, &endpoint->ready_room,
			      sizeof(*endpoint->ready))) {
		nopal_session_break(&composite->session, NOPAL_RESOURCE,
				    "no room for a transmission that waits");
		return;
	}
	endpoint->ready[(endpoint->ready_head + endpoint->ready_count++) % endpoint->ready_room] =
		(struct nopal_ready){ composite, segment->handle };
}

/* Transmissions that wait go, or have no need to any more, until the kernel is busy again: then the
 * one whose turn it is stays the first. */
void nopal__endpoint_writable(struct nopal_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;

	nopal__turn_enter(world);
	endpoint->busy = false;
	nopal__endpoint_flush(endpoint);
	while (!endpoint->busy && endpoint->ready_count) {
		const struct nopal_ready ready = endpoint->ready[endpoint->ready_head];
		struct nopal_composite *composite = ready.composite;
		struct nopal_segment *segment = NULL;

		if (composite && composite->life != NOPAL_LIFE_ENDED)
			segment = nopal_segment_find(&composite->session, ready.segment);
		if (segment && (!segment->wanted || segment->waiting[NOPAL_SEND]))
			segment = NULL;
		if (segment)
			nopal__touch(composite);
		if (segment && !composite->down->may_leave(composite, segment))
			continue; /* the endpoint is busy */
		endpoint->ready_head = (endpoint->ready_head + 1) % endpoint->ready_room;
		endpoint->ready_count--;
		if (segment)
			nopal__depart(composite, segment);
	}
	nopal__turn_end(world, true);
}

/* ------------------------------------------------------- below its sessions */

static void endpoint_opened(struct nopal_composite *composite)
{
	if (composite->rendezvous)
		nopal__rendezvous_over(composite);
}

static bool endpoint_ends(struct nopal_composite *bottom, enum nopal_end end)
{
	return bottom->rendezvous && nopal__rendezvous_ends(bottom, end);
}

static void endpoints_flush(struct nopal_world *world)
{
	while (world->unflushed) {
		struct nopal_endpoint *endpoint = world->unflushed;

		world->unflushed = endpoint->next_unflushed;
		endpoint->unflushed = false;
		nopal__endpoint_flush(endpoint);
	}
}

const struct nopal_endpoint_ops nopal__endpoint_ops = {
	.enter = endpoint_enter,
	.forget = endpoint_forget,
	.opened = endpoint_opened,
	.ends = endpoint_ends,
	.end_text = nopal__doubt_text,
	.tell_end = nopal__farewell_tell,
	.finish = nopal__train_finish,
	.wait = ready_push,
	.flush = endpoints_flush,
	.suits = nopal__demux_suits,
};

/* ---------------------------------------------------------------- arrivals */

/* The session of an established datagram of ours; `*of_last` is that of the arrival's last
 * datagram: most often the same.  It is not freed before the turn ends. */
static struct nopal_composite *session_of(const struct nopal_endpoint *endpoint,
					  const struct nopal_arrival *arrival, uint8_t kind,
					  const uint8_t *bytes, struct nopal_composite *of_last)
{
	struct nopal_composite *composite;
	uint32_t id;

	if (kind == NOPAL_KIND_RESET && endpoint->demux == NOPAL_DEMUX_ID)
		return NULL; /* its id is the peer's */
	if (endpoint->demux == NOPAL_DEMUX_ADDRESS && kind != NOPAL_KIND_REPLY)
		return of_last ? of_last : nopal__session_at(endpoint, &arrival->from);
	id = (uint32_t)nopal__get(bytes + 1, NOPAL_ID_BYTES);
	composite = of_last && of_last->local_id == id
			    ? of_last
			    : nopal__session_of(endpoint, &arrival->from, id);
	if (kind == NOPAL_KIND_REPLY && composite &&
	    !nopal_address_equal(&composite->peer, &arrival->from))
		return NULL; /* by the path of the opening alone */
	return composite;
}

static void session_receive(struct nopal_endpoint *endpoint, const struct nopal_arrival *arrival,
			    struct nopal_composite *composite, uint8_t kind, uint8_t *bytes,
			    uint32_t length)
{
	if (!composite || composite->life == NOPAL_LIFE_ENDED || !nopal__be_awake(composite)) {
		endpoint->port.counters.unknown_session++;
		return;
	}
	if (composite->awake->fused)
		composite->awake->fused->receive(composite, kind, arrival->buffer, bytes, length);
	else
		nopal__session_receive(composite, kind, arrival->buffer, bytes, length);
}

static void datagram_receive(struct nopal_endpoint *endpoint, const struct nopal_arrival *arrival,
			     uint8_t *bytes, uint32_t length, struct nopal_composite **of_last)
{
	uint8_t kind;

	endpoint->port.counters.datagrams_in++;
	if (endpoint->channels) {
		endpoint->channel_receive(endpoint, arrival, bytes, length);
		return;
	}
	if (endpoint->demux == NOPAL_DEMUX_INTEROP) {
		if (!*of_last)
			*of_last = nopal__session_at(endpoint, &arrival->from);
		if (!*of_last)
			*of_last = nopal__interop_accept(endpoint, &arrival->from, bytes, length);
		session_receive(endpoint, arrival, *of_last, NOPAL_KIND_DATA, bytes, length);
		return;
	}
	if (length < (endpoint->demux == NOPAL_DEMUX_ID ? 1 + NOPAL_ID_BYTES : 1) ||
	    !nopal__first_byte_parse(bytes[0], &kind) ||
	    (kind == NOPAL_KIND_REPLY && length < 1 + NOPAL_ID_BYTES)) {
		endpoint->port.counters.malformed++;
		return;
	}
	if (nopal__is_opening(kind)) {
		if (endpoint->alias_of)
			endpoint->port.counters.unknown_session++;
		else
			nopal__opening_receive(endpoint, &arrival->from, arrival->buffer, bytes,
					       length);
		return;
	}
	*of_last = session_of(endpoint, arrival, kind, bytes, *of_last);
	if (!*of_last) {
		if (kind == NOPAL_KIND_RESET)
			nopal__reset_receive(endpoint, &arrival->from, bytes, length);
		else if (bytes == arrival->bytes) /* one answer an arrival is enough */
			nopal__stray_receive(endpoint, &arrival->from, kind, bytes, length);
	}
	session_receive(endpoint, arrival, *of_last, kind, bytes, length);
}

void nopal__endpoint_receive(struct nopal_endpoint *endpoint, const struct nopal_arrival *arrivals,
			     size_t count)
{
	struct nopal_world *world = endpoint->port.world;

	nopal__turn_enter(world);
	endpoint->port.counters.batches_in++;
	for (const struct nopal_arrival *arrival = arrivals; arrival < arrivals + count;
	     arrival++) {
		uint32_t stride = arrival->stride ? arrival->stride : arrival->length, at = 0;
		struct nopal_endpoint *primary = endpoint->alias_of ? endpoint->alias_of : endpoint;
		struct nopal_composite *of_last = NULL;

		primary->arrived_ecn = arrival->ecn;
		primary->arrived_at = endpoint;
		primary->arrived_from = &arrival->from;
		primary->arrived_of = NULL;
		do {
			uint32_t left = arrival->length - at;

			datagram_receive(endpoint, arrival, arrival->bytes + at,
					 left < stride ? left : stride, &of_last);
			at += stride;
		} while (at < arrival->length);
		primary->arrived_from = NULL;
	}
	nopal__turn_end(world, true);
}

/* -------------------------------------------------------- open, allow, close */

struct nopal_endpoint *nopal__endpoint_open(const struct nopal_port *port,
					    struct nopal_problems *problems)
{
	struct nopal_world *world = port->world;
	struct nopal_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	if (!endpoint)
		return NULL;
	endpoint->port = *port;
	for (int i = 0; i < 2; i++)
		endpoint->secret[i] =
			port->shard ? port->shard->secret[i] : world->ops->random(world);
	nopal__reset_key_draw(endpoint);
	if (world->ops->port_open(world, endpoint, problems) < 0) {
		free(endpoint);
		return NULL;
	}
	endpoint->port.hearing = NULL;
	endpoint->next = world->endpoints;
	world->endpoints = endpoint;
	return endpoint;
}

struct nopal_endpoint *nopal_endpoint_open(struct nopal_world *world,
					   const struct nopal_address *local,
					   struct nopal_problems *problems)
{
	return nopal__endpoint_open(&(struct nopal_port){ .world = world, .local = *local },
				    problems);
}

int nopal_endpoint_allow(struct nopal_endpoint *endpoint, struct nopal_plan *plan, unsigned flags,
			 const struct nopal_callbacks *callbacks, void *listener_user)
{
	struct nopal_listener_entry *entry;

	if (endpoint->alias_of)
		return -EINVAL;
	if (!plan->admission && !(flags & NOPAL_ALLOW_CONNECTIONLESS))
		return -EPERM;
	if (!nopal__demux_suits(endpoint, plan))
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	nopal__fused_load(plan); /* not when the first datagram comes */
	entry->plan = nopal_plan_ref(plan);
	entry->flags = flags;
	if (callbacks)
		entry->callbacks = *callbacks;
	entry->user = listener_user;
	entry->next = endpoint->listeners;
	endpoint->listeners = entry;
	return 0;
}

static void endpoint_free(struct nopal_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;
	struct nopal_endpoint **at = &world->endpoints;

	while (*at && *at != endpoint)
		at = &(*at)->next;
	if (*at)
		*at = endpoint->next;
	for (at = &world->unflushed; *at && *at != endpoint;)
		at = &(*at)->next_unflushed;
	if (*at)
		*at = endpoint->next_unflushed;
	while (endpoint->listeners) {
		struct nopal_listener_entry *next = endpoint->listeners->next;

		nopal_plan_unref(endpoint->listeners->plan);
		nopal__guard_free(endpoint->listeners->guard);
		free(endpoint->listeners);
		endpoint->listeners = next;
	}
	free(endpoint->farewells);
	nopal__pools_free(&endpoint->pools);
	nopal_free(NULL, endpoint->by_opening.slots);
	nopal_free(NULL, endpoint->meetings.slots);
	free(endpoint->by_id.slots);
	nopal_free(NULL, endpoint->ready);
	free(endpoint);
}

/* ------------------------------------------------------------------- aliases */

int nopal_endpoint_share(struct nopal_endpoint *endpoint, struct nopal_endpoint *with)
{
	if (endpoint == with || endpoint->port.world != with->port.world || endpoint->alias_of ||
	    endpoint->aliases || with->alias_of || endpoint->demux_is_set)
		return -EINVAL;
	endpoint->alias_of = with;
	endpoint->next_alias = with->aliases;
	with->aliases = endpoint;
	return 0;
}

/* Paths through an alias end; idle sessions have to say whether they have one. */
void nopal_endpoint_close(struct nopal_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;
	struct nopal_endpoint *primary, **at;
	bool outermost = nopal__turn_begin(world);

	while (endpoint->idle)
		nopal__resume(endpoint->idle);
	for (struct nopal_composite *composite = endpoint->sessions; composite;
	     composite = composite->next)
		if (composite->life != NOPAL_LIFE_ENDED) {
			nopal__touch(composite);
			nopal__session_end(composite, NOPAL_ABORTED, "its endpoint closed");
		}
	nopal__turn_end(world, outermost);
	for (; endpoint->aliases; endpoint->aliases = endpoint->aliases->next_alias)
		endpoint->aliases->alias_of = NULL;
	primary = endpoint->alias_of;
	if (primary) {
		while (primary->idle)
			nopal__resume(primary->idle);
		for (struct nopal_composite *composite = primary->sessions; composite;
		     composite = composite->next)
			nopal__paths_forget(composite, endpoint);
		at = &primary->aliases;
		while (*at != endpoint)
			at = &(*at)->next_alias;
		*at = endpoint->next_alias;
	}
	world->ops->port_close(world, endpoint);
	endpoint_free(endpoint);
}

/* ------------------------------------------------------------------- worlds */

void nopal__world_init(struct nopal_world *world, const struct nopal_world_ops *ops)
{
	memset(world, 0, sizeof(*world));
	world->ops = ops;
	world->touched_end = &world->touched;
	nopal_wheel_init(&world->wheel, 0);
}

void nopal__world_fini(struct nopal_world *world)
{
	while (world->endpoints) /* a channel's alias goes with its last session */
		nopal_endpoint_close(world->endpoints->channels ? world->endpoints->alias_of
								: world->endpoints);
	while (world->spare) {
		struct nopal_buffer *next = world->spare->owner;

		free(world->spare);
		world->spare = next;
	}
	nopal__path_cache_free(world->path_cache);
	free(world->tickets);
	nopal_trace_stop(world);
}

void nopal_world_free(struct nopal_world *world)
{
	if (world)
		world->ops->free(world);
}

int64_t nopal_world_now(const struct nopal_world *world)
{
	return world->ops->clock((struct nopal_world *)(uintptr_t)world);
}
