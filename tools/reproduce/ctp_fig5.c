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
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/playout.h"
#include "reproduce/place.h"

enum {
	FIG5_PACKETS = 1500,
	FIG5_PACKETS_QUICK = 400,
	FIG5_BYTES = 400,
	FIG5_LOSSES = 6,
	FIG5_TEXT = 96,
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
	{ false, true, "wan", "wide area, simulated", "rate 63mbit delay 206500us fwd: loss %s%%" },
	{ false, false, "lan", "local area, simulated", "rate 100mbit delay 72us fwd: loss %s%%" },
	{ true, true, "wan", "wide area, live by a relay",
	  "rate 63mbit delay 206500us fwd: loss %s%%" },
	{ true, false, "lan", "local area, live by a relay",
	  "rate 100mbit delay 72us fwd: loss %s%%" },
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

/* On time, of all three: 5(a), and of the two that do not wait: 5(b). */
static struct report_cell fig5_cell(char text[FIG5_TEXT], const char *panel, int place,
				    int protocol, int loss)
{
	snprintf(text, FIG5_TEXT, "%s%s: on time, by loss %%", panel, fig5_places[place].area);
	return (struct report_cell){ text, fig5_losses[loss], fig5_protocols[protocol].name, "%" };
}

static const char *fig5_panel(int place, bool all)
{
	if (!fig5_places[place].wide)
		return "";
	return all ? "5(a) " : "5(b) ";
}

/* The mean share on time. */
static double fig5_on_time(const struct reproduce_options *options, int place, int protocol,
			   int loss)
{
	char text[FIG5_TEXT];

	return report_mean(options->report,
			   fig5_cell(text, fig5_panel(place, true), place, protocol, loss));
}

/* ---------------------------------------------------------------------- runs */

static struct playout fig5_playout(const struct reproduce_options *options, struct nopal_plan *plan)
{
	return (struct playout){
		.plan = plan,
		.bytes = FIG5_BYTES,
		.count = options->quick ? FIG5_PACKETS_QUICK : FIG5_PACKETS,
		.interval_ns = FIG5_INTERVAL_NS,
		.buffer_ns = FIG5_BUFFER_NS,
	};
}

static void fig5_note(const struct reproduce_options *options, int place, int protocol, int loss,
		      const struct playout *playout)
{
	double whole = (double)playout->count / FIG5_PERCENT;
	double shares[FIG5_OUTCOMES] = { playout->on_time / whole, playout->late / whole,
					 playout->lost / whole };
	char text[FIG5_TEXT];

	report_add(options->report, fig5_cell(text, fig5_panel(place, true), place, protocol, loss),
		   shares[FIG5_ON_TIME]);
	if (!fig5_places[place].wide)
		return;
	/* All outcomes of one protocol's packets: 5(c). */
	snprintf(text, FIG5_TEXT, "%s%s: %s, by loss %%", protocol == FIG5_BULK ? "5(c) " : "",
		 fig5_places[place].area, fig5_protocols[protocol].name);
	for (int outcome = 0; outcome < FIG5_OUTCOMES; outcome++)
		report_add(options->report,
			   (struct report_cell){ text, fig5_losses[loss], fig5_outcomes[outcome],
						 "%" },
			   shares[outcome]);
	if (protocol == FIG5_BULK)
		return;
	report_add(options->report,
		   fig5_cell(text, fig5_panel(place, false), place, protocol, loss),
		   shares[FIG5_ON_TIME]);
}

/* The link of a place, with its loss. */
static bool fig5_link(const struct reproduce_options *options, int place, int loss, int run,
		      struct side_place *ret_place)
{
	char words[FIG5_TEXT];

	*ret_place = (struct side_place){
		.live = fig5_places[place].live,
		.seed = options->seed + (uint64_t)run,
	};
	snprintf(words, sizeof(words), fig5_places[place].link, fig5_losses[loss]);
	return bench_link(words, &ret_place->forward, &ret_place->reverse);
}

static bool fig5_simulate(const struct reproduce_options *options, int place, int protocol,
			  struct nopal_plan *plan)
{
	for (int loss = 0; loss < FIG5_LOSSES; loss++)
		for (int run = 0; run < options->runs; run++) {
			struct playout playout = fig5_playout(options, plan);
			struct side_place where;

			if (!fig5_link(options, place, loss, run, &where) ||
			    !playout_run(&playout, 1, &where, 1))
				return false;
			fig5_note(options, place, protocol, loss, &playout);
		}
	return true;
}

/* All protocols at all losses at once. */
static bool fig5_live(const struct reproduce_options *options, int place,
		      struct nopal_plan *const plans[FIG5_PROTOCOLS], int run)
{
	struct playout playouts[FIG5_PROTOCOLS * FIG5_LOSSES];
	struct side_place places[FIG5_LOSSES];
	int protocols[FIG5_PROTOCOLS * FIG5_LOSSES], count = 0;

	for (int loss = 0; loss < FIG5_LOSSES; loss++) {
		if (!fig5_link(options, place, loss, run, &places[loss]))
			return false;
		places[loss].seed += (uint64_t)loss;
		for (int i = 0; i < FIG5_PROTOCOLS; i++)
			if (plans[i]) {
				protocols[count] = i;
				playouts[count] = fig5_playout(options, plans[i]);
				playouts[count++].link = loss;
			}
	}
	if (count > 0 && !playout_run(playouts, count, places, FIG5_LOSSES))
		return false;
	for (int i = 0; i < count; i++)
		fig5_note(options, place, protocols[i], playouts[i].link, &playouts[i]);
	return true;
}

static bool fig5_place_run(const struct reproduce_options *options, int place,
			   struct nopal_plan *const plans[FIG5_PROTOCOLS])
{
	bool live = fig5_places[place].live, good = true;
	int runs = live && !options->runs_given ? FIG5_LIVE_RUNS : options->runs;
	char text[FIG5_TEXT];

	reproduce_say(options, "%s", fig5_places[place].area);
	/* The tables, in the figure's order. */
	report_declare(options->report,
		       fig5_cell(text, fig5_panel(place, true), place, FIG5_UDP, 0));
	if (fig5_places[place].wide)
		report_declare(options->report,
			       fig5_cell(text, fig5_panel(place, false), place, FIG5_UDP, 0));
	for (int i = 0; !live && i < FIG5_PROTOCOLS && good; i++)
		good = !plans[i] || fig5_simulate(options, place, i, plans[i]);
	for (int run = 0; live && run < runs && good; run++)
		good = fig5_live(options, place, plans, run);
	return good;
}

/* -------------------------------------------------------------------- claims */

static void fig5_claims_wide(const struct reproduce_options *options, int place, const char *why)
{
	double bulk = fig5_on_time(options, place, FIG5_BULK, FIG5_LITTLE_LOSS),
	       audio = fig5_on_time(options, place, FIG5_AUDIO, FIG5_LITTLE_LOSS),
	       udp = fig5_on_time(options, place, FIG5_UDP, FIG5_LITTLE_LOSS);

	report_claim_less(options->report,
			  "in the wide area CTP-Bulk cannot deliver on time under significant loss "
			  "(5 %) what CTP-Audio can",
			  bulk, audio, why);
	report_claim_less(options->report,
			  "in the wide area CTP-Bulk cannot deliver on time under significant loss "
			  "(5 %) what UDP can",
			  bulk, udp, why);
	report_claim_less(options->report, "CTP-Audio delivers more on time than UDP at 5 %", udp,
			  audio, why);
	report_claim_less(options->report, "CTP-Audio delivers more on time than UDP at 10 %",
			  fig5_on_time(options, place, FIG5_UDP, FIG5_MUCH_LOSS),
			  fig5_on_time(options, place, FIG5_AUDIO, FIG5_MUCH_LOSS), why);
}

static int fig5_run(const struct reproduce_options *options)
{
	struct nopal_plan *plans[FIG5_PROTOCOLS] = { NULL };
	bool good = true;

	for (int i = 0; i < FIG5_PROTOCOLS && good; i++)
		if (reproduce_wanted(options->rows, fig5_protocols[i].config))
			good = reproduce_protocol_plan(&fig5_protocols[i], &plans[i]);
	for (int place = 0; place < FIG5_PLACES && good; place++)
		if ((fig5_places[place].live ? options->live : options->sim) &&
		    reproduce_wanted(options->paths, fig5_places[place].word))
			good = fig5_place_run(options, place, plans);
	for (int i = 0; i < FIG5_PROTOCOLS; i++)
		nopal_plan_unref(plans[i]);
	if (good) {
		int much = FIG5_MUCH_LOSS, none = FIG5_NO_LOSS;

		fig5_claims_wide(options, FIG5_SIM_WIDE, "% on time, wide area, simulated");
		fig5_claims_wide(options, FIG5_LIVE_WIDE, "% on time, wide area, live");
		report_claim_less(
			options->report,
			"CTP-Bulk is increasingly late as loss increases: 10 % against none",
			fig5_on_time(options, FIG5_SIM_WIDE, FIG5_BULK, much),
			fig5_on_time(options, FIG5_SIM_WIDE, FIG5_BULK, none),
			"% on time, wide area, simulated");
		report_claim_less(options->report,
				  "in the local area UDP and CTP-Audio compare the same",
				  fig5_on_time(options, FIG5_SIM_LOCAL, FIG5_UDP, much),
				  fig5_on_time(options, FIG5_SIM_LOCAL, FIG5_AUDIO, much),
				  "% on time at 10 %, local area, simulated");
		report_claim(
			options->report, "the heights of figure 5's curves", REPORT_UNTESTABLE,
			"the figure is an image; its text gives neither losses nor percentages");
	}
	return good ? TOOL_GOOD : TOOL_ENVIRONMENT;
}

const struct reproduction reproduce_ctp_fig5 = {
	.name = "ctp-fig5",
	.summary = "sound on time under loss: UDP, CTP-Bulk, CTP-Audio (figure 5)",
	.time = "3 minutes; --sim 2 seconds",
	.run = fig5_run,
};
