/* SPDX-License-Identifier: MIT */
/*
 * event.c -- raising events: a loop over a flat array of calls, or, in a fused unit, calls by name.
 *
 * Synchronous raises nest, depth first.  A segment or message is pinned for the length of each
 * raise about it, so that no handler sees it freed.  Queued raises run when the outermost raise has
 * ended, first in first out.
 */
#include <string.h>

#include "engine/event.h"
#include "engine/bind.h"
#include "engine/ring.h"
#include "engine/message.h"
#include "engine/segment.h"
#include "engine/timer.h"
#include "engine/turn.h"

enum {
	DEPTH_LIMIT = 32,      /* nested raises: more is a cycle */
	STORM_LIMIT = 1000000, /* queued raises in one turn */
};

void nopal__note(struct nopal_composite *composite, enum nopal_trace_note note, uint64_t a,
		 uint64_t b)
{
	nopal__record(composite, NOPAL_TRACED_NOTE, UINT8_MAX, (uint16_t)note, a, b);
}

/* ---------------------------------------------- differences by subject's type */

/* A constant: of the functions below one branch is left. */
#define SUBJECT_IS(subject)                                                                        \
	_Generic((subject), struct nopal_segment *                                                 \
		 : NOPAL_SUBJECT_SEGMENT, struct nopal_message *                                   \
		 : NOPAL_SUBJECT_MESSAGE, default                                                  \
		 : NOPAL_SUBJECT_OTHER)

static inline uint8_t subject_kind(enum nopal_subject is, const void *subject)
{
	const struct nopal_segment *segment = subject;

	return is == NOPAL_SUBJECT_SEGMENT ? segment->kind : NOPAL_KIND_DATA;
}

static inline uint64_t subject_number(enum nopal_subject is, const void *subject)
{
	const struct nopal_segment *segment = subject;
	const struct nopal_message *message = subject;

	if (is == NOPAL_SUBJECT_OTHER)
		return 0;
	return is == NOPAL_SUBJECT_SEGMENT ? segment->number : message->number;
}

static inline void subject_pin(enum nopal_subject is, void *subject)
{
	struct nopal_segment *segment = subject;
	struct nopal_message *message = subject;

	if (is == NOPAL_SUBJECT_SEGMENT)
		segment->pins++;
	else if (is == NOPAL_SUBJECT_MESSAGE)
		message->pins++;
}

static inline void subject_unpin(struct nopal_composite *composite, enum nopal_subject is,
				 void *subject)
{
	struct nopal_segment *segment = subject;

	if (is == NOPAL_SUBJECT_MESSAGE)
		nopal__message_unpin(composite, subject);
	else if (is == NOPAL_SUBJECT_SEGMENT && --segment->pins == 0 && segment->done)
		nopal__segment_settle(composite, segment);
}

/* ----------------------------------------------------------------- raising */

static __attribute__((noinline)) void record_raise(struct nopal_composite *composite,
						   enum nopal_event event, uint64_t subject)
{
	nopal__record(composite, NOPAL_TRACED_RAISE, UINT8_MAX, (uint16_t)event, subject,
		      composite->depth);
}

static __attribute__((noinline)) bool raise_too_deep(struct nopal_composite *composite)
{
	nopal__break(composite, NOPAL_RUNTIME_LIMIT,
		     "events nested beyond the limit: handlers raise each other");
	return false;
}

/* An ended session raises its last event and nothing else.  Inlined: each packet has a dozen
 * raises, of which many find nobody. */
static inline __attribute__((always_inline)) bool raise_begin(struct nopal_composite *composite,
							      enum nopal_event event,
							      uint64_t subject)
{
	if (composite->life == NOPAL_LIFE_ENDED && event != NOPAL_SESSION_CLOSED &&
	    event != NOPAL_SESSION_BROKEN)
		return false;
	composite->awake->counters.raises++;
	if (composite->world->tracer)
		record_raise(composite, event, subject);
	if (composite->depth >= DEPTH_LIMIT)
		return raise_too_deep(composite);
	if (event == NOPAL_SEGMENT_LOST)
		composite->awake->counters.segments_lost++;
	else if (event == NOPAL_SEGMENT_TIMEOUT)
		composite->awake->counters.segments_timeout++;
	composite->depth++;
	return true;
}

NOPAL_HOT static void raise_end(struct nopal_composite *composite)
{
	if (--composite->depth == 0 && composite->awake->queue.count && !composite->draining_queue)
		nopal__drain_queue(composite);
}

/* SEGMENT_FROM_NET of data that no filter stopped goes on by itself, for what arrived and for what
 * redundancy rebuilt alike; so does a message that nobody holds back. */
static inline void go_on(struct nopal_session *session, enum nopal_event event, void *subject,
			 bool stopped)
{
	if (event == NOPAL_SEGMENT_FROM_NET) {
		struct nopal_segment *segment = subject;

		if (stopped)
			nopal__composite(session)->awake->counters.segments_stopped++;
		else if (segment->kind == NOPAL_KIND_DATA)
			nopal_raise_SEGMENT_VERIFIED(session, segment);
	} else if (event == NOPAL_MSG_FROM_NET) {
		struct nopal_message *message = subject;

		if (!message->waiting && !message->delivered && !message->settled)
			nopal__message_deliver(nopal__composite(session), message);
	}
}

/* How an event's handlers are called until one says stop: by the session's table here; by name in a
 * fused unit, which writes call_all_EVENT itself. */
#ifdef NOPAL_FUSED_LAYERS
static inline bool is_elsewhere(const struct nopal_composite *composite)
{
	return !composite->awake->fused;
}

static inline const struct nopal_fused *elsewhere(const struct nopal_composite *composite)
{
	(void)composite;
	return &nopal__interpreter;
}
#else
static inline bool is_elsewhere(const struct nopal_composite *composite)
{
	return composite->awake->fused != NULL;
}

static inline const struct nopal_fused *elsewhere(const struct nopal_composite *composite)
{
	return composite->awake->fused;
}

#define EVENT(name, type, doc)                                                                     \
	static inline bool call_all_##name(struct nopal_session *session, type *subject)           \
	{                                                                                          \
		struct nopal_composite *composite = nopal__composite(session);                     \
		const struct nopal_calls *calls =                                                  \
			&composite->awake->calls[NOPAL_##name]                                     \
						[subject_kind(SUBJECT_IS(subject), subject)];      \
		const struct nopal_call *call = calls->call;                                       \
		const struct nopal_part *const *outer;                                             \
		bool stopped = false;                                                              \
                                                                                                   \
		if (!calls->count)                                                                 \
			return false;                                                              \
		outer = composite->awake->running;                                                 \
		for (uint32_t left = calls->count; left && !stopped; left--, call++) {             \
			composite->awake->running = &call->part;                                   \
			stopped = call->run.name((struct nopal_at){ session, call->part },         \
						 subject) == NOPAL_STOP;                           \
		}                                                                                  \
		composite->awake->running = outer;                                                 \
		return stopped;                                                                    \
	}
#include <nopal/events.def>
#undef EVENT

const struct nopal_fused nopal__interpreter = {
#define EVENT(name, type, doc) .name = nopal_raise_##name,
#include <nopal/events.def>
#undef EVENT
};
#endif

#define EVENT(name, type, doc)                                                                     \
	void nopal_raise_##name(struct nopal_session *session, type *subject)                      \
	{                                                                                          \
		struct nopal_composite *composite = nopal__composite(session);                     \
                                                                                                   \
		if (is_elsewhere(composite)) {                                                     \
			elsewhere(composite)->name(session, subject);                              \
			return;                                                                    \
		}                                                                                  \
		if (!raise_begin(composite, NOPAL_##name,                                          \
				 subject_number(SUBJECT_IS(subject), subject)))                    \
			return;                                                                    \
		subject_pin(SUBJECT_IS(subject), subject);                                         \
		go_on(session, NOPAL_##name, subject, call_all_##name(session, subject));          \
		subject_unpin(composite, SUBJECT_IS(subject), subject);                            \
		raise_end(composite);                                                              \
	}
#include <nopal/events.def>
#undef EVENT

/* The handlers are those of when it begins, whatever they bind, unbind or delete. */
void nopal_raise_custom(struct nopal_session *session, int event, void *subject)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_calls *found = nopal__custom_calls(composite, event);
	const struct nopal_part *const *outer = composite->awake->running;
	struct nopal_calls calls = { 0 };

	if (!found || !raise_begin(composite, (enum nopal_event)event, 0))
		return;
	calls = *found;
	for (uint32_t i = 0; i < calls.count; i++) {
		const struct nopal_call *call = &calls.call[i];

		composite->awake->running = &call->part;
		if (call->run.custom((struct nopal_at){ session, call->part }, subject) ==
		    NOPAL_STOP)
			break;
	}
	composite->awake->running = outer;
	raise_end(composite);
}

/* ------------------------------------------------------- queued and delayed */

/* A segment that rose from the layer below has no handle here; it is there until the queue is
 * empty, and not later. */
static inline struct nopal_deferred deferred_of(enum nopal_subject is, void *subject)
{
	struct nopal_deferred deferred = { .subject_is = is, .subject = subject };
	const struct nopal_segment *segment = subject;
	const struct nopal_message *message = subject;

	if (is == NOPAL_SUBJECT_SEGMENT)
		deferred.handle = segment->handle;
	else if (is == NOPAL_SUBJECT_MESSAGE)
		deferred.handle = message->handle;
	return deferred;
}

static bool list_push(struct nopal_composite *composite, struct nopal_deferred_list *list,
		      struct nopal_deferred deferred)
{
	if (list->count == list->room &&
	    !nopal__ring_grow(&composite->session, &list->entries, &list->head, &list->room,
			      sizeof(*list->entries))) {
		nopal__break(composite, NOPAL_RESOURCE, "no room for a raise that waits");
		return false;
	}
	list->entries[(list->head + list->count++) % list->room] = deferred;
	return true;
}

static void queue(struct nopal_session *session, enum nopal_event event,
		  struct nopal_deferred deferred)
{
	struct nopal_composite *composite = nopal__composite(session);

	deferred.event = event;
	if (list_push(composite, &composite->awake->queue, deferred) && composite->depth == 0)
		nopal__touch(composite);
}

static nopal_token delay(struct nopal_session *session, enum nopal_event event,
			 struct nopal_deferred deferred, int64_t delay_ns)
{
	struct nopal_composite *composite = nopal__composite(session);

	deferred.event = event;
	if (deferred.subject_is != NOPAL_SUBJECT_OTHER)
		deferred.subject = NULL;
	deferred.token = ++composite->awake->tokens;
	deferred.deadline_ns = session->now_ns + delay_ns;
	if (!list_push(composite, &composite->awake->delayed, deferred))
		return 0;
	nopal__wake_by(composite, deferred.deadline_ns);
	return deferred.token;
}

#define EVENT(name, type, doc)                                                                     \
	void nopal_queue_##name(struct nopal_session *session, type *subject)                      \
	{                                                                                          \
		queue(session, NOPAL_##name, deferred_of(SUBJECT_IS(subject), subject));           \
	}                                                                                          \
	nopal_token nopal_delay_##name(struct nopal_session *session, type *subject,               \
				       int64_t delay_ns)                                           \
	{                                                                                          \
		return delay(session, NOPAL_##name, deferred_of(SUBJECT_IS(subject), subject),     \
			     delay_ns);                                                            \
	}
#include <nopal/events.def>
#undef EVENT

/* An event of the session's own is named by its place, which another one may have by the time of
 * the raise: the age of the place tells them apart. */
static bool deferred_custom(struct nopal_composite *composite, int event, void *subject,
			    struct nopal_deferred *ret_deferred)
{
	if (!nopal__custom_calls(composite, event))
		return false;
	*ret_deferred = (struct nopal_deferred){
		.handle.generation = composite->awake->own->custom_age[event - NOPAL_CUSTOM],
		.subject = subject,
	};
	return true;
}

void nopal_queue_custom(struct nopal_session *session, int event, void *subject)
{
	struct nopal_deferred deferred;

	if (deferred_custom(nopal__composite(session), event, subject, &deferred))
		queue(session, (enum nopal_event)event, deferred);
}

nopal_token nopal_delay_custom(struct nopal_session *session, int event, void *subject,
			       int64_t delay_ns)
{
	struct nopal_deferred deferred;

	if (!deferred_custom(nopal__composite(session), event, subject, &deferred))
		return 0;
	return delay(session, (enum nopal_event)event, deferred, delay_ns);
}

static void run_custom(struct nopal_composite *composite, const struct nopal_deferred *deferred)
{
	int event = (int)deferred->event;

	if (nopal__custom_calls(composite, event) &&
	    composite->awake->own->custom_age[event - NOPAL_CUSTOM] == deferred->handle.generation)
		nopal_raise_custom(&composite->session, event, deferred->subject);
	else
		composite->awake->counters.stale_handles++;
}

void nopal_cancel(struct nopal_session *session, nopal_token token)
{
	struct nopal_deferred_list *list = &nopal__composite(session)->awake->delayed;

	for (uint32_t i = 0; i < list->count; i++) {
		struct nopal_deferred *at = &list->entries[(list->head + i) % list->room];

		if (at->token != token)
			continue;
		for (uint32_t j = i + 1; j < list->count; j++) {
			struct nopal_deferred *next = &list->entries[(list->head + j) % list->room];

			*at = *next;
			at = next;
		}
		list->count--;
		return;
	}
}

void nopal__run_deferred(struct nopal_composite *composite, const struct nopal_deferred *deferred)
{
	void *subject = deferred->subject;

	if (deferred->event >= NOPAL_CUSTOM) {
		run_custom(composite, deferred);
		return;
	}
	if (deferred->subject_is == NOPAL_SUBJECT_SEGMENT && deferred->handle.generation)
		subject = nopal_segment_find(&composite->session, deferred->handle);
	else if (deferred->subject_is == NOPAL_SUBJECT_MESSAGE)
		subject = nopal_message_find(&composite->session, deferred->handle);
	if (!subject)
		return;
	switch (deferred->event) {
#define EVENT(name, type, doc)                                                                     \
	case NOPAL_##name:                                                                         \
		nopal_raise_##name(&composite->session, subject);                                  \
		break;
#include <nopal/events.def>
#undef EVENT
	case NOPAL_NO_EVENT:
	case NOPAL_CUSTOM:
		break;
	}
}

void nopal__drain_queue(struct nopal_composite *composite)
{
	struct nopal_deferred_list *list = &composite->awake->queue;
	bool outer = composite->draining_queue; /* nopal_yield() nests */
	uint32_t run = 0;

	composite->draining_queue = true;
	while (list->count && composite->life != NOPAL_LIFE_ENDED) {
		struct nopal_deferred deferred = list->entries[list->head];

		list->head = (list->head + 1) % list->room;
		list->count--;
		nopal__run_deferred(composite, &deferred);
		if (++run == STORM_LIMIT)
			nopal__break(composite, NOPAL_RUNTIME_LIMIT,
				     "queued events never end: a storm");
	}
	composite->draining_queue = outer;
}

bool nopal_yield(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (composite->depth++ < DEPTH_LIMIT) {
		nopal__drain_queue(composite);
		nopal__timers_run(composite);
	} else {
		nopal__break(composite, NOPAL_RUNTIME_LIMIT,
			     "handlers yield within each other beyond the limit");
	}
	composite->depth--;
	return composite->life != NOPAL_LIFE_ENDED;
}
