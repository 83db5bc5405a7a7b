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

extern const struct reproduction reproduce_congestion, reproduce_ctp_fig5, reproduce_ctp_packing,
	reproduce_ctp_table1, reproduce_ctp_table2, reproduce_madp_checksums, reproduce_madp_fig4,
	reproduce_madp_fig5, reproduce_madp_fig6, reproduce_madp_fig7, reproduce_madp_table1,
	reproduce_one_to_many_balance, reproduce_one_to_many_1, reproduce_one_to_many_2,
	reproduce_one_to_many_3, reproduce_udt_fig6, reproduce_udt_fig7, reproduce_udt_flows,
	reproduce_udtcp_analysis, reproduce_udtcp_changes, reproduce_udtcp_fig5,
	reproduce_udtcp_fig6, reproduce_udtcp_fig7, reproduce_udtcp_fig8, reproduce_udtcp_fig9,
	reproduce_udtcp_fig10;

static const struct reproduction *const reproduce_table[] = {
	&reproduce_congestion,	   &reproduce_ctp_fig5,	     &reproduce_ctp_packing,
	&reproduce_ctp_table1,	   &reproduce_ctp_table2,    &reproduce_madp_checksums,
	&reproduce_madp_fig4,	   &reproduce_madp_fig5,     &reproduce_madp_fig6,
	&reproduce_madp_fig7,	   &reproduce_madp_table1,   &reproduce_one_to_many_1,
	&reproduce_one_to_many_2,  &reproduce_one_to_many_3, &reproduce_one_to_many_balance,
	&reproduce_udt_fig6,	   &reproduce_udt_fig7,	     &reproduce_udt_flows,
	&reproduce_udtcp_analysis, &reproduce_udtcp_changes, &reproduce_udtcp_fig5,
	&reproduce_udtcp_fig6,	   &reproduce_udtcp_fig7,    &reproduce_udtcp_fig8,
	&reproduce_udtcp_fig9,	   &reproduce_udtcp_fig10,   NULL,
};

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
	const char *names[sizeof(reproduce_table) / sizeof(*reproduce_table)];
	const char *near;
	int count = 0;

	for (; reproduce_table[count]; count++) {
		if (strcmp(reproduce_table[count]->name, name) == 0)
			return reproduce_table[count];
		names[count] = reproduce_table[count]->name;
	}
	names[count] = NULL;
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
	if (runs < 1 || runs > REPRODUCE_RUNS_MAX) {
		fprintf(stderr,
			"error: --runs %lld is no number of runs\n"
			"  fix: say 1 to %d\n",
			(long long)runs, REPRODUCE_RUNS_MAX);
		return false;
	}
	options->runs = (int)runs;
	options->seed = (uint64_t)seed;
	options->sim = tool_value(call, "sim") || !tool_value(call, "live");
	options->live = tool_value(call, "live") || !tool_value(call, "sim");
	options->rows = tool_value(call, "rows");
	options->paths = tool_value(call, "paths");
	options->quiet = tool_value(call, "quiet") != NULL;
	return true;
}

static enum tool_exit reproduce_run(const struct tool_call *call)
{
	struct reproduce_options options = { 0 };
	const char *plot = tool_value(call, "plot");
	const struct reproduction *experiment;
	enum tool_exit code;

	if (call->word_count == 0) {
		for (int i = 0; reproduce_table[i]; i++)
			printf("%-18s %s\n%18s %s\n", reproduce_table[i]->name,
			       reproduce_table[i]->summary, "", reproduce_table[i]->time);
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
	code = (enum tool_exit)experiment->run(&options);
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
	.run = reproduce_run,
};
