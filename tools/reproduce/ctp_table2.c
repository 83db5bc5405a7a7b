/* SPDX-License-Identifier: MIT */
/*
 * ctp_table2.c -- round trips on a fast network that loses packets:
 * Bridges et al., CTP, ToN 2007, section V.C.2 and Table II.
 *
 * Tests of 100 round trips of empty messages, one after the other; each receiving side drops 0 to 5
 * % of all packets.  TCP carries one byte, since it has no empty messages.  The paper's CTP-Bulk
 * has fine-grained timers: ctp_bulk with its least timeout at a millisecond and acknowledgements at
 * once.  Beside it a composition of ours for this job, request.conf, and plain UDP without loss.
 */
#include <math.h>
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/place.h"

enum {
	TABLE2_ROUND_TRIPS = 100,
	TABLE2_WARM = 5,
	TABLE2_LOSSES = 6,
	TABLE2_WORST = TABLE2_LOSSES - 1,
	TABLE2_TEXT = 64,
};
#define TABLE2_PATIENCE_NS (60 * NOPAL_SECOND) /* TCP's timers back off */
#define TABLE2_GOAL_MS	   0.3

static const char *const table2_fine[] = { "rtt_estimation.timeout_min=1ms", "positive_ack.every=1",
					   NULL };

/* The same, but for the least timeout of TCP's here. */
static const char *const table2_coarse[] = { "rtt_estimation.timeout_min=200ms",
					     "positive_ack.every=1", NULL };

/* Columns, and what the paper has for each loss. */
static const struct table2_column {
	struct reproduce_protocol protocol;
	struct {
		double mean, deviation;
	} paper[TABLE2_LOSSES];
} table2_columns[] = {
	{ { "TCP", "tcp", SIDE_TCP, NULL },
	  { { 0.17, 0.0008 }, { 2.1, 8 }, { 4.4, 8 }, { 8.0, 13 }, { 13, 18 }, { 16, 25 } } },
	{ { "CTP-Bulk", "ctp_bulk", SIDE_CONFIG, table2_fine },
	  { { 0.34, 0.002 },
	    { 0.62, 0.07 },
	    { 0.66, 0.07 },
	    { 1.9, 0.5 },
	    { 2.1, 0.4 },
	    { 2.4, 0.7 } } },
	{ { "200 ms timer", "ctp_bulk", SIDE_CONFIG, table2_coarse }, { { 0, 0 } } },
	{ { "request", "request", SIDE_CONFIG, NULL }, { { 0, 0 } } },
	{ { "UDP", "udp", SIDE_UDP, NULL }, { { 0, 0 } } },
};
enum {
	TABLE2_TCP,
	TABLE2_BULK,
	TABLE2_COARSE,
	TABLE2_REQUEST,
	TABLE2_UDP,
	TABLE2_COLUMNS,
};

static const struct table2_place {
	enum reproduce_world world;
	const char *word, *table, *link;
} table2_places[] = {
	{ REPRODUCE_SIMULATED, "sim",
	  "Table II, simulated: 100 Mbit/s, 0.15 ms; loss % of both sides",
	  "rate 100mbit delay 70us loss %d%%" },
	{ REPRODUCE_HOSTS, "lan", "Table II, live over an emulated link: loss % of both sides",
	  "loss %d%%" },
};
enum { TABLE2_PLACES = sizeof(table2_places) / sizeof(*table2_places) };

/* --------------------------------------------------------------------- cells */

static struct report_cell table2_cell(const struct table2_place *place, int column, int loss)
{
	static const char *const rows[TABLE2_LOSSES] = { "0", "1", "2", "3", "4", "5" };

	return (struct report_cell){ place->table, rows[loss], table2_columns[column].protocol.name,
				     "ms" };
}

static double table2_mean(const struct reproduce_options *options, const struct table2_place *place,
			  int column, int loss)
{
	return report_mean(options->report, table2_cell(place, column, loss));
}

/* ---------------------------------------------------------------------- runs */

/* One test; false: the machine refuses. */
static bool table2_test(const struct reproduce_options *options, const struct table2_place *where,
			int column, int loss, struct nopal_plan *plan, int run)
{
	struct report_cell cell = table2_cell(where, column, loss);
	int64_t round_trips_ns[TABLE2_ROUND_TRIPS];
	struct round_trips round_trips = {
		.protocol = table2_columns[column].protocol.kind,
		.plan = plan,
		.warm = TABLE2_WARM,
		.count = TABLE2_ROUND_TRIPS,
		.patience_ns = TABLE2_PATIENCE_NS,
		.round_trips_ns = round_trips_ns,
	};
	struct reproduce_place place;
	char words[TABLE2_TEXT];
	double ms;
	bool good;

	snprintf(words, sizeof(words), where->link, loss);
	if (!reproduce_place_open(&place, options, where->world, words,
				  options->seed + (uint64_t)run))
		return false;
	good = round_trips_run(&round_trips, &place.sides);
	reproduce_place_close(&place, options);
	ms = reproduce_round_trips_ms(&round_trips);
	if (!isnan(ms))
		report_add(options->report, cell, ms);
	else
		report_note(options->report, "%s at %s %%: a test ended without its answers",
			    cell.column, cell.row);
	return good;
}

static void table2_place_run(const struct reproduce_options *options,
			     const struct table2_place *place)
{
	bool live = place->world != REPRODUCE_SIMULATED, good = true;

	for (int i = 0; i < TABLE2_COLUMNS && good; i++) {
		const struct table2_column *column = &table2_columns[i];
		enum side_protocol protocol = column->protocol.kind;
		struct nopal_plan *plan;

		if (!reproduce_wanted(options->rows, column->protocol.config))
			continue;
		for (int loss = 0; loss < TABLE2_LOSSES; loss++)
			if (column->paper[loss].mean > 0)
				report_paper(options->report, table2_cell(place, i, loss),
					     column->paper[loss].mean,
					     column->paper[loss].deviation);
		good = reproduce_protocol_plan(&column->protocol, &plan);
		for (int loss = 0; good && loss < TABLE2_LOSSES; loss++) {
			/* UDP waits for ever; TCP's timer takes minutes for what its column shows */
			if ((protocol == SIDE_UDP && loss > 0) || (i == TABLE2_COARSE && live) ||
			    (protocol != SIDE_CONFIG && !live))
				continue;
			for (int run = 0; good && run < options->runs; run++)
				good = table2_test(options, place, i, loss, plan, run);
			if (good)
				reproduce_say(options, "%s, %s at %d %%: %.3f ms", place->word,
					      column->protocol.name, loss,
					      table2_mean(options, place, i, loss));
		}
		nopal_plan_unref(plan);
	}
}

int reproduce_ctp_table2(const struct reproduce_options *options)
{
	struct report *report = options->report;
	const struct table2_place *sim = &table2_places[0], *live = &table2_places[1];

	for (int i = 0; i < TABLE2_PLACES; i++)
		if (reproduce_place_wanted(options, table2_places[i].world, table2_places[i].word))
			table2_place_run(options, &table2_places[i]);
	report_less(report, "TCP has the better latency in the lossless case",
		    table2_mean(options, live, TABLE2_TCP, 0),
		    table2_mean(options, live, TABLE2_BULK, 0), "ms at 0 %, TCP against CTP-Bulk");
	report_less(report, "fine-grained retransmission beats TCP's round trips under loss",
		    table2_mean(options, live, TABLE2_BULK, TABLE2_WORST),
		    table2_mean(options, live, TABLE2_TCP, TABLE2_WORST),
		    "ms at 5 %, CTP-Bulk against TCP");
	report_less(report,
		    "ours: the paper's composition takes at most 0.3 ms on average with 5 % loss "
		    "both ways",
		    table2_mean(options, live, TABLE2_BULK, TABLE2_WORST), TABLE2_GOAL_MS,
		    "ms of CTP-Bulk, live, against the goal");
	report_less(report,
		    "ours: request.conf takes at most 0.3 ms on average with 5 % loss both ways",
		    table2_mean(options, live, TABLE2_REQUEST, TABLE2_WORST), TABLE2_GOAL_MS,
		    "ms of request.conf, live, against the goal");
	report_less(report, "ours: CTP-Bulk under loss is no slower than it was in the paper",
		    table2_mean(options, sim, TABLE2_BULK, TABLE2_WORST),
		    table2_columns[TABLE2_BULK].paper[TABLE2_WORST].mean,
		    "ms at 5 %, simulated against the paper");
	report_less(report, "ours: it is the timer that makes the difference: 1 ms against 200 ms",
		    table2_mean(options, sim, TABLE2_BULK, TABLE2_WORST),
		    table2_mean(options, sim, TABLE2_COARSE, TABLE2_WORST), "ms at 5 %, simulated");
	report_less(report, "ours: copies from the start beat fine-grained retransmission",
		    table2_mean(options, sim, TABLE2_REQUEST, TABLE2_WORST),
		    table2_mean(options, sim, TABLE2_BULK, TABLE2_WORST),
		    "ms at 5 %, simulated, request.conf against CTP-Bulk");
	return TOOL_GOOD;
}
