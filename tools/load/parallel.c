/* SPDX-License-Identifier: MIT */
/*
 * parallel.c -- connections side by side between two simulated hosts.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "load/parallel.h"

enum {
	PARALLEL_PORT = 9000,
	PARALLEL_HOSTS = 2,
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
	struct parallel_world *all;
	int sent; /* messages */
	uint64_t bytes;
	int64_t opened_ns, arrived_ns; /* the first time; 0: not yet */
};

struct parallel_world {
	struct nopal_world *world;
	struct nopal_endpoint *from;
	struct nopal_address to;
	struct nopal_plan *plan;
	struct nopal_buffer *message;
	int messages; /* of each connection */
	struct parallel_end here[PARALLEL_MAX], there[PARALLEL_MAX];
	int opened, accepted;
	uint64_t delivered; /* bytes of all */
	uint64_t data_packets, control_packets, control_bytes;
	bool ended; /* a session did, before its time */
};

/* ------------------------------------------------------------------- callbacks */

static void parallel_push(struct nopal_session *session, void *user)
{
	struct parallel_end *end = user;

	while (end->sent < end->all->messages &&
	       nopal_send_message(
		       session, &(struct nopal_outgoing){ .buffer = end->all->message,
							  .length = PARALLEL_MESSAGE_BYTES }) == 0)
		end->sent++;
}

static void parallel_on_opened(struct nopal_session *session, void *user)
{
	struct parallel_end *end = user;

	end->opened_ns = nopal_world_now(end->all->world);
	parallel_push(session, user);
}

static void *parallel_on_accepted(struct nopal_session *session, void *user)
{
	struct parallel_world *all = user;
	struct parallel_end *end = &all->there[all->accepted];

	(void)session;
	all->accepted += all->accepted < PARALLEL_MAX - 1;
	end->all = all;
	return end;
}

static void parallel_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	struct parallel_end *end = user;

	(void)session;
	if (end->bytes == 0)
		end->arrived_ns = nopal_world_now(end->all->world);
	end->bytes += nopal_message_length(message);
	end->all->delivered += nopal_message_length(message);
}

static void parallel_on_ended(struct nopal_session *session, enum nopal_end code, const char *text,
			      void *user)
{
	struct parallel_end *end = user;

	(void)session, (void)code, (void)text;
	end->all->ended = true;
}

static const struct nopal_callbacks parallel_opens = {
	.opened = parallel_on_opened,
	.writable = parallel_push,
	.ended = parallel_on_ended,
};
static const struct nopal_callbacks parallel_accepts = {
	.accepted = parallel_on_accepted,
	.received = parallel_on_received,
};

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

static bool parallel_world_open(struct parallel_world *all, struct nopal_plan *plan, uint64_t seed,
				const struct nopal_link *forward, const struct nopal_link *reverse)
{
	struct nopal_endpoint *listener;

	all->plan = plan;
	all->world = nopal_sim_new(seed);
	all->message = nopal_buffer_new(PARALLEL_MESSAGE_BYTES);
	if (!all->world || !all->message)
		return false;
	for (int i = 0; i < PARALLEL_HOSTS; i++)
		if (nopal_sim_host(all->world) < 0)
			return false;
	if (nopal_sim_connect(all->world, 0, 1, forward, reverse) < 0)
		return false;
	nopal_sim_tap(all->world, parallel_on_datagram, all);
	nopal_sim_address(1, PARALLEL_PORT, &all->to);
	all->from = nopal_sim_endpoint(all->world, 0, PARALLEL_PORT);
	listener = nopal_sim_endpoint(all->world, 1, PARALLEL_PORT);
	return all->from && listener &&
	       nopal_endpoint_allow(listener, plan, NOPAL_ALLOW_CONNECTIONLESS, &parallel_accepts,
				    all) == 0;
}

static void parallel_world_close(struct parallel_world *all)
{
	if (all->world)
		nopal_world_free(all->world);
	if (all->message)
		nopal_buffer_free(all->message);
	free(all);
}

static bool parallel_open_one(struct parallel_world *all)
{
	struct parallel_end *end = &all->here[all->opened++];

	end->all = all;
	return nopal_open(all->from, all->plan, &all->to, &parallel_opens, end);
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
	struct parallel_world *all = calloc(1, sizeof(*all));
	uint64_t delivered[PARALLEL_MAX];
	bool good = all && parallel->connections <= PARALLEL_MAX &&
		    parallel_world_open(all, parallel->plan, parallel->seed, &parallel->forward,
					&parallel->reverse);

	if (good)
		all->messages = parallel->messages;
	for (int i = 0; good && i < parallel->connections; i++)
		good = parallel_open_one(all);
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
	if (all)
		parallel_world_close(all);
	return good;
}

/* --------------------------------------------------------------------- joining */

static bool parallel_join_one(struct parallel_joining *joining, struct parallel_world *all,
			      int index)
{
	int64_t begun_ns = nopal_world_now(all->world);
	uint64_t before = all->control_packets + all->data_packets;

	if (!parallel_open_one(all) ||
	    !parallel_pass(all, (uint64_t)all->opened * PARALLEL_MESSAGE_BYTES,
			   begun_ns + PARALLEL_PAUSE_NS))
		return false;
	joining->opened_ns[index] = all->here[index].opened_ns - begun_ns;
	joining->arrived_ns[index] = all->there[index].arrived_ns - begun_ns;
	joining->packets[index] = all->control_packets + all->data_packets - before;
	return true;
}

bool parallel_join(struct parallel_joining *joining)
{
	struct parallel_world *all = calloc(1, sizeof(*all));
	bool good = all && parallel_world_open(all, joining->plan, joining->seed, &joining->link,
					       &joining->link);

	if (good) {
		all->messages = 1;
		good = parallel_join_one(joining, all, 0);
	}
	if (good) {
		nopal_sim_run(all->world, nopal_world_now(all->world) + PARALLEL_PAUSE_NS);
		good = parallel_join_one(joining, all, 1);
	}
	if (all)
		parallel_world_close(all);
	return good;
}
