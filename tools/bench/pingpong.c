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
#include "load/round_trips.h"

enum {
	PING_BYTES = 64,
	PING_WARM = 2000, /* round trips that are not counted */
	PING_COUNT = 20000,
	PING_PATIENCE_S = 2, /* then no answer comes any more */
	PING_SHARES = 3,     /* the median and two tails */
};

static const char *const ping_ways[SIDE_WAYS] = { "sleep", "spin", "linger" };
/* Of the rows that are no configs. */
static const enum side_protocol ping_protocols[] = { SIDE_UDP, SIDE_TCP };

struct ping {
	double us[BENCH_ROWS][SIDE_WAYS][PING_SHARES]; /* of this round; a median of 0: it failed */
	int64_t round_trips_ns[];
};

/* Awake in every way; a plain socket has no loop that could linger. */
static enum tool_exit ping_measure(struct bench *bench, const struct bench_row *row)
{
	static const struct {
		const char *column;
		size_t thousandths;
	} shares[] = { { "p50", 500 }, { "p99", 990 }, { "p99.9", 999 } };
	enum side_way ways = row->plan ? SIDE_WAYS : SIDE_LINGER;
	struct ping *ping = bench->state;
	struct round_trips round_trips = {
		.protocol = row->plan ? SIDE_CONFIG : ping_protocols[row->plain],
		.plan = row->plan,
		.bytes = PING_BYTES,
		.warm = PING_WARM,
		.count = bench->count,
		.patience_ns = PING_PATIENCE_S * NOPAL_SECOND,
		.round_trips_ns = ping->round_trips_ns,
	};
	const struct side_place place = { .live = true, .pair = bench->place };

	for (enum side_way way = SIDE_SLEEP; way < ways; way++) {
		double *us = ping->us[row - bench->rows][way];

		round_trips.way = way;
		us[0] = 0;
		if (!round_trips_run(&round_trips, &place))
			return TOOL_ENVIRONMENT;
		if (round_trips.done < bench->count) {
			fprintf(stderr, "%s: a message got lost, no value\n", row->name);
			continue;
		}
		bench_sort(ping->round_trips_ns, (size_t)bench->count);
		for (int i = 0; i < PING_SHARES; i++) {
			us[i] = (double)bench_share(ping->round_trips_ns, (size_t)bench->count,
						    shares[i].thousandths) /
				NOPAL_MICROSECOND;
			bench_add(bench, ping_ways[way], row->name, shares[i].column, us[i]);
		}
	}
	return TOOL_GOOD;
}

/* All rows, and their differences to plain UDP, the same way awake. */
static enum tool_exit ping_round(struct bench *bench)
{
	enum tool_exit code = bench_each_row(bench);
	const struct ping *ping = bench->state;

	for (int way = 0; way < SIDE_WAYS; way++) {
		double raw_us = 0;

		for (int i = 0; i < bench->row_count; i++)
			if (bench->rows[i].plain == 0)
				raw_us = ping->us[i][way][0];
		for (int i = 0; i < bench->row_count; i++)
			if (ping->us[i][way][0] > 0 && raw_us > 0 && bench->rows[i].plain != 0)
				bench_add(bench, ping_ways[way], bench->rows[i].name, "over raw",
					  ping->us[i][way][0] - raw_us);
	}
	return code;
}

static bool ping_begin(struct bench *bench)
{
	struct ping *ping;

	if (bench->count <= 0)
		bench->count = PING_COUNT;
	bench->state = tool_need(
		calloc(1, sizeof(*ping) + (size_t)bench->count * sizeof(*ping->round_trips_ns)));
	report_note(bench->report,
		    "round trips of %d bytes between two processes, one a core; raw is UDP, "
		    "connected on both sides",
		    PING_BYTES);
	return true;
}

const struct bench_measurement bench_pingpong = {
	.name = "pingpong",
	.uses = BENCH_USE_ROWS | BENCH_USE_COUNT,
	.words = BENCH_PLACE,
	.rows = "raw,tcp,ctp_minimal,bulk",
	.plain = (const char *const[]){ "raw", "tcp", NULL },
	.columns = { { "p50", "us", REPORT_LESS_IS_BETTER },
		     { "p99", "us", REPORT_LESS_IS_BETTER },
		     { "p99.9", "us", REPORT_LESS_IS_BETTER },
		     { "over raw", "us", REPORT_LESS_IS_BETTER } },
	.reference = "raw",
	.begin = ping_begin,
	.notes =
		(const char *const[]){
			"linger: asleep, but polls for 50 us after each arrival; compare it with spin",
			NULL,
		},
	.measure = ping_measure,
	.round = ping_round,
};
