/* SPDX-License-Identifier: MIT */
/*
 * sim.c -- `nopal sim`: a config on a simulated network.
 *
 * Host 0 opens a session to host 1 (a dumbbell: every left host to its right one; a star: the
 * middle to every leaf; a group: the middle to all leaves), sends messages and closes.  Several
 * configs take the pairs of hosts in turn.  The run ends when all sessions have ended,
 * when nothing is left to happen, or when the duration is over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim_report.h"

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

/* A duration that nobody asked for does not cut off a run that stands still before it is judged. */
static bool is_over(struct sim_run *run)
{
	return nopal_world_now(run->world) >= run->options.duration_ns &&
	       (run->options.duration_given || !sim_judge_waits(run));
}

/* Where nothing happens before it is over, the time is the duration's. */
static void run_world(struct sim_run *run)
{
	int64_t end_ns = run->options.duration_ns;
	bool more = true, connectionless = false;

	for (unsigned i = 0; i < run->load_count; i++)
		connectionless |= run->loads[i].connectionless;
	if (run->options.jsonl)
		tick_later(run);
	/* Without a handshake nothing says that the receiver is done. */
	while (!is_over(run) && (run->senders_left || run->receivers_left || connectionless) &&
	       (more = nopal_sim_step(run->world)) &&
	       (!sim_judge_is_due(run) || sim_judge_goes_on(run)))
		continue;
	if (!more)
		sim_judge_idle(run);
	if (nopal_world_now(run->world) >= end_ns && run->last_ns < end_ns)
		run->last_ns = end_ns;
	sim_traffic_finish(run);
}

/* The sessions of one pair. */
static bool pair_open(struct sim_run *run, unsigned pair)
{
	bool one_middle = run->options.topology == SIM_STAR || run->options.destinations;
	int host = one_middle || run->options.topology == SIM_DIRECT ? 0 : 2 * (int)pair;
	struct nopal_endpoint *from = nopal_sim_endpoint(run->world, host, 0);

	for (unsigned i = 0; i < (unsigned)run->options.streams; i++) {
		unsigned flow = sim_flow_of(run, pair, i)->index;

		if (!from || !sim_traffic_open(run, flow, from)) {
			run->failed = true;
			return tool_error("session %u cannot be opened\n"
					  "  fix: is there enough memory?",
					  flow);
		}
	}
	return true;
}

/* The call at the time when the pair's sessions open. */
static void pair_open_late(void *user)
{
	struct sim_listener *listener = user;

	pair_open(listener->run, listener->pair);
}

/* Listens for the sessions of each pair, and opens them or lets them open later.  False: a problem was
 * told. */
static bool begin(struct sim_run *run)
{
	int error = nopal_trace_start(run->world, run->options.trace, run->options.detail);
	bool direct = run->options.topology == SIM_DIRECT && !run->options.destinations;
	bool leaves = run->options.topology == SIM_STAR || run->options.destinations;
	unsigned places = sim_places(run);

	if (error)
		return tool_error("the trace %s: %s\n"
				  "  fix: give a file in a folder that may be written",
				  run->options.trace ? run->options.trace : "", strerror(-error));
	if (run->options.watch && nopal_watch_start(run->world, run->loads[0].plan, true))
		return tool_error("the run cannot be watched\n  fix: is there enough memory?");
	run->senders_left = run->options.flows;
	for (unsigned pair = 0; pair < (unsigned)run->options.pairs; pair++) {
		const struct sim_load *load = &run->loads[pair % run->load_count];
		struct sim_listener *listeners = &run->listeners[pair * places];

		for (unsigned place = 0; place < places; place++) {
			int host = direct   ? 1
				   : leaves ? (int)(pair + place) + 1
					    : 2 * (int)pair + 1;

			listeners[place].endpoint = nopal_sim_endpoint(
				run->world, host, (uint16_t)(SIM_PORT + (direct ? pair : 0)));
			if (!sim_receive_listen(&listeners[place], load->plan))
				return tool_error(
					"host %d cannot listen\n  fix: is there enough memory?",
					host);
		}
		if (load->start_ns &&
		    nopal_sim_at(run->world, load->start_ns, pair_open_late, listeners))
			return false;
		if (!load->start_ns && !pair_open(run, pair))
			return false;
	}
	return true;
}

/* Of a group, a star whose rays may differ. */
static int network(struct sim_run *run)
{
	const struct sim_options *options = &run->options;
	const struct nopal_link *forward = options->forward, *reverse = options->reverse;
	int error;

	if (options->topology == SIM_DUMBBELL)
		return nopal_sim_dumbbell(run->world, options->pairs, NULL, forward, reverse);
	if (options->topology == SIM_STAR)
		return nopal_sim_star(run->world, options->pairs, forward, reverse);
	error = nopal_sim_host(run->world);
	for (unsigned i = 0; i < sim_places(run) && error >= 0; i++) {
		unsigned link = i < options->link_count ? i : options->link_count - 1;

		error = nopal_sim_host(run->world);
		if (error >= 0)
			error = nopal_sim_connect(run->world, 0, error, &forward[link],
						  &reverse[link]);
	}
	return error;
}

static bool make_world(struct sim_run *run)
{
	run->world = nopal_sim_new(run->options.seed);
	return (run->world && sim_traffic_prepare(run) && network(run) >= 0) ||
	       tool_error("the network cannot be built\n  fix: is there enough memory?");
}

bool sim_again(const struct sim_run *run, struct sim_run *ret_again)
{
	*ret_again = (struct sim_run){
		.options = run->options,
		.loads = run->loads,
		.load_count = run->load_count,
	};
	ret_again->options.trace = NULL;
	ret_again->options.jsonl = ret_again->options.holds = false;
	ret_again->options.watch = true;
	if (!make_world(ret_again) || !begin(ret_again))
		return false;
	run_world(ret_again);
	return true;
}

/* One run, and its report; or its part of the series. */
static enum tool_exit run_once(struct sim_run *run, struct sim_series *series)
{
	enum tool_exit exit = TOOL_ENVIRONMENT;
	int error;

	if (make_world(run) && begin(run)) {
		run_world(run);
		sim_judge(run);
		run->trace_hash = nopal_trace_hash(run->world);
		error = nopal_trace_stop(run->world);
		exit = (series ? sim_report_one(run, series) : sim_report_end(run)) ? TOOL_GOOD
										    : TOOL_FAILED;
		if (run->failed)
			exit = TOOL_ENVIRONMENT;
		if (error) {
			tool_error("the trace was not written whole: %s\n  fix: is the disk full?",
				   strerror(-error));
			exit = TOOL_ENVIRONMENT;
		}
	}
	nopal_world_free(run->world);
	sim_traffic_free(run);
	return exit;
}

/* The configs of the call, each with its messages. */
struct loads {
	struct sim_load one[SIM_LOADS];
	char *text[SIM_LOADS]; /* of the words */
	unsigned count;
};

static bool loads_read(struct loads *loads, const struct tool_call *call,
		       const struct sim_options *options)
{
	struct tool_call *own = tool_need(calloc(1, sizeof(*own)));
	bool read = call->word_count <= SIM_LOADS ||
		    tool_error("more than %d configs\n  fix: give fewer", SIM_LOADS);

	for (int i = 0; read && i < call->word_count; i++) {
		struct sim_load *load = &loads->one[loads->count];
		const char *config;

		if (sim_word_read(call, call->words[i], own, &config, &loads->text[loads->count++]))
			load->plan = tool_plan(own, config);
		read = load->plan && sim_layers_fit(options, load->plan) &&
		       sim_load_read(own, load);
	}
	free(own);
	return read;
}

static enum tool_exit run_seed(struct loads *loads, const struct sim_options *options,
			       uint64_t seed, struct sim_series *series)
{
	struct sim_run run = { .options = *options,
			       .loads = loads->one,
			       .load_count = loads->count };

	run.options.seed = seed;
	for (unsigned i = 0; i < loads->count; i++)
		if (!sim_kinds_find(&loads->one[i].kinds, loads->one[i].plan, seed,
				    loads->one[i].messages))
			return TOOL_BAD_INPUT;
	return run_once(&run, series);
}

/* A run for each seed; the worst of them is the whole's. */
static enum tool_exit sim_main(const struct tool_call *call)
{
	enum tool_exit worst = TOOL_GOOD, one;
	struct sim_options options = { 0 };
	struct sim_series *series = NULL;
	struct loads *loads;

	if (!sim_options_read(call, &options))
		return TOOL_BAD_INPUT;
	loads = tool_need(calloc(1, sizeof(*loads)));
	if (!loads_read(loads, call, &options))
		worst = TOOL_BAD_INPUT;
	if (options.seed < options.last_seed)
		series = sim_series_new(&options, loads->one, loads->count);
	for (uint64_t seed = options.seed; seed <= options.last_seed && worst <= TOOL_FAILED;
	     seed++) {
		one = run_seed(loads, &options, seed, series);
		worst = one > worst ? one : worst;
	}
	if (series && worst <= TOOL_FAILED)
		sim_series_print(series);
	if (series)
		sim_series_free(series);
	for (unsigned i = 0; i < loads->count; i++) {
		nopal_plan_unref(loads->one[i].plan);
		free(loads->text[i]);
	}
	free(loads);
	return worst;
}

static const struct tool_option sim_table[] = {
	{ "link", 'l', "WORDS", "the link, in words of tc-netem; default: " SIM_LINK },
	{ "topology", 0, "direct|dumbbell:N|star:N", "who is joined to whom; default: direct" },
	{ "destinations", 0, "N", "a group of so many; repeat --link for a link to each" },
	{ "streams", 0, "N", "so many sessions on each flow" },
	{ "start", 0, "TIME", "when sessions open; default: 0s" },
	{ "bytes", 'b', "SIZE", "bytes that each session sends; default: 10MB" },
	{ "messages", 'n', "N", "messages that each session sends" },
	{ "size", 's', "SIZE", "bytes of a message; default: what suits the config" },
	{ "interval", 0, "TIME", "time from message to message" },
	{ "deadline", 0, "TIME,...", "count messages that take longer than this as late" },
	TOOL_WITH_OPTION,
	{ "seed", 0, "N", "seed of all that is random; default: 1" },
	{ "seeds", 0, "A..B", "a run for each seed, and a table of medians and spreads" },
	{ "duration", 0, "TIME",
	  "virtual time to stop at; default: 300s, or longer for a standstill" },
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
	.words = "CONF...",
	.summary = "run a config over a simulated network in virtual time",
	.help = "Opens sessions of the config between simulated hosts, sends messages through "
		"them, checks every byte that arrives, and tells what came of it.  The same seed "
		"gives the same run, byte for byte, on every machine.  Complete is what came and "
		"is missed by no sender.\n"
		"\n"
		"Words of a link: delay T [JITTER [CORR%]], distribution "
		"uniform|normal|pareto|paretonormal, loss P%, loss gemodel P% [R% [1-H% [1-K%]]], "
		"loss mask BITS, duplicate P%, corrupt P%, reorder P% [gap N], rate R, limit "
		"PACKETS, mtu BYTES, down FROM UNTIL, ecn (a loss marks who understands marks), "
		"ce_threshold T (so does a longer wait); fwd: and rev: begin words for one "
		"direction.\n"
		"\n"
		"Several configs run side by side, on pairs of hosts that share one link; each may "
		"have messages of its own, by options in its word: --bytes, --messages, --size, "
		"--interval, --deadline, --start, --with, --set.  Options outside are for all.\n"
		"\n"
		"A config with a layer per_destination goes to so many --destinations, each behind its "
		"own --link; one with a layer per_stream, or shared, has so many --streams.\n" TOOL_WITH_HELP
		"\n"
		"  nopal sim bulk --link \"rate 100mbit delay 25ms loss 1%\"\n"
		"  nopal sim ctp_audio --messages 500 --interval 20ms --size 160B\n"
		"  nopal sim ctp_mixed --with \"deadline=200ms every 5\"\n"
		"  nopal sim bulk \"ctp_audio --messages 500 --interval 20ms --size 160B\"\n"
		"  nopal sim one_to_many_all --destinations 3 --link \"delay 5ms\" --link \"loss 2%\"\n"
		"  nopal sim ctp_video --seeds 1..20 --deadline 100ms,200ms,500ms\n"
		"  nopal sim bulk --topology dumbbell:10 --bytes 100MB --jsonl\n",
	.min_words = 1,
	.max_words = -1,
	.options = sim_table,
	.run = sim_main,
};
