/* SPDX-License-Identifier: MIT */
/*
 * oracle_inside.c -- the oracle's look at a session from within.
 */
#include <stdarg.h>
#include <stdio.h>

#include "oracle.h"
#include "registry.h"

void oracle_violated(struct oracle *oracle, const char *how, ...)
{
	va_list arguments;

	if (oracle->violation[0] || oracle->told)
		return;
	va_start(arguments, how);
	vsnprintf(oracle->violation, sizeof(oracle->violation), how, arguments);
	va_end(arguments);
}

static bool shared_of(const struct nopal_session *session, const char *name,
		      int64_t *ret_value)
{
	return nopal_session_shared(session, name, ret_value);
}

static void check_budget(struct oracle *oracle, const struct nopal_core *core)
{
	if (core->awake->bytes_held > core->awake->budget.bytes)
		oracle_violated(oracle,
				"holds %llu bytes, more than its budget",
				(unsigned long long)core->awake->bytes_held);
	if (core->awake->segments.alive + core->awake->messages.alive >
	    core->awake->budget.objects)
		oracle_violated(oracle, "holds more objects than its budget");
}

static void check_window(struct oracle *oracle,
			 const struct nopal_session *session)
{
	int64_t window, in_flight;

	if (shared_of(session, "congestion_window_bytes", &window) &&
	    shared_of(session, "bytes_in_flight", &in_flight) && in_flight < 0)
		oracle_violated(oracle, "bytes in flight fell below zero");
}

static void check_departure(struct oracle *oracle,
			    const struct nopal_session *session,
			    const struct nopal_segment *segment)
{
	int64_t window, in_flight;

	if (segment->done)
		oracle_violated(oracle, "segment %u left after it was done",
				segment->number);
	if (!shared_of(session, "congestion_window_bytes", &window) ||
	    !shared_of(session, "bytes_in_flight", &in_flight))
		return;
	if (in_flight > window && in_flight > (int64_t)segment->body.length)
		oracle_violated(oracle, "%lld bytes in flight, window %lld",
				(long long)in_flight, (long long)window);
}

static void check_fates(struct oracle *oracle, const struct nopal_core *core)
{
	const struct nopal_counters *counters = &core->awake->counters;

	if (counters->messages_sent < counters->messages_arrived +
					      counters->messages_missing +
					      core->awake->unfinished)
		oracle_violated(oracle, "more fates than messages");
	if (counters->misuses)
		oracle_violated(oracle, "a bit was released that was not held");
	if (counters->refused_sends)
		oracle_violated(oracle,
				"a send was asked for after SEGMENT_DONE");
}

/* Parity that had no time to leave may go with the session; no data may. */
static void check_nothing_held(struct oracle *oracle,
			       const struct nopal_core *core)
{
	for (const struct nopal_segment *segment =
		     nopal__pool_oldest(&core->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (segment->kind == NOPAL_KIND_DATA)
			oracle_violated(
				oracle,
				"closed while segment %u is held: done %#x, "
				"deallocate %#x",
				segment->number, segment->waiting[NOPAL_FINISH],
				segment->waiting[NOPAL_DEALLOCATE]);
	}
}

static void look(struct nopal_session *session, enum nopal_event event,
		 void *subject)
{
	struct oracle_side *side = nopal__top(nopal__core(session))->user;
	struct nopal_core *core = nopal__core(session);

	if (!side)
		return;
	side->oracle->events++;
	if (side->last_event_seen)
		oracle_violated(side->oracle, "%s after the last event",
				nopal_event_name(event));
	if (event == NOPAL_SESSION_CLOSED || event == NOPAL_SESSION_BROKEN)
		side->last_event_seen = 1;
	if (event == NOPAL_SESSION_CLOSED)
		check_nothing_held(side->oracle, core);
	if (event == NOPAL_SEND_SEGMENT)
		check_departure(side->oracle, session, subject);
	check_budget(side->oracle, core);
	check_window(side->oracle, session);
	check_fates(side->oracle, core);
}

#define EVENT(name, type, doc)                                                 \
	static enum nopal_verdict oracle_on_##name(                            \
		struct nopal_session *session, const struct nopal_part *part,  \
		type *subject)                                                 \
	{                                                                      \
		(void)part;                                                    \
		look(session, NOPAL_##name, subject);                          \
		return NOPAL_CONTINUE;                                         \
	}
#include "events.def"
#undef EVENT

static const struct nopal_binding oracle_bindings[] = {
#define EVENT(name, type, doc)                                                 \
	NOPAL_ON(name, oracle_on_##name, .kinds = NOPAL_EVERY_KIND),
#include "events.def"
#undef EVENT
	{ 0 },
};

static const struct nopal_microprotocol an_oracle = {
	.abi = NOPAL_ABI,
	.name = "an_oracle",
	.family = "check",
	.many = true,
	.summary = "looks at barriers, windows and budgets after every event",
	.bindings = oracle_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void oracle_register(void)
{
	struct nopal_problems problems;

	if (nopal_registry_find("an_oracle"))
		return;
	nopal_problems_init(&problems);
	nopal__registry_add(&an_oracle, "oracle.c", &problems);
	nopal_problems_fini(&problems);
}
