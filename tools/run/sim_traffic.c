/* SPDX-License-Identifier: MIT */
/*
 * sim_traffic.c -- the sessions of `nopal sim`: what they send, and what comes.
 *
 * Each session sends its messages when they are due, as fast as its composition takes them, and
 * closes after the last one.  The receiver notes each message that comes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum { BYTE_BITS = 8 };

/* ------------------------------------------------------------------ sending */

static void pump_call(void *user);

/* When message `number` is due. */
static int64_t message_due(const struct sim_flow *flow, uint64_t number)
{
	return flow->start_ns + (int64_t)number * flow->load->interval_ns;
}

/* The result of nopal_send_message(). */
static int send_next(struct sim_flow *flow, int64_t now_ns)
{
	struct sim_run *run = flow->run;
	struct nopal_property properties[PROPERTIES_MAX];
	struct nopal_outgoing outgoing = { .bytes = run->scratch,
					   .length = sim_message_length(flow->load, flow->next),
					   .cookie = flow->next,
					   .properties = properties };
	unsigned class;
	int error;

	outgoing.property_count =
		properties_of(&flow->load->kinds.with, flow->next, properties, &class);
	sim_message_write(flow, flow->next, now_ns, run->scratch);
	error = nopal_send_message(flow->sender.session, &outgoing);
	if (!error) {
		if (run->first_send_ns < 0)
			run->first_send_ns = now_ns;
		flow->sent_bytes += outgoing.length;
		flow->sent_ns[flow->next++] = now_ns;
	} else if (error != -EAGAIN && error != -EPIPE) {
		flow->no_room = error == -ENOBUFS;
		nopal_session_abort(flow->sender.session, nopal_strerror(error));
	}
	return error;
}

/* Sends all that is due; then the end follows, or a later message.  Where the send buffer is full,
 * `writable` follows by itself.  Callbacks may come from within nopal_send_message(): one pump at a
 * time. */
static void pump(struct sim_flow *flow)
{
	int64_t now_ns = nopal_world_now(flow->run->world);
	int error = 0;

	if (flow->pumping || flow->closed)
		return;
	flow->pumping = true;
	while (!error && flow->sender.session && flow->next < flow->load->messages &&
	       message_due(flow, flow->next) <= now_ns)
		error = send_next(flow, now_ns);
	if (flow->sender.session && flow->next == flow->load->messages) {
		flow->closed = true;
		nopal_session_close(flow->sender.session);
	} else if (flow->sender.session && !flow->call_set &&
		   message_due(flow, flow->next) > now_ns) {
		flow->call_set = nopal_sim_at(flow->run->world, message_due(flow, flow->next),
					      pump_call, flow) == 0;
		if (!flow->call_set)
			nopal_session_abort(flow->sender.session, strerror(ENOMEM));
	}
	flow->pumping = false;
}

static void pump_call(void *user)
{
	struct sim_flow *flow = user;

	flow->call_set = false;
	pump(flow);
}

void sim_traffic_touch(struct sim_run *run)
{
	run->last_ns = nopal_world_now(run->world);
}

void sim_traffic_advance(struct sim_run *run)
{
	sim_traffic_touch(run);
	run->progress.count++;
}

static void sender_opened(struct nopal_session *session, void *user)
{
	struct sim_flow *flow = user;

	/* The session may open before nopal_open() returns. */
	flow->sender.session = session;
	flow->start_ns = nopal_world_now(flow->run->world);
	sim_traffic_advance(flow->run);
	pump(flow);
}

static void sender_writable(struct nopal_session *session, void *user)
{
	(void)session;
	pump(user);
}

bool sim_traffic_mark(uint8_t *bits, uint64_t number)
{
	bool seen = sim_traffic_seen(bits, number);

	bits[number / BYTE_BITS] |= (uint8_t)(1u << number % BYTE_BITS);
	return seen;
}

static void sender_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
			void *user)
{
	struct sim_flow *flow = user;

	flow->run->progress.count++;
	if (outcome == NOPAL_OUTCOME_DELIVERED)
		sim_traffic_mark(flow->told, cookie);
	else if (nopal_session_is_open(session))
		sim_traffic_mark(flow->given_up, cookie);
}

void sim_traffic_end(struct sim_run *run, struct sim_end *end, struct nopal_session *session,
		     enum nopal_end how, const char *text)
{
	end->counters = *nopal_session_counters(session);
	sim_judge_held(run, end, session);
	end->ended = true;
	end->how = (int)how;
	end->text = strdup(text ? text : "");
	if (!end->text)
		tool_lacks_memory();
	end->session = NULL;
}

/* Here it is seen for the last time: a group ends without its destinations. */
static void sender_destination(struct nopal_session *session,
			       const struct nopal_destination_info *info, void *user)
{
	(void)session;
	if (info->ended)
		sim_judge_destination(user, info);
}

static void sender_ended(struct nopal_session *session, enum nopal_end how, const char *text,
			 void *user)
{
	struct sim_flow *flow = user;

	sim_traffic_end(flow->run, &flow->sender, session, how, text);
	flow->run->senders_left--;
	sim_traffic_advance(flow->run);
}

/* --------------------------------------------------------------------- life */

static const struct nopal_callbacks sender_callbacks = {
	.opened = sender_opened,
	.sent = sender_sent,
	.writable = sender_writable,
	.destination = sender_destination,
	.ended = sender_ended,
};

bool sim_traffic_prepare(struct sim_run *run)
{
	unsigned places = sim_places(run), count = (unsigned)run->options.pairs * places;
	unsigned streams = (unsigned)run->options.streams;
	uint64_t size = 0;

	for (unsigned i = 0; i < run->load_count; i++)
		if (run->loads[i].size > size)
			size = run->loads[i].size;
	run->first_send_ns = -1;
	run->pattern = sim_message_pattern(size);
	run->scratch = malloc(size);
	run->flows = calloc((size_t)run->options.flows, sizeof(*run->flows));
	run->suspects = calloc(1, sizeof(*run->suspects));
	run->listeners = calloc(count, sizeof(*run->listeners));
	if (!run->pattern || !run->scratch || !run->flows || !run->suspects || !run->listeners)
		return false;
	for (unsigned i = 0; i < count; i++)
		run->listeners[i] =
			(struct sim_listener){ run, i / places, i % places, NULL, NULL };
	for (unsigned i = 0; i < (unsigned)run->options.flows; i++) {
		struct sim_flow *flow = &run->flows[i];
		const struct sim_load *load = &run->loads[i / streams % run->load_count];

		*flow = (struct sim_flow){
			.run = run,
			.load = load,
			.index = i,
			.pair = i / streams,
			.stream = i % streams,
			.receiver_count = places,
			.told = calloc(load->messages / BYTE_BITS + 1, 1),
			.given_up = calloc(load->messages / BYTE_BITS + 1, 1),
			.sent_ns = calloc(load->messages, sizeof(*flow->sent_ns)),
		};
		if (run->options.destinations)
			flow->destination = nopal_property(load->plan, "destination");
		if (!sim_receive_prepare(flow) || !flow->told || !flow->given_up || !flow->sent_ns)
			return false;
	}
	return true;
}

bool sim_traffic_open(struct sim_run *run, unsigned index, struct nopal_endpoint *from)
{
	struct sim_flow *flow = &run->flows[index];
	const struct sim_listener *listeners = &run->listeners[flow->pair * flow->receiver_count];
	struct nopal_session *first = sim_flow_of(run, flow->pair, 0)->sender.session, *session;
	struct nopal_address peer;
	struct nopal_open open = { from,  flow->load->plan,  &peer, NULL,
				   false, &sender_callbacks, flow };

	nopal_endpoint_local(listeners[0].endpoint, &peer);
	if (flow->stream && strstr(nopal_plan_info(flow->load->plan)->canonical, " per_stream\n"))
		open.beside = first;
	flow->sender.existed = true;
	session = nopal_session_open(&open);
	if (!session)
		return false;
	if (flow->sender.ended)
		return true;
	flow->sender.session = session;
	/* The others of the listeners of the pair. */
	for (unsigned place = 1; !flow->stream && place < flow->receiver_count; place++) {
		nopal_endpoint_local(listeners[place].endpoint, &peer);
		if (nopal_destination_add(flow->sender.session, &peer) < 0)
			return false;
	}
	return true;
}

static void end_finish(struct sim_run *run, const struct sim_flow *flow, struct sim_end *end)
{
	if (!end->session)
		return;
	end->counters = *nopal_session_counters(end->session);
	sim_judge_held(run, end, end->session);
	if (!run->options.holds)
		return;
	fprintf(stderr, "session %u, %s:\n", flow->index,
		end == &flow->sender ? "sender" : "receiver");
	nopal_session_dump(end->session, stderr);
}

void sim_traffic_finish(struct sim_run *run)
{
	for (int i = 0; i < run->options.flows; i++) {
		end_finish(run, &run->flows[i], &run->flows[i].sender);
		for (unsigned r = 0; r < run->flows[i].receiver_count; r++)
			end_finish(run, &run->flows[i], &run->flows[i].receivers[r].end);
	}
}

void sim_traffic_free(struct sim_run *run)
{
	for (int i = 0; run->flows && i < run->options.flows; i++) {
		sim_receive_free(&run->flows[i]);
		free(run->flows[i].told);
		free(run->flows[i].given_up);
		free(run->flows[i].sent_ns);
		free(run->flows[i].sender.text);
	}
	for (int i = 0; run->listeners && i < run->options.pairs * (int)sim_places(run); i++)
		sim_receive_leave(&run->listeners[i]);
	free(run->listeners);
	free(run->flows);
	free(run->suspects);
	free(run->pattern);
	free(run->scratch);
}

uint64_t sim_traffic_delivered(const struct sim_run *run)
{
	uint64_t bytes = 0;

	for (int i = 0; i < run->options.flows; i++)
		for (unsigned r = 0; r < run->flows[i].receiver_count; r++)
			bytes += run->flows[i].receivers[r].tally.delivered_bytes;
	return bytes;
}
