/* SPDX-License-Identifier: MIT */
/*
 * parallel.c -- connections side by side between two simulated hosts.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/parallel.h"

enum {
	PARALLEL_PORT = 9000,
	PARALLEL_HALF = 2,
	PARALLEL_KIND = 31, /* of the first byte, and 0 is data: docs/wire.md */
	/* Longer than what one layer tells its peer by data of the one below, and shorter than any
	 * data of ours: a message makes full packets, and a last one of a thousand bytes or
	 * more. */
	PARALLEL_DATA_BYTES = 900,
};
#define PARALLEL_PAUSE_NS NOPAL_SECOND /* before another one joins */

struct parallel_world;

/* One end of a connection. */
struct parallel_end {
	side_call *on;
	struct parallel_world *all;
	int messages, sent; /* to send: 0 of an accepted one; and so many were */
	uint64_t bytes;
	int64_t opened_ns, arrived_ns; /* the first time; 0: not yet */
};

struct parallel_world {
	struct nopal_world *world;
	struct nopal_endpoint *from;
	struct nopal_address to;
	struct nopal_plan *plan;
	struct nopal_buffer *message;
	struct nopal_callbacks accepts;
	struct parallel_end here[PARALLEL_MAX], there[PARALLEL_MAX];
	int opened, accepted;
	uint64_t delivered; /* bytes of all */
	uint64_t data_packets, control_packets, control_bytes;
	bool ended; /* a session did, before its time */
};

/* ------------------------------------------------------------------- callbacks */

static void parallel_on(void *user, const struct side_event *event)
{
	struct parallel_end *end = user;
	struct parallel_world *all = end->all;
	const struct nopal_outgoing message = { .buffer = all->message,
						.length = PARALLEL_MESSAGE_BYTES };

	if (event->kind == SIDE_OPENED)
		end->opened_ns = nopal_world_now(all->world);
	if (event->kind == SIDE_OPENED || event->kind == SIDE_WRITABLE)
		while (end->sent < end->messages &&
		       nopal_send_message(event->session, &message) == 0)
			end->sent++;
	all->ended |= event->kind == SIDE_ENDED && end->messages;
	if (event->kind == SIDE_RECEIVED) {
		if (end->bytes == 0)
			end->arrived_ns = nopal_world_now(all->world);
		end->bytes += nopal_message_length(event->message);
		all->delivered += nopal_message_length(event->message);
	}
}

/* The listener's sessions have an end each. */
static void *parallel_on_accepted(struct nopal_session *session, void *user)
{
	struct parallel_world *all = user;
	struct parallel_end *end = &all->there[all->accepted];

	(void)session;
	all->accepted += all->accepted < PARALLEL_MAX - 1;
	end->on = parallel_on;
	end->all = all;
	return end;
}

static void parallel_on_datagram(void *user, int64_t now_ns, const struct nopal_address *from,
				 const struct nopal_address *to, const uint8_t *bytes,
				 size_t length)
{
	struct parallel_world *all = user;

	(void)now_ns, (void)from, (void)to;
	if (length >= PARALLEL_DATA_BYTES && !(bytes[0] & PARALLEL_KIND)) {
		all->data_packets++;
		return;
	}
	all->control_packets++;
	all->control_bytes += length;
}

/* ----------------------------------------------------------------------- world */

static struct parallel_world *parallel_world_new(struct nopal_plan *plan,
						 const struct side_place *place)
{
	struct parallel_world *all = tool_need(calloc(1, sizeof(*all)));
	struct nopal_endpoint *listener;

	all->plan = plan;
	all->world = tool_need(nopal_sim_new(place->seed));
	all->message = tool_need(nopal_buffer_new(PARALLEL_MESSAGE_BYTES));
	all->accepts = side_callbacks;
	all->accepts.accepted = parallel_on_accepted;
	side_hosts(all->world, place);
	nopal_sim_tap(all->world, parallel_on_datagram, all);
	nopal_sim_address(1, PARALLEL_PORT, &all->to);
	all->from = tool_need(nopal_sim_endpoint(all->world, 0, PARALLEL_PORT));
	listener = tool_need(nopal_sim_endpoint(all->world, 1, PARALLEL_PORT));
	if (nopal_endpoint_allow(listener, plan, NOPAL_ALLOW_CONNECTIONLESS, &all->accepts, all))
		tool_lacks_memory();
	return all;
}

static void parallel_world_close(struct parallel_world *all)
{
	nopal_world_free(all->world);
	nopal_buffer_free(all->message);
	free(all);
}

static bool parallel_open_one(struct parallel_world *all, int messages)
{
	struct parallel_end *end = &all->here[all->opened++];

	*end = (struct parallel_end){ .on = parallel_on, .all = all, .messages = messages };
	return nopal_open(all->from, all->plan, &all->to, &side_callbacks, end);
}

/* Until so many bytes are there; false: they never are, or not in time. */
static bool parallel_pass(struct parallel_world *all, uint64_t bytes, int64_t until_ns)
{
	while (all->delivered < bytes)
		if (all->ended || !nopal_sim_step(all->world) ||
		    nopal_world_now(all->world) > until_ns)
			return false;
	return true;
}

/* --------------------------------------------------------------- side by side */

double parallel_fairness(const uint64_t *bytes, int count)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < count; i++) {
		sum += (double)bytes[i];
		squares += (double)bytes[i] * (double)bytes[i];
	}
	return squares > 0 ? sum * sum / (count * squares) : 0;
}

bool parallel_run(struct parallel *parallel)
{
	uint64_t bytes = (uint64_t)parallel->connections * (uint64_t)parallel->messages *
			 PARALLEL_MESSAGE_BYTES;
	struct nopal_link_counters there = { 0 }, back = { 0 };
	struct parallel_world *all = parallel_world_new(parallel->plan, &parallel->place);
	uint64_t delivered[PARALLEL_MAX];
	bool good = parallel->connections <= PARALLEL_MAX;

	for (int i = 0; good && i < parallel->connections; i++)
		good = parallel_open_one(all, parallel->messages);
	good = good && parallel_pass(all, bytes / PARALLEL_HALF, parallel->patience_ns);
	for (int i = 0; good && i < parallel->connections; i++)
		delivered[i] = all->there[i].bytes;
	if (good)
		parallel->fairness = parallel_fairness(delivered, parallel->connections);
	good = good && parallel_pass(all, bytes, parallel->patience_ns);
	if (good) {
		nopal_sim_link_counters(all->world, 0, 1, &there);
		nopal_sim_link_counters(all->world, 1, 0, &back);
		parallel->lost_packets =
			there.lost + there.overflowed + back.lost + back.overflowed;
		parallel->took_ns = nopal_world_now(all->world);
		parallel->data_packets = all->data_packets;
		parallel->control_packets = all->control_packets;
		parallel->control_bytes = all->control_bytes;
	}
	parallel_world_close(all);
	return good;
}

/* --------------------------------------------------------------------- joining */

bool parallel_join(struct parallel_joining *joining)
{
	struct parallel_world *all = parallel_world_new(joining->plan, &joining->place);
	bool good = true;

	for (int i = 0; good && i < 2; i++) {
		uint64_t before = all->control_packets + all->data_packets;
		int64_t begun_ns = nopal_world_now(all->world);

		good = parallel_open_one(all, 1) &&
		       parallel_pass(all, (uint64_t)all->opened * PARALLEL_MESSAGE_BYTES,
				     begun_ns + PARALLEL_PAUSE_NS);
		joining->opened_ns[i] = all->here[i].opened_ns - begun_ns;
		joining->arrived_ns[i] = all->there[i].arrived_ns - begun_ns;
		joining->packets[i] = all->control_packets + all->data_packets - before;
		nopal_sim_run(all->world, nopal_world_now(all->world) + PARALLEL_PAUSE_NS);
	}
	parallel_world_close(all);
	return good;
}
