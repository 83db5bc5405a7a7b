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
	.accepted = bench_accepted,
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
	flow->message_bytes = nopal_plan_info(plan)->body_bytes;
	bits = (int64_t)(flow->message_bytes + nopal_plan_info(plan)->header_bytes +
			 SIM_OVERHEAD_BYTES) *
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

	if (!bench_link(SIM_LINK, &forward, &reverse) || nopal_sim_host(world) < 0 ||
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

	if (!bench_link(SIM_EDGE, &edge, &reverse) ||
	    !bench_link(SIM_BOTTLENECK, &forward, &reverse) ||
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

/* A transfer, or else a dumbbell. */
static enum tool_exit sim_measure_one(struct bench *bench, const struct bench_row *row,
				      struct nopal_buffer *payload, bool dumbbell)
{
	struct nopal_world *world = nopal_sim_new((uint64_t)bench->round + 1);
	int64_t bytes = bench->count > 0 ? bench->count : SIM_BYTES, work = 0, took_ns;
	struct sim_flow flows[SIM_FLOWS];

	took_ns = -clock_cpu_ns();
	if (world && dumbbell)
		work = sim_dumbbell(world, row->plan, payload, flows);
	else if (world)
		work = (int64_t)sim_transfer(world, row->plan, payload, bytes, flows);
	took_ns += clock_cpu_ns();
	nopal_world_free(world);
	if (work == 0 || took_ns <= 0) {
		fprintf(stderr, "error: %s: the simulated transfer failed\n", row->name);
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

static bool sim_begin(struct bench *bench)
{
	report_note(bench->report,
		    "packets: that came out of their link, data and acks, over `" SIM_LINK "`");
	report_note(bench->report, "speed: %d flows through `" SIM_BOTTLENECK "`", SIM_FLOWS);
	report_note(bench->report, "per second of processor time; nothing is traced");
	return true;
}

const struct bench_measurement bench_sim = {
	.name = "sim",
	.uses = BENCH_USE_ROWS | BENCH_USE_COUNT,
	.rows = "bulk,bulk_cubic,ctp_minimal",
	.columns = { { "packets", "1/s", REPORT_MORE_IS_BETTER },
		     { "speed", "x real time", REPORT_MORE_IS_BETTER } },
	.begin = sim_begin,
	.measure = sim_measure,
};
