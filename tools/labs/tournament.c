/* SPDX-License-Identifier: MIT */
/*
 * tournament.c -- rules of lab 10 against each other, and against cubic, bbr and vegas.
 *
 * Each two entrants, and each beside itself, share each of some bottlenecks that nobody has seen:
 * one flow of each, the second begins later.  Of a flow there is its goodput, in percent of an even
 * half of the link, and how long 19 of 20 of its segments were in the queue at most; of both, Jain's
 * index.  The score is goodput, up to the even half, times fairness, and less for each ms in the queue.
 */
#include "labs/tournament.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/bench.h"
#include "labs/bottleneck.h"
#include "labs/labs.h"
#include "report/report.h"

enum {
	TOURNAMENT_LINKS = 3,
	TOURNAMENT_LATER_S = 1,
	TOURNAMENT_FROM_S = 4, /* flows have met by then */
	TOURNAMENT_UNTIL_S = 12,
	TOURNAMENT_QUEUE_MS = 100, /* in the queue, that halve a score */
};

struct entrant {
	const char *name, *config;
	const struct bench *bench;
	const char *folder;
};

struct tournament {
	struct report *report;
	struct bench *benches; /* the first one has no submission: entrants of the library */
	struct entrant *entrants;
	int bench_count, entrant_count;
};

static void tournament_enter(struct tournament *all, const char *name, const char *config,
			     const struct bench *bench, const char *folder)
{
	all->entrants[all->entrant_count++] = (struct entrant){ name, config, bench, folder };
}

/* The last part of a path, without slashes behind it. */
static char *tournament_name(const char *folder)
{
	size_t length = strlen(folder), from;

	while (length > 1 && folder[length - 1] == '/')
		length--;
	for (from = length; from > 0 && folder[from - 1] != '/'; from--)
		continue;
	return tool_printed("%.*s", (int)(length - from), folder + from);
}

static bool tournament_submission(struct tournament *all, const char *folder, const char *secret)
{
	struct bench *bench = &all->benches[all->bench_count++];

	if (bench_open(bench, &lab_10_congestion_control, folder, secret)) {
		tournament_enter(all, tournament_name(folder), "own.conf", bench,
				 bench->builds[BENCH_FAST]);
		return true;
	}
	if (!bench->errors)
		return false;
	report_note(all->report, "%s does not compile, and is left out", folder);
	return true;
}

static bool tournament_open(struct tournament *all, const struct tool_call *call)
{
	static const char *const stock[][2] = { { "cubic", "cubic.conf" },
						{ "bbr", "bbr.conf" },
						{ "vegas", "vegas.conf" } };
	const char *secret = tool_value(call, "secret");
	struct bench *library = &all->benches[all->bench_count++];

	if (!bench_open(library, &lab_10_congestion_control, NULL, secret))
		return false;
	for (int i = 0; i < (int)(sizeof(stock) / sizeof(*stock)); i++)
		tournament_enter(all, tool_printed("%s", stock[i][0]), stock[i][1], library,
				 library->reference);
	for (int i = 1; i < call->word_count; i++)
		if (!tournament_submission(all, call->words[i], secret))
			return false;
	return true;
}

/* ------------------------------------------------------------------------ one trial */

/* The two are the student and the reference of this bench. */
static struct lab_bench tournament_bench(const struct tournament *all, const struct entrant *one,
					 const struct entrant *two)
{
	struct lab_bench bench = all->benches[0].lab;
	const struct entrant *const both[] = { [LAB_STUDENT] = one, [LAB_REFERENCE] = two };

	for (enum lab_code code = 0; code < LAB_CODES; code++) {
		bench.folder[code] = both[code]->folder;
		bench.spawner[code] =
			(struct spawner *)(uintptr_t)&both[code]->bench->spawners[BENCH_FAST];
		bench.sanitized[code] = false;
	}
	return bench;
}

static void tournament_count(struct tournament *all, const struct entrant *of,
			     const struct bottleneck *path, double mbit, double queue_ms,
			     double fairness)
{
	double share = 200 * mbit * 1000 / (double)path->rate_kbit;
	struct report_cell cell = { .table = "tournament", .row = of->name };

	cell.column = "goodput";
	cell.unit = "% of a half";
	report_add(all->report, cell, share);
	cell.column = "queue p95";
	cell.unit = "ms";
	report_add(all->report, cell, queue_ms);
	cell.column = "fairness";
	cell.unit = "Jain";
	report_add(all->report, cell, fairness);
	cell.column = "score";
	cell.unit = "";
	report_add(all->report, cell,
		   (share < 100 ? share : 100) * fairness / (1 + queue_ms / TOURNAMENT_QUEUE_MS));
}

static double tournament_mbit(const struct lab_trial *trial, int host)
{
	return (double)lab_delivered_bytes(trial, host, TOURNAMENT_FROM_S * NOPAL_SECOND,
					   TOURNAMENT_UNTIL_S * NOPAL_SECOND) *
	       8e-6 / (TOURNAMENT_UNTIL_S - TOURNAMENT_FROM_S);
}

static void tournament_meet(struct tournament *all, const struct entrant *one,
			    const struct entrant *two, unsigned link)
{
	const int64_t from_ns = TOURNAMENT_FROM_S * NOPAL_SECOND;
	struct lab_bench bench = tournament_bench(all, one, two);
	struct lab_trial *trial = lab_trial_new(&bench, "tournament", link);
	double mbit[2], fairness;
	struct bottleneck path;

	bottleneck_draw(trial, &path);
	lab_bottleneck(trial, 2, "delay 0ms", path.link);
	for (int host = 0; host < 4; host++)
		lab_host(trial, host < 2 ? LAB_STUDENT : LAB_REFERENCE,
			 host < 2 ? one->config : two->config);
	lab_open(trial, 0, 1, 0);
	lab_open(trial, 2, 3, TOURNAMENT_LATER_S * NOPAL_SECOND);
	bottleneck_fill(trial, 0, 0, &path, TOURNAMENT_UNTIL_S);
	bottleneck_fill(trial, 2, TOURNAMENT_LATER_S * NOPAL_SECOND, &path, TOURNAMENT_UNTIL_S);
	lab_run(trial, TOURNAMENT_UNTIL_S * NOPAL_SECOND);
	lab_trial_finish(trial);
	if (trial->failed)
		report_note(all->report, "%s beside %s: %s", one->name, two->name,
			    lab_trial_reason(trial));
	mbit[0] = trial->failed ? 0 : tournament_mbit(trial, 0);
	mbit[1] = trial->failed ? 0 : tournament_mbit(trial, 2);
	fairness = bottleneck_fairness(mbit[0], mbit[1]);
	tournament_count(all, one, &path, mbit[0], bottleneck_queue(trial, 0, &path, from_ns),
			 fairness);
	tournament_count(all, two, &path, mbit[1], bottleneck_queue(trial, 2, &path, from_ns),
			 fairness);
	lab_trial_free(trial);
}

/* ------------------------------------------------------------------------- all of it */

static void tournament_run(struct tournament *all)
{
	for (int one = 0; one < all->entrant_count; one++)
		for (int two = one; two < all->entrant_count; two++)
			for (unsigned link = 1; link <= TOURNAMENT_LINKS; link++)
				tournament_meet(all, &all->entrants[one], &all->entrants[two],
						link);
}

static void tournament_close(struct tournament *all)
{
	/* Processes of all benches wait in the pool of the first one. */
	for (int i = 0; i < all->bench_count; i++)
		bench_close(&all->benches[i]);
	for (int i = 0; i < all->entrant_count; i++)
		free((void *)(uintptr_t)all->entrants[i].name);
	free(all->benches);
	free(all->entrants);
	report_free(all->report);
}

enum tool_exit tournament(const struct tool_call *call)
{
	const char *plot = tool_value(call, "plot");
	struct tournament all = { 0 };
	enum tool_exit code = TOOL_ENVIRONMENT;

	if (call->word_count < 2) {
		fputs("nopal: nobody is there\n  fix: nopal lab tournament FOLDER...\n", stderr);
		return TOOL_BAD_INPUT;
	}
	if (plot && !report_can_plot("lab", plot))
		return TOOL_BAD_INPUT;
	all.report = report_new(REPORT_RUNS, "tournament");
	all.benches = tool_need(calloc((size_t)call->word_count, sizeof(*all.benches)));
	all.entrants = tool_need(calloc((size_t)call->word_count + 2, sizeof(*all.entrants)));
	if (tournament_open(&all, call)) {
		tournament_run(&all);
		report_note(
			all.report,
			"each beside each, and beside itself, on %d links; goodput in percent of "
			"an even half",
			TOURNAMENT_LINKS);
		report_text(all.report, stdout);
		code = !plot || report_plot(all.report, plot) ? TOOL_GOOD : TOOL_ENVIRONMENT;
	}
	tournament_close(&all);
	return code;
}
