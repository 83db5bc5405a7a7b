/* SPDX-License-Identifier: MIT */
/*
 * udt_flows.c -- what connections gain where they share a flow: control packets, their
 * part of a bottleneck, and the time to set up one more.
 *
 * In virtual time.  `udt4_shared` against `udt4`, where each connection has its own flow: 10, 100
 * and 500 of them carry the same data over 1 Gbit/s; 1 to 20 stand beside one that has nothing to
 * do with them on a bottleneck of 20 Mbit/s; and one joins another a second later.
 */
#include <math.h>
#include <stdio.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/dumbbell.h"
#include "load/pair.h"
#include "load/parallel.h"
#include "reproduce/reproduce.h"

enum {
	FLOWS_PERCENT = 100,
	FLOWS_MESSAGES = 20000, /* of all connections together: 224 MB */
	FLOWS_QUICK_MESSAGES = 10000,
	FLOWS_SIZES = 3,
	FLOWS_BESIDE = 4,
	FLOWS_JOIN_ASKED = 1, /* round trips, at most */
	/* Bounds of the claims. */
	FLOWS_HALF = 50, /* per cent */
	FLOWS_NEAR = 10, /* ... and what is near it */
	FLOWS_TIMES = 2, /* parts of one of many, at most */
};
#define FLOWS_WIDE_LINK	   "rate 1gbit delay 5ms limit 1000"
#define FLOWS_NECK	   "fwd: rate 20mbit delay 30ms limit 100 rev: rate 20mbit delay 30ms"
#define FLOWS_JOIN_LINK	   "rate 100mbit delay 25ms"
#define FLOWS_JOIN_RTT	   (50.0 * NOPAL_MILLISECOND)
#define FLOWS_PATIENCE_NS  (600 * NOPAL_SECOND)
#define FLOWS_STAGGER_NS   NOPAL_SECOND
#define FLOWS_WARM_NS	   (20 * NOPAL_SECOND)
#define FLOWS_RUN_NS	   (60 * NOPAL_SECOND)
#define FLOWS_QUICK_RUN_NS (20 * NOPAL_SECOND)
#define FLOWS_GIGA	   1e9
#define FLOWS_BITS	   8

#define FLOWS_EVEN 0.95

/* So many connections, and how many times fewer control packets they surely need. */
static const int flows_sizes[FLOWS_SIZES] = { 10, 100, 500 };
static const int flows_fewer[FLOWS_SIZES] = { 1, 5, 5 };
static const int flows_beside[FLOWS_BESIDE] = { 1, 5, 10, 20 };

enum flows_kind { FLOWS_SHARED, FLOWS_OWN, FLOWS_KINDS };
static const struct {
	const char *config, *name;
} flows_kinds[FLOWS_KINDS] = {
	[FLOWS_SHARED] = { "udt4_shared", "one flow" },
	[FLOWS_OWN] = { "udt4", "own flows" },
};

enum flows_table {
	FLOWS_CONTROL,
	FLOWS_GOODPUT,
	FLOWS_LOST,
	FLOWS_JAIN,
	FLOWS_FOREIGN,
	FLOWS_ROUGH,
	FLOWS_DROPPED,
	FLOWS_JOINING,
};
static const struct {
	const char *name, *unit;
} flows_tables[] = {
	[FLOWS_CONTROL] = { "connections over 1 Gbit/s: control packets", "1/GB" },
	[FLOWS_GOODPUT] = { "connections over 1 Gbit/s: goodput", "Gbit/s" },
	[FLOWS_LOST] = { "connections over 1 Gbit/s: lost packets", "%" },
	[FLOWS_JAIN] = { "connections over 1 Gbit/s: Jain's index", "" },
	[FLOWS_FOREIGN] = { "connections beside a foreign flow: what it has", "%" },
	[FLOWS_ROUGH] = { "connections beside a foreign flow: its roughness", "%" },
	[FLOWS_DROPPED] = { "connections beside a foreign flow: lost packets", "%" },
	[FLOWS_JOINING] = { "one connection, and another a second later", NULL },
};

/* ---------------------------------------------------------------------- cells */

struct flows {
	const struct reproduce_options *options;
	struct nopal_plan *plan[FLOWS_KINDS];
};

/* So many connections of a kind. */
static struct report_cell flows_cell(const struct flows *flows, enum flows_table table, int count,
				     enum flows_kind kind)
{
	return (struct report_cell){ flows_tables[table].name,
				     report_format(flows->options->report, "%d", count),
				     flows_kinds[kind].name, flows_tables[table].unit };
}

static void flows_add(const struct flows *flows, enum flows_table table, int count,
		      enum flows_kind kind, double value)
{
	report_add(flows->options->report, flows_cell(flows, table, count, kind), value);
}

static double flows_mean(const struct flows *flows, enum flows_table table, int count,
			 enum flows_kind kind)
{
	return report_mean(flows->options->report, flows_cell(flows, table, count, kind));
}

static struct report_cell flows_joining(const char *row, const char *column, const char *unit)
{
	return (struct report_cell){ flows_tables[FLOWS_JOINING].name, row, column, unit };
}

/* ------------------------------------------------------------ control packets */

static bool flows_control(const struct flows *flows, int count, enum flows_kind kind, int run)
{
	const struct reproduce_options *options = flows->options;
	struct parallel all = {
		.plan = flows->plan[kind],
		.place = { .seed = options->seed + (uint64_t)run },
		.connections = count,
		.messages = (options->quick ? FLOWS_QUICK_MESSAGES : FLOWS_MESSAGES) / count,
		.patience_ns = FLOWS_PATIENCE_NS,
	};
	double giga, packets;

	if (!bench_link(FLOWS_WIDE_LINK, &all.place.forward, &all.place.reverse) ||
	    !parallel_run(&all))
		return false;
	giga = (double)count * all.messages * PARALLEL_MESSAGE_BYTES / FLOWS_GIGA;
	packets = (double)all.control_packets;
	flows_add(flows, FLOWS_CONTROL, count, kind, packets / giga);
	flows_add(flows, FLOWS_GOODPUT, count, kind,
		  giga * FLOWS_BITS * NOPAL_SECOND / (double)all.took_ns);
	flows_add(flows, FLOWS_LOST, count, kind,
		  FLOWS_PERCENT * (double)all.lost_packets /
			  (double)(all.data_packets + all.control_packets));
	flows_add(flows, FLOWS_JAIN, count, kind, all.fairness);
	return true;
}

/* --------------------------------------------------------------- a foreign flow */

static bool flows_foreign(const struct flows *flows, int count, enum flows_kind kind, int run)
{
	const struct reproduce_options *options = flows->options;
	struct dumbbell bell = {
		.seed = options->seed + (uint64_t)run,
		.flows = 2,
		.plans = { flows->plan[FLOWS_OWN], flows->plan[kind] },
		.connections = { 1, count },
		.stagger_ns = FLOWS_STAGGER_NS,
		.warm_ns = FLOWS_WARM_NS,
		.run_ns = options->quick ? FLOWS_QUICK_RUN_NS : FLOWS_RUN_NS,
	};

	if (!bench_link(FLOWS_NECK, &bell.forward, &bell.reverse) || !dumbbell_run(&bell))
		return false;
	flows_add(flows, FLOWS_FOREIGN, count, kind, FLOWS_PERCENT * dumbbell_share(&bell));
	flows_add(flows, FLOWS_ROUGH, count, kind, FLOWS_PERCENT * bell.roughness);
	flows_add(flows, FLOWS_DROPPED, count, kind, FLOWS_PERCENT * bell.loss);
	return true;
}

/* --------------------------------------------------------------------- joining */

#define FLOWS_FIRST	  "the first"
#define FLOWS_SECOND_OWN  "another, own flow"
#define FLOWS_SECOND_JOIN "another joins"

static void flows_add_joining(const struct flows *flows, const char *row,
			      const struct parallel_joining *joining, int index)
{
	struct report *report = flows->options->report;

	report_add(report, flows_joining(row, "may send", "RTT"),
		   (double)joining->opened_ns[index] / FLOWS_JOIN_RTT);
	report_add(report, flows_joining(row, "first message there", "RTT"),
		   (double)joining->arrived_ns[index] / FLOWS_JOIN_RTT);
	report_add(report, flows_joining(row, "packets till then", ""),
		   (double)joining->packets[index]);
}

/* ------------------------------------------------------------------------ runs */

typedef bool flows_once(const struct flows *flows, int count, enum flows_kind kind, int run);

/* All runs of a table, for each count with one flow and with own flows. */
static bool flows_rows(const struct flows *flows, enum flows_table table, flows_once *once,
		       const int *counts, int rows)
{
	const struct reproduce_options *options = flows->options;
	bool good = true;

	for (int i = 0; good && i < rows * options->runs * FLOWS_KINDS; i++) {
		int count = counts[i / FLOWS_KINDS / options->runs];
		int run = i / FLOWS_KINDS % options->runs;
		enum flows_kind kind = (enum flows_kind)(i % FLOWS_KINDS);

		if (!reproduce_wanted(options->rows, report_format(options->report, "%d", count)))
			continue;
		reproduce_say(options, "%s: %d, %s, run %d", flows_tables[table].name, count,
			      flows_kinds[kind].name, run + 1);
		good = once(flows, count, kind, run);
	}
	return good;
}

/* --------------------------------------------------------------------- claims */

static void flows_claims_shared(const struct flows *flows)
{
	struct report *report = flows->options->report;

	for (int i = 0; i < FLOWS_SIZES; i++)
		report_less(report,
			    report_format(report,
					  "%d connections that share a flow need fewer control "
					  "packets, by a factor of %d at least",
					  flows_sizes[i], flows_fewer[i]),
			    flows_fewer[i] *
				    flows_mean(flows, FLOWS_CONTROL, flows_sizes[i], FLOWS_SHARED),
			    flows_mean(flows, FLOWS_CONTROL, flows_sizes[i], FLOWS_OWN),
			    "a gigabyte, so many times those of the shared flow; of own flows");
	for (int i = 1; i < FLOWS_SIZES; i++) {
		int count = flows_sizes[i];

		report_less(report,
			    report_format(report,
					  "%d connections that share a flow share it evenly "
					  "(section 2.3)",
					  count),
			    FLOWS_EVEN, flows_mean(flows, FLOWS_JAIN, count, FLOWS_SHARED),
			    "Jain's index that counts as even; theirs");
		report_less(
			report,
			report_format(report,
				      "%d connections that coordinate have more than those that "
				      "compete (section 2.3)",
				      count),
			flows_mean(flows, FLOWS_GOODPUT, count, FLOWS_OWN),
			flows_mean(flows, FLOWS_GOODPUT, count, FLOWS_SHARED),
			"Gbit/s, own flows; shared");
	}
}

static void flows_claims_beside(const struct flows *flows)
{
	struct report *report = flows->options->report;

	for (int i = 1; i < FLOWS_BESIDE; i++) {
		int count = flows_beside[i];
		double share = flows_mean(flows, FLOWS_FOREIGN, count, FLOWS_SHARED);

		report_less(
			report,
			report_format(report,
				      "beside %d connections of one flow a foreign one has about "
				      "its half",
				      count),
			fabs(share - FLOWS_HALF), FLOWS_NEAR,
			"per cent from the half; what is near");
		report_less(report,
			    report_format(report,
					  "beside %d of own flows it has no more than two parts of "
					  "%d",
					  count, count + 1),
			    flows_mean(flows, FLOWS_FOREIGN, count, FLOWS_OWN),
			    (double)FLOWS_TIMES * FLOWS_PERCENT / (count + 1),
			    "per cent of the bottleneck; two such parts");
	}
}

int reproduce_udt_flows(const struct reproduce_options *options)
{
	struct flows flows = { .options = options };
	struct report *report = options->report;
	double first, joins;
	bool good;

	for (int kind = 0; kind < FLOWS_KINDS; kind++)
		flows.plan[kind] = bench_plan(flows_kinds[kind].config);
	good = flows.plan[FLOWS_SHARED] && flows.plan[FLOWS_OWN] &&
	       flows_rows(&flows, FLOWS_CONTROL, flows_control, flows_sizes, FLOWS_SIZES) &&
	       flows_rows(&flows, FLOWS_FOREIGN, flows_foreign, flows_beside, FLOWS_BESIDE);
	for (int run = 0; good && run < options->runs; run++) {
		struct parallel_joining joining = {
			.plan = flows.plan[FLOWS_OWN],
			.place = { .seed = options->seed + (uint64_t)run },
		};

		good = bench_link(FLOWS_JOIN_LINK, &joining.place.forward,
				  &joining.place.reverse) &&
		       parallel_join(&joining);
		if (!good)
			break;
		flows_add_joining(&flows, FLOWS_FIRST, &joining, 0);
		flows_add_joining(&flows, FLOWS_SECOND_OWN, &joining, 1);
		joining.plan = flows.plan[FLOWS_SHARED];
		good = parallel_join(&joining);
		if (good)
			flows_add_joining(&flows, FLOWS_SECOND_JOIN, &joining, 1);
	}
	/* Two-way, says the paper; how many ways the first has is no matter of round trips. */
	if (good)
		report_paper(report, flows_joining(FLOWS_SECOND_JOIN, "may send", "RTT"),
			     FLOWS_JOIN_ASKED, 0);
	flows_claims_shared(&flows);
	flows_claims_beside(&flows);
	first = report_mean(report, flows_joining(FLOWS_FIRST, "may send", NULL));
	joins = report_mean(report, flows_joining(FLOWS_SECOND_JOIN, "may send", NULL));
	report_less(report, "who joins a flow may send sooner than who opens one (section 3.3)",
		    joins, first, "round trips, joining; the first");
	report_less(report, "who joins a flow may send within a round trip", joins,
		    FLOWS_JOIN_ASKED, "round trips; asked for");
	for (int kind = 0; kind < FLOWS_KINDS; kind++)
		nopal_plan_unref(flows.plan[kind]);
	return good ? TOOL_GOOD : TOOL_FAILED;
}
