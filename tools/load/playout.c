/* SPDX-License-Identifier: MIT */
/*
 * playout.c -- a stream that is played while it arrives.
 *
 * A message begins with the number of its stream and its own.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "frame/tool.h"
#include "load/playout.h"

enum { PLAYOUT_HEAD_WORDS = 2, PLAYOUT_MAX_BYTES = 1200 };
/* After the last is due: who is late by more is not waited for. */
#define PLAYOUT_GRACE_NS (5 * NOPAL_SECOND)

struct playout_stage;

/* One stream. */
struct playout_flow {
	struct playout_stage *stage;
	struct playout *playout;
	uint32_t index;
	struct nopal_session *session; /* the sender's; NULL: not open */
	struct loop_event *tick;       /* live */
	int64_t start_ns;	       /* when number 0 is sent */
	uint32_t next;
	int64_t *arrived_ns; /* 0: it did not */
	int64_t zero_ns;     /* when number 0 would have come */
	bool playing;
};

/* All streams of a world. */
struct playout_stage {
	struct nopal_world *world;
	struct loop *loop; /* NULL: it is simulated */
	struct playout_flow *flows;
	uint32_t count;
};

/* ------------------------------------------------------------------- sending */

static void flow_on_tick(void *user);

static int64_t flow_due(const struct playout_flow *flow, uint32_t number)
{
	return flow->start_ns + number * flow->playout->interval_ns;
}

static void flow_wait(struct playout_flow *flow)
{
	int64_t due_ns = flow_due(flow, flow->next), now_ns = nopal_world_now(flow->stage->world);

	if (flow->next == flow->playout->count)
		return;
	if (flow->stage->loop)
		loop_event_start(flow->tick, due_ns > now_ns ? due_ns - now_ns : 0);
	else if (nopal_sim_at(flow->stage->world, due_ns, flow_on_tick, flow) < 0)
		tool_lacks_memory();
}

/* A message that finds no room is one that the player will miss. */
static void flow_on_tick(void *user)
{
	struct playout_flow *flow = user;
	uint8_t bytes[PLAYOUT_MAX_BYTES] = { 0 };
	uint32_t head[PLAYOUT_HEAD_WORDS] = { flow->index, 0 };

	while (flow->session && flow->next < flow->playout->count &&
	       flow_due(flow, flow->next) <= nopal_world_now(flow->stage->world)) {
		head[1] = flow->next++;
		memcpy(bytes, head, sizeof(head));
		nopal_send(flow->session, bytes, flow->playout->bytes, 0);
	}
	if (flow->session)
		flow_wait(flow);
}

static void flow_on_opened(struct nopal_session *session, void *user)
{
	struct playout_flow *flow = user;

	flow->session = session;
	flow->start_ns = nopal_world_now(flow->stage->world) +
			 flow->index * flow->playout->interval_ns / flow->stage->count;
	flow_wait(flow);
}

static void flow_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct playout_flow *flow = user;

	(void)session;
	(void)end;
	(void)text;
	flow->session = NULL;
}

/* ----------------------------------------------------------------- receiving */

static void stage_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct playout_stage *stage = user;
	uint32_t head[PLAYOUT_HEAD_WORDS] = { 0 };
	struct playout_flow *flow;
	int64_t now_ns = nopal_world_now(stage->world);

	(void)session;
	nopal_message_copy(message, 0, head, sizeof(head));
	if (head[0] >= stage->count || head[1] >= stage->flows[head[0]].playout->count)
		return;
	flow = &stage->flows[head[0]];
	if (!flow->playing)
		flow->zero_ns = now_ns - head[1] * flow->playout->interval_ns;
	flow->playing = true;
	if (flow->arrived_ns[head[1]] == 0)
		flow->arrived_ns[head[1]] = now_ns;
}

static const struct nopal_callbacks flow_callbacks = {
	.opened = flow_on_opened,
	.ended = flow_on_ended,
};
static const struct nopal_callbacks stage_callbacks = {
	.accepted = bench_accepted,
	.received = stage_on_received,
};

static void flow_judge(struct playout_flow *flow)
{
	struct playout *playout = flow->playout;
	bool reliable = nopal_plan_provides(playout->plan, "reliability");

	playout->on_time = playout->late = playout->lost = 0;
	for (uint32_t i = 0; i < playout->count; i++) {
		int64_t due_ns = flow->zero_ns + playout->buffer_ns + i * playout->interval_ns;

		if (flow->arrived_ns[i] == 0)
			*(reliable ? &playout->late : &playout->lost) += 1;
		else
			*(flow->arrived_ns[i] > due_ns ? &playout->late : &playout->on_time) += 1;
	}
}

/* --------------------------------------------------------------------- stage */

static bool stage_init(struct playout_stage *stage, struct playout *playouts, uint32_t count)
{
	stage->count = count;
	stage->flows = calloc(count, sizeof(*stage->flows));
	for (uint32_t i = 0; stage->flows && i < count; i++) {
		struct playout_flow *flow = &stage->flows[i];

		flow->stage = stage;
		flow->playout = &playouts[i];
		flow->index = i;
		flow->arrived_ns = calloc(playouts[i].count, sizeof(*flow->arrived_ns));
		if (!flow->arrived_ns)
			return false;
	}
	return stage->flows != NULL;
}

/* After the world is gone. */
static void stage_fini(struct playout_stage *stage)
{
	for (uint32_t i = 0; stage->flows && i < stage->count; i++) {
		free(stage->flows[i].arrived_ns);
		loop_event_free(stage->flows[i].tick);
	}
	free(stage->flows);
}

/* Until all that is waited for is over. */
static int64_t stage_length(const struct playout *playout)
{
	return (playout->count + 1) * playout->interval_ns + playout->buffer_ns + PLAYOUT_GRACE_NS;
}

bool playout_simulate(struct playout *playout, const struct side_link *link)
{
	struct playout_stage stage = { .world = nopal_sim_new(link->seed) };
	struct side_peers peers = { .plan = playout->plan,
				    .opens = &flow_callbacks,
				    .listens = &stage_callbacks,
				    .listener = &stage };
	bool good = stage.world && stage_init(&stage, playout, 1);

	peers.opener = stage.flows;
	good = good && side_connect(stage.world, link, &peers);
	if (good)
		nopal_sim_run(stage.world, stage_length(playout));
	nopal_world_free(stage.world);
	if (good)
		flow_judge(&stage.flows[0]);
	stage_fini(&stage);
	return good;
}

/* ---------------------------------------------------------------------- live */

/* The relays, one a link, and where they are. */
struct playout_relays {
	struct nopal_relay **relays;
	struct nopal_address *addresses;
	int count;
};

static bool relays_open(struct playout_relays *relays, struct loop *loop,
			const struct side_link *links, const struct nopal_address *target)
{
	struct nopal_problems problems = { 0 };
	struct nopal_address any;

	if (!bench_address("127.0.0.1", 0, &any))
		return false;
	for (int i = 0; i < relays->count; i++) {
		relays->relays[i] =
			nopal_relay_open(loop_base(loop), &any, target, links[i].forward,
					 links[i].reverse, links[i].seed, &problems);
		tool_problems(&problems);
		if (!relays->relays[i])
			return false;
		nopal_relay_local(relays->relays[i], &relays->addresses[i]);
	}
	return true;
}

/* Where all plans may be opened. */
static bool stage_listen(struct playout_stage *stage, struct nopal_address *ret_address)
{
	struct nopal_endpoint *endpoint = NULL;
	struct nopal_address any;

	if (bench_address("127.0.0.1", 0, &any))
		endpoint = nopal_endpoint_open(stage->world, &any, NULL);
	for (uint32_t i = 0; endpoint && i < stage->count; i++)
		if (nopal_endpoint_allow(endpoint, stage->flows[i].playout->plan,
					 NOPAL_ALLOW_CONNECTIONLESS, &stage_callbacks, stage) < 0)
			return false;
	if (endpoint)
		nopal_endpoint_local(endpoint, ret_address);
	return endpoint != NULL;
}

static bool stage_open(struct playout_stage *stage, const struct playout_relays *relays)
{
	struct nopal_endpoint *endpoint = loop_endpoint_to(stage->loop, &relays->addresses[0]);

	for (uint32_t i = 0; endpoint && i < stage->count; i++) {
		struct playout_flow *flow = &stage->flows[i];

		flow->tick = loop_event_new(stage->loop, LOOP_TIMER, -1, flow_on_tick, flow);
		if (!flow->tick ||
		    !nopal_open(endpoint, flow->playout->plan,
				&relays->addresses[flow->playout->link], &flow_callbacks, flow))
			return false;
	}
	return endpoint != NULL;
}

static void stage_on_end(void *user)
{
	struct playout_stage *stage = user;

	loop_stop(stage->loop);
}

bool playout_run(struct playout *playouts, int count, const struct side_link *links, int link_count)
{
	struct playout_stage stage = { .loop = loop_new(NULL) };
	struct playout_relays relays = { .count = link_count };
	struct nopal_address target;
	bool good;

	if (!stage.loop)
		return false;
	stage.world = loop_world(stage.loop);
	relays.relays = calloc((size_t)link_count, sizeof(struct nopal_relay *));
	relays.addresses = calloc((size_t)link_count, sizeof(*relays.addresses));
	good = relays.relays && relays.addresses && stage_init(&stage, playouts, (uint32_t)count) &&
	       stage_listen(&stage, &target) && relays_open(&relays, stage.loop, links, &target);
	if (good) {
		struct loop_event *end =
			loop_event_new(stage.loop, LOOP_TIMER, -1, stage_on_end, &stage);

		good = end && stage_open(&stage, &relays);
		if (good) {
			loop_event_start(end, stage_length(stage.flows[0].playout));
			loop_run(stage.loop);
		}
		loop_event_free(end);
	}
	for (int i = 0; good && i < count; i++)
		flow_judge(&stage.flows[i]);
	for (int i = 0; relays.relays && i < relays.count; i++)
		if (relays.relays[i])
			nopal_relay_close(relays.relays[i]);
	free(relays.relays);
	free(relays.addresses);
	loop_end_world(stage.loop);
	stage_fini(&stage);
	loop_free(stage.loop);
	return good;
}
