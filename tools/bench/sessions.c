/* SPDX-License-Identifier: MIT */
/*
 * sessions.c -- many sessions on one port: how fast they open, what they take when they are
 * idle, and what it costs to have them.
 *
 *     nopal bench sessions [HERE_NETNS THERE_NETNS THERE_ADDRESS]
 *
 * This process opens --count sessions (default 100000) to its partner, a few at a time; each sends
 * a byte, which comes back.  "opened" counts sessions whose byte came back, a second, over the last
 * nine tenths.  "bytes" is what the C library says is allocated here, as the slope between a tenth
 * of the sessions and all of them, when all are silent; "resident" the growth of what the kernel
 * has for both processes, one end.  "idle" is the processor time of both processes in fifteen
 * seconds of silence: every session of a config with keep_alive has a probe in them.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

enum {
	SESSIONS_COUNT = 100000,
	SESSIONS_MIN = 1000,
	SESSIONS_TENTH = 10,
	SESSIONS_AT_ONCE = 128, /* openings on their way */
	SESSIONS_ENDS = 2,
	SESSIONS_PATH_BYTES = 64,
	SESSIONS_STALLS = 50, /* then it hangs */
};
#define SESSIONS_STALL_NS (200 * NOPAL_MILLISECOND) /* something was lost */
#define SESSIONS_REST_NS  (2 * NOPAL_SECOND)	    /* then all are at rest */
#define SESSIONS_IDLE_NS  (15 * NOPAL_SECOND)	    /* keep_alive's interval */

struct sessions_one {
	side_call *on;
	struct sessions *all;
	struct nopal_session *session;
	bool back; /* its byte */
};

struct sessions {
	struct side side; /* the opener's */
	struct bench *bench;
	const struct bench_row *row;
	struct loop_event *stall;
	struct nopal_endpoint *endpoint;
	const struct nopal_address *peer;
	struct sessions_one *one;
	int64_t opened, back, seen, target;
	int stalls;
	bool failed;
};

/* ----------------------------------------------------------------- the partner */

static void sessions_on_there(void *user, const struct side_event *event)
{
	(void)user;
	if (event->kind == SIDE_RECEIVED)
		nopal_send(event->session, "", 1, 0);
}

/* ------------------------------------------------------------------------ here */

static void sessions_on_here(void *user, const struct side_event *event);

static void sessions_fill(struct sessions *all)
{
	while (all->opened < all->target && !all->failed &&
	       all->opened - all->back < SESSIONS_AT_ONCE) {
		struct sessions_one *one = &all->one[all->opened++];

		one->on = sessions_on_here;
		one->all = all;
		one->session =
			nopal_open(all->endpoint, all->row->plan, all->peer, &side_callbacks, one);
		all->failed = !one->session;
	}
}

static void sessions_on_here(void *user, const struct side_event *event)
{
	struct sessions_one *one = user;
	struct sessions *all = one->all;

	switch (event->kind) {
	case SIDE_OPENED:
		nopal_send(event->session, "", 1, 0);
		break;
	case SIDE_RECEIVED:
		all->back += !one->back;
		one->back = true;
		sessions_fill(all);
		if (all->back == all->target)
			loop_stop(all->side.loop);
		break;
	case SIDE_ENDED:
		one->session = NULL;
		if (all->side.over)
			break;
		tool_error("a session ended (%d): %s", event->end, event->text);
		all->failed = true;
		loop_stop(all->side.loop);
		break;
	default:
		break;
	}
}

/* Nothing came since the last look: where nobody sends again, we do. */
static void sessions_on_stall(void *user)
{
	struct sessions *all = user;

	if (all->back == all->seen) {
		for (int64_t i = 0; i < all->opened; i++)
			if (!all->one[i].back && all->one[i].session)
				nopal_send(all->one[i].session, "", 1, 0);
		all->failed = ++all->stalls == SESSIONS_STALLS;
	}
	all->seen = all->back;
	if (all->failed)
		loop_stop(all->side.loop);
	else
		loop_event_start(all->stall, SESSIONS_STALL_NS);
}

/* Opens until there are so many; nanoseconds that it took. */
static int64_t sessions_open(struct sessions *all, int64_t target)
{
	int64_t begun_ns = clock_now_ns();

	all->target = target;
	sessions_fill(all);
	loop_event_start(all->stall, SESSIONS_STALL_NS);
	if (all->back < target && !all->failed)
		loop_run(all->side.loop);
	loop_event_stop(all->stall);
	return clock_now_ns() - begun_ns;
}

/* ---------------------------------------------------------------- what it takes */

/* Bytes that the kernel keeps for both processes; of one that it does not tell of, 0. */
static double sessions_resident(const struct sessions *all)
{
	const pid_t processes[SESSIONS_ENDS] = { getpid(), all->side.partner };
	double pages = 0;

	for (int i = 0; i < SESSIONS_ENDS; i++) {
		char path[SESSIONS_PATH_BYTES];
		unsigned long size, resident;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/statm", (int)processes[i]);
		file = fopen(path, "r");
		if (file && fscanf(file, "%lu %lu", &size, &resident) == 2)
			pages += (double)resident;
		if (file)
			fclose(file);
	}
	return pages * (double)sysconf(_SC_PAGESIZE);
}

/* Processor time of both ends. */
static int64_t sessions_cpu_ns(const struct sessions *all)
{
	struct timespec there = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(all->side.partner, &clock) == 0)
		clock_gettime(clock, &there);
	return clock_cpu_ns() + there.tv_sec * NOPAL_SECOND + there.tv_nsec;
}

/* Adds the figures of a round as far as all sessions open. */
static void sessions_drive(void *user, struct nopal_endpoint *endpoint,
			   const struct nopal_address *peer)
{
	struct sessions *all = user;
	struct bench *bench = all->bench;
	int64_t few = bench->count / SESSIONS_TENTH, took_ns, cpu_ns;
	double bytes, resident, more = (double)(bench->count - few);
	const char *row = all->row->name;

	all->endpoint = endpoint;
	all->peer = peer;
	all->stall = loop_event_new(all->side.loop, LOOP_TIMER, -1, sessions_on_stall, all);
	all->failed = !all->stall;
	if (all->failed)
		return;
	sessions_open(all, few);
	side_wait(all->side.loop, SESSIONS_REST_NS);
	bytes = bench_allocated();
	resident = sessions_resident(all);
	took_ns = sessions_open(all, bench->count);
	side_wait(all->side.loop, SESSIONS_REST_NS);
	if (!all->failed) {
		bench_add(bench, "lo", row, "opened", more * NOPAL_SECOND / (double)took_ns);
		bench_add(bench, "lo", row, "bytes", (bench_allocated() - bytes) / more);
		bench_add(bench, "lo", row, "resident",
			  (sessions_resident(all) - resident) / more / SESSIONS_ENDS);
		cpu_ns = sessions_cpu_ns(all);
		side_wait(all->side.loop, SESSIONS_IDLE_NS);
		bench_add(bench, "lo", row, "idle",
			  (double)(sessions_cpu_ns(all) - cpu_ns) /
				  (SESSIONS_IDLE_NS / NOPAL_MILLISECOND) / NOPAL_MICROSECOND);
	}
	loop_event_free(all->stall);
}

static enum tool_exit sessions_measure(struct bench *bench, const struct bench_row *row)
{
	struct side there = { .on = sessions_on_there };
	struct sessions all = {
		.bench = bench,
		.row = row,
		.one = tool_need(calloc((size_t)bench->count, sizeof(*all.one))),
		.failed = true,
	};
	struct side_work work = {
		.protocol = SIDE_CONFIG,
		.plan = row->plan,
		.opener = &all.side,
		.listener = &there,
		.drive = sessions_drive,
	};

	if (!side_work(&work, &(struct side_place){ .live = true, .pair = bench->place }) ||
	    all.failed || all.back < bench->count) {
		tool_error("not all sessions opened");
		all.failed = true;
	}
	free(all.one);
	return all.failed ? TOOL_FAILED : TOOL_GOOD;
}

static bool sessions_begin(struct bench *bench)
{
	if (bench->count <= 0)
		bench->count = SESSIONS_COUNT;
	if (bench->count < SESSIONS_MIN)
		bench->count = SESSIONS_MIN;
	report_note(bench->report, "%lld sessions on one port, opener and acceptor",
		    (long long)bench->count);
	return true;
}

const struct bench_measurement bench_sessions = {
	.name = "sessions",
	.uses = BENCH_USE_ROWS | BENCH_USE_COUNT,
	.words = BENCH_PLACE,
	.rows = "ctp_minimal,bulk",
	.columns = { { "opened", "1/s", REPORT_MORE_IS_BETTER },
		     { "bytes", "B", REPORT_LESS_IS_BETTER },
		     { "resident", "B", REPORT_LESS_IS_BETTER },
		     { "idle", "ms/s", REPORT_LESS_IS_BETTER } },
	.begin = sessions_begin,
	.notes =
		(const char *const[]){
			"bytes: allocated for one end of an idle session; resident: the kernel's count, "
			"both ends' mean",
			"idle: processor time of both processes a second of silence",
			NULL,
		},
	.measure = sessions_measure,
};
