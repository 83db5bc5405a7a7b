/* SPDX-License-Identifier: MIT */
/*
 * whereabouts.c -- where a thread is in the core, for who dies there.
 *
 * The world whose turn it is is the thread's (turn.c); at work is a session that has raised an
 * event and not ended it; and the interpreter leaves the call that it makes in `running`, which
 * costs a store.  A fused unit leaves nothing there: the session is known, and its config, and the
 * same run without the unit says the rest.
 *
 * A signal handler asks, in a process of which nothing is sure any more: no lock, no allocation, no
 * function of the C library but those that only read, and walks that end.
 *
 * A hook that is no handler, such as a seal or an application's callback, runs for the handler that
 * led to it, which is the one that is named.
 */
#include <string.h>

#include "session/endpoint_sessions.h"

enum { SESSIONS_MAX = 1 << 20, LAYERS_MAX = 256, DIGITS_MAX = 20 };

struct words {
	char *text;
	size_t room, length;
};

static void put(struct words *words, const char *text)
{
	while (*text && words->length + 1 < words->room)
		words->text[words->length++] = *text++;
	words->text[words->length] = '\0';
}

/* With zeroes in front, to so many digits. */
static void put_number(struct words *words, uint64_t number, unsigned base, int digits)
{
	char text[DIGITS_MAX + 1];
	char *at = text + DIGITS_MAX;

	*at = '\0';
	do {
		*--at = "0123456789abcdef"[number % base];
		number /= base;
	} while (at > text && (--digits > 0 || number));
	put(words, at);
}

static bool is_in(const struct nopal_calls *calls, const void *running)
{
	return calls->count > 0 && (const char *)running >= (const char *)calls->call &&
	       (const char *)running < (const char *)(calls->call + calls->count);
}

/* NULL: it was bound at run time, and bound anew since. */
static const char *event_of(const struct nopal_composite *composite)
{
	const struct nopal_own_calls *own = composite->awake->own;

	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++)
		for (unsigned code = 0; code < NOPAL_KIND_ROOM; code++)
			if (is_in(&composite->awake->calls[event][code], composite->awake->running))
				return nopal_event_name(event);
	for (unsigned i = 0; own && i < NOPAL_CUSTOM_ROOM; i++)
		if (own->custom_name[i] && is_in(&own->custom[i], composite->awake->running))
			return own->custom_name[i];
	return NULL;
}

static void put_core(struct words *words, const struct nopal_composite *composite)
{
	int64_t now_ns = composite->world->now_ns;
	const struct nopal_layer *layer = composite->layer;
	bool fused = composite->awake->fused != NULL;
	const char *timer = NULL, *event;

	if (words->length)
		put(words, "\n");
	for (uint32_t i = 0; i < layer->timer_count && !timer; i++)
		if (composite->awake->running == &layer->timers[i].part)
			timer = layer->timers[i].timer->name;
	if (composite->awake->running) {
		event = timer ? NULL : event_of(composite);
		put(words, "while `");
		put(words, (*composite->awake->running)->microprotocol->name);
		put(words, timer ? "` was called by its timer " : "` handled ");
		put(words, timer ? timer : event ? event : "an event bound at run time");
	} else {
		put(words, fused ? "in the fused unit of `" : "in a session of `");
		put(words, layer->plan->info.name);
		put(words, fused ? "` (NOPAL_FUSED=off names the handler)" : "`");
	}
	put(words, " at ");
	put_number(words, (uint64_t)(now_ns / NOPAL_SECOND), 10, 1);
	put(words, ".");
	put_number(words, (uint64_t)(now_ns % NOPAL_SECOND), 10, 9);
	put(words, " s (session "); /* as a trace names it */
	put_number(words, composite->local_id, 16, 8);
	if (layer->plan->layer_count > 1) {
		put(words, ", layer ");
		put(words, layer->name);
	}
	put(words, ")");
}

static void put_stack(struct words *words, const struct nopal_composite *bottom)
{
	unsigned layers = 0;

	for (const struct nopal_composite *composite = bottom; composite && layers < LAYERS_MAX;
	     composite = nopal__over(composite), layers++)
		if (composite->awake && (composite->awake->running || composite->depth))
			put_core(words, composite);
}

size_t nopal_whereabouts(char *text, size_t room)
{
	const struct nopal_world *world = nopal__turn_of;
	struct words words = { .text = text, .room = room };
	unsigned sessions = 0;

	if (room == 0)
		return 0;
	*text = '\0';
	if (!world)
		return 0;
	for (const struct nopal_endpoint *endpoint = world->endpoints; endpoint;
	     endpoint = endpoint->next)
		for (const struct nopal_composite *bottom = endpoint->sessions;
		     bottom && sessions < SESSIONS_MAX; bottom = bottom->next, sessions++)
			put_stack(&words, bottom);
	return words.length;
}
