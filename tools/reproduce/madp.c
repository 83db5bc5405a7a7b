/* SPDX-License-Identifier: MIT */
/*
 * madp.c -- Table I and figures 4 to 7 of MADP's paper: the experiments, and which of their claims
 * hold.
 *
 * A row of the table holds for a protocol of ours where it is faster or slower than the kernel's
 * TCP as MADP was than the paper's, and their intervals do not overlap; for the kernel's TCP where
 * it keeps a share of its own throughput within a factor of two of the share that the paper's kept.
 * Table I has ten rows, its figures twelve points: the benchmark is the first of three of them.
 */
#include <math.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/madp.h"

#define MADP_FACTOR	2.0   /* a share within it is as in the paper */
#define MADP_EXPECTED_S 100.0 /* section IV: a thousand delays, one after the other */

/* -------------------------------------------------------------------- claims */

/* How a column stands against another one: 1 more, -1 less, 0: their intervals overlap, or one of
 * them was not measured. */
static int madp_compare(const struct madp *madp, int condition, int column, int other)
{
	const struct series *a = madp_series(madp, condition, column);
	const struct series *b = madp_series(madp, condition, other);
	double gap, margin;

	if (!a || !b)
		return 0;
	gap = series_mean(a) - series_mean(b);
	/* of one run nothing is known but its value */
	margin = a->count > 1 && b->count > 1 ? series_interval(a) + series_interval(b) : 0;
	return gap > margin ? 1 : gap < -margin ? -1 : 0;
}

static bool madp_is_measured(const struct madp *madp, int condition, int column)
{
	return !isnan(madp_mean(madp, condition, column));
}

/* A row of the table for a protocol of ours: does it stand to the kernel's TCP as MADP stood to
 * the paper's? */
static enum report_verdict madp_claim_order(const struct madp *madp, int condition, int column)
{
	const struct madp_condition *row = &madp_conditions[condition];
	int there = row->madp > row->tcp ? 1 : -1;
	int here = madp_compare(madp, condition, column, MADP_TCP);
	bool measured = madp_is_measured(madp, condition, column) &&
			madp_is_measured(madp, condition, MADP_TCP);
	enum report_verdict verdict = !measured	      ? REPORT_UNMEASURED
				      : here == there ? REPORT_HOLDS
						      : REPORT_FAILS;
	bool faster = madp->panel->seconds ? there < 0 : there > 0;
	char ours[REPORT_NUMBER_BYTES], tcp[REPORT_NUMBER_BYTES];
	const char *claim =
		report_format(madp->options->report, "%s: %s is %s than TCP", row->name,
			      madp_columns[column].protocol.name, faster ? "faster" : "slower");

	if (!measured)
		report_claim(madp->options->report, claim, verdict, "needs both, live");
	else
		report_claim(madp->options->report, claim, verdict,
			     "live, %s against %s %s%s; the paper has %g against %g",
			     report_number(ours, madp_mean(madp, condition, column)),
			     report_number(tcp, madp_mean(madp, condition, MADP_TCP)),
			     madp->panel->seconds ? "s" : "Mb/s",
			     here == 0 ? ", intervals overlap" : "", row->madp, row->tcp);
	return verdict;
}

/* The same row for the kernel's TCP: its share of its own throughput without impairment, or where
 * there is none its share of madp's figure, is within a factor of the paper's. */
static enum report_verdict madp_claim_tcp(const struct madp *madp, int condition)
{
	const struct madp_condition *row = &madp_conditions[condition];
	bool own = !madp->panel->seconds && condition != MADP_CLEAN;
	double there = own ? row->tcp / madp_conditions[MADP_CLEAN].tcp : row->tcp / row->madp;
	double here = madp_mean(madp, condition, MADP_TCP) /
		      (own ? madp_mean(madp, MADP_CLEAN, MADP_TCP)
			   : madp_mean(madp, condition, MADP_MADP));
	enum report_verdict verdict = isnan(here) ? REPORT_UNMEASURED
				      : here < there * MADP_FACTOR && here > there / MADP_FACTOR
					      ? REPORT_HOLDS
					      : REPORT_FAILS;
	const char *claim =
		report_format(madp->options->report, "%s: TCP has %.3g of %s", row->name, there,
			      own ? "its benchmark" : "madp's figure");
	char text[REPORT_NUMBER_BYTES];

	if (verdict == REPORT_UNMEASURED)
		report_claim(madp->options->report, claim, verdict, "needs TCP, live");
	else
		report_claim(madp->options->report, claim, verdict,
			     "live, %s; holds within a factor of %g", report_number(text, here),
			     MADP_FACTOR);
	return verdict;
}

/* In virtual time: of its own throughput without impairment a protocol keeps as large a share as
 * MADP did. */
static void madp_claim_shares(const struct madp *madp, int column)
{
	struct report *report = madp->options->report;
	double clean = madp_mean(madp, MADP_CLEAN, column);

	for (int i = 0; i < madp->panel->count; i++) {
		int condition = madp->panel->conditions[i];
		const struct madp_condition *row = &madp_conditions[condition];

		if (condition == MADP_CLEAN)
			continue;
		report_less(report,
			    report_format(madp->options->report,
					  "%s: %s keeps the share of its benchmark that MADP kept",
					  row->name, madp_columns[column].protocol.name),
			    row->madp / madp_conditions[MADP_CLEAN].madp,
			    madp_mean(madp, condition, column) / clean,
			    "simulated, the paper's share against ours");
	}
}

/* Claims in virtual time; the last one: "We have not observed any significant improvement"
 * (section III.C). */
static void madp_claim_ours(const struct madp *madp)
{
	bool measured = true, better = false;

	madp_claim_shares(madp, MADP_MADP);
	madp_claim_shares(madp, MADP_BULK);
	for (int i = 0; i < madp->panel->count; i++) {
		int condition = madp->panel->conditions[i];

		measured &= madp_is_measured(madp, condition, MADP_MADP) &&
			    madp_is_measured(madp, condition, MADP_DYNAMIC);
		better |= madp_compare(madp, condition, MADP_DYNAMIC, MADP_MADP) > 0;
	}
	report_claim(madp->options->report, "a dynamic window is no improvement over a fixed one",
		     !measured ? REPORT_UNMEASURED
		     : better  ? REPORT_FAILS
			       : REPORT_HOLDS,
		     "simulated, madp_dynamic is in no row faster than madp, by intervals");
}

/* ------------------------------------------------------------------- Table I */

static const struct madp_experiment madp_table1 = { {
	{ .title = "Table I, throughput",
	  .named = true,
	  .count = 8,
	  .conditions = { MADP_CLEAN, MADP_LOSS_5, MADP_LOSS_10, MADP_LOSS_15, MADP_CORRUPT_5,
			  MADP_CORRUPT_10, MADP_DUPLICATE_5, MADP_DUPLICATE_10 } },
	{ .title = "Table I, time to download",
	  .seconds = true,
	  .named = true,
	  .count = 2,
	  .conditions = { MADP_NORMAL, MADP_UNIFORM } },
} };

enum { MADP_OF_ALL = 3 }; /* figures that have the benchmark */

/* Rows that hold for a protocol, of twelve: the benchmark counts in each figure that has it. */
static void madp_count(const struct reproduce_options *options, int column)
{
	int held = 0, known = 0, rows = 0;

	for (int panel = 0; panel < 2; panel++) {
		struct madp live = madp_at(options, &madp_table1, panel, MADP_LIVE);

		for (int i = 0; i < live.panel->count; i++) {
			int condition = live.panel->conditions[i];
			int weight = condition == MADP_CLEAN ? MADP_OF_ALL : 1;
			enum report_verdict verdict =
				column == MADP_TCP ? madp_claim_tcp(&live, condition)
						   : madp_claim_order(&live, condition, column);

			rows += weight;
			held += verdict == REPORT_HOLDS ? weight : 0;
			known += verdict == REPORT_UNMEASURED ? 0 : weight;
		}
	}
	if (known > 0)
		report_note(options->report,
			    "%s: %d of %d rows hold, %d measured; the benchmark is the 0 %% of "
			    "figures 4, 5 and 6",
			    madp_columns[column].protocol.name, held, rows, known);
}

int reproduce_madp_table1(const struct reproduce_options *options)
{
	struct report *report = options->report;
	struct madp sim = madp_at(options, &madp_table1, 0, MADP_SIMULATED);
	struct madp throughput = madp_at(options, &madp_table1, 0, MADP_LIVE);
	struct madp delay = madp_at(options, &madp_table1, 1, MADP_LIVE);

	madp_run(options, &madp_table1);
	for (int column = 0; column <= MADP_TCP; column++)
		madp_count(options, column);
	madp_claim_ours(&sim);
	/* Section VI.B says the opposite of its table. */
	report_less(report, "at 5 % loss madp is four times as fast as TCP",
		    4 * madp_mean(&throughput, MADP_LOSS_5, MADP_TCP),
		    madp_mean(&throughput, MADP_LOSS_5, MADP_MADP), "Mb/s, live, four times TCP's");
	report_less(report, "at 10 % duplication madp is considerably faster than TCP",
		    2 * madp_mean(&throughput, MADP_DUPLICATE_10, MADP_TCP),
		    madp_mean(&throughput, MADP_DUPLICATE_10, MADP_MADP),
		    "Mb/s, live, twice TCP's");
	report_less(report, "under a uniform delay madp is faster than TCP",
		    madp_mean(&delay, MADP_UNIFORM, MADP_MADP),
		    madp_mean(&delay, MADP_UNIFORM, MADP_TCP), "s, live");
	report_note(report,
		    "of the table's uniform delay the paper has 4.4834 ms for MADP, less than the "
		    "delay itself: read as seconds, as its head says");
	return TOOL_GOOD;
}

/* -------------------------------------------------------------------- figures */

/* A figure: the large object as the paper has it, and the small one. */
#define MADP_FIGURE(title_, count_, ...)                                                           \
	{                                                                                          \
		.title = title_, .count = count_, .conditions = { __VA_ARGS__ }                    \
	}
#define MADP_SMALL_FIGURE(title_, count_, ...)                                                     \
	{                                                                                          \
		.title = title_, .object = MADP_OBJECT_SMALL, .seconds = true, .ours = true,       \
		.count = count_, .conditions = {                                                   \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
enum { MADP_FIG4, MADP_FIG5, MADP_FIG6, MADP_FIG7, MADP_FIGURES, MADP_FIRST = 4 };
static const struct madp_experiment madp_figures[MADP_FIGURES] = {
	[MADP_FIG4] = { {
		MADP_FIGURE("figure 4, packet corruption %", 3, MADP_CLEAN, MADP_CORRUPT_5,
			    MADP_CORRUPT_10),
		MADP_SMALL_FIGURE("figure 4, time to download", 3, MADP_CLEAN, MADP_CORRUPT_5,
				  MADP_CORRUPT_10),
	} },
	/* "Particularly tailored to environments where TCP struggles": that is where the path is
	 * longer. */
	[MADP_FIG5] = { {
		MADP_FIGURE("figure 5, packet loss %", 4, MADP_CLEAN, MADP_LOSS_5, MADP_LOSS_10,
			    MADP_LOSS_15),
		MADP_SMALL_FIGURE("figure 5, time to download", 4, MADP_CLEAN, MADP_LOSS_5,
				  MADP_LOSS_10, MADP_LOSS_15),
		{ .title = "packet loss % where a round trip takes 20 ms",
		  .ours = true,
		  .count = 4,
		  .conditions = { MADP_FAR_CLEAN, MADP_FAR_LOSS_5, MADP_FAR_LOSS_10,
				  MADP_FAR_LOSS_15 } },
	} },
	[MADP_FIG6] = { {
		MADP_FIGURE("figure 6, packet duplication %", 3, MADP_CLEAN, MADP_DUPLICATE_5,
			    MADP_DUPLICATE_10),
		MADP_SMALL_FIGURE("figure 6, time to download", 3, MADP_CLEAN, MADP_DUPLICATE_5,
				  MADP_DUPLICATE_10),
	} },
	[MADP_FIG7] = { {
		{ .title = "figure 7, delay of 100 +- 20 ms",
		  .seconds = true,
		  .count = 2,
		  .conditions = { MADP_NORMAL, MADP_UNIFORM } },
		MADP_SMALL_FIGURE("figure 7, the small object", 2, MADP_NORMAL, MADP_UNIFORM),
		{ .title = "section IV, delay of 100 +- 50 ms",
		  .object = MADP_OBJECT_CHUNKS,
		  .seconds = true,
		  .count = 1,
		  .conditions = { MADP_MANY_CHUNKS } },
	} },
};

int reproduce_madp_figure(const struct reproduce_options *options)
{
	int figure = options->table - MADP_FIRST;
	const struct madp_experiment *experiment = &madp_figures[figure];
	struct madp sim = madp_at(options, experiment, 0, MADP_SIMULATED);
	struct madp live = madp_at(options, experiment, 0, MADP_LIVE);

	madp_run(options, experiment);
	if (!sim.panel->seconds)
		madp_claim_ours(&sim);
	for (int i = 0; i < live.panel->count; i++)
		madp_claim_order(&live, live.panel->conditions[i], MADP_MADP);
	live = madp_at(options, experiment, 2, MADP_LIVE);
	for (int i = 0; figure == MADP_FIG5 && i < live.panel->count; i++) {
		madp_claim_order(&live, live.panel->conditions[i], MADP_MADP);
		madp_claim_order(&live, live.panel->conditions[i], MADP_BULK);
	}
	sim = madp_at(options, experiment, 2, MADP_SIMULATED);
	if (figure == MADP_FIG7)
		report_less(options->report,
			    "7230 chunks take seconds, not 100, since their delays overlap",
			    madp_mean(&sim, MADP_MANY_CHUNKS, MADP_BULK), MADP_EXPECTED_S,
			    "s of bulk, simulated, against what section IV expects");
	return TOOL_GOOD;
}
