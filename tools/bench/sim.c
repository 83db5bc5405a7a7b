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
#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

enum {
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
	side_call *on;
	struct side_sink sink; /* of its other end */
	struct nopal_world *world;
	struct nopal_session *session;
	struct nopal_buffer *payload;
	uint32_t message_bytes;
	int64_t left_bytes;	  /* negative: without end */
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

static void sim_on(void *user, const struct side_event *event)
{
	struct sim_flow *flow = user;

	flow->ended |= event->kind == SIDE_ENDED;
	if (flow->ended)
		return;
	if (event->kind == SIDE_OPENED)
		flow->session = event->session;
	if (flow->every_ns == 0) {
		flow->under_way -= event->kind == SIDE_SENT;
		while (flow->under_way < SIM_UNDER_WAY && sim_send_one(flow))
			flow->under_way++;
		if (flow->left_bytes == 0)
			nopal_session_close(flow->session);
	} else if (event->kind == SIDE_OPENED) {
		flow->due_ns = nopal_world_now(flow->world);
		sim_on_tick(flow);
	}
}

/* -------------------------------------------------------------------- worlds */

/* Long messages where they are cut, else one datagram each and on its own pace. */
static bool sim_flow_open(struct sim_flow *flow, struct nopal_world *world, struct nopal_plan *plan,
			  struct nopal_buffer *payload, int64_t bytes, int from)
{
	const struct nopal_plan_info *info = nopal_plan_info(plan);

	*flow = (struct sim_flow){
		.on = sim_on,
		.sink = { .on = side_on_sink },
		.world = world,
		.payload = payload,
		.message_bytes = SIM_MESSAGE_BYTES,
		.left_bytes = bytes,
	};
	if (!nopal_plan_provides(plan, "flow_control")) {
		int64_t bits =
			(int64_t)(info->body_bytes + info->header_bytes + SIM_OVERHEAD_BYTES) *
			SIM_BITS;

		flow->message_bytes = info->body_bytes;
		flow->every_ns = bits * NOPAL_SECOND / SIM_RATE_BPS * SIM_TENTHS / SIM_FLOOD_SHARE;
	}
	return side_connect(world, from, from + 1, plan, flow, &flow->sink);
}

static uint64_t sim_crossed(const struct nopal_world *world, int from, int to)
{
	struct nopal_link_counters counters = { 0 };

	nopal_sim_link_counters(world, from, to, &counters);
	return counters.delivered;
}

/* One transfer over a link, by the packets that cross it; or flows without end through a bottleneck
 * for a while, by their virtual time. */
static enum tool_exit sim_measure_one(struct bench *bench, const struct bench_row *row,
				      struct nopal_buffer *payload, bool dumbbell)
{
	struct nopal_world *world = tool_need(nopal_sim_new((uint64_t)bench->round + 1));
	int64_t bytes = bench->count > 0 ? bench->count : SIM_BYTES, work, took_ns;
	struct sim_flow flows[SIM_FLOWS]; /* outlive the world: at its end they hear of outcomes */
	int count = dumbbell ? SIM_FLOWS : 1;
	struct side_place place;
	struct nopal_link edge, unused;
	bool good =
		bench_link(SIM_EDGE, &edge, &unused) &&
		bench_link(dumbbell ? SIM_BOTTLENECK : SIM_LINK, &place.forward, &place.reverse);

	took_ns = -clock_cpu_ns();
	if (good && dumbbell)
		good = nopal_sim_dumbbell(world, count, &edge, &place.forward, &place.reverse) >= 0;
	else if (good)
		side_hosts(world, &place);
	for (int i = 0; good && i < count; i++)
		good = sim_flow_open(&flows[i], world, row->plan, payload, dumbbell ? -1 : bytes,
				     2 * i);
	if (good && dumbbell) {
		nopal_sim_run(world, SIM_DUMBBELL_NS);
	} else if (good) {
		while (!flows[0].ended && nopal_world_now(world) < SIM_LONGEST_NS &&
		       nopal_sim_step(world))
			;
		nopal_sim_run(world, nopal_world_now(world) + SIM_SETTLE_NS);
	}
	for (int i = 0; good && i < count; i++)
		good = flows[i].sink.bytes >= (dumbbell ? 1 : (uint64_t)bytes);
	work = dumbbell ? SIM_DUMBBELL_NS
			: (int64_t)(sim_crossed(world, 0, 1) + sim_crossed(world, 1, 0));
	took_ns += clock_cpu_ns();
	nopal_world_free(world);
	if (!good || took_ns <= 0) {
		tool_error("%s: the simulated transfer failed", row->name);
		return TOOL_FAILED;
	}
	bench_add(bench, dumbbell ? "dumbbell" : "link", row->name, dumbbell ? "speed" : "packets",
		  (double)work / (double)took_ns * (dumbbell ? 1 : NOPAL_SECOND));
	return TOOL_GOOD;
}

/* A plan that shares a link is measured in a dumbbell, too. */
static enum tool_exit sim_measure(struct bench *bench, const struct bench_row *row)
{
	struct nopal_buffer *payload = tool_need(nopal_buffer_new(SIM_MESSAGE_BYTES));
	enum tool_exit code = sim_measure_one(bench, row, payload, false);

	if (code == TOOL_GOOD && nopal_plan_provides(row->plan, "flow_control"))
		code = sim_measure_one(bench, row, payload, true);
	nopal_buffer_free(payload);
	return code;
}

const struct bench_measurement bench_sim = {
	.name = "sim",
	.uses = BENCH_USE_ROWS | BENCH_USE_COUNT,
	.rows = "bulk,bulk_cubic,ctp_minimal",
	.columns = { { "packets", "1/s", REPORT_MORE_IS_BETTER },
		     { "speed", "x real time", REPORT_MORE_IS_BETTER } },
	.notes =
		(const char *const[]){
			"packets: that came out of their link, data and acks, over `" SIM_LINK "`",
			"speed: 10 flows through `" SIM_BOTTLENECK "`",
			"per second of processor time; nothing is traced",
			NULL,
		},
	.measure = sim_measure,
};
