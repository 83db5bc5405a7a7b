/* SPDX-License-Identifier: MIT */
/*
 * ctp_fig5.c -- sound that is played while it arrives: UDP, CTP-Bulk and CTP-Audio where
 * packets get lost.  Bridges et al., CTP, ToN 2007, section V.C.1 and figure 5.
 *
 * 1500 packets at 128 kbit/s, of 400 bytes every 25 ms; the player begins 3 s after the first of
 * them came.  Loss is added where packets enter the receiving host, in that direction alone.  The
 * figure has no numbers in its text, so that shapes are what can be held against it.  UDP is
 * ctp_minimal: a datagram a packet and no promise.  A packet that is not there 5 s after the last
 * was due is late where the composition promised it, and lost where it did not.
 */
#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/playout.h"
#include "reproduce/place.h"

enum {
	FIG5_PACKETS = 1500,
	FIG5_PACKETS_QUICK = 400,
	FIG5_BYTES = 400,
	FIG5_LOSSES = 6,
	FIG5_PERCENT = 100,
	FIG5_LIVE_RUNS = 2, /* unless more were asked for */
};
#define FIG5_INTERVAL_NS (25 * NOPAL_MILLISECOND)
#define FIG5_BUFFER_NS	 (3000 * NOPAL_MILLISECOND)

static const char *const fig5_losses[FIG5_LOSSES] = { "0", "2", "5", "10", "15", "20" };
enum { FIG5_NO_LOSS = 0, FIG5_LITTLE_LOSS = 2, FIG5_MUCH_LOSS = 3 };

enum { FIG5_UDP, FIG5_BULK, FIG5_AUDIO, FIG5_PROTOCOLS };
static const struct reproduce_protocol fig5_protocols[FIG5_PROTOCOLS] = {
	{ "UDP", "ctp_minimal", SIDE_CONFIG, NULL },
	{ "CTP-Bulk", "ctp_bulk", SIDE_CONFIG, NULL },
	{ "CTP-Audio", "ctp_audio", SIDE_CONFIG, NULL },
};

static const struct fig5_place {
	bool live, wide;
	const char *word, *area, *link;
} fig5_places[] = {
	{ false, true, "wan", "wide area, simulated", "rate 63mbit delay 206500us" },
	{ false, false, "lan", "local area, simulated", "rate 100mbit delay 72us" },
	{ true, true, "wan", "wide area, live by a relay", "rate 63mbit delay 206500us" },
	{ true, false, "lan", "local area, live by a relay", "rate 100mbit delay 72us" },
};
enum {
	FIG5_SIM_WIDE,
	FIG5_SIM_LOCAL,
	FIG5_LIVE_WIDE,
	FIG5_LIVE_LOCAL,
	FIG5_PLACES,
};

/* --------------------------------------------------------------------- cells */

enum fig5_outcome { FIG5_ON_TIME, FIG5_LATE, FIG5_LOST, FIG5_OUTCOMES };
static const char *const fig5_outcomes[FIG5_OUTCOMES] = { "on time", "late", "lost" };

/* On time: in the wide area 5(a) of all three, and 5(b) of the two that do not wait. */
static struct report_cell fig5_cell(const struct reproduce_options *options, bool all, int place,
				    int protocol, int loss)
{
	const char *panel = !fig5_places[place].wide ? "" : all ? "5(a) " : "5(b) ";

	return (struct report_cell){ report_format(options->report, "%s%s: on time, by loss %%",
						   panel, fig5_places[place].area),
				     fig5_losses[loss], fig5_protocols[protocol].name, "%" };
}

/* The mean share on time. */
static double fig5_on_time(const struct reproduce_options *options, int place, int protocol,
			   int loss)
{
	return report_mean(options->report, fig5_cell(options, true, place, protocol, loss));
}

/* ---------------------------------------------------------------------- runs */

static void fig5_note(const struct reproduce_options *options, int place, int protocol,
		      const struct playout *playout)
{
	double whole = (double)playout->count / FIG5_PERCENT;
	double shares[FIG5_OUTCOMES] = { playout->on_time / whole, playout->late / whole,
					 playout->lost / whole };
	struct report *report = options->report;
	const char *table;

	report_add(report, fig5_cell(options, true, place, protocol, playout->link),
		   shares[FIG5_ON_TIME]);
	if (!fig5_places[place].wide)
		return;
	/* All outcomes of one protocol's packets: 5(c). */
	table = report_format(report, "%s%s: %s, by loss %%", protocol == FIG5_BULK ? "5(c) " : "",
			      fig5_places[place].area, fig5_protocols[protocol].name);
	for (int outcome = 0; outcome < FIG5_OUTCOMES; outcome++)
		report_add(report,
			   (struct report_cell){ table, fig5_losses[playout->link],
						 fig5_outcomes[outcome], "%" },
			   shares[outcome]);
	if (protocol != FIG5_BULK)
		report_add(report, fig5_cell(options, false, place, protocol, playout->link),
			   shares[FIG5_ON_TIME]);
}

/* All protocols at all losses, live at once. */
static bool fig5_once(const struct reproduce_options *options, int place,
		      struct nopal_plan *const plans[FIG5_PROTOCOLS], int run)
{
	struct playout playouts[FIG5_PROTOCOLS * FIG5_LOSSES];
	struct side_place links[FIG5_LOSSES];
	int protocols[FIG5_PROTOCOLS * FIG5_LOSSES], count = 0;
	bool live = fig5_places[place].live;

	for (int loss = 0; loss < FIG5_LOSSES; loss++) {
		struct side_place *link = &links[loss];

		*link = (struct side_place){
			.live = live,
			.seed = options->seed + (uint64_t)run + (uint64_t)(live ? loss : 0),
		};
		if (!bench_link(report_format(options->report, "%s fwd: loss %s%%",
					      fig5_places[place].link, fig5_losses[loss]),
				&link->forward, &link->reverse))
			return false;
		for (int i = 0; i < FIG5_PROTOCOLS; i++) {
			if (!plans[i])
				continue;
			protocols[count] = i;
			playouts[count++] = (struct playout){
				.plan = plans[i],
				.bytes = FIG5_BYTES,
				.count = options->quick ? FIG5_PACKETS_QUICK : FIG5_PACKETS,
				.interval_ns = FIG5_INTERVAL_NS,
				.buffer_ns = FIG5_BUFFER_NS,
				.link = loss,
			};
		}
	}
	if (count > 0 && !playout_run(playouts, count, links, FIG5_LOSSES))
		return false;
	for (int i = 0; i < count; i++)
		fig5_note(options, place, protocols[i], &playouts[i]);
	return true;
}

/* -------------------------------------------------------------------- claims */

static void fig5_claims_wide(const struct reproduce_options *options, int place, const char *why)
{
	struct report *report = options->report;
	double bulk = fig5_on_time(options, place, FIG5_BULK, FIG5_LITTLE_LOSS),
	       audio = fig5_on_time(options, place, FIG5_AUDIO, FIG5_LITTLE_LOSS),
	       udp = fig5_on_time(options, place, FIG5_UDP, FIG5_LITTLE_LOSS);

	report_less(report,
		    "in the wide area CTP-Bulk cannot deliver on time under significant loss (5 %) "
		    "what CTP-Audio can",
		    bulk, audio, why);
	report_less(report,
		    "in the wide area CTP-Bulk cannot deliver on time under significant loss (5 %) "
		    "what UDP can",
		    bulk, udp, why);
	report_less(report, "CTP-Audio delivers more on time than UDP at 5 %", udp, audio, why);
	report_less(report, "CTP-Audio delivers more on time than UDP at 10 %",
		    fig5_on_time(options, place, FIG5_UDP, FIG5_MUCH_LOSS),
		    fig5_on_time(options, place, FIG5_AUDIO, FIG5_MUCH_LOSS), why);
}

int reproduce_ctp_fig5(const struct reproduce_options *options)
{
	struct report *report = options->report;
	struct nopal_plan *plans[FIG5_PROTOCOLS] = { NULL };
	bool good = true;

	for (int i = 0; i < FIG5_PROTOCOLS && good; i++)
		if (reproduce_wanted(options->rows, fig5_protocols[i].config))
			good = reproduce_protocol_plan(&fig5_protocols[i], &plans[i]);
	for (int place = 0; place < FIG5_PLACES && good; place++) {
		bool live = fig5_places[place].live;
		int runs = live && !options->runs_given ? FIG5_LIVE_RUNS : options->runs;

		if (!(live ? options->live : options->sim) ||
		    !reproduce_wanted(options->paths, fig5_places[place].word))
			continue;
		reproduce_say(options, "%s", fig5_places[place].area);
		/* The tables, in the figure's order. */
		for (int all = 1; all >= 0; all--)
			report_declare(options->report,
				       fig5_cell(options, all, place, FIG5_UDP, 0));
		for (int run = 0; run < runs && good; run++)
			good = fig5_once(options, place, plans, run);
	}
	for (int i = 0; i < FIG5_PROTOCOLS; i++)
		nopal_plan_unref(plans[i]);
	if (!good)
		return TOOL_ENVIRONMENT;
	fig5_claims_wide(options, FIG5_SIM_WIDE, "% on time, wide area, simulated");
	fig5_claims_wide(options, FIG5_LIVE_WIDE, "% on time, wide area, live");
	report_less(report, "CTP-Bulk is increasingly late as loss increases: 10 % against none",
		    fig5_on_time(options, FIG5_SIM_WIDE, FIG5_BULK, FIG5_MUCH_LOSS),
		    fig5_on_time(options, FIG5_SIM_WIDE, FIG5_BULK, FIG5_NO_LOSS),
		    "% on time, wide area, simulated");
	report_less(report, "in the local area UDP and CTP-Audio compare the same",
		    fig5_on_time(options, FIG5_SIM_LOCAL, FIG5_UDP, FIG5_MUCH_LOSS),
		    fig5_on_time(options, FIG5_SIM_LOCAL, FIG5_AUDIO, FIG5_MUCH_LOSS),
		    "% on time at 10 %, local area, simulated");
	report_claim(report, "the heights of figure 5's curves", REPORT_UNTESTABLE,
		     "the figure is an image; its text gives neither losses nor percentages");
	return TOOL_GOOD;
}
