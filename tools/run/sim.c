/* SPDX-License-Identifier: MIT */
/*
 * sim.c -- `nopal sim`: a config on a simulated network.
 *
 * Host 0 opens a session to host 1 (a dumbbell: every left host to its right one; a star: the
 * middle to every leaf), sends messages and closes.  The run ends when all sessions have ended,
 * when nothing is left to happen, or when the duration is over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum { SIM_PORT = 9000 };

/* ----------------------------------------------------------------- the world */

static void tick(void *user);

static void tick_later(struct sim_run *run)
{
	if (nopal_sim_at(run->world, nopal_world_now(run->world) + run->options.every_ns, tick,
			 run) < 0)
		tool_lacks_memory();
}

/* Every so often, for --jsonl; the call after the end stops it. */
static void tick(void *user)
{
	struct sim_run *run = user;

	if (run->senders_left == 0)
		return;
	sim_report_moment(run);
	tick_later(run);
}

/* Where nothing happens before it is over, the time is the duration's. */
static void run_world(struct sim_run *run)
{
	int64_t end_ns = run->options.duration_ns;
	bool more = true;

	if (run->options.jsonl)
		tick_later(run);
	/* Without a handshake nothing says that the receiver is done. */
	while (nopal_world_now(run->world) < end_ns &&
	       (run->senders_left || run->receivers_left || run->load.connectionless) &&
	       (more = nopal_sim_step(run->world)) &&
	       (!sim_judge_is_due(run) || sim_judge_goes_on(run)))
		continue;
	if (!more)
		sim_judge_idle(run);
	if (nopal_world_now(run->world) >= end_ns)
		run->last_ns = end_ns;
	sim_traffic_finish(run);
}

/* False: a problem was told. */
static bool begin(struct sim_run *run)
{
	int error = nopal_trace_start(run->world, run->options.trace, run->options.detail);

	if (error)
		return sim_refuse("give a file in a folder that may be written", "the trace %s: %s",
				  run->options.trace ? run->options.trace : "", strerror(-error));
	if (run->options.watch && nopal_watch_start(run->world, run->load.plan, true))
		return sim_refuse("is there enough memory?", "the run cannot be watched");
	for (int i = 0; i < run->options.flows; i++) {
		bool star = run->options.topology == SIM_STAR;
		int from = star ? 0 : 2 * i;
		int to = star ? i + 1 : 2 * i + 1;

		if (!sim_traffic_open(run, (unsigned)i, nopal_sim_endpoint(run->world, from, 0),
				      nopal_sim_endpoint(run->world, to, SIM_PORT)))
			return sim_refuse("is there enough memory?", "session %d cannot be opened",
					  i);
	}
	return true;
}

static bool make_world(struct sim_run *run)
{
	const struct sim_options *options = &run->options;
	struct nopal_world *world = nopal_sim_new(options->seed);
	int error = -ENOMEM;

	run->world = world;
	if (world && sim_traffic_prepare(run)) {
		if (options->topology == SIM_DUMBBELL)
			error = nopal_sim_dumbbell(world, options->flows, NULL, &options->forward,
						   &options->reverse);
		else if (options->topology == SIM_STAR)
			error = nopal_sim_star(world, options->flows, &options->forward,
					       &options->reverse);
		else if (nopal_sim_host(world) >= 0 && nopal_sim_host(world) >= 0)
			error = nopal_sim_connect(world, 0, 1, &options->forward,
						  &options->reverse);
	}
	return error >= 0 || sim_refuse("is there enough memory?", "the network cannot be built");
}

bool sim_again(const struct sim_run *run, struct sim_run *ret_again)
{
	*ret_again = (struct sim_run){
		.options = run->options,
		.load = run->load,
	};
	ret_again->options.trace = NULL;
	ret_again->options.jsonl = ret_again->options.holds = false;
	ret_again->options.watch = true;
	if (!make_world(ret_again) || !begin(ret_again))
		return false;
	run_world(ret_again);
	return true;
}

/* One run, and its report. */
static enum tool_exit run_once(struct sim_run *run)
{
	enum tool_exit exit = TOOL_ENVIRONMENT;
	int error;

	if (make_world(run) && begin(run)) {
		run_world(run);
		sim_judge(run);
		run->trace_hash = nopal_trace_hash(run->world);
		error = nopal_trace_stop(run->world);
		exit = sim_report_end(run) ? TOOL_GOOD : TOOL_FAILED;
		if (error) {
			sim_refuse("is the disk full?", "the trace was not written whole: %s",
				   strerror(-error));
			exit = TOOL_ENVIRONMENT;
		}
	}
	nopal_world_free(run->world);
	sim_traffic_free(run);
	return exit;
}

static enum tool_exit sim_main(const struct tool_call *call)
{
	struct sim_run run = { 0 };
	enum tool_exit exit = TOOL_BAD_INPUT;

	if (!sim_options_read(call, &run.options))
		return TOOL_BAD_INPUT;
	run.load.plan = tool_plan(call, call->words[0]);
	if (!run.load.plan)
		return TOOL_BAD_INPUT;
	if (sim_load_read(call, run.options.seed, &run.load))
		exit = run_once(&run);
	nopal_plan_unref(run.load.plan);
	return exit;
}

static const struct tool_option sim_table[] = {
	{ "link", 'l', "WORDS", "the link, in words of tc-netem; default: " SIM_LINK },
	{ "topology", 0, "direct|dumbbell:N|star:N", "who is joined to whom; default: direct" },
	{ "bytes", 'b', "SIZE", "bytes that each session sends; default: 10MB" },
	{ "messages", 'n', "N", "messages that each session sends" },
	{ "size", 's', "SIZE", "bytes of a message; default: what suits the config" },
	{ "interval", 0, "TIME", "time from message to message" },
	{ "deadline", 0, "TIME", "count messages that take longer than this as late" },
	TOOL_WITH_OPTION,
	{ "seed", 0, "N", "seed of all that is random; default: 1" },
	{ "duration", 0, "TIME", "virtual time to stop at; default: 300s" },
	{ "trace", 't', "FILE", "write a trace, see `nopal trace`" },
	{ "trace-detail", 0, "packets|events",
	  "what to trace, also in the trace hash; default: packets" },
	{ "every", 0, "TIME", "virtual time between lines of --jsonl" },
	{ "holds", 0, NULL, "tell who holds what in sessions that are open at the end" },
	{ "watch", 0, NULL,
	  "watch every microprotocol; a run that breaks a promise is made once "
	  "more like that anyway" },
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ "jsonl", 0, NULL, "one JSON object every virtual second, then the result" },
	{ 0 },
};

const struct tool tool_sim = {
	.name = "sim",
	.words = "CONF",
	.summary = "run a config over a simulated network in virtual time",
	.help = "Opens sessions of the config between simulated hosts, sends messages through "
		"them, checks every byte that arrives, and tells what came of it.  The same seed "
		"gives the same run, byte for byte, on every machine.  Complete is what came and "
		"is missed by no sender; of a config one to many each session has one receiver.\n"
		"\n"
		"Words of a link: delay T [JITTER [CORR%]], distribution "
		"uniform|normal|pareto|paretonormal, loss P%, loss gemodel P% [R% [1-H% [1-K%]]], "
		"loss mask BITS, duplicate P%, corrupt P%, reorder P% [gap N], rate R, limit "
		"PACKETS, mtu BYTES, down FROM UNTIL, ecn (a loss marks who understands marks), "
		"ce_threshold T (so does a longer wait); fwd: and rev: begin words for one "
		"direction.\n" TOOL_WITH_HELP "\n"
		"  nopal sim bulk --link \"rate 100mbit delay 25ms loss 1%\"\n"
		"  nopal sim ctp_audio --messages 500 --interval 20ms --size 160B\n"
		"  nopal sim ctp_mixed --with \"deadline=200ms every 5\"\n"
		"  nopal sim bulk --topology dumbbell:10 --bytes 100MB --jsonl\n",
	.min_words = 1,
	.max_words = 1,
	.options = sim_table,
	.run = sim_main,
};
