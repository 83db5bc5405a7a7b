/* SPDX-License-Identifier: MIT */
/*
 * sim_traffic.c -- the messages of `nopal sim`.
 *
 * A message of at least 16 bytes begins with the time of its sending and its number, 8 bytes each,
 * big endian.  All other bytes are a piece of one pseudo-random pattern, from a place that depends
 * on the flow and the number, so that bytes of another message or of another place are wrong bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum {
	HEAD_NUMBER = 8, /* where the number is */
	WORD_BYTES = 8,
	BYTE_BITS = 8,
	BYTE_MASK = 0xff,
	PATTERN_SHIFTS = 1021, /* prime */
	FLOW_STEP = 97,	       /* shift from flow to flow */
};

/* ---------------------------------------------------------------- messages */

static void put_word(uint8_t *bytes, uint64_t word)
{
	for (int i = WORD_BYTES; i-- > 0; word >>= BYTE_BITS)
		bytes[i] = word & BYTE_MASK;
}

static uint64_t message_length(const struct sim_run *run, uint64_t number)
{
	const struct sim_options *options = &run->options;

	return number + 1 < options->messages ? options->size
					      : options->bytes - number * options->size;
}

/* The bytes of a message behind its head.  Short ones do not tell their number, and are all
 * alike. */
static const uint8_t *message_pattern(const struct sim_flow *flow, uint64_t number, uint64_t length)
{
	uint64_t shift = length < SIM_HEAD_BYTES
				 ? 0
				 : (number + (uint64_t)flow->index * FLOW_STEP) % PATTERN_SHIFTS;

	return flow->run->pattern + shift;
}

/* ------------------------------------------------------------------ sending */

static void pump_call(void *user);

/* When message `number` is due. */
static int64_t message_due(const struct sim_flow *flow, uint64_t number)
{
	return flow->start_ns + (int64_t)number * flow->run->options.interval_ns;
}

/* Callbacks may come from within nopal_send(): one pump at a time. */
static void pump(struct sim_flow *flow)
{
	struct sim_run *run = flow->run;
	int64_t now_ns = nopal_world_now(run->world);
	int error = 0;

	if (flow->pumping || flow->closed)
		return;
	flow->pumping = true;
	while (!error && flow->sender.session && flow->next < run->options.messages &&
	       message_due(flow, flow->next) <= now_ns) {
		uint64_t length = message_length(run, flow->next);

		memcpy(run->scratch, message_pattern(flow, flow->next, length), length);
		if (length >= SIM_HEAD_BYTES) {
			put_word(run->scratch, (uint64_t)now_ns);
			put_word(run->scratch + HEAD_NUMBER, flow->next);
		}
		error = nopal_send(flow->sender.session, run->scratch, length, flow->next);
		if (!error) {
			if (run->first_send_ns < 0)
				run->first_send_ns = now_ns;
			flow->tally.sent_bytes += length;
			flow->sent_ns[flow->next++] = now_ns;
		} else if (error != -EAGAIN && error != -EPIPE) {
			flow->no_room = error == -ENOBUFS;
			nopal_session_abort(flow->sender.session, strerror(-error));
		}
	}
	/* After all that is due was sent, the end follows, or a later message.  Where the send
	 * buffer is full, `writable` follows by itself. */
	if (flow->sender.session && flow->next == run->options.messages) {
		flow->closed = true;
		nopal_session_close(flow->sender.session);
	} else if (flow->sender.session && !flow->call_set &&
		   message_due(flow, flow->next) > now_ns) {
		flow->call_set = nopal_sim_at(run->world, message_due(flow, flow->next), pump_call,
					      flow) == 0;
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

static void *receiver_accepted(struct nopal_session *session, void *listener_user)
{
	struct sim_flow *flow = listener_user;

	flow->receiver.session = session;
	flow->receiver.existed = true;
	flow->accepted++;
	flow->receiver.ended = false;
	flow->run->receivers_left++;
	advance(flow);
	return flow;
}

static void receiver_ended(struct nopal_session *session, enum nopal_end how, const char *text,
			   void *user)
{
	struct sim_flow *flow = user;

	free(flow->receiver.text);
	end_note(flow->run, &flow->receiver, session, how, text);
	flow->run->receivers_left--;
	advance(flow);
}

/* Bytes of [at, at + length) of a message that are not as they were sent. */
static uint64_t wrong_in_piece(const uint8_t *bytes, const uint8_t *expected, uint64_t length)
{
	uint64_t wrong = 0;

	if (memcmp(bytes, expected, length) == 0)
		return 0;
	for (uint64_t i = 0; i < length; i++)
		wrong += bytes[i] != expected[i];
	return wrong;
}

/* The head was read already: it is skipped. */
static uint64_t wrong_in_message(const struct nopal_message *message, const uint8_t *expected,
				 uint64_t skip)
{
	uint64_t wrong = 0, at = 0;

	for (size_t i = 0; i < nopal_message_pieces(message); i++) {
		uint32_t length;
		const uint8_t *bytes = nopal_message_piece(message, i, &length);
		uint64_t from = skip > at ? skip - at : 0;

		if (from < length)
			wrong += wrong_in_piece(bytes + from, expected + at + from, length - from);
		at += length;
	}
	return wrong;
}

static void receiver_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct sim_flow *flow = user;
	const struct sim_options *options = &flow->run->options;
	uint64_t length = nopal_message_length(message), number = 0, wrong;
	bool has_head = length >= SIM_HEAD_BYTES, ours;
	int64_t delay_ns;
	uint8_t head[SIM_HEAD_BYTES], time[WORD_BYTES];

	(void)session;
	touch(flow);
	if (has_head) {
		nopal_message_copy(message, 0, head, sizeof(head));
		for (int i = HEAD_NUMBER; i < SIM_HEAD_BYTES; i++)
			number = number << BYTE_BITS | head[i];
		ours = number < options->messages && length == message_length(flow->run, number);
	} else {
		ours = length == options->size ||
		       length == message_length(flow->run, options->messages - 1);
	}
	if (!ours) {
		flow->tally.wrong_messages++;
		flow->tally.wrong_bytes += length;
		judge_note(&flow->wrong, flow->beyond);
		return;
	}
	wrong = flow->tally.wrong_bytes;
	if (has_head) {
		if (seen_mark(flow->seen, number)) {
			flow->tally.duplicate_messages++;
			judge_note(&flow->twice, number);
			return;
		}
		if (number + 1 < flow->beyond) {
			flow->tally.out_of_order_messages++;
			judge_note(&flow->overtaken, number);
		} else {
			flow->beyond = number + 1;
		}
		put_word(time, (uint64_t)flow->sent_ns[number]);
		flow->tally.wrong_bytes += wrong_in_piece(head, time, sizeof(time));
		delay_ns = nopal_world_now(flow->run->world) - flow->sent_ns[number];
		flow->tally.late_messages +=
			options->deadline_ns && delay_ns > options->deadline_ns;
		flow->run->delays[flow->run->delay_count++] = delay_ns;
	}
	flow->run->progress.count++;
	flow->tally.wrong_bytes += wrong_in_message(message, message_pattern(flow, number, length),
						    has_head ? SIM_HEAD_BYTES : 0);
	if (flow->tally.wrong_bytes > wrong)
		judge_note(&flow->wrong, number);
	flow->tally.delivered_messages++;
	flow->tally.delivered_bytes += length;
	flow->last_delivery_ns = flow->run->last_ns;
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

bool sim_traffic_prepare(struct sim_run *run)
{
	const struct sim_options *options = &run->options;
	uint64_t length = options->size + PATTERN_SHIFTS;
	uint64_t messages = options->messages;
	const uint32_t multiplier = 1664525;
	const uint32_t increment = 1013904223;
	const unsigned high_byte = 24;
	uint32_t state = 1;

	run->first_send_ns = -1;
	run->pattern = malloc(length);
	run->scratch = malloc(options->size);
	run->flows = calloc((size_t)options->flows, sizeof(*run->flows));
	run->delays = calloc((size_t)options->flows * messages, sizeof(*run->delays));
	run->suspects = calloc(1, sizeof(*run->suspects));
	if (!run->pattern || !run->scratch || !run->flows || !run->delays || !run->suspects)
		return false;
	/* Numerical Recipes' linear congruential generator: its high bytes are good enough to tell
	 * places apart. */
	for (uint64_t i = 0; i < length; i++) {
		state = state * multiplier + increment;
		run->pattern[i] = (uint8_t)(state >> high_byte);
	}
	for (int i = 0; i < options->flows; i++) {
		run->flows[i].run = run;
		run->flows[i].index = (unsigned)i;
		run->flows[i].seen = calloc(messages / BYTE_BITS + 1, 1);
		run->flows[i].told = calloc(messages / BYTE_BITS + 1, 1);
		run->flows[i].given_up = calloc(messages / BYTE_BITS + 1, 1);
		run->flows[i].sent_ns = calloc(messages, sizeof(int64_t));
		if (!run->flows[i].seen || !run->flows[i].told || !run->flows[i].given_up ||
		    !run->flows[i].sent_ns)
			return false;
	}
	return true;
}

bool sim_traffic_open(struct sim_run *run, unsigned index, struct nopal_endpoint *from,
		      struct nopal_endpoint *to)
{
	struct sim_flow *flow = &run->flows[index];
	struct nopal_session *session;
	struct nopal_address peer;

	if (!from || !to ||
	    nopal_endpoint_allow(to, run->plan, NOPAL_ALLOW_CONNECTIONLESS, &receiver_callbacks,
				 flow))
		return false;
	nopal_endpoint_local(to, &peer);
	flow->sender.existed = true;
	run->senders_left++;
	session = nopal_open(from, run->plan, &peer, &sender_callbacks, flow);
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
		end_finish(run, &run->flows[i], &run->flows[i].receiver);
	}
}

void sim_traffic_free(struct sim_run *run)
{
	for (int i = 0; run->flows && i < run->options.flows; i++) {
		free(run->flows[i].seen);
		free(run->flows[i].told);
		free(run->flows[i].given_up);
		free(run->flows[i].sent_ns);
		free(run->flows[i].sender.text);
		free(run->flows[i].receiver.text);
	}
	free(run->flows);
	free(run->suspects);
	free(run->pattern);
	free(run->scratch);
	free(run->delays);
}

uint64_t sim_traffic_delivered(const struct sim_run *run)
{
	uint64_t bytes = 0;

	for (int i = 0; i < run->options.flows; i++)
		bytes += run->flows[i].tally.delivered_bytes;
	return bytes;
}
