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
	side_call *on;
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
	side_call *on;
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

static void flow_on(void *user, const struct side_event *event)
{
	struct playout_flow *flow = user;

	if (event->kind == SIDE_ENDED)
		flow->session = NULL;
	if (event->kind != SIDE_OPENED)
		return;
	flow->session = event->session;
	flow->start_ns = nopal_world_now(flow->stage->world) +
			 flow->index * flow->playout->interval_ns / flow->stage->count;
	flow_wait(flow);
}

/* ----------------------------------------------------------------- receiving */

static void stage_on(void *user, const struct side_event *event)
{
	struct playout_stage *stage = user;
	uint32_t head[PLAYOUT_HEAD_WORDS] = { 0 };
	struct playout_flow *flow;
	int64_t now_ns = nopal_world_now(stage->world);

	if (event->kind != SIDE_RECEIVED)
		return;
	nopal_message_copy(event->message, 0, head, sizeof(head));
	if (head[0] >= stage->count || head[1] >= stage->flows[head[0]].playout->count)
		return;
	flow = &stage->flows[head[0]];
	if (!flow->playing)
		flow->zero_ns = now_ns - head[1] * flow->playout->interval_ns;
	flow->playing = true;
	if (flow->arrived_ns[head[1]] == 0)
		flow->arrived_ns[head[1]] = now_ns;
}

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

/* Over relays, one for each place. */
static bool stage_play_live(struct playout_stage *stage, const struct side_place *places, int count,
			    int64_t duration_ns)
{
	struct nopal_relay **relays = tool_need(calloc((size_t)count, sizeof(*relays)));
	struct nopal_address *addresses = tool_need(calloc((size_t)count, sizeof(*addresses)));
	struct nopal_endpoint *from, *to = NULL;
	struct nopal_problems problems = { 0 };
	struct nopal_address local, target;
	bool good;

	if (bench_address("127.0.0.1", 0, &local))
		to = nopal_endpoint_open(stage->world, &local, NULL);
	good = to != NULL;
	if (good)
		nopal_endpoint_local(to, &target);
	for (uint32_t i = 0; good && i < stage->count; i++)
		good = nopal_endpoint_allow(to, stage->flows[i].playout->plan,
					    NOPAL_ALLOW_CONNECTIONLESS, &side_callbacks,
					    stage) >= 0;
	for (int i = 0; good && i < count; i++) {
		relays[i] = nopal_relay_open(loop_base(stage->loop), &local, &target,
					     &places[i].forward, &places[i].reverse, places[i].seed,
					     &problems);
		tool_problems(&problems);
		good = relays[i] != NULL;
		if (good)
			nopal_relay_local(relays[i], &addresses[i]);
	}
	from = good ? loop_endpoint_to(stage->loop, &addresses[0]) : NULL;
	good = from != NULL;
	for (uint32_t i = 0; good && i < stage->count; i++) {
		struct playout_flow *flow = &stage->flows[i];

		flow->tick = loop_event_new(stage->loop, LOOP_TIMER, -1, flow_on_tick, flow);
		good = flow->tick &&
		       nopal_open(from, flow->playout->plan, &addresses[flow->playout->link],
				  &side_callbacks, flow);
	}
	if (good)
		side_wait(stage->loop, duration_ns);
	for (int i = 0; i < count; i++)
		if (relays[i])
			nopal_relay_close(relays[i]);
	free(relays);
	free(addresses);
	return good;
}

/* Simulated, a flow alone; live, all at once. */
static bool stage_run(struct playout *playouts, uint32_t count, const struct side_place *places,
		      int place_count)
{
	struct playout_stage stage = {
		.on = stage_on,
		.flows = tool_need(calloc(count, sizeof(*stage.flows))),
		.count = count,
	};
	/* until all that is waited for is over */
	int64_t duration_ns = (playouts[0].count + 1) * playouts[0].interval_ns +
			      playouts[0].buffer_ns + PLAYOUT_GRACE_NS;
	bool good;

	for (uint32_t i = 0; i < count; i++)
		stage.flows[i] = (struct playout_flow){
			.on = flow_on,
			.stage = &stage,
			.playout = &playouts[i],
			.index = i,
			.arrived_ns = tool_need(calloc(playouts[i].count, sizeof(int64_t))),
		};
	if (places[0].live) {
		stage.loop = tool_need(loop_new(NULL));
		stage.world = loop_world(stage.loop);
		good = stage_play_live(&stage, places, place_count, duration_ns);
		loop_end_world(stage.loop);
	} else {
		stage.world = tool_need(nopal_sim_new(places[0].seed));
		side_hosts(stage.world, &places[0]);
		good = side_connect(stage.world, 0, 1, playouts[0].plan, stage.flows, &stage);
		nopal_sim_run(stage.world, duration_ns);
		nopal_world_free(stage.world);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (good)
			flow_judge(&stage.flows[i]);
		free(stage.flows[i].arrived_ns);
		loop_event_free(stage.flows[i].tick);
	}
	free(stage.flows);
	if (stage.loop)
		loop_free(stage.loop);
	return good;
}

bool playout_run(struct playout *playouts, int count, const struct side_place *places,
		 int place_count)
{
	bool good = true;

	if (places[0].live)
		return stage_run(playouts, (uint32_t)count, places, place_count);
	for (int i = 0; good && i < count; i++)
		good = stage_run(&playouts[i], 1, &places[playouts[i].link], 1);
	return good;
}
