/* SPDX-License-Identifier: MIT */
/*
 * monolith -- bulk flows through the hand-written transport, the composed one, or from one to the
 * other.
 *
 *     monolith sim BYTES [OPTION...]
 *     monolith recv ADDRESS:PORT [CONFIG] [OPTION...]
 *     monolith send ADDRESS:PORT SECONDS [CONFIG] [OPTION...]
 *
 *     --config CONFIG  whose parameters, default bulk_cubic
 *     --core CORE      monolith (the default) or composed
 *     --to CORE        of the receiver in sim, default that of --core
 *     --check          compare every byte that arrives
 *     --link WORDS     in sim, as `nopal sim` has them
 *     --seed N         of sim
 *     --bytes N        send so many bytes, however long it takes; in recv: fail
 *                      where not so many came
 *
 * A line of JSON says what came of it: in sim with counters of both ends.  It fails when a byte
 * differs, or when a flow does not end well.
 */
#include <event2/event.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <nopal/microprotocol.h>
#include "plan/plan.h"
#include "ports/world.h"
#include "traffic.h"

enum {
	LIVE_WALK = 64 << 20, /* bytes: more than any cache holds */
	SIM_WALK = 4 << 20,
	SIM_PORT = 9000,
	BAD_INPUT = 2,
	ENVIRONMENT = 3,
};
static const int64_t SIM_MAX_NS = 3600 * NOPAL_SECOND;

struct options {
	const char *config, *link;
	bool composed, to_composed, to_given, check;
	uint64_t bytes, seed;
};

struct run {
	struct options options;
	struct nopal_plan *plan;
	struct monolith_setup setup;
	struct nopal_problems problems;
};

static double monotonic_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool core_of(const char *word)
{
	if (strcmp(word, "composed") && strcmp(word, "monolith"))
		exit(BAD_INPUT);
	return strcmp(word, "composed") == 0;
}

static int options_read(struct options *options, int argc, char **argv)
{
	static const struct option table[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "core", required_argument, NULL, 'f' },
		{ "to", required_argument, NULL, 't' },
		{ "check", no_argument, NULL, 'k' },
		{ "link", required_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 's' },
		{ "bytes", required_argument, NULL, 'b' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1)
		switch (option) {
		case 'c':
			options->config = optarg;
			break;
		case 'f':
			options->composed = core_of(optarg);
			break;
		case 't':
			options->to_composed = core_of(optarg);
			options->to_given = true;
			break;
		case 'k':
			options->check = true;
			break;
		case 'l':
			options->link = optarg;
			break;
		case 's':
			options->seed = strtoull(optarg, NULL, 10);
			break;
		case 'b':
			options->bytes = strtoull(optarg, NULL, 10);
			break;
		default:
			exit(BAD_INPUT);
		}
	if (!options->to_given)
		options->to_composed = options->composed;
	return optind;
}

static void plan_read(struct run *run)
{
	run->plan = nopal_plan_load(run->options.config, NULL, &run->problems);
	if (run->plan)
		monolith_setup_read(&run->setup, run->plan, &run->problems);
	nopal_problems_print(&run->problems, stderr);
	if (run->problems.errors)
		exit(BAD_INPUT);
}

static struct traffic traffic_of(const struct run *run, bool sends, bool composed)
{
	return (struct traffic){
		.composed = composed,
		.sends = sends,
		.check = run->options.check,
		.plan = run->plan,
		.setup = &run->setup,
		.bytes = run->options.bytes,
	};
}

/* ------------------------------------------------------------------ simulated */

static void counters_print(const char *name, const struct monolith_counters *counters)
{
	printf(",\"%s\":{\"datagrams_out\":%" PRIu64 ",\"transmissions\":%" PRIu64
	       ",\"resends\":%" PRIu64 ",\"control_out\":%" PRIu64 ",\"lost\":%" PRIu64
	       ",\"timeouts\":%" PRIu64 "}",
	       name, counters->datagrams_out, counters->transmissions, counters->resends,
	       counters->control_out, counters->segments_lost, counters->segments_timeout);
}

static const char *core_name(bool composed)
{
	return composed ? "composed" : "monolith";
}

static int sim_report(const struct traffic *from, const struct traffic *to, int64_t time_ns)
{
	bool good =
		from->ended_well && to->ended_well && !to->differs && to->received == from->bytes;

	printf("{\"what\":\"sim\",\"from\":\"%s\",\"to\":\"%s\",\"delivered_bytes\":%" PRIu64
	       ",\"good\":%s,\"checked\":%s,\"virtual_ns\":%" PRId64,
	       core_name(from->composed), core_name(to->composed), to->received,
	       good ? "true" : "false", to->check ? "true" : "false", time_ns);
	counters_print("sender", &from->counters);
	counters_print("receiver", &to->counters);
	printf("}\n");
	return good ? 0 : 1;
}

static struct nopal_world *sim_world(struct run *run)
{
	struct nopal_world *world = nopal_sim_new(run->options.seed);
	struct nopal_link forward, reverse;

	if (!world || nopal_link_parse(run->options.link, &forward, &reverse, &run->problems) < 0) {
		nopal_problems_print(&run->problems, stderr);
		exit(BAD_INPUT);
	}
	nopal_sim_host(world);
	nopal_sim_host(world);
	nopal_sim_connect(world, 0, 1, &forward, &reverse);
	return world;
}

static int simulate(struct run *run)
{
	struct nopal_world *world = sim_world(run);
	struct traffic from = traffic_of(run, true, run->options.composed);
	struct traffic to = traffic_of(run, false, run->options.to_composed);
	struct nopal_address here, there;
	int result = ENVIRONMENT;

	from.walk_bytes = to.walk_bytes = SIM_WALK;
	nopal_sim_address(0, SIM_PORT, &here);
	nopal_sim_address(1, SIM_PORT, &there);
	if (traffic_open(&to, world, &there, NULL, &run->problems) &&
	    traffic_open(&from, world, &here, &there, &run->problems)) {
		while ((!from.ended || !to.ended) && nopal_world_now(world) < SIM_MAX_NS &&
		       nopal_sim_step(world))
			;
		result = sim_report(&from, &to, nopal_world_now(world));
	}
	nopal_world_free(world);
	traffic_free(&from);
	traffic_free(&to);
	return result;
}

/* ------------------------------------------------------------------------ live */

static void live_over(struct traffic *traffic)
{
	event_base_loopbreak(traffic->user);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static int live_report(const struct traffic *traffic)
{
	double seconds = traffic->last_s - traffic->first_s;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	if (!traffic->sends)
		printf("{\"what\":\"%s\",\"delivered_bytes\":%" PRIu64
		       ",\"goodput_bps\":%.0f,\"cpu_s\":%.3f}\n",
		       core_name(traffic->composed), traffic->received,
		       seconds > 0 ? (double)traffic->received * 8 / seconds : 0,
		       seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
	if (getenv("FLOOD_COUNTERS"))
		fprintf(stderr,
			"transmissions %" PRIu64 " resends %" PRIu64 " control_out %" PRIu64
			" lost %" PRIu64 "\n",
			traffic->counters.transmissions, traffic->counters.resends,
			traffic->counters.control_out, traffic->counters.segments_lost);
	if (!traffic->sends && traffic->bytes && traffic->received != traffic->bytes)
		return 1;
	return traffic->ended_well && !traffic->differs ? 0 : 1;
}

static int live(struct run *run, struct traffic *traffic, const char *text)
{
	struct event_config *wanted = event_config_new();
	struct nopal_address address = { 0 }, any = { 0 };
	struct event_base *base;
	struct nopal_world *world;
	int result = ENVIRONMENT;

	event_config_set_flag(wanted, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(wanted);
	world = nopal_live_new(base);
	nopal_address_parse(text, &address, &run->problems);
	nopal_address_parse("0.0.0.0:0", &any, &run->problems);
	traffic->walk_bytes = LIVE_WALK;
	traffic->clock_s = monotonic_s;
	traffic->over = live_over;
	traffic->user = base;
	if (!run->problems.errors && traffic_open(traffic, world, traffic->sends ? &any : &address,
						  &address, &run->problems)) {
		event_base_dispatch(base);
		result = live_report(traffic);
	}
	nopal_problems_print(&run->problems, stderr);
	nopal_world_free(world);
	traffic_free(traffic);
	event_base_free(base);
	event_config_free(wanted);
	return result;
}

/* Words behind the options: what, where, for how long, which config. */
static int mode(struct run *run, int count, char **words)
{
	bool sends = strcmp(words[0], "send") == 0;
	int config_at = sends ? 3 : 2, result;
	struct traffic traffic;

	if (strcmp(words[0], "sim") == 0)
		run->options.bytes = strtoull(words[1], NULL, 10);
	else if (count > config_at)
		run->options.config = words[config_at];
	plan_read(run);
	traffic = traffic_of(run, sends, run->options.composed);
	if (sends)
		traffic.end_s = monotonic_s() + atof(words[2]);
	if (strcmp(words[0], "sim") == 0)
		result = simulate(run);
	else
		result = live(run, &traffic, words[1]);
	nopal_plan_unref(run->plan);
	monolith_setup_free(&run->setup);
	return result;
}

int main(int argc, char **argv)
{
	struct run run = { .options = {
				   .config = "bulk_cubic",
				   .link = "rate 100mbit delay 25ms limit 400",
				   .seed = 1,
			   } };
	int at = options_read(&run.options, argc, argv), count = argc - at;
	int result;

	if (count < 2 || (strcmp(argv[at], "send") == 0 && count < 3) ||
	    (strcmp(argv[at], "sim") && strcmp(argv[at], "recv") && strcmp(argv[at], "send"))) {
		fprintf(stderr, "usage: monolith sim BYTES | recv ADDRESS "
				"[CONFIG] | send ADDRESS SECONDS [CONFIG]\n");
		return BAD_INPUT;
	}
	run.problems = (struct nopal_problems){ 0 };
	result = mode(&run, count, argv + at);
	nopal_problems_fini(&run.problems);
	return result;
}
