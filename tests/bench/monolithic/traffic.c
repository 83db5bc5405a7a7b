/* SPDX-License-Identifier: MIT */
/*
 * traffic.c -- the program above either core: sends, counts, compares.
 */
#include <stdio.h>
#include <string.h>

#include "io/sim/random.h"
#include "session/endpoint_sessions.h"
#include "traffic.h"

enum { TRAFFIC_TRAIN = 44 /* segments a message */ };

/* -------------------------------------------------------------------- sending */

static int send_one(struct traffic *traffic, uint32_t length)
{
	if (traffic->composed)
		return nopal_send_message(traffic->session,
					  &(struct nopal_outgoing){ .buffer = traffic->walk,
								    .from = traffic->at,
								    .length = length });
	return monolith_send(traffic->connection, traffic->walk, traffic->at, length);
}

static void close_it(struct traffic *traffic)
{
	if (traffic->composed)
		nopal_session_close(traffic->session);
	else
		monolith_close(traffic->connection);
}

/* Both ends step alike through the buffer. */
static uint32_t step(const struct traffic *traffic, uint32_t at, uint32_t length)
{
	at += length;
	return at + traffic->message_bytes > traffic->walk_bytes ? 0 : at;
}

/* Bytes of the next message; 0: that was all. */
static uint32_t next_length(const struct traffic *traffic)
{
	uint64_t left = traffic->bytes - traffic->sent;

	if (!traffic->bytes)
		return traffic->clock_s() < traffic->end_s ? traffic->message_bytes : 0;
	return left < traffic->message_bytes ? (uint32_t)left : traffic->message_bytes;
}

static void push(struct traffic *traffic)
{
	uint32_t length;

	while ((length = next_length(traffic))) {
		if (send_one(traffic, length) < 0)
			return;
		traffic->sent += length;
		traffic->at = step(traffic, traffic->at, length);
	}
	close_it(traffic);
}

/* ------------------------------------------------------------------ receiving */

static void note_time(struct traffic *traffic)
{
	if (!traffic->clock_s)
		return;
	traffic->last_s = traffic->clock_s();
	if (traffic->first_s <= 0)
		traffic->first_s = traffic->last_s;
}

static void compare(struct traffic *traffic, uint32_t from, const uint8_t *bytes, uint32_t length)
{
	if (from + (uint64_t)length > traffic->walk_bytes ||
	    memcmp(nopal_buffer_bytes(traffic->walk) + from, bytes, length))
		traffic->differs = true;
}

static void message_over(struct traffic *traffic, uint64_t length)
{
	traffic->received += length;
	traffic->at = step(traffic, traffic->at, (uint32_t)length);
	note_time(traffic);
}

static void composed_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct traffic *traffic = user;
	size_t pieces = traffic->check ? nopal_message_pieces(message) : 0;
	uint32_t from = traffic->at;

	(void)session;
	for (size_t i = 0; i < pieces; i++) {
		uint32_t length;
		const uint8_t *bytes = nopal_message_piece(message, i, &length);

		compare(traffic, from, bytes, length);
		from += length;
	}
	message_over(traffic, nopal_message_length(message));
}

static void monolith_received(struct monolith_connection *connection,
			      const struct monolith_message *message, void *user)
{
	struct traffic *traffic = user;
	uint32_t pieces = traffic->check ? message->count : 0;
	uint32_t from = traffic->at;

	(void)connection;
	for (uint32_t i = 0; i < pieces; i++) {
		compare(traffic, from, message->pieces[i].bytes, message->pieces[i].length);
		from += message->pieces[i].length;
	}
	message_over(traffic, message->length);
}

/* -------------------------------------------------------------- life of a flow */

static void composed_opened(struct nopal_session *session, void *user)
{
	struct traffic *traffic = user;

	traffic->session = session;
	if (traffic->sends)
		push(traffic);
}

static void monolith_is_open(struct monolith_connection *connection, void *user)
{
	struct traffic *traffic = user;

	traffic->connection = connection;
	if (traffic->sends)
		push(traffic);
}

static void composed_writable(struct nopal_session *session, void *user)
{
	(void)session;
	push(user);
}

static void monolith_writable(struct monolith_connection *connection, void *user)
{
	(void)connection;
	push(user);
}

static void it_ended(struct traffic *traffic, enum nopal_end end, const char *text)
{
	traffic->ended = true;
	traffic->ended_well = end == 0;
	if (end)
		fprintf(stderr, "ended: %s\n", text);
	if (traffic->over)
		traffic->over(traffic);
}

static void composed_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			   void *user)
{
	const struct nopal_counters *counters = nopal_session_counters(session);
	struct traffic *traffic = user;

	traffic->counters = (struct monolith_counters){
		.datagrams_out = counters->datagrams_out,
		.datagrams_in = counters->datagrams_in,
		.transmissions = counters->transmissions,
		.resends = counters->resends,
		.control_out = counters->control_out,
		.segments_lost = counters->segments_lost,
		.segments_timeout = counters->segments_timeout,
		.bytes_delivered = counters->bytes_delivered,
		.malformed = counters->rx_malformed,
		.sealed_badly = counters->rx_sealed_badly,
	};
	it_ended(traffic, end, text);
}

static void monolith_ended(struct monolith_connection *connection, enum nopal_end end,
			   const char *text, void *user)
{
	struct traffic *traffic = user;

	traffic->counters = *monolith_counters(connection);
	it_ended(traffic, end, text);
}

static const struct nopal_callbacks composed_callbacks = {
	.opened = composed_opened,
	.received = composed_received,
	.writable = composed_writable,
	.ended = composed_ended,
};

static const struct monolith_callbacks monolith_callbacks = {
	.opened = monolith_is_open,
	.received = monolith_received,
	.writable = monolith_writable,
	.ended = monolith_ended,
};

/* -------------------------------------------------------------------- opening */

static void walk_fill(struct traffic *traffic)
{
	uint8_t *bytes = nopal_buffer_bytes(traffic->walk);

	for (uint32_t at = 0; at + sizeof(uint64_t) <= traffic->walk_bytes;
	     at += sizeof(uint64_t)) {
		uint64_t word = nopal__random_mix(at);

		memcpy(bytes + at, &word, sizeof(word));
	}
}

static bool composed_open(struct traffic *traffic, struct nopal_world *world,
			  const struct nopal_address *local, const struct nopal_address *peer,
			  struct nopal_problems *problems)
{
	struct nopal_endpoint *endpoint = nopal_endpoint_open(world, local, problems);

	if (!endpoint)
		return false;
	if (!traffic->sends)
		return nopal_endpoint_allow(endpoint, traffic->plan, 0, &composed_callbacks,
					    traffic) == 0;
	return nopal_open(endpoint, traffic->plan, peer, &composed_callbacks, traffic) != NULL;
}

static bool monolith_is_opened(struct traffic *traffic, struct nopal_world *world,
			       const struct nopal_address *local, const struct nopal_address *peer,
			       struct nopal_problems *problems)
{
	struct monolith_endpoint *endpoint =
		monolith_endpoint_open(world, local, traffic->setup, problems);

	if (!endpoint)
		return false;
	if (traffic->sends)
		return monolith_open(endpoint, peer, &monolith_callbacks, traffic) != NULL;
	monolith_listen(endpoint, &monolith_callbacks, traffic);
	return true;
}

bool traffic_open(struct traffic *traffic, struct nopal_world *world,
		  const struct nopal_address *local, const struct nopal_address *peer,
		  struct nopal_problems *problems)
{
	traffic->message_bytes = nopal_plan_info(traffic->plan)->body_bytes * TRAFFIC_TRAIN;
	if (traffic->sends || traffic->check) {
		traffic->walk = nopal_buffer_new(traffic->walk_bytes);
		if (!traffic->walk)
			return false;
		walk_fill(traffic);
	}
	if (traffic->composed)
		return composed_open(traffic, world, local, peer, problems);
	return monolith_is_opened(traffic, world, local, peer, problems);
}

void traffic_free(struct traffic *traffic)
{
	if (traffic->walk)
		nopal_buffer_free(traffic->walk);
}
