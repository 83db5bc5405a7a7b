/* SPDX-License-Identifier: MIT */
/*
 * ctp_table1.c -- what configurability costs: latency and bandwidth of four compositions
 * beside UDP and TCP.  Bridges et al., CTP, ToN 2007, section V.B and Table I.
 *
 * Latency: the mean of 10 round trips of one byte.  Bandwidth: 1000 messages of 1250 bytes and an
 * answer when all are there; from the first transmission to the answer, as the paper says, and from
 * the first arrival to the last, which its figures for the wide area must be: a round trip of 413
 * ms alone bounds the former at 24 Mbit/s.  Its UDP figure there, with 28 bytes of headers, is a
 * path of about 63 Mbit/s.  Both come after exchanges that are not counted.
 * The cost that a composition adds to UDP is the difference of a run's median round trips.
 */
#include <math.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/burst.h"
#include "reproduce/place.h"

enum {
	TABLE1_ROUND_TRIPS = 10,
	TABLE1_TRIP_BYTES = 1,
	TABLE1_MESSAGES = 1000,
	TABLE1_MESSAGE_BYTES = 1250,
	TABLE1_HEADER_BYTES = 28, /* IPv4 and UDP */
	TABLE1_ANSWER_BYTES = 8,
	TABLE1_BITS = 8,
	TABLE1_WIDE_RUNS = 3, /* live, unless more were asked for */
};

enum {
	TABLE1_UDP,
	TABLE1_MINIMAL,
	TABLE1_FIFO,
	TABLE1_VIDEO,
	TABLE1_TCP,
	TABLE1_BULK,
	TABLE1_ROWS,
};

struct table1_paper {
	double latency, latency_deviation, bandwidth, bandwidth_deviation;
};

static const struct table1_row {
	struct reproduce_protocol protocol;
	struct table1_paper local, wide;
} table1_rows[TABLE1_ROWS] = {
	{ { "UDP", "udp", SIDE_UDP, NULL },
	  { 0.152, 0.0028, 90.28, 0.005 },
	  { 413, 3, 61.54, 1.317 } },
	{ { "CTP-Minimal", "ctp_minimal", SIDE_CONFIG, NULL },
	  { 0.273, 0.0052, 81.76, 0.014 },
	  { 414, 0.4, 56.81, 0.637 } },
	{ { "CTP-LossyFIFO", "ctp_lossy_fifo", SIDE_CONFIG, NULL },
	  { 0.279, 0.0031, 81.77, 0.008 },
	  { 414, 0.7, 56.62, 0.975 } },
	{ { "CTP-Video", "ctp_video", SIDE_CONFIG, NULL },
	  { 0.366, 0.0050, 82.17, 0.005 },
	  { 414, 1, 21.97, 0.745 } },
	{ { "TCP", "tcp", SIDE_TCP, NULL },
	  { 0.162, 0.0029, 89.40, 0.025 },
	  { 412, 0.9, 9.38, 0.189 } },
	{ { "CTP-Bulk", "ctp_bulk", SIDE_CONFIG, NULL },
	  { 0.380, 0.0090, 68.31, 0.148 },
	  { 415, 0.8, 4.73, 0.288 } },
};

static const struct table1_place {
	enum reproduce_world world;
	const char *word, *table, *link;
	bool wide;
	int round_trips_warm, bursts_warm;
	int64_t patience_ns;
} table1_places[] = {
	{ REPRODUCE_SIMULATED, "lan", "local area, simulated: 100 Mbit/s, 0.15 ms",
	  "rate 100mbit delay 72us limit 2000", false, 10, 3, 60 * NOPAL_SECOND },
	{ REPRODUCE_SIMULATED, "wan", "wide area, simulated: 63 Mbit/s, 413 ms",
	  "rate 63mbit delay 206500us limit 2000", true, 10, 3, 60 * NOPAL_SECOND },
	{ REPRODUCE_LOOPBACK, "lo", "loopback, live", NULL, false, 100, 3, 5 * NOPAL_SECOND },
	{ REPRODUCE_HOSTS, "lan", "local area, live over an emulated link: 100 Mbit/s, 0.1 ms",
	  "rate 100mbit delay 50us limit 2000", false, 100, 3, 5 * NOPAL_SECOND },
	{ REPRODUCE_HOSTS, "wan", "wide area, live over an emulated link: 63 Mbit/s, 413 ms",
	  "rate 63mbit delay 206500us limit 2000", true, 1, 2, 30 * NOPAL_SECOND },
};
enum {
	TABLE1_SIM_LAN,
	TABLE1_SIM_WAN,
	TABLE1_LOOPBACK,
	TABLE1_LIVE_LAN,
	TABLE1_LIVE_WAN,
	TABLE1_PLACES,
};

/* --------------------------------------------------------------------- cells */

enum table1_column {
	TABLE1_LATENCY,
	TABLE1_OVER_UDP,
	TABLE1_BANDWIDTH,
	TABLE1_ARRIVAL,
};

static struct report_cell table1_cell(int place, int row, enum table1_column column)
{
	static const struct {
		const char *name, *unit;
	} columns[] = {
		[TABLE1_LATENCY] = { "latency", "ms" },
		[TABLE1_OVER_UDP] = { "over UDP", "us" },
		[TABLE1_BANDWIDTH] = { "bandwidth", "Mb/s" },
		[TABLE1_ARRIVAL] = { "at the receiver", "Mb/s" },
	};

	return (struct report_cell){ table1_places[place].table, table1_rows[row].protocol.name,
				     columns[column].name, columns[column].unit };
}

static void table1_add(const struct reproduce_options *options, int place, int row,
		       enum table1_column column, double value)
{
	struct report_cell cell = table1_cell(place, row, column);

	if (!isnan(value))
		report_add(options->report, cell, value);
	else
		report_note(options->report, "%s, %s: a run ended without its answer", cell.table,
			    cell.row);
}

static double table1_mean(const struct reproduce_options *options, int place, int row,
			  enum table1_column column)
{
	return report_mean(options->report, table1_cell(place, row, column));
}

static void table1_paper(const struct reproduce_options *options, int place, int row)
{
	bool wide = table1_places[place].wide;
	const struct table1_paper *paper = wide ? &table1_rows[row].wide : &table1_rows[row].local;
	struct report *report = options->report;

	for (int i = TABLE1_LATENCY; i <= TABLE1_ARRIVAL; i++)
		report_declare(report, table1_cell(place, row, (enum table1_column)i));
	report_paper(report, table1_cell(place, row, TABLE1_LATENCY), paper->latency,
		     paper->latency_deviation);
	if (row != TABLE1_UDP && !wide)
		report_paper(report, table1_cell(place, row, TABLE1_OVER_UDP),
			     (paper->latency - table1_rows[TABLE1_UDP].local.latency) *
				     NOPAL_MILLISECOND / NOPAL_MICROSECOND,
			     0);
	report_paper(report, table1_cell(place, row, wide ? TABLE1_ARRIVAL : TABLE1_BANDWIDTH),
		     paper->bandwidth, paper->bandwidth_deviation);
}

/* ---------------------------------------------------------------------- runs */

static double table1_mbps(uint32_t messages, int64_t took_ns)
{
	double bits = (double)messages * TABLE1_MESSAGE_BYTES * TABLE1_BITS;

	return bits * NOPAL_MICROSECOND / (double)took_ns;
}

/* How long the link itself takes for a datagram. */
static int64_t table1_wire_ns(const struct reproduce_place *place, int64_t bytes)
{
	return (bytes + TABLE1_HEADER_BYTES) * TABLE1_BITS * NOPAL_SECOND /
	       (int64_t)place->sides.forward.rate_bps;
}

/* UDP in the simulator is what the link itself takes; the round trip in us. */
static double table1_udp(const struct reproduce_options *options,
			 const struct reproduce_place *place, int where)
{
	int64_t there_ns = place->sides.forward.delay_ns,
		one_ns = table1_wire_ns(place, TABLE1_MESSAGE_BYTES),
		trip_ns = 2 * (there_ns + table1_wire_ns(place, TABLE1_TRIP_BYTES)),
		burst_ns = TABLE1_MESSAGES * one_ns + 2 * there_ns +
			   table1_wire_ns(place, TABLE1_ANSWER_BYTES);
	double ms = (double)trip_ns / NOPAL_MILLISECOND;

	table1_add(options, where, TABLE1_UDP, TABLE1_LATENCY, ms);
	table1_add(options, where, TABLE1_UDP, TABLE1_BANDWIDTH,
		   table1_mbps(TABLE1_MESSAGES, burst_ns));
	table1_add(options, where, TABLE1_UDP, TABLE1_ARRIVAL,
		   table1_mbps(TABLE1_MESSAGES - 1, (TABLE1_MESSAGES - 1) * one_ns));
	return (double)trip_ns / NOPAL_MICROSECOND;
}

/* One run of a row; `udp_us` is the run's round trip of UDP.  False: the machine refuses. */
static bool table1_row(const struct reproduce_options *options, const struct reproduce_place *place,
		       int where, int row, double *udp_us)
{
	const struct reproduce_protocol *protocol = &table1_rows[row].protocol;
	const struct table1_place *how = &table1_places[where];
	int64_t round_trips_ns[TABLE1_ROUND_TRIPS];
	struct round_trips round_trips = {
		.protocol = protocol->kind,
		.bytes = TABLE1_TRIP_BYTES,
		.warm = how->round_trips_warm,
		.count = TABLE1_ROUND_TRIPS,
		.patience_ns = how->patience_ns,
		.round_trips_ns = round_trips_ns,
	};
	struct burst burst = {
		.protocol = protocol->kind,
		.bytes = TABLE1_MESSAGE_BYTES,
		.count = TABLE1_MESSAGES,
		.warm = how->bursts_warm,
		.patience_ns = how->patience_ns,
	};
	double median_us;
	bool good;

	if (!place->sides.live && protocol->kind == SIDE_UDP)
		*udp_us = table1_udp(options, place, where);
	if (!place->sides.live && protocol->kind != SIDE_CONFIG)
		return true;
	good = reproduce_protocol_plan(protocol, &round_trips.plan);
	burst.plan = round_trips.plan;
	good = good && round_trips_run(&round_trips, &place->sides) &&
	       burst_run(&burst, &place->sides);
	nopal_plan_unref(burst.plan);
	if (!good)
		return false;
	table1_add(options, where, row, TABLE1_BANDWIDTH,
		   burst.done ? table1_mbps(TABLE1_MESSAGES, burst.sender_ns) : NAN);
	table1_add(options, where, row, TABLE1_ARRIVAL,
		   burst.done ? table1_mbps(TABLE1_MESSAGES - 1, burst.receiver_ns) : NAN);
	table1_add(options, where, row, TABLE1_LATENCY, reproduce_round_trips_ms(&round_trips));
	median_us = reproduce_round_trips_median_us(&round_trips);
	if (row == TABLE1_UDP)
		*udp_us = median_us;
	else if (!isnan(*udp_us))
		table1_add(options, where, row, TABLE1_OVER_UDP, median_us - *udp_us);
	return true;
}

static void table1_place(const struct reproduce_options *options, int where)
{
	const struct table1_place *how = &table1_places[where];
	bool wanted[TABLE1_ROWS], good = true;
	int runs = options->runs;

	if (where == TABLE1_LIVE_WAN && !options->runs_given) {
		if (options->quick)
			runs = 0;
		else if (runs > TABLE1_WIDE_RUNS)
			runs = TABLE1_WIDE_RUNS;
	}
	for (int row = 0; row < TABLE1_ROWS; row++) {
		wanted[row] = reproduce_wanted(options->rows, table1_rows[row].protocol.config);
		if (runs > 0 && wanted[row])
			table1_paper(options, where, row);
	}
	for (int run = 0; run < runs && good; run++) {
		struct reproduce_place place;
		double udp_us = NAN;

		reproduce_say(options, "%s: run %d of %d", how->table, run + 1, runs);
		if (!reproduce_place_open(&place, options, how->world, how->link,
					  options->seed + (uint64_t)run))
			return;
		for (int row = 0; row < TABLE1_ROWS && good; row++)
			good = !wanted[row] || table1_row(options, &place, where, row, &udp_us);
		reproduce_place_close(&place, options);
	}
}

/* -------------------------------------------------------------------- claims */

/* A median: one of ten trips that waits for the processor spoils a run. */
static double table1_over(const struct reproduce_options *options, int row)
{
	double over =
		report_median(options->report, table1_cell(TABLE1_LOOPBACK, row, TABLE1_OVER_UDP));

	return isnan(over) ? report_median(options->report,
					   table1_cell(TABLE1_LIVE_LAN, row, TABLE1_OVER_UDP))
			   : over;
}

static double table1_rate(const struct reproduce_options *options, int where, int row)
{
	return table1_mean(options, where, row,
			   table1_places[where].wide ? TABLE1_ARRIVAL : TABLE1_BANDWIDTH);
}

static void table1_claims_wide(const struct reproduce_options *options, int where, const char *why)
{
	struct report *report = options->report;
	double minimal = table1_rate(options, where, TABLE1_MINIMAL),
	       video = table1_rate(options, where, TABLE1_VIDEO),
	       tcp = table1_rate(options, where, TABLE1_TCP),
	       bulk = table1_rate(options, where, TABLE1_BULK);

	report_less(report,
		    "in the wide area what has no congestion control is fastest: CTP-Video below "
		    "CTP-Minimal",
		    video, minimal, why);
	report_less(report, "in the wide area CTP-Video is faster than CTP-Bulk", bulk, video, why);
	if (table1_places[where].world == REPRODUCE_SIMULATED)
		return;
	report_less(report, "in the wide area CTP-Video is faster than TCP", tcp, video, why);
	report_less(report, "in the wide area TCP is faster than CTP-Bulk", bulk, tcp, why);
}

int reproduce_ctp_table1(const struct reproduce_options *options)
{
	struct report *report = options->report;
	double tcp, bulk, minimal, fifo;

	for (int i = 0; i < TABLE1_PLACES; i++)
		if (reproduce_place_wanted(options, table1_places[i].world, table1_places[i].word))
			table1_place(options, i);
	if (options->sim)
		report_note(report,
			    "simulated, UDP is what the link itself takes, and hosts cost no time");
	tcp = table1_over(options, TABLE1_TCP);
	bulk = table1_over(options, TABLE1_BULK);
	minimal = table1_over(options, TABLE1_MINIMAL);
	fifo = table1_over(options, TABLE1_FIFO);
	report_less(report,
		    "CTP-Minimal costs about 100 us a round trip over UDP (121 in the table), or "
		    "less",
		    minimal, 121, "us over UDP, live, medians of runs");
	report_less(report, "CTP-LossyFIFO adds next to nothing to CTP-Minimal (6 us in the table)",
		    fifo - minimal, 6, "us more, live, medians of runs");
	report_less(report, "what does more costs more: CTP-Minimal against CTP-Bulk", minimal,
		    bulk, "us over UDP, live, medians of runs");
	report_less(report,
		    "CTP-Bulk costs about 200 us a round trip over TCP (218 in the table), or less",
		    bulk - tcp, 218, "us over TCP, live, medians of runs");
	report_less(report,
		    "in the wide area the path hides what a composition costs: CTP-Bulk within 1 % "
		    "of UDP",
		    table1_mean(options, TABLE1_SIM_WAN, TABLE1_BULK, TABLE1_LATENCY),
		    1.01 * table1_mean(options, TABLE1_SIM_WAN, TABLE1_UDP, TABLE1_LATENCY),
		    "ms, simulated");
	report_less(report, "CTP-Minimal's bandwidth competes with UDP's: within 10 %",
		    0.9 * table1_rate(options, TABLE1_SIM_LAN, TABLE1_UDP),
		    table1_rate(options, TABLE1_SIM_LAN, TABLE1_MINIMAL),
		    "Mb/s, simulated, 0.9 of UDP against CTP-Minimal");
	report_less(report, "the same on a real machine",
		    0.9 * table1_rate(options, TABLE1_LIVE_LAN, TABLE1_UDP),
		    table1_rate(options, TABLE1_LIVE_LAN, TABLE1_MINIMAL),
		    "Mb/s, live, 0.9 of UDP against CTP-Minimal");
	table1_claims_wide(options, TABLE1_SIM_WAN, "Mb/s, simulated");
	table1_claims_wide(options, TABLE1_LIVE_WAN, "Mb/s, live");
	report_claim(
		options->report,
		"in the wide area UDP has 61.54 Mb/s between the first transmission and the answer",
		REPORT_UNTESTABLE,
		"10 Mbit cannot be sent and answered in less than a round trip of 413 ms: at most "
		"24.2 Mb/s; the figure must be one of arrivals, and is held against those");
	return TOOL_GOOD;
}
