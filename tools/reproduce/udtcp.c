/* SPDX-License-Identifier: MIT */
/*
 * udtcp.c -- how long messages of live sources take that TCP's congestion control rules: Wang,
 * UDTCP, Computer Communications 27, 2004, sections 5 and 6, figures 5 to 10.
 *
 * Sources write messages whenever they may; a message's delay is from there to the receiver's
 * application.  Configuration 1 has 5 flows over 10 Mbit/s and 35 ms one way, with a queue of 50
 * packets and send buffers of 32 KiB; configuration 2 has 10 over 20 Mbit/s and 60 ms, with 100 and
 * 64 KiB.  The paper studies one of the flows, which are all alike; here all of them are counted.
 *
 * Beside TCP and UDTCP are those that section 8 wished for, and one more: TFRC, a fixed rate below
 * and one above the fair share, BBR, and `fresh`.  All but TCP have one message that waits.
 *
 * Live, TCP and UDTCP cross the bottleneck between two namespaces, and the kernel's TCP beside
 * them (reno, with a send buffer as the paper's).
 */
#include <math.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/pair.h"
#include "reproduce/udtcp.h"

enum {
	UDTCP_LOSS_FACTOR = 2,
	UDTCP_RESENT_LATE = 4, /* the deadline of 300 ms: a round trip more */
	UDTCP_NEAR = 10,       /* per cent from section 5's shares */
};
/* A share that is late now and then: the strict half of the claim is about more. */
#define UDTCP_SOMETIMES 1.0

/* -------------------------------------------------------------------- claims */

/* Holds: at every deadline no more of UDTCP is late than of TCP, and less where the one is late at
 * all and the other is not always. */
static void udtcp_claim_late(const struct udtcp *udtcp, int tcp)
{
	enum report_verdict verdict = REPORT_HOLDS;
	int worst = 0;

	for (int i = 0; i < UDTCP_DEADLINES; i++) {
		double late = udtcp_late(udtcp, tcp, i), ours = udtcp_late(udtcp, UDTCP_UDTCP, i);
		bool strictly = late > UDTCP_SOMETIMES && ours < UDTCP_PERCENT;

		if (isnan(late) || isnan(ours))
			return;
		if (ours > late || (strictly && ours == late))
			verdict = REPORT_FAILS;
		if (late - ours <
		    udtcp_late(udtcp, tcp, worst) - udtcp_late(udtcp, UDTCP_UDTCP, worst))
			worst = i;
	}
	report_claim(
		udtcp->options->report,
		report_format(udtcp->options->report,
			      "%s, %s: at every deadline fewer messages of UDTCP are late than "
			      "of %s",
			      udtcp->configuration->name, udtcp->live ? "live" : "simulated",
			      udtcp_compositions[tcp].name),
		verdict, "%% later than %d ms, where they are nearest: %.3g; %.3g",
		UDTCP_DEADLINE_MS + worst * UDTCP_DEADLINE_STEP_MS,
		udtcp_late(udtcp, UDTCP_UDTCP, worst), udtcp_late(udtcp, tcp, worst));
}

/* The mean over deadlines of how much more of TCP is late. */
static double udtcp_gap(const struct udtcp *udtcp, int tcp)
{
	double sum = 0;

	for (int i = 0; i < UDTCP_DEADLINES; i++)
		sum += udtcp_late(udtcp, tcp, i) - udtcp_late(udtcp, UDTCP_UDTCP, i);
	return sum / UDTCP_DEADLINES;
}

/* Of what was measured there, against two TCPs. */
static void udtcp_claims(const struct udtcp *udtcp, const int tcps[2])
{
	struct report *report = udtcp->options->report;
	const char *place = udtcp->live ? "live" : "simulated";
	const char *shares = report_format(report, "%% of messages, %s", place);
	double lost = udtcp_mean(udtcp, UDTCP_UDTCP, "lost");
	double paper = udtcp->configuration->loss;

	for (int i = 0; i < 2; i++) {
		udtcp_claim_late(udtcp, tcps[i]);
		report_less(report,
			    report_format(report,
					  "the delay jitter of UDTCP is better than that of %s",
					  udtcp_compositions[tcps[i]].name),
			    udtcp_mean(udtcp, UDTCP_UDTCP, "deviation"),
			    udtcp_mean(udtcp, tcps[i], "deviation"),
			    report_format(report, "ms, deviation of delays, %s", place));
	}
	report_less(report, "UDTCP loses no more than twice the paper's share", lost,
		    UDTCP_LOSS_FACTOR * paper,
		    report_format(report, "%s; twice the paper's", shares));
	report_less(report, "UDTCP loses no less than half of the paper's share",
		    paper / UDTCP_LOSS_FACTOR, lost,
		    report_format(report, "half of the paper's; %s", shares));
	report_less(report, "ours: the slowest hundredth of fresh is faster than that of UDTCP",
		    udtcp_mean(udtcp, UDTCP_FRESH, "p99"), udtcp_mean(udtcp, UDTCP_UDTCP, "p99"),
		    report_format(report, "ms, %s", place));
	report_less(report, "ours: fresh loses less than UDTCP",
		    udtcp_mean(udtcp, UDTCP_FRESH, "lost"), lost, shares);
}

/* ------------------------------------------------------------------- figures */

/* A figure of the paper: the distribution of one composition's delays (live beside it, what is
 * named), or the shares that are late, of all. */
static const struct udtcp_figure {
	int configuration;
	int composition, live; /* the latter 0: the same */
	bool late;
} udtcp_figures[] = {
	{ 0, UDTCP_TCP, UDTCP_KERNEL, false },	{ 0, UDTCP_UDTCP, UDTCP_UDTCP, false },
	{ 0, UDTCP_TCP, UDTCP_KERNEL, true },	{ 1, UDTCP_TCP, UDTCP_KERNEL, false },
	{ 1, UDTCP_UDTCP, UDTCP_UDTCP, false }, { 1, UDTCP_TCP, UDTCP_KERNEL, true },
};
enum { UDTCP_FIRST = 5 }; /* the number of the first of them */

static void udtcp_paper(const struct udtcp *udtcp)
{
	if (!isnan(udtcp_mean(udtcp, UDTCP_UDTCP, "lost")))
		report_paper(udtcp->options->report,
			     udtcp_delay_cell(udtcp, UDTCP_UDTCP, "lost", "%"),
			     udtcp->configuration->loss, 0);
}

static bool udtcp_late_figure(const struct udtcp *simulated, const struct udtcp *live)
{
	const int lives[] = { UDTCP_KERNEL, UDTCP_TCP, UDTCP_UDTCP, UDTCP_FRESH };
	const struct udtcp_configuration *at = simulated->configuration;
	bool good = true;

	for (int i = UDTCP_TCP; good && i <= UDTCP_FRESH; i++)
		good = udtcp_measure(simulated, i, udtcp_add_late);
	for (size_t i = 0; good && i < sizeof(lives) / sizeof(*lives); i++)
		good = udtcp_measure(live, lives[i], udtcp_add_late);
	udtcp_paper(simulated);
	udtcp_paper(live);
	if (simulated->options->sim)
		udtcp_claims(simulated, (const int[]){ UDTCP_TCP, UDTCP_TCP_MORE });
	if (live->options->live)
		udtcp_claims(live, (const int[]){ UDTCP_KERNEL, UDTCP_TCP });
	/* Why TCP is not late in configuration 1 with a send buffer as small as the paper's. */
	if (udtcp_late(simulated, UDTCP_TCP, 0) < UDTCP_SOMETIMES)
		report_note(simulated->options->report,
			    "%s: %d send buffers of %d messages hold what the path and its queue "
			    "hold: with the paper's TCP nothing overflows and nothing waits, and "
			    "the queue is always full; the kernel's lets half more leave",
			    at->name, at->flows, at->send_buffer / UDTCP_MESSAGE_BYTES);
	return good;
}

/* The growth from figure 7 to figure 10. */
static bool udtcp_growth(const struct udtcp *far, int tcp)
{
	struct report *report = far->options->report;
	struct udtcp near = *far;
	bool good;

	near.configuration = &udtcp_configurations[0];
	good = udtcp_measure(&near, tcp, udtcp_add_late) &&
	       udtcp_measure(&near, UDTCP_UDTCP, udtcp_add_late);
	report_less(report,
		    "the longer the path, the more messages of TCP are late, and not of UDTCP",
		    udtcp_gap(&near, tcp), udtcp_gap(far, tcp),
		    report_format(report,
				  "%% later, %s less UDTCP, mean over deadlines, %s: "
				  "configuration 1; 2",
				  udtcp_compositions[tcp].name, far->live ? "live" : "simulated"));
	return good;
}

int reproduce_udtcp_figure(const struct reproduce_options *options)
{
	struct report *report = options->report;
	const struct udtcp_figure *figure = &udtcp_figures[options->table - UDTCP_FIRST];
	struct udtcp simulated = { options, &udtcp_configurations[figure->configuration], false };
	struct udtcp live = { options, simulated.configuration, true };
	bool good;

	if (figure->late)
		good = udtcp_late_figure(&simulated, &live) &&
		       (figure->configuration == 0 ||
			(udtcp_growth(&simulated, UDTCP_TCP) && udtcp_growth(&live, UDTCP_KERNEL)));
	else
		good = udtcp_measure(&simulated, figure->composition, udtcp_add_distribution) &&
		       udtcp_measure(&live, figure->live, udtcp_add_distribution);
	report_claim(report, "the heights of the figure's curves", REPORT_UNTESTABLE,
		     "the figure is an image; its text has no numbers but the losses");
	return good ? TOOL_GOOD : TOOL_FAILED;
}

/* --------------------------------------------------------------- the changes */

int reproduce_udtcp_changes(const struct reproduce_options *options)
{
	struct report *report = options->report;
	const int rows[] = { UDTCP_UDTCP,	UDTCP_RESENDS, UDTCP_DEQUEUES,
			     UDTCP_RESEQUENCES, UDTCP_WAITS,   UDTCP_TCP };
	struct udtcp udtcp = { options, &udtcp_configurations[1], false };
	bool good = true;

	for (size_t i = 0; good && i < sizeof(rows) / sizeof(*rows); i++)
		good = udtcp_measure(&udtcp, rows[i], udtcp_add_late);
	report_less(report,
		    "1 and 4: a send buffer of one message limits who keeps a message until "
		    "its ack (section 4)",
		    udtcp_mean(&udtcp, UDTCP_DEQUEUES, "a flow"),
		    udtcp_mean(&udtcp, UDTCP_UDTCP, "a flow") / 2,
		    "Mbit/s a flow; half of UDTCP's");
	report_less(report, "1: what is lost and leaves again comes late",
		    udtcp_late(&udtcp, UDTCP_UDTCP, UDTCP_RESENT_LATE),
		    udtcp_late(&udtcp, UDTCP_RESENDS, UDTCP_RESENT_LATE), "% later than 300 ms");
	report_less(report, "2: messages that wait for holes are late",
		    udtcp_mean(&udtcp, UDTCP_UDTCP, "p99"),
		    udtcp_mean(&udtcp, UDTCP_RESEQUENCES, "p99"), "ms, p99");
	report_less(report, "waiting costs more than resends do (section 5)",
		    udtcp_mean(&udtcp, UDTCP_RESENDS, "deviation"),
		    udtcp_mean(&udtcp, UDTCP_RESEQUENCES, "deviation"), "ms, deviation");
	report_claim(report, "3: boundaries at the receiver", REPORT_UNTESTABLE,
		     "no session is a stream of bytes: there is nothing to leave out");
	return good ? TOOL_GOOD : TOOL_FAILED;
}

/* -------------------------------------------------------------- the analysis */

/* One flow alone, whose window fills the queue and is halved, again and again.  The queue is one
 * in which a cycle has about as many segments as section 5 counts for W. */
static const struct udtcp_window {
	int window;
	const char *name, *link;
} udtcp_windows[] = {
	{ 10, "10", "rate 1200kbit delay 10ms limit 9" },
	{ 20, "20", "rate 1200kbit delay 10ms limit 23" },
};
static const char udtcp_shares[] = "by the window at a loss";

static bool udtcp_analyse(const struct reproduce_options *options, const struct udtcp_window *row)
{
	struct report *report = options->report;
	const struct udtcp udtcp = { options, udtcp_configurations, false };
	struct delays run = {
		.flows = 1,
		.bytes = UDTCP_MESSAGE_BYTES,
		.seed = options->seed,
		.warm_ns = UDTCP_WARM_NS,
		.run_ns = UDTCP_RUN_NS,
	};
	const struct delays_seen *seen = &run.seen;
	bool good = udtcp_plan(&udtcp, UDTCP_SAWTOOTH, &run.plan) &&
		    bench_link("", &run.edge, &run.reverse) &&
		    bench_link(row->link, &run.forward, &run.reverse) && delays_run(&run);
	/* segments of a cycle by section 5 */
	double cycle = 3.0 / 8 * row->window * row->window + 3.0 / 4 * row->window;
	const struct {
		const char *column, *unit;
		double ours, paper;
	} columns[] = {
		{ "out of order", "%", UDTCP_PERCENT * delays_together(seen),
		  UDTCP_PERCENT * row->window / cycle },
		{ "lost", "%", UDTCP_PERCENT * delays_bunches(seen), UDTCP_PERCENT / cycle },
		{ "wait for each", "", delays_together(seen) / delays_bunches(seen), row->window },
	};

	nopal_plan_unref(run.plan);
	for (size_t i = 0; good && i < sizeof(columns) / sizeof(*columns); i++) {
		struct report_cell cell = { udtcp_shares, row->name, columns[i].column,
					    columns[i].unit };

		report_add(report, cell, columns[i].ours);
		report_paper(report, cell, columns[i].paper, 0);
		report_less(report,
			    report_format(report, "W = %s: %s", row->name, columns[i].column),
			    UDTCP_PERCENT * fabs(columns[i].ours / columns[i].paper - 1),
			    UDTCP_NEAR, "% from the formula; what is near");
	}
	return good;
}

int reproduce_udtcp_analysis(const struct reproduce_options *options)
{
	bool good = true;

	for (size_t i = 0; good && i < sizeof(udtcp_windows) / sizeof(*udtcp_windows); i++)
		good = udtcp_analyse(options, &udtcp_windows[i]);
	return good ? TOOL_GOOD : TOOL_FAILED;
}
