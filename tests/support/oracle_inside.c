/* SPDX-License-Identifier: MIT */
/*
 * oracle_inside.c -- the oracle's look at a session from within.
 */
#include <stdarg.h>
#include <stdio.h>

#include "support/oracle.h"
#include "layers/group.h"
#include "layers/streams.h"
#include "registry/registry.h"

void oracle_violated(struct oracle *oracle, const char *how, ...)
{
	va_list arguments;

	if (oracle->violation[0] || oracle->told)
		return;
	oracle->kind = how;
	va_start(arguments, how);
	vsnprintf(oracle->violation, sizeof(oracle->violation), how, arguments);
	va_end(arguments);
}

/* Of each layer. */
struct an_oracle {
	bool last_event_seen; /* SESSION_CLOSED or SESSION_BROKEN was raised */
};

enum { ORACLE_WINDOW, ORACLE_IN_FLIGHT, ORACLE_MIN_RATE }; /* shared variables */

static void check_budget(struct oracle *oracle, const struct nopal_composite *composite)
{
	if (composite->awake->bytes_held > composite->awake->budget.bytes)
		oracle_violated(oracle, "holds %llu bytes, more than its budget",
				(unsigned long long)composite->awake->bytes_held);
	if (composite->awake->segments.alive + composite->awake->messages.alive >
	    composite->awake->budget.objects)
		oracle_violated(oracle, "holds more objects than its budget");
}

static void check_window(struct oracle *oracle, struct nopal_at at)
{
	if (nopal_shared_get(at, ORACLE_IN_FLIGHT) < 0)
		oracle_violated(oracle, "bytes in flight fell below zero");
}

static void check_transmission(struct oracle *oracle, struct nopal_at at,
			       const struct nopal_segment *segment)
{
	int64_t window = nopal_shared_get(at, ORACLE_WINDOW);
	int64_t in_flight = nopal_shared_get(at, ORACLE_IN_FLIGHT);

	if (segment->done)
		oracle_violated(oracle, "segment %u left after it was done", segment->number);
	if (in_flight > window && in_flight > (int64_t)segment->body.length &&
	    !nopal_shared_get(at, ORACLE_MIN_RATE))
		oracle_violated(oracle, "%lld bytes in flight, window %lld", (long long)in_flight,
				(long long)window);
}

static void check_outcomes(struct oracle *oracle, const struct nopal_composite *composite)
{
	const struct nopal_counters *counters = &composite->awake->counters;

	if (counters->messages_sent <
	    counters->messages_arrived + counters->messages_missing + composite->awake->unfinished)
		oracle_violated(oracle, "more outcomes than messages");
	if (counters->misuses)
		oracle_violated(oracle, "a bit was released that was not held");
	if (counters->refused_sends)
		oracle_violated(oracle, "a send was asked for after SEGMENT_DONE");
}

/* Parity that had no time to leave may go with the session, and acks of a layer above; no data of
 * the application may. */
static void check_nothing_held(struct oracle *oracle, const struct nopal_composite *composite)
{
	for (const struct nopal_segment *segment = nopal__pool_oldest(&composite->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (segment->kind == NOPAL_KIND_DATA && !segment->done)
			oracle_violated(oracle,
					"closed while segment %u is held: done %#x, "
					"deallocate %#x",
					segment->number, segment->waiting[NOPAL_DONE],
					segment->waiting[NOPAL_DEALLOCATE]);
	}
}

static void look(struct nopal_at at, enum nopal_event event, void *subject)
{
	struct oracle_side *side = nopal__top(nopal__composite(at.session))->user;
	struct nopal_composite *composite = nopal__composite(at.session);
	struct an_oracle *self = nopal_state(at);

	if (!side)
		return;
	side->oracle->events++;
	if (self->last_event_seen)
		oracle_violated(side->oracle, "%s after the last event", nopal_event_name(event));
	if (event == NOPAL_SESSION_CLOSED || event == NOPAL_SESSION_BROKEN)
		self->last_event_seen = true;
	if (event == NOPAL_SESSION_CLOSED && !composite->above && !nopal__is_flow(composite))
		check_nothing_held(side->oracle, composite);
	if (event == NOPAL_SEND_SEGMENT)
		check_transmission(side->oracle, at, subject);
	check_budget(side->oracle, composite);
	check_window(side->oracle, at);
	check_outcomes(side->oracle, composite);
}

#define EVENT(name, type, doc)                                                                     \
	static enum nopal_verdict oracle_on_##name(struct nopal_at at, type *subject)              \
	{                                                                                          \
		look(at, NOPAL_##name, subject);                                                   \
		return NOPAL_CONTINUE;                                                             \
	}
#include <nopal/events.def>
#undef EVENT

/* ---------------------------------------------------------------- from without */

static bool is_of_layer(const struct nopal_layer *layer, int part)
{
	return part >= layer->first_part && part < layer->first_part + layer->part_count;
}

static bool has_transmitted(const struct nopal_composite *composite)
{
	const struct nopal_segment *segment =
		composite->awake ? nopal__pool_oldest(&composite->awake->segments) : NULL;

	for (; segment; segment = nopal__pool_newer(segment))
		if (segment->transmissions && !segment->done)
			return true;
	return false;
}

static bool stack_waits(const struct nopal_composite *composite, int part)
{
	for (; composite; composite = composite->below) {
		if (is_of_layer(composite->layer, part) && has_transmitted(composite))
			return true;
		for (uint32_t i = 0;
		     nopal__is_group(composite) && i < nopal__member_count(composite); i++)
			if (stack_waits(nopal__member_at(composite, i), part))
				return true;
	}
	return false;
}

bool oracle_waits_for_ack(const struct oracle_side *side, int part)
{
	return side->session && stack_waits(nopal__composite(side->session), part);
}

static void keeps_visit(const struct nopal_held *held, void *user)
{
	bool *keeps = user;

	*keeps |= held->barrier == NOPAL_DELIVER;
}

bool oracle_keeps_messages(const struct oracle_side *side)
{
	bool keeps = false;

	nopal_session_held(side->session, keeps_visit, &keeps);
	return keeps;
}

static uint64_t stack_transmissions(const struct nopal_composite *composite)
{
	uint64_t sum = 0;

	for (; composite; composite = composite->below) {
		if (composite->awake)
			sum += composite->awake->counters.transmissions;
		for (uint32_t i = 0;
		     nopal__is_group(composite) && i < nopal__member_count(composite); i++)
			sum += stack_transmissions(nopal__member_at(composite, i));
	}
	return sum;
}

uint64_t oracle_transmissions(const struct oracle *oracle)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < oracle->sides; i++)
		if (oracle->side[i].session)
			sum += stack_transmissions(nopal__composite(oracle->side[i].session));
	return sum;
}

static void dump_stack(const struct nopal_composite *composite)
{
	for (; composite; composite = composite->below) {
		printf("  layer %s: life %d, peer closed %d, unfinished %u\n",
		       composite->layer->name, composite->life, composite->peer_closed,
		       composite->awake ? composite->awake->unfinished : 0);
		for (uint32_t i = 0; composite->awake && i < composite->layer->shared_count; i++)
			printf("    %s %lld\n", composite->layer->shared[i].name,
			       (long long)composite->shared[i]);
		if (composite->awake)
			nopal_session_dump(&composite->session, stdout);
		for (uint32_t i = 0;
		     nopal__is_group(composite) && i < nopal__member_count(composite); i++)
			dump_stack(nopal__member_at(composite, i));
	}
}

void oracle_dump(const struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->sides; i++) {
		const struct oracle_side *side = &oracle->side[i];

		printf("side %u: %s%s, pushed %u of %u, %u outcomes, %u heard, end %d %s at %.3f s\n",
		       i, side->begun ? "begun" : "not there", side->ended ? ", ended" : "",
		       side->pushed, side->messages, side->outcomes, side->delivered, side->end,
		       side->end_text, (double)side->end_ns / (double)NOPAL_SECOND);
		if (side->session)
			dump_stack(nopal__composite(side->session));
	}
	printf("at %.3f s\n", (double)nopal_world_now(oracle->world) / (double)NOPAL_SECOND);
}

static const struct nopal_binding oracle_bindings[] = {
#define EVENT(name, type, doc) NOPAL_ON(name, oracle_on_##name, .kinds = NOPAL_EVERY_KIND),
#include <nopal/events.def>
#undef EVENT
	{ 0 },
};

static const struct nopal_shared oracle_shared[] = {
	[ORACLE_WINDOW] = { .name = "congestion_window_bytes",
			    .access = NOPAL_READ_OPTIONAL,
			    .initial = INT64_MAX },
	[ORACLE_IN_FLIGHT] = { .name = "bytes_in_flight", .access = NOPAL_READ_OPTIONAL },
	[ORACLE_MIN_RATE] = { .name = "min_rate_bps", .access = NOPAL_READ_OPTIONAL },
	{ 0 },
};

static const struct nopal_microprotocol an_oracle = {
	.abi = NOPAL_ABI,
	.name = "an_oracle",
	.family = "check",
	.many = true,
	.summary = "looks at barriers, windows and budgets after every event",
	.bindings = oracle_bindings,
	.shared = oracle_shared,
	.state_size = sizeof(struct an_oracle),
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void oracle_register(void)
{
	struct nopal_problems problems = { 0 };

	if (nopal_registry_find("an_oracle"))
		return;
	nopal__registry_add(&an_oracle, "oracle.c", &problems);
	nopal_problems_fini(&problems);
}
