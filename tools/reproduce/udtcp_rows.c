/* SPDX-License-Identifier: MIT */
/*
 * udtcp_rows.c -- the compositions and configurations of UDTCP's paper, measured.
 *
 * Live, each run has a link of its own between two namespaces, and the kernel's TCP crosses it as
 * the others do.
 */
#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/place.h"
#include "reproduce/udtcp.h"

enum {
	UDTCP_RUNS = 5, /* as in the paper */
	UDTCP_MBIT = 1000000,
	UDTCP_BYTE_BITS = 8,
	UDTCP_BIN_MS = 25,
	UDTCP_BINS_MS = 500, /* the distribution's last bin has what takes longer */
};
#define UDTCP_STAGGER_NS    NOPAL_SECOND
#define UDTCP_QUICK_RUN_NS  (20 * NOPAL_SECOND)
#define UDTCP_LIVE_RUN_NS   (30 * NOPAL_SECOND)
#define UDTCP_LIVE_WARM_NS  (5 * NOPAL_SECOND)
#define UDTCP_LIVE_QUICK_NS (4 * NOPAL_SECOND)
#define UDTCP_MEDIAN	    0.5
#define UDTCP_TAIL	    0.99

/* ------------------------------------------------------------ configurations */

/* The way to the bottleneck is late by up to half a packet's time, at random: where a link is as
 * fast as the bottleneck, a packet of who holds the queue would come just as one has left it, and
 * one of the others never (the phase effects of Floyd and Jacobson, 1992). */
const struct udtcp_configuration udtcp_configurations[UDTCP_CONFIGURATIONS] = {
	{ "configuration 1", 5, 32 << 10, "rate 10mbit delay 10ms 500us limit 50",
	  "rate 10mbit delay 25ms limit 50", "rate 10mbit delay 35ms limit 50", 0.5 },
	{ "configuration 2", 10, 64 << 10, "rate 10mbit delay 10ms 500us limit 50",
	  "rate 20mbit delay 50ms limit 100", "rate 20mbit delay 60ms limit 100", 0.2 },
};

/* -------------------------------------------------------------- compositions */

const struct udtcp_composition udtcp_compositions[UDTCP_COMPOSITIONS] = {
	{ "TCP", "udtcp_tcp", "udtcp_tcp", false, 2, "" },
	{ "TCP, half more", "udtcp_tcp", "udtcp_tcp", false, 3, "" },
	{ "UDTCP", "udtcp", "udtcp", false, 0, "" },
	{ "TFRC", "tfrc", "udtcp", true, 0, "rate_cc {}\ntfrc {}\n" },
	{ "1.8 Mbit/s", "fixed", "udtcp", true, 0,
	  "rate_cc {}\nconstant_rate { rate = 1.8Mbit }\n" },
	{ "2.1 Mbit/s", "fixed", "udtcp", true, 0,
	  "rate_cc {}\nconstant_rate { rate = 2.1Mbit }\n" },
	{ "BBR", "bbr", "udtcp", true, 0,
	  "windowed_cc {}\nrate_cc {}\nbbr_congestion {}\nusual_rtt {}\nloss_compensation {}\n"
	  "ack_train {}\nstanding_queue {}\nack_aggregation {}\nqueue_drain {}\n"
	  "marked_drain {}\n" },
	{ "fresh", "fresh", "fresh", false, 0, "" },
	{ "kernel's TCP", "tcp", NULL, false, 2, "" },
	/* The four changes, each left out. */
	{ "without 1: what is lost leaves again", "udtcp", "udtcp", false, 0,
	  "retransmit {}\nwindowed_flow {}\n" },
	{ "without 1 and 4: an ack dequeues", "udtcp", "udtcp", false, 0, "send_buffer = 2KiB\n" },
	{ "without 2: messages wait for holes", "udtcp", "udtcp", false, 0,
	  "lossy_fifo { delay = 130ms }\n" },
	{ "without 1 and 2", "udtcp", "udtcp", false, 0,
	  "retransmit {}\nwindowed_flow {}\nreliable_fifo {}\n" },
	/* Section 5: nothing but the window rules. */
	{ "sawtooth", "udtcp_tcp", "udtcp_tcp", false, 0,
	  "send_buffer = 1MiB\npositive_ack { every = 1 }\n" },
};
bool udtcp_plan(const struct udtcp *udtcp, int composition, struct nopal_plan **ret_plan)
{
	const struct udtcp_composition *how = &udtcp_compositions[composition];
	const struct report *report = udtcp->options->report;
	const char *buffer = "";

	*ret_plan = NULL;
	if (!how->extends)
		return true;
	if (how->halves)
		buffer = report_format(report, "send_buffer = %dB\n",
				       udtcp->configuration->send_buffer * how->halves / 2);
	*ret_plan = bench_parse(
		report_format(report, "extends = \"%s\"\n%s%s%s", how->extends, buffer,
			      how->instead ? "without = { windowed_cc, tcp_congestion }\n" : "",
			      how->sections),
		how->name);
	return *ret_plan != NULL;
}

/* --------------------------------------------------------------------- cells */

static const char *udtcp_table(const struct udtcp *udtcp, const char *what)
{
	return report_format(udtcp->options->report, "%s, %s: %s", udtcp->configuration->name,
			     udtcp->live ? "live" : "simulated", what);
}

struct report_cell udtcp_delay_cell(const struct udtcp *udtcp, int composition, const char *column,
				    const char *unit)
{
	return (struct report_cell){ udtcp_table(udtcp, "delays"),
				     udtcp_compositions[composition].name, column, unit };
}

double udtcp_mean(const struct udtcp *udtcp, int composition, const char *column)
{
	return report_mean(udtcp->options->report,
			   udtcp_delay_cell(udtcp, composition, column, NULL));
}

static struct report_cell udtcp_late_cell(const struct udtcp *udtcp, int composition, int deadline)
{
	return (struct report_cell){ udtcp_table(udtcp, "% of messages later than ms"),
				     report_format(udtcp->options->report, "%d",
						   UDTCP_DEADLINE_MS +
							   deadline * UDTCP_DEADLINE_STEP_MS),
				     udtcp_compositions[composition].name, "%" };
}

double udtcp_late(const struct udtcp *udtcp, int composition, int deadline)
{
	return report_mean(udtcp->options->report, udtcp_late_cell(udtcp, composition, deadline));
}

static void udtcp_add_delays(const struct udtcp *udtcp, int composition, const struct delays *run)
{
	const struct delays_seen *seen = &run->seen;
	double seconds = (double)run->run_ns / NOPAL_SECOND;
	const struct {
		const char *column, *unit;
		double value;
	} columns[] = {
		{ "p50", "ms", delays_quantile_ms(seen, UDTCP_MEDIAN) },
		{ "p99", "ms", delays_quantile_ms(seen, UDTCP_TAIL) },
		{ "deviation", "ms", delays_deviation_ms(seen) },
		{ "step", "ms", delays_step_ms(seen) },
		{ "lost", "%", UDTCP_PERCENT * delays_missing(seen) },
		{ "a flow", "Mbit/s",
		  (double)seen->count * run->bytes * UDTCP_BYTE_BITS / seconds / UDTCP_MBIT /
			  run->flows },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		report_add(udtcp->options->report,
			   udtcp_delay_cell(udtcp, composition, columns[i].column, columns[i].unit),
			   columns[i].value);
}

void udtcp_add_late(const struct udtcp *udtcp, int composition, const struct delays_seen *seen)
{
	for (int i = 0; i < UDTCP_DEADLINES; i++)
		report_add(udtcp->options->report, udtcp_late_cell(udtcp, composition, i),
			   UDTCP_PERCENT *
				   delays_share(seen,
						UDTCP_DEADLINE_MS + i * UDTCP_DEADLINE_STEP_MS, 0));
}

void udtcp_add_distribution(const struct udtcp *udtcp, int composition,
			    const struct delays_seen *seen)
{
	const struct report *report = udtcp->options->report;
	const char *table = udtcp_table(
		udtcp,
		report_format(report, "%% of messages from that many ms, %d wide", UDTCP_BIN_MS));

	for (int ms = 0; ms <= UDTCP_BINS_MS; ms += UDTCP_BIN_MS)
		report_add(
			udtcp->options->report,
			(struct report_cell){ table, report_format(report, "%d", ms),
					      udtcp_compositions[composition].name, "%" },
			UDTCP_PERCENT *
				delays_share(seen, ms, ms < UDTCP_BINS_MS ? ms + UDTCP_BIN_MS : 0));
}

/* ---------------------------------------------------------------------- runs */

/* One run, live over a link of its own.  False: the machine refused. */
static bool udtcp_once(const struct udtcp *udtcp, int composition, struct delays *run)
{
	const struct udtcp_configuration *at = udtcp->configuration;
	struct reproduce_place place;
	bool good;

	if (!udtcp->live)
		return bench_link(at->edge, &run->edge, &run->reverse) &&
		       bench_link(at->link, &run->forward, &run->reverse) && delays_run(run);
	if (!reproduce_place_open(&place, udtcp->options, REPRODUCE_HOSTS, at->live, run->seed))
		return false;
	good = delays_run_live(run, &place.sides.pair);
	reproduce_place_close(&place, udtcp->options);
	if (!good)
		report_note(udtcp->options->report, "%s, live, %s: a flow ended before its time",
			    at->name, udtcp_compositions[composition].name);
	return good;
}

/* All runs of a composition, by a configuration: the table of delays, and what `add` makes. */
bool udtcp_measure(const struct udtcp *udtcp, int composition, udtcp_add *add)
{
	const struct reproduce_options *options = udtcp->options;
	int runs = options->runs_given || options->quick ? options->runs
		   : udtcp->live			 ? 1
							 : UDTCP_RUNS;
	struct delays run = {
		.flows = udtcp->configuration->flows,
		.send_buffer = udtcp->configuration->send_buffer,
		.bytes = UDTCP_MESSAGE_BYTES,
		.stagger_ns = UDTCP_STAGGER_NS,
		.warm_ns = udtcp->live ? UDTCP_LIVE_WARM_NS : UDTCP_WARM_NS,
		.run_ns = options->quick ? UDTCP_QUICK_RUN_NS : UDTCP_RUN_NS,
	};
	bool good;

	if (udtcp->live)
		run.run_ns = options->quick ? UDTCP_LIVE_QUICK_NS : UDTCP_LIVE_RUN_NS;
	if (!(udtcp->live ? options->live : options->sim) ||
	    !reproduce_wanted(options->rows, udtcp_compositions[composition].word))
		return true;
	good = udtcp_plan(udtcp, composition, &run.plan);
	reproduce_say(options, "%s", udtcp_table(udtcp, udtcp_compositions[composition].name));
	for (int i = 0; good && i < runs; i++) {
		run.seed = options->seed + (uint64_t)i;
		good = udtcp_once(udtcp, composition, &run);
		if (!good)
			break;
		udtcp_add_delays(udtcp, composition, &run);
		if (add)
			add(udtcp, composition, &run.seen);
	}
	nopal_plan_unref(run.plan);
	return good || udtcp->live; /* where the machine refuses, the others go on */
}
