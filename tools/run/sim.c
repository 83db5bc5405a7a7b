/* SPDX-License-Identifier: MIT */
/*
 * sim.c -- `nopal sim`: a config on a simulated network.
 *
 * Host 0 opens a session to host 1 (a dumbbell: every left host to its right one; a star: the
 * middle to every leaf), sends messages and closes.  The run ends when all sessions have ended,
 * when nothing is left to happen, or when the duration is over.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum {
	SIM_PORT = 9000,
	SIM_MAX_FLOWS = 10000,
	SIM_BULK_BYTES = 64 << 10, /* messages of reliable configs */
	SIM_DECIMAL = 10,
	SIM_TEXT = 256, /* bytes of what is said about a mistake */
};
#define SIM_BYTES	INT64_C(10000000)    /* unless said otherwise */
#define SIM_DURATION_NS (300 * NOPAL_SECOND) /* unless said otherwise */
#define SIM_MAX_BYTES	(INT64_C(1) << 40)   /* of a flow */
#define SIM_MAX_MESSAGE (INT64_C(1) << 30)   /* bytes of a message */
#define SIM_LINK	"rate 100mbit delay 25ms limit 400"

/* ------------------------------------------------------------------- options */

/* Says what is wrong; always false. */
__attribute__((format(printf, 2, 3))) static bool refuse(const char *fix, const char *cause, ...)
{
	struct nopal_problems problems = { 0 };
	char text[SIM_TEXT];
	va_list arguments;

	va_start(arguments, cause);
	vsnprintf(text, sizeof(text), cause, arguments);
	va_end(arguments);
	nopal_problems_add(&problems, NULL, 0, fix, "%s", text);
	tool_problems(&problems);
	nopal_problems_fini(&problems);
	return false;
}

/* --bytes, or --messages of --size. */
static bool read_amount(const struct tool_call *call, const struct nopal_plan *plan,
			struct sim_options *options)
{
	uint64_t most = nopal_plan_info(plan)->message_limit;
	uint64_t limit = most < SIM_MAX_MESSAGE ? most : SIM_MAX_MESSAGE;
	/* A reliable config is for bulk where it cuts messages; of others each message is a
	 * datagram. */
	uint64_t natural = nopal_plan_provides(plan, "reliability")
				   ? SIM_BULK_BYTES
				   : nopal_plan_info(plan)->body_bytes;
	int64_t size = (int64_t)(natural < limit ? natural : limit), bytes, messages;

	if (!tool_quantity(call, "size", NOPAL_SIZE, size, &size) ||
	    !tool_quantity(call, "bytes", NOPAL_SIZE, SIM_BYTES, &bytes) ||
	    !tool_quantity(call, "messages", NOPAL_COUNT, 0, &messages))
		return false;
	if (tool_value(call, "bytes") && tool_value(call, "messages"))
		return refuse("give one of them; --size goes with both",
			      "--bytes and --messages are both given");
	if (size < 1 || (uint64_t)size > limit)
		return refuse("leave it out, or see the limit in `nopal explain`",
			      "--size: this config takes messages from 1 to %llu bytes",
			      (unsigned long long)limit);
	if (tool_value(call, "messages"))
		bytes = messages > SIM_MAX_BYTES / size ? -1 : messages * size;
	if (bytes < 1 || bytes > SIM_MAX_BYTES)
		return refuse("send from 1 byte to 1 TiB, and from 1 message on",
			      "nothing, or too much, is to be sent");
	options->size = (uint64_t)(size < bytes ? size : bytes);
	options->bytes = (uint64_t)bytes;
	options->messages = ((uint64_t)bytes - 1) / options->size + 1;
	return true;
}

static bool read_options(const struct tool_call *call, struct sim_options *options)
{
	const char *text;
	struct nopal_problems problems = { 0 };
	int64_t seed;

	options->config = call->words[0];
	options->trace = tool_value(call, "trace");
	options->json = tool_value(call, "json") != NULL;
	options->jsonl = tool_value(call, "jsonl") != NULL;
	options->holds = tool_value(call, "holds") != NULL;
	options->watch = tool_value(call, "watch") != NULL;
	text = tool_value(call, "topology");
	options->flows = 1;
	if (text && strcmp(text, "direct") != 0) {
		const char *number = strchr(text, ':');
		long count = 0;
		char *end = NULL;

		if (strncmp(text, "dumbbell:", strlen("dumbbell:")) == 0)
			options->topology = SIM_DUMBBELL;
		else if (strncmp(text, "star:", strlen("star:")) == 0)
			options->topology = SIM_STAR;
		if (options->topology != SIM_DIRECT)
			count = strtol(number + 1, &end, SIM_DECIMAL);
		if (!end || end == number + 1 || *end || count < 1 || count > SIM_MAX_FLOWS)
			return refuse("write direct, dumbbell:N or star:N, N from 1 to 10000",
				      "--topology %s: not known", text);
		options->flows = (int)count;
	}
	options->link_text = tool_value(call, "link");
	if (!options->link_text)
		options->link_text = SIM_LINK;
	nopal_link_parse(options->link_text, &options->forward, &options->reverse, &problems);
	if (tool_problems(&problems))
		return false;
	nopal_problems_fini(&problems);
	text = tool_value(call, "trace-detail");
	options->detail = NOPAL_TRACE_PACKETS;
	if (text && strcmp(text, "packets") != 0) {
		if (strcmp(text, "events") != 0)
			return refuse("write packets or events", "--trace-detail %s: not known",
				      text);
		options->detail = NOPAL_TRACE_EVENTS;
	}
	if (!tool_quantity(call, "interval", NOPAL_TIME, 0, &options->interval_ns) ||
	    !tool_quantity(call, "deadline", NOPAL_TIME, 0, &options->deadline_ns) ||
	    !tool_quantity(call, "duration", NOPAL_TIME, SIM_DURATION_NS, &options->duration_ns) ||
	    !tool_quantity(call, "every", NOPAL_TIME, NOPAL_SECOND, &options->every_ns) ||
	    !tool_quantity(call, "seed", NOPAL_COUNT, 1, &seed))
		return false;
	options->seed = (uint64_t)seed;
	options->duration_given = tool_value(call, "duration") != NULL;
	if (options->every_ns <= 0 || options->duration_ns < 0 || options->interval_ns < 0 ||
	    options->deadline_ns < 0)
		return refuse("give times above zero", "a time is negative, or --every is zero");
	return true;
}

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
	       (run->senders_left || run->receivers_left || run->connectionless) &&
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
		return refuse("give a file in a folder that may be written", "the trace %s: %s",
			      run->options.trace ? run->options.trace : "", strerror(-error));
	if (run->options.watch && nopal_watch_start(run->world, run->plan, true))
		return refuse("is there enough memory?", "the run cannot be watched");
	for (int i = 0; i < run->options.flows; i++) {
		bool star = run->options.topology == SIM_STAR;
		int from = star ? 0 : 2 * i;
		int to = star ? i + 1 : 2 * i + 1;

		if (!sim_traffic_open(run, (unsigned)i, nopal_sim_endpoint(run->world, from, 0),
				      nopal_sim_endpoint(run->world, to, SIM_PORT)))
			return refuse("is there enough memory?", "session %d cannot be opened", i);
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
	return error >= 0 || refuse("is there enough memory?", "the network cannot be built");
}

bool sim_again(const struct sim_run *run, struct sim_run *ret_again)
{
	*ret_again = (struct sim_run){
		.options = run->options,
		.plan = run->plan,
		.connectionless = run->connectionless,
	};
	ret_again->options.trace = NULL;
	ret_again->options.jsonl = ret_again->options.holds = false;
	ret_again->options.watch = true;
	if (!make_world(ret_again) || !begin(ret_again))
		return false;
	run_world(ret_again);
	return true;
}

static enum tool_exit sim_main(const struct tool_call *call)
{
	struct sim_run run = { 0 };
	enum tool_exit exit = TOOL_BAD_INPUT;
	int error;

	if (!read_options(call, &run.options))
		return TOOL_BAD_INPUT;
	run.plan = tool_plan(call, run.options.config);
	if (!run.plan)
		return TOOL_BAD_INPUT;
	run.connectionless = !nopal_plan_provides(run.plan, "connection");
	if (read_amount(call, run.plan, &run.options)) {
		exit = TOOL_ENVIRONMENT;
		if (make_world(&run) && begin(&run)) {
			run_world(&run);
			sim_judge(&run);
			run.trace_hash = nopal_trace_hash(run.world);
			error = nopal_trace_stop(run.world);
			exit = sim_report_end(&run) ? TOOL_GOOD : TOOL_FAILED;
			if (error) {
				refuse("is the disk full?", "the trace was not written whole: %s",
				       strerror(-error));
				exit = TOOL_ENVIRONMENT;
			}
		}
		nopal_world_free(run.world);
		sim_traffic_free(&run);
	}
	nopal_plan_unref(run.plan);
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
		"direction.\n"
		"\n"
		"  nopal sim bulk --link \"rate 100mbit delay 25ms loss 1%\"\n"
		"  nopal sim ctp_audio --messages 500 --interval 20ms --size 160B\n"
		"  nopal sim bulk --topology dumbbell:10 --bytes 100MB --jsonl\n",
	.min_words = 1,
	.max_words = 1,
	.options = sim_table,
	.run = sim_main,
};
