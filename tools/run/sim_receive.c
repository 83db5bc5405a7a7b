/* SPDX-License-Identifier: MIT */
/*
 * sim_receive.c -- the receivers of `nopal sim`.
 *
 * A listener accepts sessions at one host.  Where several streams come to it, the first message of
 * a session tells its stream.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum { BYTE_BITS = 8 };

/* A session that was accepted. */
struct sim_guest {
	struct sim_listener *listener;
	struct nopal_session *session;
	struct sim_receiver *receiver; /* NULL: which stream it is, is not known yet */
	struct sim_guest *next;
};

/* Where receives have to be posted, one is, for any message; another follows each message. */
static void guest_asks(const struct sim_guest *guest)
{
	const struct sim_listener *listener = guest->listener;

	if (nopal_plan_provides(sim_flow_of(listener->run, listener->pair, 0)->load->plan,
				"tag_matching"))
		nopal_receive_post(guest->session, 0, 0, 0);
}

/* The session has its receiver. */
static void guest_settle(struct sim_guest *guest, unsigned stream)
{
	const struct sim_listener *listener = guest->listener;
	struct sim_flow *flow = sim_flow_of(listener->run, listener->pair, stream);

	guest->receiver = &flow->receivers[listener->place];
	guest->receiver->end.session = guest->session;
	guest->receiver->end.existed = true;
	guest->receiver->end.ended = false;
	guest->receiver->accepted++;
}

static void *receiver_accepted(struct nopal_session *session, void *listener_user)
{
	struct sim_listener *listener = listener_user;
	struct sim_guest *guest = tool_need(calloc(1, sizeof(*guest)));

	*guest = (struct sim_guest){ listener, session, NULL, listener->guests };
	listener->guests = guest;
	listener->run->receivers_left++;
	if (listener->run->options.streams == 1)
		guest_settle(guest, 0);
	sim_traffic_advance(listener->run);
	guest_asks(guest);
	return guest;
}

static void receiver_ended(struct nopal_session *session, enum nopal_end how, const char *text,
			   void *user)
{
	struct sim_guest *guest = user;
	const struct sim_listener *listener = guest->listener;
	struct sim_run *run = listener->run;

	/* A stream without a message is the first one of which nothing has come. */
	for (unsigned i = 0; !guest->receiver && i < (unsigned)run->options.streams; i++)
		if (!sim_flow_of(run, listener->pair, i)->receivers[listener->place].accepted)
			guest_settle(guest, i);
	if (guest->receiver) {
		free(guest->receiver->end.text);
		sim_traffic_end(run, &guest->receiver->end, session, how, text);
	}
	run->receivers_left--;
	sim_traffic_advance(run);
}

/* A message of the flow.  One with a number has its place among the others, and a delay. */
static void receiver_note(struct sim_receiver *receiver, const struct nopal_message *message,
			  uint64_t number)
{
	struct sim_flow *flow = receiver->flow;
	const struct sim_load *load = flow->load;
	struct sim_came *came = &receiver->history.came[sim_kind_of(&load->kinds, number)];
	uint64_t length = nopal_message_length(message), wrong;

	if (length >= SIM_HEAD_BYTES) {
		struct sim_arrival arrival = { message, number,
					       nopal_world_now(flow->run->world) -
						       flow->sent_ns[number],
					       receiver->seen };
		bool late = load->deadline_count && arrival.delay_ns > load->deadline_ns[0];

		if (sim_traffic_mark(receiver->seen, number)) {
			receiver->tally.duplicate_messages++;
			judge_note(&came->twice, number);
			return;
		}
		receiver->tally.out_of_order_messages += number + 1 < receiver->history.beyond;
		receiver->tally.late_messages += late;
		receiver->delay_ns[number] = arrival.delay_ns;
		came->delivered++;
		came->late += late;
		sim_history_note(&receiver->history, &load->kinds, &arrival);
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

static void receiver_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct sim_guest *guest = user;
	struct sim_run *run = guest->listener->run;
	uint64_t length = nopal_message_length(message), number;
	struct sim_receiver *receiver;

	(void)session;
	sim_traffic_touch(run);
	guest_asks(guest);
	if (!guest->receiver) {
		unsigned stream = length < SIM_HEAD_BYTES ? 0 : sim_message_stream(message);

		guest_settle(guest, stream < (unsigned)run->options.streams ? stream : 0);
	}
	receiver = guest->receiver;
	if (sim_message_is_ours(receiver->flow, message, &number)) {
		receiver_note(receiver, message, number);
		return;
	}
	/* Nobody sent it. */
	receiver->tally.wrong_messages++;
	receiver->tally.wrong_bytes += length;
	judge_note(&receiver->history.came[0].wrong, receiver->history.beyond);
}

/* --------------------------------------------------------------------- life */

static const struct nopal_callbacks receiver_callbacks = {
	.accepted = receiver_accepted,
	.received = receiver_received,
	.ended = receiver_ended,
};

bool sim_receive_prepare(struct sim_flow *flow)
{
	uint64_t messages = flow->load->messages;

	flow->receivers = calloc(flow->receiver_count, sizeof(*flow->receivers));
	for (unsigned i = 0; flow->receivers && i < flow->receiver_count; i++) {
		struct sim_receiver *receiver = &flow->receivers[i];

		receiver->flow = flow;
		receiver->seen = calloc(messages / BYTE_BITS + 1, 1);
		receiver->delay_ns = calloc(messages, sizeof(*receiver->delay_ns));
		for (uint64_t m = 0; receiver->delay_ns && m < messages; m++)
			receiver->delay_ns[m] = SIM_NO_DELAY;
		if (!sim_history_init(&receiver->history, &flow->load->kinds) || !receiver->seen ||
		    !receiver->delay_ns)
			return false;
	}
	return flow->receivers != NULL;
}

void sim_receive_free(struct sim_flow *flow)
{
	for (unsigned i = 0; flow->receivers && i < flow->receiver_count; i++) {
		struct sim_receiver *receiver = &flow->receivers[i];

		sim_history_fini(&receiver->history);
		free(receiver->seen);
		free(receiver->delay_ns);
		free(receiver->end.text);
	}
	free(flow->receivers);
}

bool sim_receive_listen(struct sim_listener *listener, struct nopal_plan *plan)
{
	return listener->endpoint &&
	       nopal_endpoint_allow(listener->endpoint, plan, NOPAL_ALLOW_CONNECTIONLESS,
				    &receiver_callbacks, listener) == 0;
}

void sim_receive_leave(struct sim_listener *listener)
{
	while (listener->guests) {
		struct sim_guest *guest = listener->guests;

		listener->guests = guest->next;
		free(guest);
	}
}
