/* SPDX-License-Identifier: MIT */
/*
 * scale.c -- what many take on one endpoint, in virtual time: the destinations of a group, or
 * sessions.
 *
 *     nopal bench scale [CONF...]
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
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

enum {
	SCALE_COUNT = 1000,
	SCALE_SESSIONS = 10000,
	SCALE_MAX = 60000, /* hosts of a world have as many addresses */
	SCALE_BYTES = 1000,
	SCALE_MAX_BYTES = 16 << 20,
	SCALE_PORT = 9000,
	SCALE_QUIET_S = 5,
	SCALE_LOOKS = 40, /* at how much is allocated, for the least of it */
};
#define SCALE_LINK   "delay 10ms"
#define SCALE_GONE   SCALE_LINK " loss 100%"
#define SCALE_ON_WAY (5 * NOPAL_MILLISECOND) /* half of the way */
/* From one opening to the next. */
#define SCALE_SPACE_NS (10 * NOPAL_MICROSECOND)
#define SCALE_LOOK_NS  (50 * NOPAL_MILLISECOND)
#define SCALE_LATE_NS  (60 * NOPAL_SECOND)
#define SCALE_NEAR     0.1 /* of what comes and goes */

struct scale {
	side_call *on;
	struct side_sink there; /* all of them */
	struct bench *bench;
	const struct bench_row *row;
	struct nopal_link forward, reverse, gone;

	struct nopal_world *world;
	struct nopal_endpoint *here;
	struct nopal_session *group, **session; /* one of both */
	struct nopal_buffer *buffer;		/* the message */
	int hosts;				/* beside the first */
	int64_t count, opened, arrived, outcomes;
	int64_t last_outcome_ns;
	bool over, broken;
};

static void scale_on(void *user, const struct side_event *event)
{
	struct scale *scale = user;

	switch (event->kind) {
	case SIDE_OPENED:
		scale->opened += !scale->group;
		break;
	case SIDE_DESTINATION:
		scale->opened += event->destination->open && !event->destination->ended;
		break;
	case SIDE_SENT:
		scale->outcomes++;
		scale->arrived += event->outcome != NOPAL_OUTCOME_LOST;
		scale->last_outcome_ns = nopal_world_now(scale->world);
		break;
	case SIDE_ENDED:
		scale->broken |= !scale->over;
		break;
	default:
		break;
	}
}

/* ---------------------------------------------------------------- what it takes */

static void scale_pass(struct scale *scale, int64_t duration_ns)
{
	nopal_sim_run(scale->world, nopal_world_now(scale->world) + duration_ns);
}

/* Farewells of these sessions go nowhere. */
static void scale_cut(struct scale *scale)
{
	for (int host = 1; host <= scale->hosts; host++)
		nopal_sim_change(scale->world, 0, host, &scale->gone);
	scale->over = true;
}

static void scale_add(const struct scale *scale, const char *column, double value)
{
	bench_add(scale->bench, scale->group ? "a group" : "sessions", scale->row->name, column,
		  value);
}

/* Memory freed with the endpoint, for each. */
static void scale_close(struct scale *scale, const char *column)
{
	double before = bench_allocated();

	nopal_endpoint_close(scale->here);
	scale_add(scale, column, (before - bench_allocated()) / (double)scale->count);
}

static void scale_add_time(const struct scale *scale, const char *measure, int64_t since_ns,
			   int64_t of)
{
	scale_add(scale, measure,
		  (double)(clock_cpu_ns() - since_ns) / NOPAL_MICROSECOND / (double)of);
}

/* ------------------------------------------------------------------------ a run */

static bool scale_open(struct scale *scale)
{
	struct nopal_address peer;
	bool good = true;

	for (int64_t i = 0; good && i < scale->count; i++) {
		nopal_sim_address(scale->group ? (int)i + 1 : 1, SCALE_PORT, &peer);
		if (scale->group)
			good = nopal_destination_add(scale->group, &peer) >= 0;
		else
			good = (scale->session[i] = nopal_open(scale->here, scale->row->plan, &peer,
							       &side_callbacks, scale)) != NULL;
		scale_pass(scale, SCALE_SPACE_NS);
	}
	scale_pass(scale, NOPAL_SECOND);
	return good && !scale->broken && scale->opened == scale->count;
}

/* To a time when most of them rest: one that speaks now and then rests between. */
static void scale_rest(struct scale *scale)
{
	double now = bench_allocated(), min = now, max = now;

	for (int i = 0; i < SCALE_LOOKS; i++) {
		scale_pass(scale, SCALE_LOOK_NS);
		now = bench_allocated();
		min = now < min ? now : min;
		max = now > max ? now : max;
	}
	for (int i = 0; i < SCALE_LOOKS && bench_allocated() > min + (max - min) * SCALE_NEAR; i++)
		scale_pass(scale, SCALE_LOOK_NS);
}

/* To the end of all, or as far as the message is on its way. */
static bool scale_run(struct scale *scale, bool whole)
{
	int64_t began_ns = clock_cpu_ns(), sent_ns;
	int64_t outcomes = scale->group ? 1 : scale->count; /* of one message to all, or each */
	const struct nopal_outgoing message = { .buffer = scale->buffer,
						.length = (uint32_t)scale->bench->size };
	double before;

	if (!scale_open(scale))
		return false;
	if (whole)
		scale_add_time(scale, "open", began_ns, scale->count);
	scale_pass(scale, SCALE_QUIET_S * NOPAL_SECOND);
	sent_ns = nopal_world_now(scale->world);
	began_ns = clock_cpu_ns();
	for (int64_t i = 0; i < outcomes; i++)
		if (nopal_send_message(scale->group ? scale->group : scale->session[i], &message))
			return false;
	if (!whole) {
		scale_pass(scale, SCALE_ON_WAY);
		scale_cut(scale);
		scale_close(scale, "in use");
		return true;
	}
	while (scale->outcomes < outcomes &&
	       nopal_world_now(scale->world) < sent_ns + SCALE_LATE_NS &&
	       nopal_sim_step(scale->world))
		;
	scale_add_time(scale, "send", began_ns, scale->count);
	if (scale->broken || scale->arrived < outcomes)
		return false;
	scale_add(scale, "done", (double)(scale->last_outcome_ns - sent_ns) / NOPAL_MILLISECOND);
	scale_pass(scale, NOPAL_SECOND);
	began_ns = clock_cpu_ns();
	scale_pass(scale, SCALE_QUIET_S * NOPAL_SECOND);
	scale_add_time(scale, "idle", began_ns, scale->count * SCALE_QUIET_S);
	scale_rest(scale);
	scale_cut(scale);
	before = bench_allocated();
	for (int64_t i = 0; i < scale->count; i++)
		if (scale->group)
			nopal_destination_remove(scale->group, (uint32_t)i + 1, true);
		else
			nopal_session_abort(scale->session[i], "measured");
	scale_add(scale, "at rest", (before - bench_allocated()) / (double)scale->count);
	scale_close(scale, "kept");
	return true;
}

/* A group has as many hosts as destinations; where there can be none, it is no group. */
static bool scale_world(struct scale *scale)
{
	struct nopal_plan *plan = scale->row->plan;

	scale->world = tool_need(nopal_sim_new((uint64_t)scale->bench->round + 1));
	nopal_sim_host(scale->world);
	scale->here = tool_need(nopal_sim_endpoint(scale->world, 0, SCALE_PORT));
	scale->group = nopal_session_open(&(struct nopal_open){ .endpoint = scale->here,
								.plan = plan,
								.callbacks = &side_callbacks,
								.user = scale });
	scale->hosts = scale->group ? (int)scale->bench->count : 1;
	scale->count = scale->group ? scale->bench->count : scale->bench->sessions;
	for (int host = 1; host <= scale->hosts; host++) {
		struct nopal_endpoint *there;

		nopal_sim_host(scale->world);
		nopal_sim_connect(scale->world, 0, host, &scale->forward, &scale->reverse);
		there = nopal_sim_endpoint(scale->world, host, SCALE_PORT);
		if (!there || nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS,
						   &side_callbacks, &scale->there))
			return false;
	}
	return true;
}

/* All of it, and before that in a world of its own the message on its way. */
static enum tool_exit scale_measure(struct bench *bench, const struct bench_row *row)
{
	struct nopal_link unused;
	bool good = true;

	for (int whole = 0; good && whole < 2; whole++) {
		struct scale scale = {
			.on = scale_on,
			.there = { .on = side_on_sink },
			.bench = bench,
			.row = row,
			.session =
				tool_need(calloc((size_t)bench->sessions, sizeof(*scale.session))),
			.buffer = tool_need(nopal_buffer_new((uint32_t)bench->size)),
		};

		good = bench_link(SCALE_LINK, &scale.forward, &scale.reverse) &&
		       bench_link(SCALE_GONE, &scale.gone, &unused) && scale_world(&scale) &&
		       scale_run(&scale, whole);
		if (!good)
			tool_error("%s: %lld of %lld opened, %lld messages came", row->name,
				   (long long)scale.opened, (long long)scale.count,
				   (long long)scale.there.messages);
		scale.over = true;
		nopal_buffer_free(scale.buffer);
		nopal_world_free(scale.world);
		free(scale.session);
	}
	return good ? TOOL_GOOD : TOOL_FAILED;
}

static bool scale_begin(struct bench *bench)
{
	if (!bench->count)
		bench->count = SCALE_COUNT;
	if (!bench->sessions)
		bench->sessions = SCALE_SESSIONS;
	if (!bench->size)
		bench->size = SCALE_BYTES;
	if (bench->count < 1 || bench->count > SCALE_MAX || bench->sessions < 1 ||
	    bench->size < 1 || bench->size > SCALE_MAX_BYTES)
		return tool_error(
			"these are no sessions to measure\n"
			"  fix: say --count 1 to %d, --sessions 1 or more, --size at most 16MiB",
			SCALE_MAX);
	report_note(bench->report,
		    "each of %lld destinations of a group, or of %lld sessions; a message of %lld "
		    "bytes, `" SCALE_LINK "`",
		    (long long)bench->count, (long long)bench->sessions, (long long)bench->size);
	return true;
}

const struct bench_measurement bench_scale = {
	.name = "scale",
	.uses = BENCH_USE_ROWS | BENCH_USE_COUNT | BENCH_USE_SESSIONS | BENCH_USE_SIZE,
	.words = BENCH_CONFIGS,
	.rows = "one_to_many_all,bulk",
	.columns = { { "open", "us", REPORT_LESS_IS_BETTER },
		     { "send", "us", REPORT_LESS_IS_BETTER },
		     { "done", "ms", REPORT_LESS_IS_BETTER },
		     { "in use", "B", REPORT_LESS_IS_BETTER },
		     { "at rest", "B", REPORT_LESS_IS_BETTER },
		     { "kept", "B", REPORT_LESS_IS_BETTER },
		     { "idle", "us/s", REPORT_LESS_IS_BETTER } },
	.begin = scale_begin,
	.notes =
		(const char *const[]){
			"open, send, idle: processor time of both ends and the simulator; done: virtual "
			"time until all have it",
			"bytes are what this end has allocated, the message not among them; kept: by the "
			"endpoint, for the next time",
			NULL,
		},
	.measure = scale_measure,
};
