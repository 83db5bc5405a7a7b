/* SPDX-License-Identifier: MIT */
/*
 * ctp_packing.c -- what it gains to specialise the packet path of a composition.  Bridges
 * et al., CTP, ToN 2007, sections V.B (headers) and V.D.
 *
 * The paper's only optimization was packing and unpacking of its own for each configuration; it
 * gained a little, and its headers stayed at 68 bytes.  Ours carry what the composition uses; a
 * fused unit compiles its handlers and its packing into one.  Both do the same on the wire.  Round
 * trips and bandwidth are over loopback; the time of processing is that of the simulator, both
 * ends, with no kernel between them.
 */
#include <math.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/burst.h"
#include "load/clock.h"
#include "reproduce/place.h"

enum {
	PACKING_ROUND_TRIPS = 5000,
	PACKING_ROUND_TRIPS_QUICK = 500,
	PACKING_ROUND_TRIPS_WARM = 500,
	PACKING_MESSAGES = 1000,
	PACKING_BYTES = 1250,
	PACKING_BURSTS = 100, /* in the simulator */
	PACKING_BURSTS_QUICK = 5,
	PACKING_BURSTS_LIVE = 20,
	PACKING_PAPER_HEADER = 68,
	PACKING_BITS = 8,
};
#define PACKING_PATIENCE_NS (5 * NOPAL_SECOND)
#define PACKING_LINK	    "rate 1gbit delay 1ms limit 2000"
#define PACKING_FUSED	    "fused:" /* begins what nopal_plan_runs says */

static const struct reproduce_protocol packing_protocols[] = {
	{ "CTP-Minimal", "ctp_minimal", SIDE_CONFIG, NULL },
	{ "CTP-Bulk", "ctp_bulk", SIDE_CONFIG, NULL },
};
enum { PACKING_MINIMAL, PACKING_BULK, PACKING_PROTOCOLS };

enum packing_column {
	PACKING_TRIP,
	PACKING_BANDWIDTH,
	PACKING_PROCESSING,
	PACKING_HEADER,
};

static struct report_cell packing_cell(const struct reproduce_options *options, int protocol,
				       bool fused, enum packing_column column)
{
	static const struct report_cell columns[] = {
		[PACKING_TRIP] = { "live over loopback", NULL, "round trip", "us" },
		[PACKING_BANDWIDTH] = { "live over loopback", NULL, "bandwidth", "Mb/s" },
		[PACKING_PROCESSING] = { "processing, both ends", NULL, "a message", "ns" },
		[PACKING_HEADER] = { "headers", NULL, "a data datagram", "bytes" },
	};
	struct report_cell cell = columns[column];

	cell.row = report_format(options->report, "%s%s", packing_protocols[protocol].name,
				 fused ? ", fused" : "");
	return cell;
}

static double packing_median(const struct reproduce_options *options, int protocol, bool fused,
			     enum packing_column column)
{
	return report_median(options->report, packing_cell(options, protocol, fused, column));
}

/* ---------------------------------------------------------------------- runs */

struct packing {
	const struct reproduce_options *options;
	struct nopal_plan *plan;
	int protocol;
	bool fused;
};

static void packing_add(const struct packing *packing, enum packing_column column, double value)
{
	const struct reproduce_options *options = packing->options;

	if (!isnan(value))
		report_add(options->report,
			   packing_cell(options, packing->protocol, packing->fused, column), value);
}

/* In the simulator, whose own work is in it, too, and over loopback. */
static bool packing_measure(const struct packing *packing)
{
	const struct reproduce_options *options = packing->options;
	int64_t round_trips_ns[PACKING_ROUND_TRIPS], begun_ns;
	struct round_trips round_trips = {
		.protocol = SIDE_CONFIG,
		.way = SIDE_SPIN,
		.plan = packing->plan,
		.bytes = 1,
		.warm = PACKING_ROUND_TRIPS_WARM,
		.count = options->quick ? PACKING_ROUND_TRIPS_QUICK : PACKING_ROUND_TRIPS,
		.patience_ns = PACKING_PATIENCE_NS,
		.round_trips_ns = round_trips_ns,
	};
	struct burst burst = {
		.protocol = SIDE_CONFIG,
		.plan = packing->plan,
		.bytes = PACKING_BYTES,
		.count = PACKING_MESSAGES,
		.warm = options->quick ? PACKING_BURSTS_QUICK : PACKING_BURSTS,
		.patience_ns = PACKING_PATIENCE_NS,
	};
	struct side_place place = { .seed = options->seed };

	if (options->sim) {
		if (!bench_link(PACKING_LINK, &place.forward, &place.reverse))
			return false;
		begun_ns = clock_cpu_ns();
		if (!burst_run(&burst, &place))
			return false;
		packing_add(packing, PACKING_PROCESSING,
			    burst.done ? (double)(clock_cpu_ns() - begun_ns) /
						 ((burst.warm + 1.0) * PACKING_MESSAGES)
				       : NAN);
	}
	if (!options->live)
		return true;
	place.live = bench_place_of(0, NULL, &place.pair);
	burst.warm = PACKING_BURSTS_LIVE;
	if (!round_trips_run(&round_trips, &place) || !burst_run(&burst, &place))
		return false;
	packing_add(packing, PACKING_TRIP, reproduce_round_trips_median_us(&round_trips));
	packing_add(packing, PACKING_BANDWIDTH,
		    burst.done ? (double)PACKING_MESSAGES * PACKING_BYTES * PACKING_BITS *
					 NOPAL_MICROSECOND / (double)burst.sender_ns
			       : NAN);
	return true;
}

/* False: the machine refuses.  A plan without a fused unit has no such row. */
static bool packing_row(struct packing *packing, bool first)
{
	const struct reproduce_options *options = packing->options;
	const char *config = packing_protocols[packing->protocol].config;
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_load(config, NULL, &problems);
	bool good = packing->fused;

	tool_problems(&problems);
	if (plan && !packing->fused)
		nopal_plan_interpret(plan);
	packing->plan = plan;
	if (plan && packing->fused &&
	    strncmp(nopal_plan_runs(plan), PACKING_FUSED, strlen(PACKING_FUSED)) != 0) {
		report_note(options->report,
			    "no fused row of %s: %s; $NOPAL_FUSED names the folder of its unit",
			    config, nopal_plan_runs(plan));
	} else if (plan) {
		if (first && !packing->fused) {
			packing_add(packing, PACKING_HEADER, nopal_plan_info(plan)->header_bytes);
			report_paper(
				options->report,
				packing_cell(options, packing->protocol, false, PACKING_HEADER),
				PACKING_PAPER_HEADER, 0);
		}
		good = packing_measure(packing);
	}
	nopal_plan_unref(plan);
	return good;
}

/* -------------------------------------------------------------------- claims */

static void packing_claims(const struct reproduce_options *options, int i)
{
	struct report *report = options->report;
	const char *name = packing_protocols[i].name;

	report_less(
		report,
		report_format(report, "%s: headers of one's own are shorter than 68 bytes", name),
		packing_median(options, i, false, PACKING_HEADER), PACKING_PAPER_HEADER, "bytes");
	report_less(report,
		    report_format(report, "%s: a specialised packet path lowers the latency", name),
		    packing_median(options, i, true, PACKING_TRIP),
		    packing_median(options, i, false, PACKING_TRIP),
		    "us, live, fused against interpreted");
	report_less(
		report,
		report_format(report, "%s: a specialised packet path raises the bandwidth", name),
		packing_median(options, i, false, PACKING_BANDWIDTH),
		packing_median(options, i, true, PACKING_BANDWIDTH),
		"Mb/s, live, interpreted against fused");
	report_less(
		report,
		report_format(report, "%s: a specialised packet path costs less processing", name),
		packing_median(options, i, true, PACKING_PROCESSING),
		packing_median(options, i, false, PACKING_PROCESSING),
		"ns a message, fused against interpreted");
}

int reproduce_ctp_packing(const struct reproduce_options *options)
{
	struct packing packing = { .options = options };
	bool good = true;

	/* In a run all rows once: what a machine does beside falls on all alike. */
	for (int run = 0; run < options->runs && good; run++) {
		reproduce_say(options, "run %d of %d", run + 1, options->runs);
		for (int row = 0; row < 2 * PACKING_PROTOCOLS && good; row++) {
			packing.protocol = row / 2;
			packing.fused = row % 2;
			if (reproduce_wanted(options->rows,
					     packing_protocols[packing.protocol].config))
				good = packing_row(&packing, run == 0);
		}
	}
	for (int i = 0; i < PACKING_PROTOCOLS && good; i++)
		packing_claims(options, i);
	report_note(options->report,
		    "claims compare medians of runs; the paper gives no figures for its gain");
	return good ? TOOL_GOOD : TOOL_ENVIRONMENT;
}
