/* SPDX-License-Identifier: MIT */
/*
 * bind.c -- binding at run time and events of a session's own.
 *
 * A session starts with its plan's calls.  The first bind gives it calls of its own; every change
 * makes a new array and leaves the old one to the session's memory, so a raise in progress keeps
 * the handlers it began with.  From then on the session is interpreted, even where its plan has a
 * fused unit.
 */
#include <errno.h>
#include <string.h>

#include "engine/bind.h"
#include "engine/event.h"
#include "plan/build.h"
#include "registry/registry.h"

static struct nopal_own_calls *own_calls(struct nopal_composite *composite)
{
	if (composite->awake->own)
		return composite->awake->own;
	composite->awake->own = nopal_alloc(&composite->session, sizeof(*composite->awake->own));
	if (!composite->awake->own)
		return NULL;
	memcpy(composite->awake->own->calls, composite->layer->calls,
	       sizeof(composite->awake->own->calls));
	composite->awake->calls = composite->awake->own->calls;
	composite->awake->fused = NULL; /* a raise in progress goes on as it began */
	return composite->awake->own;
}

static int calls_insert(struct nopal_composite *composite, struct nopal_calls *calls, uint32_t at,
			struct nopal_call call)
{
	struct nopal_call *grown =
		nopal_alloc(&composite->session, (calls->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	if (at)
		memcpy(grown, calls->call, at * sizeof(*grown));
	grown[at] = call;
	if (at < calls->count)
		memcpy(grown + at + 1, calls->call + at, (calls->count - at) * sizeof(*grown));
	calls->call = grown;
	calls->count++;
	return 0;
}

/* Behind all others, but before the first handler that `before` names.  Negative:
 * one that `after` names runs later than that. */
static int64_t calls_place(const struct nopal_calls *calls, const struct nopal_binding *binding)
{
	uint32_t at = calls->count, first = 0;

	for (uint32_t i = calls->count; i-- > 0;) {
		const struct nopal_microprotocol *one = calls->call[i].part->microprotocol;

		if (binding->before && nopal__answers(one, binding->before))
			at = i;
		if (binding->after && nopal__answers(one, binding->after) && i >= first)
			first = i + 1;
	}
	return first <= at ? (int64_t)at : -EINVAL;
}

static void calls_remove(struct nopal_composite *composite, struct nopal_calls *calls,
			 const struct nopal_part *part, const struct nopal_binding *binding)
{
	struct nopal_call *kept;
	uint32_t count = 0;

	if (!calls->count)
		return;
	kept = nopal_alloc(&composite->session, calls->count * sizeof(*kept));
	if (!kept)
		return;
	for (uint32_t i = 0; i < calls->count; i++)
		if (calls->call[i].part->index != part->index ||
		    memcmp(&calls->call[i].run, &binding->run, sizeof(binding->run)) != 0)
			kept[count++] = calls->call[i];
	calls->call = kept;
	calls->count = count;
}

/* A binding with a static argument sees a part of its own that carries it. */
static const struct nopal_part *part_with(struct nopal_composite *composite,
					  const struct nopal_part *part, const void *argument)
{
	struct nopal_part *copy;

	if (!argument)
		return part;
	copy = nopal_alloc(&composite->session, sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *part;
	copy->argument = argument;
	return copy;
}

/* NULL: the session has no such event. */
static struct nopal_calls *custom_calls(struct nopal_composite *composite, int event)
{
	int i = event - NOPAL_CUSTOM;

	if (!composite->awake->own || i < 0 || i >= NOPAL_CUSTOM_ROOM ||
	    !composite->awake->own->custom_name[i])
		return NULL;
	return &composite->awake->own->custom[i];
}

const struct nopal_calls *nopal__custom_calls(struct nopal_composite *composite, int event)
{
	return custom_calls(composite, event);
}

/* An event of the session's own has one list of calls, whatever its subject. */
static int custom_bind(struct nopal_at at, const struct nopal_binding *binding)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	struct nopal_calls *calls = custom_calls(composite, (int)binding->event);
	struct nopal_call call = { .run = binding->run };
	int64_t place;

	if (!calls)
		return -ENOENT;
	place = calls_place(calls, binding);
	if (place < 0)
		return -EINVAL;
	call.part = part_with(composite, at.part, binding->argument);
	if (!call.part)
		return -ENOMEM;
	return calls_insert(composite, calls, (uint32_t)place, call);
}

static int event_bind(struct nopal_at at, const struct nopal_binding *binding)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	struct nopal_own_calls *own = own_calls(composite);
	struct nopal_calls *calls = own ? own->calls[binding->event] : NULL;
	struct nopal_call call = { .run = binding->run };

	call.part = own ? part_with(composite, at.part, binding->argument) : NULL;
	if (!call.part)
		return -ENOMEM;
	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
		if (nopal__kind_wanted(composite->layer->plan, at.part, binding->kinds, code) &&
		    calls_place(&calls[code], binding) < 0)
			return -EINVAL;
	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
		if (nopal__kind_wanted(composite->layer->plan, at.part, binding->kinds, code) &&
		    calls_insert(composite, &calls[code],
				 (uint32_t)calls_place(&calls[code], binding), call) < 0)
			return -ENOMEM;
	return 0;
}

int nopal_bind(struct nopal_at at, const struct nopal_binding *binding)
{
	if (binding->event >= NOPAL_CUSTOM)
		return custom_bind(at, binding);
	return event_bind(at, binding);
}

void nopal_unbind(struct nopal_at at, const struct nopal_binding *binding)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	struct nopal_own_calls *own = own_calls(composite);

	if (!own)
		return;
	if (binding->event >= NOPAL_CUSTOM) {
		struct nopal_calls *calls = custom_calls(composite, (int)binding->event);

		if (calls)
			calls_remove(composite, calls, at.part, binding);
		return;
	}
	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
		if (nopal__kind_wanted(composite->layer->plan, at.part, binding->kinds, code))
			calls_remove(composite, &own->calls[binding->event][code], at.part,
				     binding);
}

/* ------------------------------------------------------------ custom events */

int nopal_event_find(struct nopal_session *session, const char *name)
{
	const struct nopal_own_calls *own = nopal__composite(session)->awake->own;

	for (int i = 0; own && i < NOPAL_CUSTOM_ROOM; i++)
		if (own->custom_name[i] && strcmp(own->custom_name[i], name) == 0)
			return NOPAL_CUSTOM + i;
	return -ENOENT;
}

int nopal_event_create(struct nopal_session *session, const char *name)
{
	struct nopal_own_calls *own = own_calls(nopal__composite(session));

	if (!own)
		return -ENOMEM;
	if (nopal_event_find(session, name) >= 0)
		return -EEXIST;
	for (int i = 0; i < NOPAL_CUSTOM_ROOM; i++)
		if (!own->custom_name[i]) {
			own->custom_name[i] = name;
			own->custom[i] = (struct nopal_calls){ 0 };
			return NOPAL_CUSTOM + i;
		}
	return -ENOSPC;
}

void nopal_event_delete(struct nopal_session *session, int event)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_calls *calls = custom_calls(composite, event);

	if (!calls)
		return;
	*calls = (struct nopal_calls){ 0 };
	composite->awake->own->custom_name[event - NOPAL_CUSTOM] = NULL;
	composite->awake->own->custom_age[event - NOPAL_CUSTOM]++;
}

int nopal_bind_custom(struct nopal_at at, int event, nopal_custom_handler *handler,
		      const void *argument)
{
	return nopal_bind(at, &(struct nopal_binding){ .event = (enum nopal_event)event,
						       .run.custom = handler,
						       .argument = argument });
}

/* ----------------------------------------------------- barriers on any item */

void nopal_barrier_init(struct nopal_item_barrier *barrier, int event, void *item)
{
	*barrier = (struct nopal_item_barrier){ .event = event, .item = item };
}

uint32_t nopal_barrier_join(struct nopal_item_barrier *barrier)
{
	uint32_t bit = ~barrier->members & (barrier->members + 1);

	barrier->members |= bit;
	barrier->waiting |= bit;
	return bit;
}

void nopal_barrier_enter(struct nopal_session *session, struct nopal_item_barrier *barrier,
			 uint32_t bit)
{
	if (!(barrier->waiting & bit)) {
		nopal__composite(session)->awake->counters.misuses++;
		nopal__note(nopal__composite(session), NOPAL_NOTE_MISUSE, bit, 0);
		return;
	}
	barrier->waiting &= ~bit;
	if (barrier->waiting == 0)
		nopal_raise_custom(session, barrier->event, barrier->item);
}
