/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

enum {
	SENDER_PORT = 1000,
	RECEIVER_PORT = 2000,
	INDEX_BYTES = 4,
	LONGEST = 6000
};

static void violated(struct oracle *oracle, const char *how, ...)
	__attribute__((format(printf, 2, 3)));

static void violated(struct oracle *oracle, const char *how, ...)
{
	va_list arguments;

	if (oracle->violation[0])
		return;
	va_start(arguments, how);
	vsnprintf(oracle->violation, sizeof(oracle->violation), how, arguments);
	va_end(arguments);
}

/* ----------------------------------------------------------- from the inside */

static bool shared_of(const struct nopal_session *session, const char *name,
		      int64_t *ret_value)
{
	return nopal_session_shared(session, name, ret_value);
}

static void check_budget(struct oracle *oracle, const struct nopal_core *core)
{
	if (core->awake->bytes_held > core->awake->budget.bytes)
		violated(oracle, "holds %llu bytes, more than its budget",
			 (unsigned long long)core->awake->bytes_held);
	if (core->awake->segments.alive + core->awake->messages.alive >
	    core->awake->budget.objects)
		violated(oracle, "holds more objects than its budget");
}

static void check_window(struct oracle *oracle,
			 const struct nopal_session *session)
{
	int64_t window, in_flight;

	if (shared_of(session, "congestion_window_bytes", &window) &&
	    shared_of(session, "bytes_in_flight", &in_flight) && in_flight < 0)
		violated(oracle, "bytes in flight fell below zero");
}

static void check_departure(struct oracle *oracle,
			    const struct nopal_session *session,
			    const struct nopal_segment *segment)
{
	int64_t window, in_flight;

	if (segment->done)
		violated(oracle, "segment %u left after it was done",
			 segment->number);
	if (!shared_of(session, "congestion_window_bytes", &window) ||
	    !shared_of(session, "bytes_in_flight", &in_flight))
		return;
	if (in_flight > window && in_flight > (int64_t)segment->body.length)
		violated(oracle, "%lld bytes in flight, window %lld",
			 (long long)in_flight, (long long)window);
}

static void check_fates(struct oracle *oracle, const struct nopal_core *core)
{
	const struct nopal_counters *counters = &core->awake->counters;

	if (counters->messages_sent < counters->messages_arrived +
					      counters->messages_missing +
					      core->awake->unfinished)
		violated(oracle, "more fates than messages");
	if (counters->misuses)
		violated(oracle, "a bit was released that was not held");
	if (counters->refused_sends)
		violated(oracle, "a send was asked for after SEGMENT_DONE");
}

/* Parity that had no time to leave may go with the session; no data may. */
static void check_nothing_held(struct oracle *oracle,
			       const struct nopal_core *core)
{
	for (const struct nopal_segment *segment =
		     nopal__pool_oldest(&core->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (segment->kind == NOPAL_KIND_DATA)
			violated(oracle,
				 "closed while segment %u is held: done %#x, "
				 "deallocate %#x",
				 segment->number,
				 segment->waiting[NOPAL_FINISH],
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
		violated(side->oracle, "%s after the last event",
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

/* ---------------------------------------------------------- from the outside */

static uint64_t draw(struct oracle *oracle)
{
	oracle->random ^= oracle->random << 13;
	oracle->random ^= oracle->random >> 7;
	oracle->random ^= oracle->random << 17;
	return oracle->random;
}

static uint8_t byte_of(uint32_t index, size_t at)
{
	return (uint8_t)(index * 131u + at * 7u + (at >> 8));
}

static size_t fill(uint32_t index, uint8_t *bytes, size_t length)
{
	for (size_t at = INDEX_BYTES; at < length; at++)
		bytes[at] = byte_of(index, at);
	for (unsigned i = 0; i < INDEX_BYTES; i++)
		bytes[i] = (uint8_t)(index >> 8 * i);
	return length;
}

static void push(struct oracle *oracle)
{
	struct oracle_side *side = &oracle->sender;
	uint8_t bytes[LONGEST];

	while (side->session && oracle->pushed < oracle->messages) {
		size_t length = INDEX_BYTES +
				draw(oracle) % (oracle->longest - INDEX_BYTES);
		int result = nopal_send(side->session, bytes,
					fill(oracle->pushed, bytes, length),
					oracle->pushed);

		if (result == -EAGAIN)
			return;
		if (result < 0) {
			violated(oracle, "a send was refused: %s",
				 strerror(-result));
			return;
		}
		oracle->pushed++;
	}
	if (side->session)
		nopal_session_close(side->session);
}

static void check_order(struct oracle *oracle, const struct oracle_side *side,
			uint32_t index)
{
	if (oracle->promises.in_order && (int64_t)index <= side->newest)
		violated(oracle, "message %u delivered after %lld", index,
			 (long long)side->newest);
	if (oracle->promises.in_order && oracle->promises.reliable &&
	    (int64_t)index != side->newest + 1)
		violated(oracle, "message %u delivered, %lld was due", index,
			 (long long)side->newest + 1);
	if (oracle->promises.once && side->seen[index])
		violated(oracle, "message %u delivered twice", index);
}

static bool content_good(const uint8_t *bytes, size_t length, uint32_t index)
{
	for (size_t at = INDEX_BYTES; at < length; at++)
		if (bytes[at] != byte_of(index, at))
			return false;
	return true;
}

static void on_received(struct nopal_session *session,
			struct nopal_message *message, void *user)
{
	struct oracle_side *side = user;
	struct oracle *oracle = side->oracle;
	uint8_t bytes[LONGEST];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));
	uint32_t index = 0;

	(void)session;
	for (unsigned i = 0; i < INDEX_BYTES && i < length; i++)
		index |= (uint32_t)bytes[i] << 8 * i;
	side->delivered++;
	if (side->ended)
		violated(oracle, "delivered after the end");
	if (length < INDEX_BYTES || index >= oracle->messages ||
	    !content_good(bytes, length, index)) {
		if (oracle->promises.intact)
			violated(oracle, "a message nobody sent was delivered");
		return;
	}
	check_order(oracle, side, index);
	side->seen[index] = 1;
	if ((int64_t)index > side->newest)
		side->newest = index;
	side->hash = side->hash * UINT64_C(1099511628211) + index + length;
}

static void on_sent(struct nopal_session *session, uint64_t cookie, int fate,
		    void *user)
{
	struct oracle_side *side = user;
	struct oracle *oracle = side->oracle;

	(void)session;
	side->fates++;
	if (fate == NOPAL_ARRIVED && !oracle->receiver.seen[cookie] &&
	    oracle->promises.intact && oracle->promises.reliable &&
	    !oracle->promises.in_order)
		violated(oracle, "message %llu said to have arrived did not",
			 (unsigned long long)cookie);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	if (side == &side->oracle->sender) {
		side->session = session;
		push(side->oracle);
	}
}

static void on_writable(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	(void)session;
	if (side == &side->oracle->sender)
		push(side->oracle);
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct oracle *oracle = user;

	oracle->receiver.session = session;
	return &oracle->receiver;
}

static void on_ended(struct nopal_session *session, int end, const char *text,
		     void *user)
{
	struct oracle_side *side = user;

	(void)session;
	if (side->ended)
		violated(side->oracle, "a session ended twice");
	side->ended = true;
	side->end = end;
	side->session = NULL;
	if (end != NOPAL_ENDED_WELL && end != NOPAL_ABORTED)
		violated(side->oracle, "a session broke: %s", text);
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.writable = on_writable,
	.ended = on_ended,
};

/* -------------------------------------------------------------------- a run */

static struct oracle_promises promises_of(const struct nopal_plan *plan)
{
	return (struct oracle_promises){
		.reliable = nopal_plan_provides(plan, "reliability") &&
			    !nopal_plan_provides(plan, "partial_reliability") &&
			    !nopal_plan_provides(plan, "jitter"),
		.in_order = nopal_plan_provides(plan, "order"),
		.once = nopal_plan_provides(plan, "duplicate_filter") ||
			nopal_plan_provides(plan, "order"),
		.intact = nopal_plan_provides(plan, "integrity"),
		.handshake = nopal_plan_provides(plan, "connection"),
	};
}

static struct nopal_plan *load(const char *config,
			       struct nopal_problems *problems)
{
	char text[8192];

	if (strchr(config, '\n'))
		return nopal_plan_parse(config, "oracle.conf", NULL, problems);
	snprintf(text, sizeof(text), "extends = \"%s\"\nan_oracle {}\n",
		 config);
	return nopal_plan_parse(text, "oracle.conf", NULL, problems);
}

static bool prepare(struct oracle *oracle, const struct oracle_run *run)
{
	struct nopal_problems problems;

	memset(oracle, 0, sizeof(*oracle));
	oracle_register();
	nopal_problems_init(&problems);
	oracle->plan = load(run->config, &problems);
	if (!oracle->plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!oracle->plan) {
		violated(oracle, "the config %s is bad", run->config);
		return false;
	}
	oracle->promises = promises_of(oracle->plan);
	oracle->messages = run->messages;
	oracle->longest =
		nopal_plan_message_limit(oracle->plan) < LONGEST
			? (uint32_t)nopal_plan_message_limit(oracle->plan)
			: LONGEST;
	oracle->random = run->seed * 2 + 1;
	oracle->sender.oracle = oracle->receiver.oracle = oracle;
	oracle->sender.newest = oracle->receiver.newest = -1;
	return true;
}

static void links(struct oracle *oracle, const char *words, bool change)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	if (nopal_link_parse(words, &forward, &reverse, &problems) < 0) {
		nopal_problems_print(&problems, stderr);
		violated(oracle, "bad link words");
	} else if (change) {
		nopal_sim_change(oracle->world, 0, 1, &forward);
		nopal_sim_change(oracle->world, 1, 0, &reverse);
	} else {
		nopal_sim_connect(oracle->world, 0, 1, &forward, &reverse);
	}
	nopal_problems_fini(&problems);
}

static void open_pair(struct oracle *oracle)
{
	struct nopal_endpoint *from =
		nopal_sim_endpoint(oracle->world, 0, SENDER_PORT);
	struct nopal_endpoint *to =
		nopal_sim_endpoint(oracle->world, 1, RECEIVER_PORT);
	struct nopal_address peer;

	nopal_sim_address(1, RECEIVER_PORT, &peer);
	nopal_endpoint_allow(to, oracle->plan, NOPAL_ALLOW_CONNECTIONLESS,
			     &callbacks, oracle);
	nopal_session_open(from, oracle->plan, &peer, &callbacks,
			   &oracle->sender);
}

/* The end: every message has a fate, and what was promised has happened. */
static void check_end(struct oracle *oracle)
{
	if (!oracle->sender.ended)
		violated(oracle, "the sender has not ended: %u of %u pushed",
			 oracle->pushed, oracle->messages);
	if (oracle->sender.fates != oracle->pushed)
		violated(oracle, "%u messages, %u fates", oracle->pushed,
			 oracle->sender.fates);
	if (oracle->promises.reliable &&
	    oracle->receiver.delivered < oracle->messages)
		violated(oracle, "reliable, but %u of %u delivered",
			 oracle->receiver.delivered, oracle->messages);
	if (oracle->promises.handshake && !oracle->receiver.ended)
		violated(oracle, "the receiver has not ended");
}

bool oracle_run(struct oracle *oracle, const struct oracle_run *run)
{
	if (prepare(oracle, run)) {
		oracle->world = nopal_sim_new(run->seed);
		nopal_sim_host(oracle->world);
		nopal_sim_host(oracle->world);
		links(oracle, run->link, false);
		open_pair(oracle);
		if (run->calm_link) {
			nopal_sim_run(oracle->world, run->calm_ns);
			links(oracle, run->calm_link, true);
		}
		nopal_sim_run(oracle->world, run->patience_ns);
		check_end(oracle);
		nopal_world_free(oracle->world);
		nopal_plan_unref(oracle->plan);
	}
	return oracle->violation[0] == '\0';
}
