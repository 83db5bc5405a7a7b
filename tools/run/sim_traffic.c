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

/* After all that is due was sent, the end follows, or a later message.  Where the send buffer is
 * full, `writable` follows by itself. */
static void pump_later(struct sim_flow *flow, int64_t now_ns)
{
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
}

/* Callbacks may come from within nopal_send_message(): one pump at a time. */
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
	pump_later(flow, now_ns);
	flow->pumping = false;
}

static void pump_call(void *user)
{
	struct sim_flow *flow = user;

	flow->call_set = false;
	pump(flow);
}

static void touch(struct sim_flow *flow)
{
	flow->run->last_ns = nopal_world_now(flow->run->world);
}

/* Something that brings the run nearer to its end. */
static void advance(struct sim_flow *flow)
{
	touch(flow);
	flow->run->progress.count++;
}

static void sender_opened(struct nopal_session *session, void *user)
{
	struct sim_flow *flow = user;

	/* The session may open before nopal_open() returns. */
	flow->sender.session = session;
	flow->start_ns = nopal_world_now(flow->run->world);
	advance(flow);
	pump(flow);
}

static void sender_writable(struct nopal_session *session, void *user)
{
	(void)session;
	pump(user);
}

/* True: it was seen before. */
static bool seen_mark(uint8_t *bits, uint64_t number)
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
		seen_mark(flow->told, cookie);
	else if (nopal_session_is_open(session))
		seen_mark(flow->given_up, cookie);
}

static void end_note(struct sim_run *run, struct sim_end *end, struct nopal_session *session,
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

	end_note(flow->run, &flow->sender, session, how, text);
	flow->run->senders_left--;
	advance(flow);
}

/* ---------------------------------------------------------------- receiving */

/* Where receives have to be posted, one is, for any message; another follows each message. */
static void receiver_asks(struct sim_receiver *receiver)
{
	if (nopal_plan_provides(receiver->flow->load->plan, "tag_matching"))
		nopal_receive_post(receiver->end.session, 0, 0, 0);
}

static void *receiver_accepted(struct nopal_session *session, void *listener_user)
{
	struct sim_receiver *receiver = listener_user;

	receiver->end.session = session;
	receiver->end.existed = true;
	receiver->accepted++;
	receiver->end.ended = false;
	receiver->flow->run->receivers_left++;
	advance(receiver->flow);
	receiver_asks(receiver);
	return receiver;
}

static void receiver_ended(struct nopal_session *session, enum nopal_end how, const char *text,
			   void *user)
{
	struct sim_receiver *receiver = user;

	free(receiver->end.text);
	end_note(receiver->flow->run, &receiver->end, session, how, text);
	receiver->flow->run->receivers_left--;
	advance(receiver->flow);
}

/* A message that nobody sent. */
static void receiver_note_stranger(struct sim_receiver *receiver, uint64_t length)
{
	receiver->tally.wrong_messages++;
	receiver->tally.wrong_bytes += length;
	judge_note(&receiver->history.came[0].wrong, receiver->history.beyond);
}

/* The place of a message with a number among the others, and its delay. */
static void receiver_note_number(struct sim_receiver *receiver, const struct nopal_message *message,
				 uint64_t number)
{
	const struct sim_flow *flow = receiver->flow;
	const struct sim_load *load = flow->load;
	struct sim_arrival arrival = { message, number,
				       nopal_world_now(flow->run->world) - flow->sent_ns[number],
				       receiver->seen };
	struct sim_came *came = &receiver->history.came[sim_kind_of(&load->kinds, number)];
	bool late = load->deadline_ns && arrival.delay_ns > load->deadline_ns;

	receiver->tally.out_of_order_messages += number + 1 < receiver->history.beyond;
	receiver->tally.late_messages += late;
	receiver->delay_ns[number] = arrival.delay_ns;
	came->delivered++;
	came->late += late;
	sim_history_note(&receiver->history, &load->kinds, &arrival);
}

static void receiver_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct sim_receiver *receiver = user;
	struct sim_flow *flow = receiver->flow;
	uint64_t length = nopal_message_length(message), number, wrong;
	struct sim_came *came;

	(void)session;
	touch(flow);
	receiver_asks(receiver);
	if (!sim_message_is_ours(flow, message, &number)) {
		receiver_note_stranger(receiver, length);
		return;
	}
	came = &receiver->history.came[sim_kind_of(&flow->load->kinds, number)];
	if (length >= SIM_HEAD_BYTES) {
		if (seen_mark(receiver->seen, number)) {
			receiver->tally.duplicate_messages++;
			judge_note(&came->twice, number);
			return;
		}
		receiver_note_number(receiver, message, number);
	}
	flow->run->progress.count++;
	wrong = sim_message_wrong_bytes(flow, message, number);
	receiver->tally.wrong_bytes += wrong;
	if (wrong)
		judge_note(&came->wrong, number);
	receiver->tally.delivered_messages++;
	receiver->tally.delivered_bytes += length;
	receiver->last_delivery_ns = flow->run->last_ns;
}

/* --------------------------------------------------------------------- life */

static const struct nopal_callbacks sender_callbacks = {
	.opened = sender_opened,
	.sent = sender_sent,
	.writable = sender_writable,
	.destination = sender_destination,
	.ended = sender_ended,
};
static const struct nopal_callbacks receiver_callbacks = {
	.accepted = receiver_accepted,
	.received = receiver_received,
	.ended = receiver_ended,
};

static bool receiver_prepare(struct sim_flow *flow, struct sim_receiver *receiver)
{
	uint64_t messages = flow->load->messages;

	receiver->flow = flow;
	receiver->seen = calloc(messages / BYTE_BITS + 1, 1);
	receiver->delay_ns = calloc(messages, sizeof(*receiver->delay_ns));
	for (uint64_t i = 0; receiver->delay_ns && i < messages; i++)
		receiver->delay_ns[i] = SIM_NO_DELAY;
	return sim_history_init(&receiver->history, &flow->load->kinds) && receiver->seen &&
	       receiver->delay_ns;
}

static bool flow_prepare(struct sim_run *run, unsigned index)
{
	struct sim_flow *flow = &run->flows[index];

	*flow = (struct sim_flow){ .run = run, .load = &run->load, .index = index };
	flow->told = calloc(flow->load->messages / BYTE_BITS + 1, 1);
	flow->given_up = calloc(flow->load->messages / BYTE_BITS + 1, 1);
	flow->sent_ns = calloc(flow->load->messages, sizeof(*flow->sent_ns));
	return receiver_prepare(flow, &flow->receiver) && flow->told && flow->given_up &&
	       flow->sent_ns;
}

bool sim_traffic_prepare(struct sim_run *run)
{
	run->first_send_ns = -1;
	run->pattern = sim_message_pattern(run->load.size);
	run->scratch = malloc(run->load.size);
	run->flows = calloc((size_t)run->options.flows, sizeof(*run->flows));
	run->suspects = calloc(1, sizeof(*run->suspects));
	if (!run->pattern || !run->scratch || !run->flows || !run->suspects)
		return false;
	for (int i = 0; i < run->options.flows; i++)
		if (!flow_prepare(run, (unsigned)i))
			return false;
	return true;
}

bool sim_traffic_open(struct sim_run *run, unsigned index, struct nopal_endpoint *from,
		      struct nopal_endpoint *to)
{
	struct sim_flow *flow = &run->flows[index];
	struct nopal_session *session;
	struct nopal_address peer;

	if (!from || !to ||
	    nopal_endpoint_allow(to, flow->load->plan, NOPAL_ALLOW_CONNECTIONLESS,
				 &receiver_callbacks, &flow->receiver))
		return false;
	nopal_endpoint_local(to, &peer);
	flow->sender.existed = true;
	run->senders_left++;
	session = nopal_open(from, flow->load->plan, &peer, &sender_callbacks, flow);
	if (!session)
		return false;
	if (!flow->sender.ended)
		flow->sender.session = session;
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
		end_finish(run, &run->flows[i], &run->flows[i].receiver.end);
	}
}

static void receiver_free(struct sim_receiver *receiver)
{
	sim_history_fini(&receiver->history);
	free(receiver->seen);
	free(receiver->delay_ns);
	free(receiver->end.text);
}

void sim_traffic_free(struct sim_run *run)
{
	for (int i = 0; run->flows && i < run->options.flows; i++) {
		receiver_free(&run->flows[i].receiver);
		free(run->flows[i].told);
		free(run->flows[i].given_up);
		free(run->flows[i].sent_ns);
		free(run->flows[i].sender.text);
	}
	free(run->flows);
	free(run->suspects);
	free(run->pattern);
	free(run->scratch);
}

uint64_t sim_traffic_delivered(const struct sim_run *run)
{
	uint64_t bytes = 0;

	for (int i = 0; i < run->options.flows; i++)
		bytes += run->flows[i].receiver.tally.delivered_bytes;
	return bytes;
}
