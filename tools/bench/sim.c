/* SPDX-License-Identifier: MIT */
/*
 * sim.c -- how fast the simulator is: packets a second over one link, and a dumbbell of ten
 * flows against real time.
 *
 *     nopal bench sim
 *
 * A packet counts once, when it comes out of its link, data and acks of both ends; the work of both
 * ends is in the time, which is the processor's.  Nothing is traced.  Who has no flow control sends
 * at nine tenths of the link's rate.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "frame/tool.h"
#include "load/clock.h"
#include "load/pair.h"

enum {
	SIM_PORT = 9000,
	SIM_MESSAGE_BYTES = 64 << 10,
	SIM_UNDER_WAY = 16, /* messages: more than a path holds */
	SIM_FLOWS = 10,
	SIM_FLOOD_SHARE = 9, /* tenths of the rate */
	SIM_TENTHS = 10,
	SIM_BITS = 8,
	SIM_OVERHEAD_BYTES = 28, /* IPv4 and UDP */
};
#define SIM_BYTES	INT64_C(200000000)
#define SIM_RATE_BPS	INT64_C(1000000000)
#define SIM_LINK	"rate 1gbit delay 1ms limit 1000"
#define SIM_EDGE	"rate 1gbit delay 1ms limit 1000"
#define SIM_BOTTLENECK	"rate 10mbit delay 20ms limit 100"
#define SIM_SETTLE_NS	(100 * NOPAL_MILLISECOND) /* what is on its way */
#define SIM_TICK_NS	(100 * NOPAL_MICROSECOND)
#define SIM_DUMBBELL_NS (120 * NOPAL_SECOND)
#define SIM_LONGEST_NS	(60 * NOPAL_SECOND) /* then a transfer hangs */

struct sim_flow {
	struct nopal_world *world;
	struct nopal_session *session;
	struct nopal_buffer *payload;
	uint32_t message_bytes;
	int64_t left_bytes; /* negative: without end */
	uint64_t arrived_bytes;
	int64_t due_ns, every_ns; /* of a flow that nothing paces */
	int under_way;		  /* messages without an outcome */
	bool ended;
};

/* ------------------------------------------------------------------ messages */

static bool sim_send_one(struct sim_flow *flow)
{
	uint32_t length = flow->message_bytes;

	if (flow->left_bytes == 0)
		return false;
	if (flow->left_bytes > 0 && flow->left_bytes < length)
		length = (uint32_t)flow->left_bytes;
	if (nopal_send_message(flow->session, &(struct nopal_outgoing){ .buffer = flow->payload,
									.length = length }))
		return false;
	if (flow->left_bytes > 0)
		flow->left_bytes -= length;
	return true;
}

static void sim_fill(struct nopal_session *session, void *user)
{
	struct sim_flow *flow = user;

	(void)session;
	while (flow->under_way < SIM_UNDER_WAY && sim_send_one(flow))
		flow->under_way++;
	if (flow->left_bytes == 0)
		nopal_session_close(flow->session);
}

static void sim_on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
			void *user)
{
	struct sim_flow *flow = user;

	(void)cookie;
	(void)outcome;
	if (flow->every_ns > 0 || flow->ended)
		return;
	flow->under_way--;
	sim_fill(session, flow);
}

static void sim_on_tick(void *user)
{
	struct sim_flow *flow = user;
	int64_t now_ns = nopal_world_now(flow->world);

	for (; flow->due_ns <= now_ns; flow->due_ns += flow->every_ns)
		sim_send_one(flow);
	if (flow->left_bytes == 0)
		nopal_session_close(flow->session);
	else if (nopal_sim_at(flow->world, now_ns + SIM_TICK_NS, sim_on_tick, flow) < 0)
		tool_lacks_memory();
}

static void sim_on_opened(struct nopal_session *session, void *user)
{
	struct sim_flow *flow = user;

	flow->session = session;
	if (flow->every_ns == 0) {
		sim_fill(session, flow);
		return;
	}
	flow->due_ns = nopal_world_now(flow->world);
	sim_on_tick(flow);
}

static void sim_on_sender_ended(struct nopal_session *session, enum nopal_end end, const char *text,
				void *user)
{
	struct sim_flow *flow = user;

	(void)session;
	(void)end;
	(void)text;
	flow->ended = true;
}

static void *sim_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void sim_on_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	struct sim_flow *flow = user;

	(void)session;
	flow->arrived_bytes += nopal_message_length(message);
}

static const struct nopal_callbacks sim_sender = {
	.opened = sim_on_opened,
	.sent = sim_on_sent,
	.writable = sim_fill,
	.ended = sim_on_sender_ended,
};
static const struct nopal_callbacks sim_receiver = {
	.accepted = sim_on_accepted,
	.received = sim_on_received,
};

/* -------------------------------------------------------------------- worlds */

static bool sim_flow_open(struct sim_flow *flow, struct nopal_plan *plan, int from, int to)
{
	struct nopal_endpoint *here = nopal_sim_endpoint(flow->world, from, SIM_PORT);
	struct nopal_endpoint *there = nopal_sim_endpoint(flow->world, to, SIM_PORT);
	struct nopal_address peer;

	nopal_sim_address(to, SIM_PORT, &peer);
	return here && there &&
	       nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS, &sim_receiver, flow) ==
		       0 &&
	       nopal_open(here, plan, &peer, &sim_sender, flow);
}

/* Long messages where they are cut, else one datagram each and on its own pace. */
static void sim_flow_init(struct sim_flow *flow, struct nopal_world *world,
			  const struct nopal_plan *plan, struct nopal_buffer *payload)
{
	bool controlled = nopal_plan_provides(plan, "flow_control");
	int64_t bits;

	*flow = (struct sim_flow){ .world = world,
				   .payload = payload,
				   .message_bytes = SIM_MESSAGE_BYTES };
	if (controlled)
		return;
	flow->message_bytes = nopal_plan_body_bytes(plan);
	bits = (int64_t)(flow->message_bytes + nopal_plan_header_bytes(plan) + SIM_OVERHEAD_BYTES) *
	       SIM_BITS;
	flow->every_ns = bits * NOPAL_SECOND / SIM_RATE_BPS * SIM_TENTHS / SIM_FLOOD_SHARE;
}

static uint64_t sim_crossed(const struct nopal_world *world, int from, int to)
{
	struct nopal_link_counters counters = { 0 };

	nopal_sim_link_counters(world, from, to, &counters);
	return counters.delivered;
}

/* One transfer over one link; the packets that crossed it, 0 where it hung.  The flow, here as
 * below, outlives the world: at its end sessions tell of outcomes. */
static uint64_t sim_transfer(struct nopal_world *world, struct nopal_plan *plan,
			     struct nopal_buffer *payload, int64_t bytes, struct sim_flow *flow)
{
	struct nopal_link forward, reverse;

	if (nopal_link_parse(SIM_LINK, &forward, &reverse, NULL) < 0 || nopal_sim_host(world) < 0 ||
	    nopal_sim_host(world) < 0 || nopal_sim_connect(world, 0, 1, &forward, &reverse) < 0)
		return 0;
	sim_flow_init(flow, world, plan, payload);
	flow->left_bytes = bytes;
	if (!sim_flow_open(flow, plan, 0, 1))
		return 0;
	while (!flow->ended && nopal_world_now(world) < SIM_LONGEST_NS && nopal_sim_step(world))
		;
	nopal_sim_run(world, nopal_world_now(world) + SIM_SETTLE_NS);
	if (flow->arrived_bytes < (uint64_t)bytes)
		return 0;
	return sim_crossed(world, 0, 1) + sim_crossed(world, 1, 0);
}

/* Ten flows without end for a while; virtual nanoseconds, 0 where it failed. */
static int64_t sim_dumbbell(struct nopal_world *world, struct nopal_plan *plan,
			    struct nopal_buffer *payload, struct sim_flow flows[SIM_FLOWS])
{
	struct nopal_link edge, forward, reverse;

	if (nopal_link_parse(SIM_EDGE, &edge, &reverse, NULL) < 0 ||
	    nopal_link_parse(SIM_BOTTLENECK, &forward, &reverse, NULL) < 0 ||
	    nopal_sim_dumbbell(world, SIM_FLOWS, &edge, &forward, &reverse) < 0)
		return 0;
	for (int i = 0; i < SIM_FLOWS; i++) {
		sim_flow_init(&flows[i], world, plan, payload);
		flows[i].left_bytes = -1;
		if (!sim_flow_open(&flows[i], plan, 2 * i, 2 * i + 1))
			return 0;
	}
	nopal_sim_run(world, SIM_DUMBBELL_NS);
	for (int i = 0; i < SIM_FLOWS; i++)
		if (flows[i].arrived_bytes == 0)
			return 0;
	return SIM_DUMBBELL_NS;
}

/* -------------------------------------------------------------------- rounds */

struct sim_row {
	const char *what;
	struct nopal_plan *plan;
	bool dumbbell;
};

static bool sim_measure(struct bench_report *report, const struct sim_row *row,
			struct nopal_buffer *payload, int round)
{
	int64_t asked = bench_options(report)->count, work, begun_ns, took_ns;
	struct nopal_world *world = nopal_sim_new((uint64_t)round + 1);
	struct sim_flow flows[SIM_FLOWS];

	if (!world)
		return false;
	begun_ns = clock_cpu_ns();
	if (row->dumbbell)
		work = sim_dumbbell(world, row->plan, payload, flows);
	else
		work = (int64_t)sim_transfer(world, row->plan, payload,
					     asked > 0 ? asked : SIM_BYTES, flows);
	took_ns = clock_cpu_ns() - begun_ns;
	nopal_world_free(world);
	if (work == 0 || took_ns <= 0) {
		fprintf(stderr, "error: %s: the simulated transfer failed\n", row->what);
		return false;
	}
	bench_add(report, &(struct bench_value){
				  .what = row->what,
				  .path = row->dumbbell ? "dumbbell" : "link",
				  .measure = row->dumbbell ? "speed" : "packets",
				  .class = BENCH_NONE,
				  .round = round,
				  .value = (double)work / (double)took_ns *
					   (row->dumbbell ? 1 : NOPAL_SECOND),
			  });
	return true;
}

static enum tool_exit sim_rounds(struct bench_report *report, const struct sim_row *rows, int count)
{
	struct nopal_buffer *payload = nopal_buffer_new(SIM_MESSAGE_BYTES);
	int order[BENCH_MAX_ROWS];
	bool good = payload != NULL;

	for (int round = 0; good && round < bench_options(report)->rounds; round++) {
		bench_shuffle(order, count);
		for (int i = 0; good && i < count; i++)
			good = sim_measure(report, &rows[order[i]], payload, round);
	}
	if (payload)
		nopal_buffer_free(payload);
	return good ? TOOL_GOOD : TOOL_FAILED;
}

/* Behind the transfers, a dumbbell for each plan that shares a link. */
static int sim_dumbbells(struct sim_row *rows, int count)
{
	int all = count;

	for (int i = 0; i < count && all < BENCH_MAX_ROWS; i++) {
		if (!nopal_plan_provides(rows[i].plan, "flow_control"))
			continue;
		rows[all] = rows[i];
		rows[all++].dumbbell = true;
	}
	return all;
}

int bench_sim(int argc, char **argv, struct bench_report *report)
{
	char **words = bench_words(bench_options(report)->rows, "bulk,bulk_cubic,ctp_minimal");
	struct sim_row rows[BENCH_MAX_ROWS];
	enum tool_exit exit = TOOL_BAD_INPUT;
	bool good = words && *words;
	int count = 0;

	(void)argc;
	(void)argv;
	for (char **word = words; good && *word && count < BENCH_MAX_ROWS - 1; word++) {
		rows[count] = (struct sim_row){ .what = *word, .plan = bench_plan(*word) };
		good = rows[count].plan != NULL;
		count += good;
	}
	if (good) {
		bench_measure(report, "packets", "1/s", BENCH_MORE_IS_BETTER);
		bench_measure(report, "speed", "x real time", BENCH_MORE_IS_BETTER);
		bench_note(report,
			   "packets: that came out of their link, data and acks, over `" SIM_LINK
			   "`");
		bench_note(report, "speed: %d flows through `" SIM_BOTTLENECK "`", SIM_FLOWS);
		bench_note(report, "per second of processor time; nothing is traced");
		exit = sim_rounds(report, rows, sim_dumbbells(rows, count));
	}
	for (int i = 0; i < count; i++)
		nopal_plan_unref(rows[i].plan);
	free(words);
	return (int)exit;
}
