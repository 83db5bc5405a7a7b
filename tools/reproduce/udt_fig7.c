/* SPDX-License-Identifier: MIT */
/*
 * udt_fig7.c -- 10, 100 and 500 connections between two hosts: TCP, UDT itself, and UDT
 * of our parts with a flow for all and with a flow for each.
 *
 * Two network namespaces joined by veth without offloads, 1400 bytes of payload in every packet,
 * one process a side; all rows in the same rounds.  Connections are made first; then all send for a
 * while, and what is measured is from the first arrival to the last.  Packets back are all that the
 * receiving host sends: acks, for the most part.  Memory is what the two processes grew by, without
 * what the kernel has.
 */
#include <math.h>
#include <stdio.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/veth.h"

enum {
	FIG7_RUNS = 3,
	FIG7_SIZES = 3,
	FIG7_KIB_IN_MIB = 1024,
};
#define FIG7_GIGA   1e9
#define FIG7_COUNTS "10,100,500"
#define FIG7_SLOWLY 2.0 /* times as much for fifty times the connections */

static const int fig7_sizes[FIG7_SIZES] = { 10, 100, 500 };
static const char *const fig7_paths[] = { "W", "V", NULL };

enum {
	FIG7_TCP,
	FIG7_UDT,
	FIG7_SHARED,
	FIG7_OWN,
	FIG7_SHARED_FUSED,
	FIG7_OWN_FUSED,
	FIG7_ROWS,
};
static const struct reproduce_veth_row fig7_rows[FIG7_ROWS] = {
	[FIG7_TCP] = { "tcp", "TCP" },
	[FIG7_UDT] = { "udt", "UDT" },
	[FIG7_SHARED] = { "udt4_shared", "udt4, one flow" },
	[FIG7_OWN] = { "udt4", "udt4, own flows" },
	[FIG7_SHARED_FUSED] = { "udt4_shared-fused", "one flow, fused" },
	[FIG7_OWN_FUSED] = { "udt4-fused", "own flows, fused" },
};

/* ---------------------------------------------------------------------- cells */

enum fig7_table {
	FIG7_CPU,
	FIG7_GOODPUT,
	FIG7_BACK,
	FIG7_JAIN,
	FIG7_MEMORY,
	FIG7_TABLES,
};
static const struct {
	const char *name, *unit;
} fig7_tables[FIG7_TABLES] = {
	[FIG7_CPU] = { "processor, both sides", "s/GB" },
	[FIG7_GOODPUT] = { "goodput", "Gb/s" },
	[FIG7_BACK] = { "packets back", "1/GB" },
	[FIG7_JAIN] = { "Jain's index of the connections", "" },
	[FIG7_MEMORY] = { "memory, both processes", "MiB" },
};

/* A table of a measure on a path, a row of a number of connections. */
static struct report_cell fig7_cell(const struct reproduce_options *options, int table,
				    const char *path, int count, int row)
{
	const struct report *report = options->report;

	return (struct report_cell){
		report_format(report, "%s, on %s", fig7_tables[table].name, path),
		report_format(report, "%d", count), fig7_rows[row].name, fig7_tables[table].unit
	};
}

static void fig7_add(const struct reproduce_veth *veth, int row, const json_t *line)
{
	const struct reproduce_options *options = veth->options;
	int count = (int)veth_number(line, "connections");
	double grown_kb = veth_side(line, "recv", "grown_kb") + veth_side(line, "send", "grown_kb");
	const double values[FIG7_TABLES] = {
		[FIG7_CPU] = veth_cpu(line),
		[FIG7_GOODPUT] = veth_goodput(line),
		[FIG7_BACK] = veth_number(line, "packets_back") * FIG7_GIGA /
			      veth_side(line, "recv", "delivered_bytes"),
		[FIG7_JAIN] = veth_side(line, "recv", "fairness"),
		[FIG7_MEMORY] = fmax(grown_kb, 0) / FIG7_KIB_IN_MIB,
	};

	for (int table = 0; table < FIG7_TABLES; table++)
		report_add(options->report,
			   fig7_cell(options, table, veth_text(line, "path"), count, row),
			   values[table]);
}

/* --------------------------------------------------------------------- claims */

static double fig7_median(const struct reproduce_options *options, int table, int size, int row)
{
	return report_median(options->report,
			     fig7_cell(options, table, fig7_paths[0], fig7_sizes[size], row));
}

static void fig7_claims(const struct reproduce_options *options)
{
	static const int growing[] = { FIG7_UDT, FIG7_SHARED_FUSED, FIG7_OWN_FUSED };
	static const struct {
		int shared, own;
		const char *how;
	} pairs[] = { { FIG7_SHARED, FIG7_OWN, "interpreted" },
		      { FIG7_SHARED_FUSED, FIG7_OWN_FUSED, "fused" } };
	struct report *report = options->report;
	int last = FIG7_SIZES - 1;

	for (int i = 0; i < 3; i++)
		report_less(report,
			    report_format(report,
					  "%s: 500 connections cost less than twice what 10 cost a "
					  "byte (\"increases slowly\")",
					  fig7_rows[growing[i]].name),
			    fig7_median(options, FIG7_CPU, last, growing[i]),
			    FIG7_SLOWLY * fig7_median(options, FIG7_CPU, 0, growing[i]),
			    "s/GB on W, medians: of 500; twice that of 10");
	for (int i = 0; i < 2 * FIG7_SIZES; i++)
		report_less(report,
			    report_format(report,
					  "%d connections cost less where they share a flow, %s",
					  fig7_sizes[i / 2], pairs[i % 2].how),
			    fig7_median(options, FIG7_CPU, i / 2, pairs[i % 2].shared),
			    fig7_median(options, FIG7_CPU, i / 2, pairs[i % 2].own),
			    "s/GB on W, medians: one flow; own flows");
	report_less(
		report,
		"control packets of own flows grow with their number, and not those of one flow: "
		"500 connections",
		fig7_median(options, FIG7_BACK, last, FIG7_SHARED),
		fig7_median(options, FIG7_BACK, last, FIG7_OWN),
		"packets back a GB on W, medians: one flow; own flows");
	report_less(report, "ours: 500 connections of udt4, own flows, cost less than UDT's",
		    fig7_median(options, FIG7_CPU, last, FIG7_OWN_FUSED),
		    fig7_median(options, FIG7_CPU, last, FIG7_UDT),
		    "s/GB on W, medians: own flows, fused; UDT");
	report_claim(
		report, "UDT's connections that share a flow", REPORT_UNTESTABLE,
		"the UDT that is released has no flows to share: its connections share a UDP port");
}

int reproduce_udt_fig7(const struct reproduce_options *options)
{
	const struct reproduce_veth veth = {
		.options = options,
		.rows = fig7_rows,
		.row_count = FIG7_ROWS,
		/* V where it is asked for */
		.paths = options->paths ? fig7_paths : (const char *const[]){ "W", NULL },
		.counts = FIG7_COUNTS,
		.runs = FIG7_RUNS,
		.seconds = 2,
		.quick_seconds = 0.3,
		.add = fig7_add,
	};
	int exit;

	/* In the order of the tables, whatever runs first. */
	for (int i = 0; veth.paths[i]; i++)
		for (int cell = 0; cell < FIG7_TABLES * FIG7_SIZES * FIG7_ROWS; cell++) {
			int row = cell % FIG7_ROWS, size = cell / FIG7_ROWS % FIG7_SIZES;

			if (reproduce_wanted(options->paths, veth.paths[i]) &&
			    reproduce_wanted(options->rows, fig7_rows[row].row))
				report_declare(options->report,
					       fig7_cell(options, cell / FIG7_ROWS / FIG7_SIZES,
							 veth.paths[i], fig7_sizes[size], row));
		}
	exit = reproduce_veth(&veth);
	report_note(options->report, "the paper's figure 7 is a picture without numbers: what its "
				     "text claims of it is below");
	fig7_claims(options);
	return exit;
}
