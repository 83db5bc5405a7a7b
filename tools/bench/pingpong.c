/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c -- round trips of 64 bytes: plain UDP, the kernel's TCP, and configs, each
 * asleep while it waits and spinning.
 *
 *     nopal bench pingpong [HERE_NETNS THERE_NETNS THERE_ADDRESS]
 *
 * Two processes, one a core.  "sleep" is a blocking receive, for a config its loop; "spin" asks
 * again and again without blocking, for a config nopal_live_poll; "linger" is its loop that polls
 * for a while after each arrival.  Plain UDP is connected on both sides: the least that the kernel
 * does for a datagram.  A value is a round's median or tail; "over raw" is the difference of
 * medians to plain UDP of the same way and round.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "frame/tool.h"
#include "load/round_trips.h"

enum {
	PING_BYTES = 64,
	PING_WARM = 2000, /* round trips that are not counted */
	PING_COUNT = 20000,
	PING_PARTS_THOUSAND = 1000,
};
#define PING_LOST_NS (2 * NOPAL_SECOND) /* no answer comes any more */

static const char *const ping_ways[ROUND_TRIPS_WAYS] = { "sleep", "spin", "linger" };

struct ping_row {
	const char *what;
	enum round_trips_kind kind;
	enum round_trips_way way;
	struct nopal_plan *plan;
	double p50_us; /* of this round; 0: it failed */
};

struct ping {
	struct bench_report *report;
	struct bench_place place;
	const struct ping_row *row; /* that runs */
	int64_t *round_trips_ns;
	int64_t count;
	int round;
};

/* ------------------------------------------------------------------- rounds */

static int ping_before(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void ping_add(const struct ping *ping, const char *measure, double us)
{
	bench_add(ping->report, &(struct bench_value){
					.what = ping->row->what,
					.path = ping_ways[ping->row->way],
					.measure = measure,
					.class = BENCH_NONE,
					.round = ping->round,
					.value = us,
				});
}

/* The trip that `thousandths` of all are not above, in microseconds. */
static double ping_share(const struct ping *ping, int64_t thousandths)
{
	int64_t at = ping->count * thousandths / PING_PARTS_THOUSAND;

	return (double)ping->round_trips_ns[at] / NOPAL_MICROSECOND;
}

static bool ping_measure(struct ping *ping, struct ping_row *row)
{
	struct round_trips round_trips = {
		.kind = row->kind,
		.way = row->way,
		.plan = row->plan,
		.bytes = PING_BYTES,
		.warm = PING_WARM,
		.count = ping->count,
		.patience_ns = PING_LOST_NS,
		.round_trips_ns = ping->round_trips_ns,
	};

	row->p50_us = 0;
	ping->row = row;
	if (!round_trips_run(&round_trips, &ping->place))
		return false;
	if (round_trips.done < ping->count) {
		fprintf(stderr, "%s: a message got lost, no value\n", row->what);
		return true;
	}
	qsort(ping->round_trips_ns, (size_t)ping->count, sizeof(*ping->round_trips_ns),
	      ping_before);
	row->p50_us = ping_share(ping, 500);
	ping_add(ping, "p50", row->p50_us);
	ping_add(ping, "p99", ping_share(ping, 990));
	ping_add(ping, "p99.9", ping_share(ping, 999));
	return true;
}

/* Differences to plain UDP, the same way awake. */
static void ping_differ(struct ping *ping, const struct ping_row *rows, int count)
{
	double raw_us[ROUND_TRIPS_WAYS] = { 0 };

	for (int i = 0; i < count; i++)
		if (rows[i].kind == ROUND_TRIPS_UDP)
			raw_us[rows[i].way] = rows[i].p50_us;
	for (int i = 0; i < count; i++) {
		double raw = raw_us[rows[i].way];

		ping->row = &rows[i];
		if (rows[i].p50_us > 0 && raw > 0 && rows[i].kind != ROUND_TRIPS_UDP)
			ping_add(ping, "over raw", rows[i].p50_us - raw);
	}
}

static enum tool_exit ping_rounds(struct ping *ping, struct ping_row *rows, int count)
{
	int order[BENCH_MAX_ROWS];

	for (; ping->round < bench_options(ping->report)->rounds; ping->round++) {
		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			if (!ping_measure(ping, &rows[order[i]]))
				return TOOL_ENVIRONMENT;
		ping_differ(ping, rows, count);
	}
	return TOOL_GOOD;
}

/* --------------------------------------------------------------------- rows */

/* False: it was said what is wrong. */
static bool ping_row_add(struct ping_row *rows, int *count, const char *what)
{
	enum round_trips_kind kind = ROUND_TRIPS_CONFIG;
	enum round_trips_way ways = ROUND_TRIPS_LINGER; /* a loop is needed for it */
	struct nopal_plan *plan = NULL;

	if (strcmp(what, "raw") == 0)
		kind = ROUND_TRIPS_UDP;
	else if (strcmp(what, "tcp") == 0)
		kind = ROUND_TRIPS_TCP;
	if (kind == ROUND_TRIPS_CONFIG) {
		ways = ROUND_TRIPS_WAYS;
		plan = bench_plan(what);
		if (!plan)
			return false;
	}
	for (enum round_trips_way way = ROUND_TRIPS_SLEEP; way < ways && *count < BENCH_MAX_ROWS;
	     way++)
		rows[(*count)++] = (struct ping_row){
			.what = what,
			.kind = kind,
			.way = way,
			.plan = plan ? nopal_plan_ref(plan) : NULL,
		};
	nopal_plan_unref(plan);
	return true;
}

int bench_pingpong(int argc, char **argv, struct bench_report *report)
{
	const struct bench_options *options = bench_options(report);
	struct ping_row rows[BENCH_MAX_ROWS];
	struct ping ping = { .report = report, .count = options->count };
	char **words = bench_words(options->rows, "raw,tcp,ctp_minimal,bulk");
	enum tool_exit exit = TOOL_BAD_INPUT;
	int count = 0;
	bool good = words && bench_place_of(argc, argv, &ping.place);

	if (ping.count <= 0)
		ping.count = PING_COUNT;
	for (char **word = words; good && *word; word++)
		good = ping_row_add(rows, &count, *word);
	ping.round_trips_ns = malloc((size_t)ping.count * sizeof(*ping.round_trips_ns));
	if (good && ping.round_trips_ns) {
		bench_measure(report, "p50", "us", BENCH_LESS_IS_BETTER);
		bench_measure(report, "p99", "us", BENCH_LESS_IS_BETTER);
		bench_measure(report, "p99.9", "us", BENCH_LESS_IS_BETTER);
		bench_measure(report, "over raw", "us", BENCH_LESS_IS_BETTER);
		bench_reference(report, BENCH_NONE, "raw");
		bench_note(report,
			   "round trips of %d bytes between two processes, one "
			   "a core; raw is UDP, connected on both sides",
			   PING_BYTES);
		bench_note(report, "linger: asleep, but polls for 50 us after each arrival; "
				   "compare it with spin");
		exit = ping_rounds(&ping, rows, count);
	}
	for (int i = 0; i < count; i++)
		nopal_plan_unref(rows[i].plan);
	free(ping.round_trips_ns);
	free(words);
	return (int)exit;
}
