/* SPDX-License-Identifier: MIT */
/*
 * crowd.c -- what many take on one endpoint, in virtual time: the destinations of a group, or
 * sessions.
 *
 *     nopal bench crowd [CONF...]
 *
 * Where the config has destinations, a group of --count (default 1000) in a star of hosts; else
 * --sessions (default 10000) to one other endpoint.  All open, rest, get one message of --size
 * bytes (default 1000; in a group all the same one), and rest again.
 *
 *   open, send   processor time for each of them, of both ends and the simulator
 *   done         from sending to the last one's acknowledgement, of virtual time
 *   in use       bytes of this end for each while the message is on its way
 *   at rest      what goes when they end, when nothing has been said for five seconds
 *   kept         what then goes with the endpoint: it keeps for the next time what
 *                all had under way at once
 *   idle         processor time of both ends for each and second of silence
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "frame/tool.h"
#include "load/clock.h"
#include "load/pair.h"

enum {
	CROWD_COUNT = 1000,
	CROWD_SESSIONS = 10000,
	CROWD_MAX = 60000, /* hosts of a world have as many addresses */
	CROWD_BYTES = 1000,
	CROWD_MAX_BYTES = 16 << 20,
	CROWD_PORT = 9000,
	CROWD_QUIET_S = 5,
	CROWD_LOOKS = 40, /* at how much is allocated, for the least of it */
};
#define CROWD_LINK   "delay 10ms"
#define CROWD_GONE   CROWD_LINK " loss 100%"
#define CROWD_ON_WAY (5 * NOPAL_MILLISECOND) /* half of the way */
/* From one opening to the next. */
#define CROWD_SPACE_NS (10 * NOPAL_MICROSECOND)
#define CROWD_LOOK_NS  (50 * NOPAL_MILLISECOND)
#define CROWD_LATE_NS  (60 * NOPAL_SECOND)
#define CROWD_NEAR     0.1 /* of what comes and goes */

struct crowd {
	struct bench_report *report;
	const char *what;
	int round;
	struct nopal_plan *plan;
	struct nopal_link forward, reverse, gone;
	int64_t destinations, sessions, bytes; /* as they are asked for */

	struct nopal_world *world;
	struct nopal_endpoint *here;
	struct nopal_session *group, **session; /* one of both */
	int hosts;				/* beside the first */
	int64_t count, opened, arrived, outcomes, delivered;
	int64_t last_outcome_ns;
	bool over, broken;
};

/* ------------------------------------------------------------------ callbacks */

static void *crowd_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void crowd_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct crowd *crowd = user;

	(void)session, (void)message;
	crowd->delivered++;
}

static void crowd_on_opened(struct nopal_session *session, void *user)
{
	struct crowd *crowd = user;

	(void)session;
	crowd->opened += !crowd->group;
}

static void crowd_on_destination(struct nopal_session *session,
				 const struct nopal_destination_info *info, void *user)
{
	struct crowd *crowd = user;

	(void)session;
	crowd->opened += info->open && !info->ended;
}

static void crowd_on_sent(struct nopal_session *session, uint64_t cookie, int outcome, void *user)
{
	struct crowd *crowd = user;

	(void)session, (void)cookie;
	crowd->outcomes++;
	crowd->arrived += outcome != NOPAL_OUTCOME_LOST;
	crowd->last_outcome_ns = nopal_world_now(crowd->world);
}

static void crowd_on_ended(struct nopal_session *session, int end, const char *text, void *user)
{
	struct crowd *crowd = user;

	(void)session, (void)end, (void)text;
	crowd->broken |= !crowd->over;
}

static const struct nopal_callbacks crowd_here = {
	.opened = crowd_on_opened,
	.destination = crowd_on_destination,
	.sent = crowd_on_sent,
	.ended = crowd_on_ended,
};
static const struct nopal_callbacks crowd_there = {
	.accepted = crowd_on_accepted,
	.received = crowd_on_received,
};

/* ---------------------------------------------------------------- what it takes */

static double crowd_allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd);
}

static void crowd_pass(struct crowd *crowd, int64_t duration_ns)
{
	nopal_sim_run(crowd->world, nopal_world_now(crowd->world) + duration_ns);
}

/* Farewells of these sessions go nowhere. */
static void crowd_cut(struct crowd *crowd)
{
	for (int host = 1; host <= crowd->hosts; host++)
		nopal_sim_change(crowd->world, 0, host, &crowd->gone);
	crowd->over = true;
}

/* Memory freed with all of them, for each. */
static double crowd_end(struct crowd *crowd)
{
	double before = crowd_allocated();

	for (int64_t i = 0; i < crowd->count; i++)
		if (crowd->group)
			nopal_destination_remove(crowd->group, (uint32_t)i + 1, true);
		else
			nopal_session_abort(crowd->session[i], "measured");
	return (before - crowd_allocated()) / (double)crowd->count;
}

/* Memory freed with the endpoint, for each. */
static double crowd_close(struct crowd *crowd)
{
	double before = crowd_allocated();

	nopal_endpoint_close(crowd->here);
	return (before - crowd_allocated()) / (double)crowd->count;
}

static void crowd_add(const struct crowd *crowd, const char *measure, double value)
{
	bench_add(crowd->report,
		  &(struct bench_value){ .what = crowd->what,
					 .path = crowd->group ? "a group" : "sessions",
					 .measure = measure,
					 .class = BENCH_NONE,
					 .round = crowd->round,
					 .value = value });
}

static void crowd_add_time(const struct crowd *crowd, const char *measure, int64_t since_ns,
			   int64_t of)
{
	crowd_add(crowd, measure,
		  (double)(clock_cpu_ns() - since_ns) / NOPAL_MICROSECOND / (double)of);
}

/* ------------------------------------------------------------------------ a run */

/* True also where there are none: then it is no group. */
static bool crowd_world(struct crowd *crowd, uint64_t seed)
{
	crowd->world = nopal_sim_new(seed);
	if (!crowd->world)
		return false;
	nopal_sim_host(crowd->world);
	crowd->here = nopal_sim_endpoint(crowd->world, 0, CROWD_PORT);
	crowd->group =
		crowd->here ? nopal_group_open(crowd->here, crowd->plan, &crowd_here, crowd) : NULL;
	crowd->hosts = crowd->group ? (int)crowd->destinations : 1;
	crowd->count = crowd->group ? crowd->destinations : crowd->sessions;
	for (int host = 1; host <= crowd->hosts; host++) {
		struct nopal_endpoint *there;

		nopal_sim_host(crowd->world);
		nopal_sim_connect(crowd->world, 0, host, &crowd->forward, &crowd->reverse);
		there = nopal_sim_endpoint(crowd->world, host, CROWD_PORT);
		if (!there || nopal_endpoint_allow(there, crowd->plan, NOPAL_ALLOW_CONNECTIONLESS,
						   &crowd_there, crowd))
			return false;
	}
	return crowd->here != NULL;
}

static bool crowd_open(struct crowd *crowd)
{
	struct nopal_address peer;
	bool good = true;

	for (int64_t i = 0; good && i < crowd->count; i++) {
		nopal_sim_address(crowd->group ? (int)i + 1 : 1, CROWD_PORT, &peer);
		if (crowd->group)
			good = nopal_destination_add(crowd->group, &peer) >= 0;
		else
			good = (crowd->session[i] =
					nopal_session_open(crowd->here, crowd->plan, &peer,
							   &crowd_here, crowd)) != NULL;
		crowd_pass(crowd, CROWD_SPACE_NS);
	}
	crowd_pass(crowd, NOPAL_SECOND);
	return good && !crowd->broken && crowd->opened == crowd->count;
}

static bool crowd_send(struct crowd *crowd, struct nopal_buffer *buffer)
{
	uint32_t bytes = (uint32_t)crowd->bytes;
	bool good = true;

	if (crowd->group)
		return nopal_send_buffer(crowd->group, buffer, 0, bytes, 0) == 0;
	for (int64_t i = 0; good && i < crowd->count; i++)
		good = nopal_send_buffer(crowd->session[i], buffer, 0, bytes, 0) == 0;
	return good;
}

static void crowd_wait(struct crowd *crowd)
{
	int64_t outcomes = crowd->group ? 1 : crowd->count;
	int64_t until_ns = nopal_world_now(crowd->world) + CROWD_LATE_NS;

	while (crowd->outcomes < outcomes && nopal_world_now(crowd->world) < until_ns &&
	       nopal_sim_step(crowd->world))
		;
}

/* All of it, to its end. */
static bool crowd_whole(struct crowd *crowd, struct nopal_buffer *buffer)
{
	int64_t began_ns = clock_cpu_ns(), sent_ns;
	int64_t outcomes = crowd->group ? 1 : crowd->count;
	double now, min, max;

	if (!crowd_open(crowd))
		return false;
	crowd_add_time(crowd, "open", began_ns, crowd->count);
	crowd_pass(crowd, CROWD_QUIET_S * NOPAL_SECOND);
	sent_ns = nopal_world_now(crowd->world);
	began_ns = clock_cpu_ns();
	if (!crowd_send(crowd, buffer))
		return false;
	crowd_wait(crowd);
	crowd_add_time(crowd, "send", began_ns, crowd->count);
	if (crowd->broken || crowd->arrived < outcomes)
		return false;
	crowd_add(crowd, "done", (double)(crowd->last_outcome_ns - sent_ns) / NOPAL_MILLISECOND);
	crowd_pass(crowd, NOPAL_SECOND);
	began_ns = clock_cpu_ns();
	crowd_pass(crowd, CROWD_QUIET_S * NOPAL_SECOND);
	crowd_add_time(crowd, "idle", began_ns, crowd->count * CROWD_QUIET_S);
	/* A session that speaks now and then rests between: to a time when most do. */
	now = crowd_allocated();
	min = now;
	max = now;
	for (int i = 0; i < CROWD_LOOKS; i++) {
		crowd_pass(crowd, CROWD_LOOK_NS);
		now = crowd_allocated();
		min = now < min ? now : min;
		max = now > max ? now : max;
	}
	for (int i = 0; i < CROWD_LOOKS && crowd_allocated() > min + (max - min) * CROWD_NEAR; i++)
		crowd_pass(crowd, CROWD_LOOK_NS);
	crowd_cut(crowd);
	crowd_add(crowd, "at rest", crowd_end(crowd));
	crowd_add(crowd, "kept", crowd_close(crowd));
	return true;
}

/* As far as the message is on its way. */
static bool crowd_in_use(struct crowd *crowd, struct nopal_buffer *buffer)
{
	if (!crowd_open(crowd))
		return false;
	crowd_pass(crowd, CROWD_QUIET_S * NOPAL_SECOND);
	if (!crowd_send(crowd, buffer))
		return false;
	crowd_pass(crowd, CROWD_ON_WAY);
	crowd_cut(crowd);
	crowd_add(crowd, "in use", crowd_close(crowd));
	return true;
}

static bool crowd_run(const struct crowd *row,
		      bool (*run)(struct crowd *crowd, struct nopal_buffer *buffer))
{
	struct crowd crowd = *row;
	struct nopal_buffer *buffer = nopal_buffer_new((uint32_t)crowd.bytes);
	bool good;

	crowd.session = calloc((size_t)crowd.sessions, sizeof(struct nopal_session *));
	good = buffer && crowd.session && crowd_world(&crowd, (uint64_t)crowd.round + 1) &&
	       run(&crowd, buffer);
	if (!good)
		fprintf(stderr, "error: %s: %lld of %lld opened, %lld messages came\n", crowd.what,
			(long long)crowd.opened, (long long)crowd.count,
			(long long)crowd.delivered);
	crowd.over = true;
	if (buffer)
		nopal_buffer_free(buffer);
	nopal_world_free(crowd.world);
	free(crowd.session);
	return good;
}

/* ----------------------------------------------------------------------- rounds */

static void crowd_declare(const struct crowd *crowd)
{
	bench_measure(crowd->report, "open", "us", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "send", "us", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "done", "ms", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "in use", "B", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "at rest", "B", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "kept", "B", BENCH_LESS_IS_BETTER);
	bench_measure(crowd->report, "idle", "us/s", BENCH_LESS_IS_BETTER);
	bench_note(crowd->report,
		   "each of %lld destinations of a group, or of %lld sessions; "
		   "a message of %lld bytes, `" CROWD_LINK "`",
		   (long long)crowd->destinations, (long long)crowd->sessions,
		   (long long)crowd->bytes);
	bench_note(crowd->report, "open, send, idle: processor time of both ends and the "
				  "simulator; done: virtual time until all have it");
	bench_note(crowd->report, "bytes are what this end has allocated, the message not "
				  "among them; kept: by the endpoint, for the next time");
}

static bool crowd_words(struct crowd *crowd)
{
	const struct bench_options *options = bench_options(crowd->report);

	crowd->destinations = options->count ? options->count : CROWD_COUNT;
	crowd->sessions = options->sessions ? options->sessions : CROWD_SESSIONS;
	crowd->bytes = options->size ? options->size : CROWD_BYTES;
	if (crowd->destinations < 1 || crowd->destinations > CROWD_MAX || crowd->sessions < 1 ||
	    crowd->bytes < 1 || crowd->bytes > CROWD_MAX_BYTES) {
		fprintf(stderr,
			"error: this is no crowd to measure\n"
			"  fix: say --count 1 to %d, --sessions 1 or more, --size at most 16MiB\n",
			CROWD_MAX);
		return false;
	}
	return true;
}

static enum tool_exit crowd_row(struct crowd *row)
{
	bool good = true;

	row->plan = bench_plan(row->what);
	if (!row->plan)
		return TOOL_BAD_INPUT;
	for (row->round = 0; good && row->round < bench_options(row->report)->rounds; row->round++)
		good = crowd_run(row, crowd_in_use) && crowd_run(row, crowd_whole);
	nopal_plan_unref(row->plan);
	return good ? TOOL_GOOD : TOOL_FAILED;
}

int bench_crowd(int argc, char **argv, struct bench_report *report)
{
	struct crowd row = { .report = report };
	enum tool_exit exit = TOOL_BAD_INPUT;
	char **words = bench_words(bench_options(report)->rows, "one_to_many_all,bulk");

	if (words && crowd_words(&row)) {
		struct nopal_problems problems;
		struct nopal_link unused;

		nopal_problems_init(&problems);
		nopal_link_parse(CROWD_LINK, &row.forward, &row.reverse, &problems);
		nopal_link_parse(CROWD_GONE, &row.gone, &unused, &problems);
		if (!tool_problems(&problems)) {
			crowd_declare(&row);
			exit = TOOL_GOOD;
			for (int i = 0; exit == TOOL_GOOD && i < argc; i++) {
				row.what = argv[i];
				exit = crowd_row(&row);
			}
			for (char **word = words; exit == TOOL_GOOD && argc == 0 && *word; word++) {
				row.what = *word;
				exit = crowd_row(&row);
			}
		}
	}
	free(words);
	return (int)exit;
}
