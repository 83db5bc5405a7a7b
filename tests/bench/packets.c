/* SPDX-License-Identifier: MIT */
/*
 * packets -- one transfer in the simulator, for who counts what it costs.
 *
 *     packets CONFIG MESSAGES [CONNECTIONS]
 *
 * Sends that many messages over a link without loss and prints how many data packets they were; of
 * several connections each sends one when its last one is there.  No clock is read and nothing is
 * traced: the same arguments
 * are the same instructions.  instructions.sh counts them.
 */
#include <stdio.h>
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

enum {
	MESSAGE_BYTES = 64 << 10, /* where a config cuts them */
	PORT = 9000,
	SEED = 1,
};
#define LINK	  "rate 1gbit delay 1ms limit 1000"
#define LINK_MANY "rate 1gbit delay 1ms limit 20000"
#define TICK_NS	  (20 * NOPAL_MICROSECOND) /* a datagram's time and some */

struct transfer {
	struct nopal_world *world;
	struct nopal_session *session;
	struct nopal_buffer *payload;
	uint32_t length;
	bool controlled;
	long connections, left;
	uint64_t received;
};

static void fill(struct nopal_session *session, void *user)
{
	struct transfer *transfer = user;

	while (transfer->left > 0 &&
	       nopal_send_message(session,
				  &(struct nopal_outgoing){ .buffer = transfer->payload,
							    .length = transfer->length }) == 0)
		transfer->left--;
	if (transfer->left == 0)
		nopal_session_close(session);
}

/* One at a time where nothing else holds them back. */
static void tick(void *user)
{
	struct transfer *transfer = user;

	nopal_send_message(transfer->session,
			   &(struct nopal_outgoing){ .buffer = transfer->payload,
						     .length = transfer->length });
	if (--transfer->left > 0)
		nopal_sim_at(transfer->world, nopal_world_now(transfer->world) + TICK_NS, tick,
			     transfer);
	else
		nopal_session_close(transfer->session);
}

static const struct nopal_budget one_message = { .send_bytes = MESSAGE_BYTES };

static void on_opened(struct nopal_session *session, void *user)
{
	struct transfer *transfer = user;

	transfer->session = session;
	if (transfer->connections > 1)
		nopal_session_set_budget(session, &one_message);
	if (transfer->controlled)
		fill(session, transfer);
	else
		nopal_sim_at(transfer->world, nopal_world_now(transfer->world) + TICK_NS, tick,
			     transfer);
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct transfer *transfer = user;

	(void)session;
	transfer->received += nopal_message_length(message);
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.writable = fill,
};
static const struct nopal_callbacks listening = {
	.accepted = on_accepted,
	.received = on_received,
};

static bool start(struct transfer *transfer, struct nopal_plan *plan)
{
	struct nopal_link forward, reverse;
	struct nopal_endpoint *here, *there;
	struct nopal_address peer;

	nopal_link_parse(transfer->connections > 1 ? LINK_MANY : LINK, &forward, &reverse, NULL);
	nopal_sim_host(transfer->world);
	nopal_sim_host(transfer->world);
	nopal_sim_connect(transfer->world, 0, 1, &forward, &reverse);
	here = nopal_sim_endpoint(transfer->world, 0, PORT);
	there = nopal_sim_endpoint(transfer->world, 1, PORT);
	nopal_sim_address(1, PORT, &peer);
	if (!here || !there ||
	    nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS, &listening, transfer))
		return false;
	for (long i = 0; i < transfer->connections; i++)
		if (!nopal_open(here, plan, &peer, &callbacks, transfer))
			return false;
	return true;
}

static int run(struct nopal_plan *plan, long messages, long connections)
{
	struct transfer transfer = {
		.world = nopal_sim_new(SEED),
		.payload = nopal_buffer_new(MESSAGE_BYTES),
		.length = MESSAGE_BYTES,
		.controlled = nopal_plan_provides(plan, "flow_control"),
		.connections = connections,
		.left = messages,
	};
	struct nopal_link_counters counters;

	if (!transfer.controlled)
		transfer.length = nopal_plan_info(plan)->body_bytes;
	if (!start(&transfer, plan))
		return 1;
	while (nopal_sim_step(transfer.world))
		;
	nopal_sim_link_counters(transfer.world, 0, 1, &counters);
	nopal_world_free(transfer.world);
	nopal_buffer_free(transfer.payload);
	if (transfer.received != (uint64_t)messages * transfer.length)
		return 1;
	printf("%llu\n", (unsigned long long)counters.entered);
	return 0;
}

int main(int argc, char **argv)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	int code;

	if (argc != 3 && argc != 4)
		return 2;
	plan = nopal_plan_load(argv[1], NULL, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!plan)
		return 2;
	code = run(plan, strtol(argv[2], NULL, 10), argc > 3 ? strtol(argv[3], NULL, 10) : 1);
	nopal_plan_unref(plan);
	return code;
}
