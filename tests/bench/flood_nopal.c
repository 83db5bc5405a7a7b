/* SPDX-License-Identifier: MIT */
/*
 * flood_nopal -- a config as a transport: messages of 44 packets' payload, sent from where they
 * lie, and checked where they arrive.
 *
 * In the environment: FLOOD_BODY=1400 gives the packets of a config that cuts messages so many
 * bytes of payload, as everyone's have in veth.sh; FLOOD_FUSED refuses what is interpreted;
 * FLOOD_COUNTERS prints counters.  FLOOD_CONNECTIONS are sessions between the same two endpoints;
 * whether they share a flow is a matter of the config.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/endpoint_sessions.h"
#include "flood.h"
#include <nopal/nopal.h>

enum {
	BAD_CONFIG = 2,
	REFUSED = 3,
	SETTING_ROOM = 64,
	QUIET_S = 2, /* whoever says no farewell is gone then */
	FAREWELL_US = 10000,
	FAREWELLS = 100, /* then it is over */
	/* Messages that all sessions together have unfinished, at most: one has its usual. */
	UNFINISHED = 64 << 20,
};

struct bulk;

/* A connection. */
struct bulk_lane {
	struct bulk *bulk;
	struct flood *flood; /* its own place in the walk */
	struct nopal_session *session;
	bool over; /* nothing is sent any more */
};

/* State of both ends of the connections. */
struct bulk {
	struct flood *flood;
	struct event_base *base;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_buffer *walk; /* the sender's */
	struct bulk_lane *lane;
	int opened, ended;  /* connections */
	int accepted;	    /* of them, there */
	uint32_t message;   /* bytes */
	uint64_t delivered; /* when the quiet timer looked last */
	bool gone;	    /* all of them, or as good as that */
	bool ordered;
};

/* ----------------------------------------------------------- the connections */

static void bulk_push(struct bulk_lane *lane)
{
	struct bulk *bulk = lane->bulk;

	while (!lane->over) {
		if (flood_over(bulk->flood)) {
			lane->over = true;
			nopal_session_close(lane->session);
			return;
		}
		if (nopal_send_message(lane->session, &(struct nopal_outgoing){
							      .buffer = bulk->walk,
							      .from = (uint32_t)lane->flood->place,
							      .length = bulk->message }) < 0)
			return;
		flood_sent(lane->flood, bulk->message);
	}
}

static void bulk_limit(const struct bulk *bulk, struct nopal_session *session)
{
	const struct nopal_budget *usual = nopal_plan_budget(bulk->plan);
	struct nopal_budget budget = { .send_bytes =
					       UNFINISHED / (unsigned)bulk->flood->connections };

	if (budget.send_bytes < usual->send_bytes)
		nopal_session_set_budget(session, &budget);
}

/* The flood begins when all are there. */
static void bulk_on_opened(struct nopal_session *session, void *user)
{
	struct bulk_lane *lane = user;
	struct bulk *bulk = lane->bulk;

	lane->session = session;
	if (!bulk->walk)
		return;
	bulk_limit(bulk, session);
	if (++bulk->opened < bulk->flood->connections)
		return;
	for (int i = 0; i < bulk->opened; i++)
		bulk_push(&bulk->lane[i]);
}

static void *bulk_on_accepted(struct nopal_session *session, void *user)
{
	struct bulk *bulk = user;

	(void)session;
	if (bulk->accepted == bulk->flood->connections) {
		fprintf(stderr, "%s: one connection too many\n", bulk->flood->what);
		exit(REFUSED);
	}
	return &bulk->lane[bulk->accepted++];
}

static void bulk_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	bulk_push(user);
}

/* Where order is promised a message must be the next one; where it is not, its first word says
 * which one it is. */
static void bulk_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	const struct bulk_lane *lane = user;
	struct flood *flood = lane->flood;

	(void)session;
	flood_arrived(lane->bulk->flood);
	flood_begins(flood, nopal_message_length(message));
	for (size_t i = 0; i < nopal_message_pieces(message); i++) {
		uint32_t length;
		const uint8_t *piece = nopal_message_piece(message, i, &length);

		if (i == 0 && !lane->bulk->ordered)
			flood_datagram(flood, piece, length);
		else
			flood_stream(flood, piece, length);
	}
}

static void bulk_print_counters(const struct nopal_session *session)
{
	const struct nopal_counters *counters = nopal_session_counters(session);

#define PRINT(name, doc)                                                                           \
	if (counters->name)                                                                        \
		fprintf(stderr, " %s %llu", #name, (unsigned long long)counters->name);
	NOPAL_COUNTERS(PRINT)
	fprintf(stderr, "\n");
}

static void bulk_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct bulk *bulk = ((struct bulk_lane *)user)->bulk;

	if (end != 0 && !bulk->gone)
		fprintf(stderr, "%s: ended: %s\n", bulk->flood->what, text);
	if (getenv("FLOOD_COUNTERS"))
		bulk_print_counters(session);
	if (++bulk->ended < bulk->flood->connections)
		return;
	bulk->gone = true;
	event_base_loopbreak(bulk->base);
}

/* Configs without a handshake say no farewell: each round of this timer sees whether anything came
 * since the last one. */
static void bulk_on_quiet(evutil_socket_t unused, short what, void *user)
{
	struct bulk *bulk = user;

	(void)unused;
	(void)what;
	if (bulk->delivered > 0 && bulk->delivered == bulk->flood->delivered) {
		bulk->gone = true;
		event_base_loopbreak(bulk->base);
	}
	bulk->delivered = bulk->flood->delivered;
}

static const struct nopal_callbacks bulk_callbacks = {
	.accepted = bulk_on_accepted,
	.opened = bulk_on_opened,
	.writable = bulk_on_writable,
	.received = bulk_on_received,
	.ended = bulk_on_ended,
};

/* ------------------------------------------------------------------ the ends */

/* The plan with packets of the wanted body; where it has no word for that: as it was. */
static struct nopal_plan *bulk_fit(struct nopal_plan *plan, const char *config, int body)
{
	char mtu[SETTING_ROOM];
	const char *const sets[] = { mtu, NULL };
	struct nopal_problems problems = { 0 };
	struct nopal_plan *fitted;

	if ((int)nopal_plan_info(plan)->body_bytes == body)
		return plan;
	snprintf(mtu, sizeof(mtu), "resize.mtu=%dB",
		 FLOOD_MTU - ((int)nopal_plan_info(plan)->body_bytes - body));
	fitted = nopal_plan_load(config, sets, &problems);
	nopal_problems_fini(&problems);
	if (!fitted)
		return plan;
	nopal_plan_unref(plan);
	return fitted;
}

static struct nopal_plan *bulk_plan(const char *config)
{
	const char *body = getenv("FLOOD_BODY");
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(config, NULL, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!plan)
		exit(BAD_CONFIG);
	if (body)
		plan = bulk_fit(plan, config, atoi(body));
	if (!getenv("FLOOD_FUSED") || strncmp(nopal_plan_runs(plan), "fused", strlen("fused")) == 0)
		return plan;
	fprintf(stderr, "%s: %s\n", config, nopal_plan_runs(plan));
	exit(FLOOD_NOT_HERE);
}

static void bulk_describe(struct bulk *bulk, const struct nopal_endpoint *endpoint)
{
	struct flood *flood = bulk->flood;
	const char *transport = nopal_endpoint_transport(endpoint);
	const char *runs = nopal_plan_runs(bulk->plan);
	const char *granted = strstr(transport, "rcvbuf ");

	if (granted)
		sscanf(granted, "rcvbuf %d", &flood->receive_buffer);
	granted = strstr(transport, "sndbuf ");
	if (granted)
		sscanf(granted, "sndbuf %d", &flood->send_buffer);
	snprintf(flood->version, sizeof(flood->version), "%s %.*s, %u bytes a packet, %.64s",
		 NOPAL_VERSION, (int)strcspn(runs, ":"), runs,
		 nopal_plan_info(bulk->plan)->body_bytes, transport);
}

static void bulk_fit_message(struct bulk *bulk)
{
	uint64_t limit = nopal_plan_info(bulk->plan)->message_limit;

	bulk->message = nopal_plan_info(bulk->plan)->body_bytes * FLOOD_TRAIN;
	if (bulk->message > limit)
		bulk->message = (uint32_t)limit;
	bulk->message -= bulk->message % (uint32_t)sizeof(uint64_t);
}

static struct nopal_endpoint *bulk_endpoint(struct bulk *bulk, struct nopal_world *world,
					    const struct nopal_address *local)
{
	struct nopal_problems problems = { 0 };
	struct nopal_endpoint *endpoint;

	endpoint = nopal_endpoint_open(world, local, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!endpoint)
		exit(REFUSED);
	bulk_describe(bulk, endpoint);
	return endpoint;
}

static void bulk_open(struct bulk *bulk, const struct nopal_address *peer)
{
	for (int i = 0; i < bulk->flood->connections; i++)
		if (!nopal_open(bulk->endpoint, bulk->plan, peer, &bulk_callbacks, &bulk->lane[i]))
			exit(REFUSED);
}

static void bulk_start(struct bulk *bulk, struct nopal_world *world, const char *text)
{
	struct nopal_address address = { 0 }, any = { 0 };
	bool sends = bulk->flood->sends;
	struct nopal_problems problems = { 0 };

	nopal_address_parse(text, &address, &problems);
	nopal_address_parse("0.0.0.0:0", &any, &problems);
	nopal_problems_fini(&problems);
	bulk->endpoint = bulk_endpoint(bulk, world, sends ? &any : &address);
	if (sends) {
		bulk->walk = nopal_buffer_new(FLOOD_WALK);
		flood_fill(nopal_buffer_bytes(bulk->walk));
		bulk_open(bulk, &address);
	} else {
		nopal_endpoint_allow(bulk->endpoint, bulk->plan, NOPAL_ALLOW_CONNECTIONLESS,
				     &bulk_callbacks, bulk);
		flood_ready(bulk->flood);
	}
}

/* A session without a handshake may have come and gone already. */
static void bulk_dispatch(struct bulk *bulk)
{
	const struct timeval quiet = { QUIET_S, 0 };
	struct event *timer = NULL;

	if (bulk->gone)
		return;
	if (!bulk->flood->sends && !nopal_plan_provides(bulk->plan, "connection"))
		timer = event_new(bulk->base, -1, EV_PERSIST, bulk_on_quiet, bulk);
	if (timer)
		event_add(timer, &quiet);
	event_base_dispatch(bulk->base);
	if (timer)
		event_free(timer);
}

/* The flow of sessions that share one ends after them, and so do those of the peer where it is
 * closed, and not torn. */
static void bulk_farewell(const struct bulk *bulk)
{
	const struct timeval moment = { 0, FAREWELL_US };

	if (!nopal_plan_provides(bulk->plan, "connection"))
		return;
	for (int i = 0; i < FAREWELLS; i++) {
		if (!nopal_endpoint_counters(bulk->endpoint)->sessions)
			return;
		event_base_loopexit(bulk->base, &moment);
		event_base_dispatch(bulk->base);
	}
}

static struct bulk_lane *bulk_lanes(struct bulk *bulk)
{
	struct flood *flood = bulk->flood;
	struct bulk_lane *lanes = calloc((size_t)flood->connections, sizeof(*lanes));

	if (!lanes)
		flood_fail("calloc");
	for (int i = 0; i < flood->connections; i++)
		lanes[i] = (struct bulk_lane){ .bulk = bulk, .flood = flood_lane(flood, i) };
	return lanes;
}

static void bulk_run(struct flood *flood, const char *address)
{
	struct bulk bulk = { .flood = flood, .plan = bulk_plan(flood->what) };
	struct nopal_world *world;

	if (nopal_plan_provides(bulk.plan, "aead_cost"))
		flood->class_name = "aead";
	else if (nopal_plan_provides(bulk.plan, "integrity"))
		flood->class_name = "crc";
	bulk.ordered = nopal_plan_provides(bulk.plan, "order");
	bulk_fit_message(&bulk);
	bulk.lane = bulk_lanes(&bulk);
	bulk.base = event_base_new();
	world = nopal_live_new(bulk.base);
	bulk_start(&bulk, world, address);
	bulk_dispatch(&bulk);
	flood_report(flood);
	bulk_farewell(&bulk);
	nopal_world_free(world);
	if (bulk.walk)
		nopal_buffer_free(bulk.walk);
	nopal_plan_unref(bulk.plan);
	event_base_free(bulk.base);
	free(bulk.lane);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	flood.alone = true;
	bulk_run(&flood, argv[2]);
	return 0;
}
