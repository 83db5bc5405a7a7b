/* SPDX-License-Identifier: MIT */
/*
 * madp_runs.c -- an object downloaded over a path that loses, damages, repeats and delays packets:
 * Bayraktar and Bakkal, MADP, sections V and VI.
 *
 * A client asks, and gets an object in chunks of 1426 bytes; the time counts from opening to the
 * last byte.  Beside the paper's protocol, with its fixed window and with a dynamic one, stand a
 * composition of ours and, live, the kernel's TCP over the same emulated link.  Impairments are
 * those of both directions, as in the paper.
 *
 * The paper says neither its objects nor its link: here a large object has 1 MB and a small one
 * 10 kB, and the link has 10 Mbit/s, somewhat more than the paper's TCP had where nothing is lost.
 * A live run is cut off after a time, and a cell has a budget: both are reported.
 */
#include <math.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/madp.h"

enum {
	MADP_CHUNKS = 7230, /* section IV */
	MADP_RUNS_LIVE = 3,
	MADP_LARGE_QUICK = 200 * 1000,
	MADP_SMALL = 10 * 1000,
	MADP_BITS = 8,
};
#define MADP_CUTOFF_LIVE_NS  (20 * NOPAL_SECOND)
#define MADP_CUTOFF_QUICK_NS (5 * NOPAL_SECOND)
#define MADP_BUDGET_NS	     (120 * NOPAL_SECOND) /* of a live cell */
#define MADP_BUDGET_QUICK_NS (10 * NOPAL_SECOND)
#define MADP_MEGA	     1e6

/* The paper does not say which congestion control its TCP had; CUBIC is what Linux has by default. */
const struct madp_column madp_columns[MADP_COLUMNS] = {
	[MADP_MADP] = { { "madp", "madp", SIDE_CONFIG, NULL }, NULL },
	[MADP_DYNAMIC] = { { "madp_dynamic", "madp_dynamic", SIDE_CONFIG, NULL }, NULL },
	[MADP_BULK] = { { "bulk", "bulk", SIDE_CONFIG, NULL }, NULL },
	[MADP_TCP] = { { "TCP", "tcp", SIDE_TCP, NULL }, "cubic" },
	[MADP_TCP_BBR] = { { "TCP, BBR", "tcp_bbr", SIDE_TCP, NULL }, "bbr" },
};

const struct madp_condition madp_conditions[MADP_CONDITIONS] = {
	[MADP_CLEAN] = { "clean", "Benchmark", "0", "rate 10mbit delay 1ms", 7.3354, 1.4249 },
	{ "loss5", "Packet Loss 5%", "5", "rate 10mbit delay 1ms loss 5%", 0.2045, 0.8952 },
	{ "loss10", "Packet Loss 10%", "10", "rate 10mbit delay 1ms loss 10%", 0.0383, 0.7049 },
	{ "loss15", "Packet Loss 15%", "15", "rate 10mbit delay 1ms loss 15%", 0.0043, 0.6474 },
	{ "corrupt5", "Packet Corruption 5%", "5", "rate 10mbit delay 1ms corrupt 5%", 0.1763,
	  0.8614 },
	{ "corrupt10", "Packet Corruption 10%", "10", "rate 10mbit delay 1ms corrupt 10%", 0.0498,
	  0.6714 },
	{ "duplicate5", "Packet Duplicate 5%", "5", "rate 10mbit delay 1ms duplicate 5%", 5.1349,
	  1.2572 },
	{ "duplicate10", "Packet Duplicate 10%", "10", "rate 10mbit delay 1ms duplicate 10%",
	  5.2017, 1.0735 },
	[MADP_NORMAL] = { "normal", "Packet Delay (Normal) 100ms", "normal",
			  "rate 10mbit delay 100ms 20ms distribution normal", 9.1449, 5.8190 },
	[MADP_UNIFORM] = { "uniform", "Packet Delay (Uniform) 100ms", "uniform",
			   "rate 10mbit delay 100ms 20ms", 2.2848, 4.4834 },
	[MADP_MANY_CHUNKS] = { "chunks", "7230 chunks", "7230 chunks",
			       "rate 100mbit delay 100ms 50ms limit 1000", 2, 0 },
	[MADP_FAR_CLEAN] = { "far", "20 ms, no loss", "0", "rate 10mbit delay 10ms", 7.3354,
			     1.4249 },
	[MADP_FAR_LOSS_5] = { "far5", "20 ms, loss 5%", "5", "rate 10mbit delay 10ms loss 5%",
			      0.2045, 0.8952 },
	[MADP_FAR_LOSS_10] = { "far10", "20 ms, loss 10%", "10", "rate 10mbit delay 10ms loss 10%",
			       0.0383, 0.7049 },
	[MADP_FAR_LOSS_15] = { "far15", "20 ms, loss 15%", "15", "rate 10mbit delay 10ms loss 15%",
			       0.0043, 0.6474 },
};

static const struct madp_world {
	enum reproduce_world world;
	const char *name;
} madp_worlds[MADP_WORLDS] = {
	[MADP_SIMULATED] = { REPRODUCE_SIMULATED, "simulated" },
	[MADP_LIVE] = { REPRODUCE_HOSTS, "live over an emulated link" },
};

/* --------------------------------------------------------------------- cells */

static bool madp_is_live(const struct madp *madp)
{
	return madp->world == MADP_LIVE;
}

static uint64_t madp_size(const struct madp *madp)
{
	switch (madp->panel->object) {
	case MADP_OBJECT_SMALL:
		return MADP_SMALL;
	case MADP_OBJECT_CHUNKS:
		return (uint64_t)MADP_CHUNKS * MADP_CHUNK;
	case MADP_OBJECT_LARGE:
		break;
	}
	return madp->options->quick ? MADP_LARGE_QUICK : MADP_LARGE;
}

static struct report_cell madp_cell(const struct madp *madp, int condition, int column)
{
	const struct madp_condition *row = &madp_conditions[condition];
	const char *table =
		report_format(madp->options->report, "%s, %s; %.6g kB", madp->panel->title,
			      madp_worlds[madp->world].name, (double)madp_size(madp) / 1000);

	return (struct report_cell){ table, madp->panel->named ? row->name : row->axis,
				     madp_columns[column].protocol.name,
				     madp->panel->seconds ? "s" : "Mb/s" };
}

const struct series *madp_series(const struct madp *madp, int condition, int column)
{
	const struct report_values *values =
		report_find(madp->options->report, madp_cell(madp, condition, column));

	return values && values->ours.count > 0 ? &values->ours : NULL;
}

double madp_mean(const struct madp *madp, int condition, int column)
{
	const struct series *series = madp_series(madp, condition, column);

	return series ? series_mean(series) : (double)NAN;
}

/* ---------------------------------------------------------------------- runs */

static int64_t madp_cutoff_ns(const struct madp *madp)
{
	if (!madp_is_live(madp))
		return MADP_CUTOFF_NS;
	return madp->options->quick ? MADP_CUTOFF_QUICK_NS : MADP_CUTOFF_LIVE_NS;
}

static int madp_runs(const struct madp *madp)
{
	if (madp->options->runs_given || madp->options->quick)
		return madp->options->runs;
	return madp_is_live(madp) ? MADP_RUNS_LIVE : MADP_RUNS;
}

double madp_throughput(const struct download *download)
{
	return (double)download->came * MADP_BITS * NOPAL_SECOND / (double)download->took_ns /
	       MADP_MEGA;
}

/* Notes that a reader must know of the runs of a cell. */
static void madp_tell(const struct madp *madp, int condition, int column, int made, int cut)
{
	int runs = madp_runs(madp);
	struct report_cell cell = madp_cell(madp, condition, column);

	if (made < runs)
		report_note(
			madp->options->report,
			"%s, %s, %s: %d of %d runs fitted into the budget of %lld s", cell.table,
			cell.row, cell.column, made, runs,
			(long long)((madp->options->quick ? MADP_BUDGET_QUICK_NS : MADP_BUDGET_NS) /
				    NOPAL_SECOND));
	if (cut > 0)
		report_note(madp->options->report,
			    "%s, %s, %s: %d of %d runs were cut off after %lld s; %s", cell.table,
			    cell.row, cell.column, cut, made,
			    (long long)(madp_cutoff_ns(madp) / NOPAL_SECOND),
			    madp->panel->seconds ? "they count as so long"
						 : "they count with what had come");
	reproduce_say(madp->options, "%s, %s, %s: %.4g %s", cell.table, cell.row, cell.column,
		      report_mean(madp->options->report, cell), cell.unit);
}

/* The runs of a cell; false: the machine refuses. */
static bool madp_cell_run(const struct madp *madp, int condition, int column,
			  struct nopal_plan *plan)
{
	int64_t budget_ns = madp->options->quick ? MADP_BUDGET_QUICK_NS : MADP_BUDGET_NS;
	struct download download = {
		.protocol = madp_columns[column].protocol.kind,
		.plan = plan,
		.congestion = madp_columns[column].congestion,
		.chunk = MADP_CHUNK,
		.size = madp_size(madp),
		.cutoff_ns = madp_cutoff_ns(madp),
	};
	struct report_cell cell = madp_cell(madp, condition, column);
	int runs = madp_runs(madp), made = 0, cut = 0;
	struct reproduce_place place;
	bool good;

	for (; made < runs; made++) {
		if (madp_is_live(madp) && budget_ns <= 0)
			break;
		if (!reproduce_place_open(&place, madp->options, madp_worlds[madp->world].world,
					  madp_conditions[condition].link,
					  madp->options->seed + (uint64_t)made))
			return false;
		good = download_run(&download, &place.sides);
		reproduce_place_close(&place, madp->options);
		if (!good)
			return false;
		if (download.wrong)
			report_note(madp->options->report, "%s, %s: a byte came that was not sent",
				    cell.column, cell.row);
		report_add(madp->options->report, cell,
			   madp->panel->seconds ? (double)download.took_ns / NOPAL_SECOND
						: madp_throughput(&download));
		cut += !download.done && !download.wrong;
		budget_ns -= download.took_ns;
	}
	madp_tell(madp, condition, column, made, cut);
	return true;
}

static bool madp_column_run(const struct madp *madp, int column)
{
	struct nopal_plan *plan;
	bool good;

	if (!reproduce_wanted(madp->options->rows, madp_columns[column].protocol.config) ||
	    (!madp_is_live(madp) && madp_columns[column].protocol.kind != SIDE_CONFIG))
		return true;
	if (!download_has_congestion(madp_columns[column].congestion)) {
		report_note(madp->options->report, "no column of %s: this kernel has it not",
			    madp_columns[column].protocol.name);
		return true;
	}
	good = reproduce_protocol_plan(&madp_columns[column].protocol, &plan);
	for (int i = 0; good && i < madp->panel->count; i++) {
		int condition = madp->panel->conditions[i];

		if (reproduce_wanted(madp->options->paths, madp_conditions[condition].word))
			good = madp_cell_run(madp, condition, column, plan);
	}
	nopal_plan_unref(plan);
	return good;
}

static void madp_panel_run(const struct madp *madp)
{
	bool good = true;

	if (madp_is_live(madp) ? !madp->options->live : !madp->options->sim)
		return;
	if (madp_is_live(madp) && madp->panel->object == MADP_OBJECT_CHUNKS)
		return; /* a minute a run tells no more */
	/* All cells, in their order, with the paper's figures. */
	for (int i = 0; i < madp->panel->count * MADP_COLUMNS; i++) {
		int condition = madp->panel->conditions[i / MADP_COLUMNS],
		    column = i % MADP_COLUMNS;
		double figure = column == MADP_MADP  ? madp_conditions[condition].madp
				: column == MADP_TCP ? madp_conditions[condition].tcp
						     : 0;
		struct report_cell cell = madp_cell(madp, condition, column);

		if (!reproduce_wanted(madp->options->rows, madp_columns[column].protocol.config) ||
		    (column == MADP_TCP_BBR && !madp_is_live(madp)))
			continue;
		report_declare(madp->options->report, cell);
		if (figure > 0 && !madp->panel->ours)
			report_paper(madp->options->report, cell, figure, 0);
	}
	for (int column = 0; good && column < MADP_COLUMNS; column++)
		good = madp_column_run(madp, column);
}

void madp_run(const struct reproduce_options *options, const struct madp_experiment *experiment)
{
	report_intervals(options->report);
	for (int panel = 0; panel < MADP_PANELS && experiment->panels[panel].title; panel++)
		for (int world = 0; world < MADP_WORLDS; world++) {
			const struct madp madp = madp_at(options, experiment, panel, world);

			madp_panel_run(&madp);
		}
	if (!options->live)
		return;
	report_note(options->report,
		    "live: a link between two namespaces, chunks of %d bytes, a run is cut off "
		    "after %lld s; TCP is the kernel's with CUBIC, and with BBR",
		    MADP_CHUNK,
		    (long long)((options->quick ? MADP_CUTOFF_QUICK_NS : MADP_CUTOFF_LIVE_NS) /
				NOPAL_SECOND));
}
