/* SPDX-License-Identifier: MIT */
/*
 * reproduce.c -- `nopal reproduce`: the experiments of the papers, again.
 *
 * This file is the frame: options, helpers of reproduce.h, and what is printed at the end.  An
 * experiment is a file of its own and a line of the table below.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/reproduce.h"

/* In the order of the list. */
static const struct reproduction reproduce_table[] = {
	{ "congestion-table", "every congestion policy on one bottleneck",
	  "simulated: 2 minutes; --quick 10 s", reproduce_congestion,
	  .simulated = "the bottleneck is in the simulator alone" },
	{ "ctp-fig5", "sound on time under loss: UDP, CTP-Bulk, CTP-Audio (figure 5)",
	  "3 minutes; --sim 2 seconds", reproduce_ctp_fig5 },
	{ "ctp-packing", "specialised packet paths and headers (sections V.B, V.D)",
	  "20 seconds; --sim 10 seconds", reproduce_ctp_packing },
	{ "ctp-table1", "latency and bandwidth beside UDP and TCP (Table I)",
	  "3 minutes, most of it the wide area's; --sim 2 seconds", reproduce_ctp_table1 },
	{ "ctp-table2", "round trips under loss: CTP-Bulk against TCP (Table II)",
	  "1 minute, most of it TCP's; --sim 1 second", reproduce_ctp_table2 },
	{ "madp-checksums", "MD5 beside other checksums: costs, and what passes (section III.A)",
	  "10 seconds", reproduce_madp_checksums },
	{ "madp-fig4", "throughput against corruption (figure 4)", "3 minutes; --sim 5 seconds",
	  reproduce_madp_figure, 4 },
	{ "madp-fig5", "throughput against loss (figure 5)", "5 minutes; --sim 5 seconds",
	  reproduce_madp_figure, 5 },
	{ "madp-fig6", "throughput against duplication (figure 6)", "2 minutes; --sim 5 seconds",
	  reproduce_madp_figure, 6 },
	{ "madp-fig7", "time to download against delay (figure 7)", "3 minutes; --sim 30 seconds",
	  reproduce_madp_figure, 7 },
	{ "madp-table1", "an object over an impaired path, and TCP (Table I)",
	  "10 minutes, most of them TCP's; --sim 20 seconds", reproduce_madp_table1 },
	{ "one-to-many-table1", "a file there and back: 1024 bytes, window 32 (Table 1)",
	  "3 minutes; --sim 20 seconds", reproduce_one_to_many, 1 },
	{ "one-to-many-table2", "a file there and back: 8096 bytes, window 128 (Table 2)",
	  "1 minute; --sim 20 seconds", reproduce_one_to_many, 2 },
	{ "one-to-many-table3", "a file there and back: 8096 bytes, window 1 (Table 3)",
	  "1 minute; --sim 20 seconds", reproduce_one_to_many, 3 },
	{ "one-to-many-balance", "load balancing over three receivers that differ",
	  "simulated: half a minute; --quick 3 s", reproduce_one_to_many_balance,
	  .simulated = "the three links are in the simulator alone" },
	{ "udt-fig6", "processor time of one flow: TCP, UDP, UDT, ours (figure 6)",
	  "live alone: 6 minutes; --quick 1 minute", reproduce_udt_fig6 },
	{ "udt-fig7", "10, 100, 500 connections: TCP, UDT, ours (figure 7)",
	  "live alone: 5 minutes; --quick 2 minutes", reproduce_udt_fig7 },
	{ "udt-flows", "connections that share a flow, and those that do not",
	  "simulated: 2 minutes; --quick 15 s", reproduce_udt_flows,
	  .simulated = "these flows are in the simulator alone; udt-fig7 has live ones" },
	{ "udtcp-analysis", "how many segments wait for a lost one (UDTCP, section 5)",
	  "simulated: 1 second", reproduce_udtcp_analysis,
	  .simulated = "the analysis is held against the simulator alone" },
	{ "udtcp-changes", "UDTCP's four changes, left out one by one (sections 3, 4)",
	  "simulated: 20 seconds", reproduce_udtcp_changes,
	  .simulated = "the changes are compared in the simulator alone" },
	{ "udtcp-fig5", "5 flows: delays of TCP (UDTCP, figure 5)", "1 minute; --sim 3 seconds",
	  reproduce_udtcp_figure, 5 },
	{ "udtcp-fig6", "5 flows: delays of UDTCP (UDTCP, figure 6)", "1 minute; --sim 3 seconds",
	  reproduce_udtcp_figure, 6 },
	{ "udtcp-fig7", "5 flows: messages that are late (UDTCP, figure 7)",
	  "3 minutes; --sim 20 seconds", reproduce_udtcp_figure, 7 },
	{ "udtcp-fig8", "10 flows: delays of TCP (UDTCP, figure 8)", "1 minute; --sim 6 seconds",
	  reproduce_udtcp_figure, 8 },
	{ "udtcp-fig9", "10 flows: delays of UDTCP (UDTCP, figure 9)", "1 minute; --sim 6 seconds",
	  reproduce_udtcp_figure, 9 },
	{ "udtcp-fig10", "10 flows: messages that are late (UDTCP, figure 10)",
	  "3 minutes; --sim 40 seconds", reproduce_udtcp_figure, 10 },
};
enum { REPRODUCE_COUNT = sizeof(reproduce_table) / sizeof(*reproduce_table) };

/* ------------------------------------------------------------------ helpers */

bool reproduce_wanted(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (list && *list) {
		size_t here = strcspn(list, ",");

		if (here == length && strncmp(list, word, length) == 0)
			return true;
		list += here + (list[here] == ',');
	}
	return list == NULL;
}

void reproduce_say(const struct reproduce_options *options, const char *format, ...)
{
	va_list arguments;

	if (options->quiet)
		return;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
}

/* -------------------------------------------------------------------- frame */

static const struct reproduction *reproduce_find(const char *name)
{
	const char *names[REPRODUCE_COUNT + 1] = { NULL };
	const char *near;

	for (int i = 0; i < REPRODUCE_COUNT; i++) {
		if (strcmp(reproduce_table[i].name, name) == 0)
			return &reproduce_table[i];
		names[i] = reproduce_table[i].name;
	}
	near = nopal_nearest(name, names);
	fprintf(stderr, "error: there is no experiment `%s`\n  fix: ", name);
	if (near)
		fprintf(stderr, "did you mean `nopal reproduce %s`?\n", near);
	else
		fprintf(stderr, "`nopal reproduce` lists them\n");
	return NULL;
}

static bool reproduce_read(const struct tool_call *call, struct reproduce_options *options)
{
	int64_t runs, seed;

	options->quick = tool_value(call, "quick") != NULL;
	options->runs_given = tool_value(call, "runs") != NULL;
	if (!tool_quantity(call, "runs", NOPAL_COUNT,
			   options->quick ? REPRODUCE_RUNS_QUICK : REPRODUCE_RUNS, &runs) ||
	    !tool_quantity(call, "seed", NOPAL_COUNT, 1, &seed))
		return false;
	if (runs < 1 || runs > REPRODUCE_RUNS_MAX)
		return tool_error("--runs %lld is no number of runs\n  fix: say 1 to %d",
				  (long long)runs, REPRODUCE_RUNS_MAX);
	options->runs = (int)runs;
	options->seed = (uint64_t)seed;
	options->sim = tool_value(call, "sim") || !tool_value(call, "live");
	options->live = tool_value(call, "live") || !tool_value(call, "sim");
	options->rows = tool_value(call, "rows");
	options->paths = tool_value(call, "paths");
	options->quiet = tool_value(call, "quiet") != NULL;
	return true;
}

static enum tool_exit reproduce_main(const struct tool_call *call)
{
	struct reproduce_options options = { 0 };
	const char *plot = tool_value(call, "plot");
	const struct reproduction *experiment;
	enum tool_exit code;

	if (call->word_count == 0) {
		for (int i = 0; i < REPRODUCE_COUNT; i++)
			printf("%-18s %s\n%18s %s\n", reproduce_table[i].name,
			       reproduce_table[i].summary, "", reproduce_table[i].time);
		return TOOL_GOOD;
	}
	experiment = reproduce_find(call->words[0]);
	if (!experiment || !reproduce_read(call, &options) ||
	    (plot && !report_can_plot("reproduce", plot)))
		return TOOL_BAD_INPUT;
	options.table = experiment->table;
	options.report = report_new(REPORT_RUNS, experiment->name);
	json_object_set_new(options.report->options, "runs", json_integer(options.runs));
	json_object_set_new(options.report->options, "seed",
			    json_integer((json_int_t)options.seed));
	json_object_set_new(options.report->options, "quick", json_boolean(options.quick));
	if (experiment->simulated && !options.sim) {
		report_refused(options.report, "%s", experiment->simulated);
		code = TOOL_GOOD;
	} else {
		code = (enum tool_exit)experiment->run(&options);
	}
	if (code == TOOL_GOOD)
		code = report_results(options.report, call);
	report_free(options.report);
	return code;
}

static const struct tool_option reproduce_options_table[] = {
	{ "runs", 'n', "NUMBER", "of each measurement; default 10" },
	{ "seed", 0, "NUMBER", "of all that is random; default 1" },
	{ "live", 0, NULL, "only on this machine's network" },
	{ "sim", 0, NULL, "only in the simulator" },
	{ "quick", 'q', NULL, "shorter, and two runs: shapes, not figures" },
	{ "rows", 'r', "ROW,ROW...", "only these protocols" },
	{ "paths", 0, "PATH,PATH...", "only these paths" },
	TOOL_JSON_OPTION,
	{ "plot", 0, "FILE.png", "plot the tables (gnuplot)" },
	{ "quiet", 0, NULL, "say nothing while it runs" },
	{ 0 },
};

const struct tool tool_reproduce = {
	.name = "reproduce",
	.words = "[EXPERIMENT]",
	.summary = "run the papers' experiments again, figures beside figures",
	.help = "Without a word, lists the experiments.  Prints mean and deviation of\n"
		"the runs, what the paper has in brackets, and which of its claims hold,\n"
		"do not hold, or cannot be tested, and why.\n"
		"\n"
		"In the simulator the same seed gives the same figures on every machine.\n"
		"Live rows that need network namespaces (root) are left out where those\n"
		"cannot be made.  Paths are lo, lan and wan, of madp-* the conditions clean,\n"
		"loss5, corrupt10 and so on; rows are udp, tcp, and names of configs.\n"
		"\n"
		"  nopal reproduce ctp-table2\n"
		"  nopal reproduce ctp-fig5 --sim --plot fig5.png\n"
		"  nopal reproduce ctp-table1 --live --paths lo --runs 3\n",
	.min_words = 0,
	.max_words = 1,
	.options = reproduce_options_table,
	.run = reproduce_main,
};
