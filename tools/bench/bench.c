/* SPDX-License-Identifier: MIT */
/*
 * bench.c -- `nopal bench`: measurements against raw UDP, TCP and peers.
 *
 * This file is the frame: options, rows, rounds, and the report at the end.  A measurement is a
 * file of its own and a line of the table below.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

extern const struct bench_measurement bench_bulk, bench_scale, bench_fanout, bench_fec,
	bench_messages, bench_pingpong, bench_sessions, bench_sim, bench_streams;

static const struct bench_measurement *const bench_table[] = {
	&bench_bulk,	 &bench_scale,	  &bench_fanout, &bench_fec,	 &bench_messages,
	&bench_pingpong, &bench_sessions, &bench_sim,	 &bench_streams,
};
enum {
	BENCH_MEASUREMENTS = sizeof(bench_table) / sizeof(bench_table[0]),
	BENCH_THOUSAND = 1000,
};

/* ------------------------------------------------------------------- helpers */

char **bench_split(const char *text)
{
	size_t length = strlen(text), max = length / 2 + 2, count = 0;
	char **words = tool_need(calloc(1, max * sizeof(*words) + length + 1));
	char *rest = memcpy((char *)(words + max), text, length + 1), *word;

	while ((word = strsep(&rest, ",")))
		if (*word)
			words[count++] = word;
	return words;
}

void bench_shuffle(int *order, int count)
{
	static unsigned seed;

	if (seed == 0)
		seed = (unsigned)clock_now_ns() | 1;
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0; i--) {
		int other = rand_r(&seed) % (i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static int bench_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void bench_sort(int64_t *times_ns, size_t count)
{
	qsort(times_ns, count, sizeof(*times_ns), bench_compare);
}

int64_t bench_share(const int64_t *times_ns, size_t count, size_t thousandths)
{
	return times_ns[count * thousandths / BENCH_THOUSAND];
}

double bench_allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd);
}

void bench_add(struct bench *bench, const char *path, const char *row, const char *column,
	       double value)
{
	struct report_cell cell = {
		.table = path,
		.row = row,
		.column = column,
		.class = bench->class,
	};

	report_set(bench->report, cell, bench->round, value);
	if (!bench->quiet)
		fprintf(stderr, "round %-3d %-4s %-16s %-12s %12.4g\n", bench->round + 1, path, row,
			column, value);
}

enum tool_exit bench_each_row(struct bench *bench)
{
	enum tool_exit code = TOOL_GOOD;
	int order[BENCH_ROWS];

	bench_shuffle(order, bench->row_count);
	for (int i = 0; i < bench->row_count && code == TOOL_GOOD; i++)
		code = bench->measurement->measure(bench, &bench->rows[order[i]]);
	return code;
}

/* ------------------------------------------------------------------- options */

static const struct bench_measurement *bench_find(const char *name)
{
	for (int i = 0; i < BENCH_MEASUREMENTS; i++)
		if (strcmp(bench_table[i]->name, name) == 0)
			return bench_table[i];
	fprintf(stderr,
		"error: there is no measurement `%s`\n"
		"  fix: say one of",
		name);
	for (int i = 0; i < BENCH_MEASUREMENTS; i++)
		fprintf(stderr, " %s", bench_table[i]->name);
	fprintf(stderr, "\n");
	return NULL;
}

/* An option, or a word, that changes nothing must not seem to. */
static bool bench_has_use(const struct tool_call *call, const struct bench *bench)
{
	static const char *const options[] = { "seconds", "rows",     "paths",
					       "count",	  "sessions", "size" };
	const struct bench_measurement *measurement = bench->measurement;
	bool config = measurement->words == BENCH_CONFIG;

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (measurement->uses & 1u << i || !tool_value(call, options[i]))
			continue;
		return tool_error("bench %s has no use for --%s\n"
				  "  fix: leave it out; see `nopal help bench`",
				  measurement->name, options[i]);
	}
	if (measurement->words == BENCH_PLACE || measurement->words == BENCH_CONFIGS ||
	    bench->word_count <= config)
		return true;
	return tool_error("bench %s has no use for the word `%s`\n"
			  "  fix: leave it out; see `nopal help bench`",
			  measurement->name, bench->words[config]);
}

static bool bench_read(const struct tool_call *call, struct bench *bench)
{
	const char *plot = tool_value(call, "plot"), *seconds = tool_value(call, "seconds");
	char *end = NULL;
	int64_t rounds;

	if (!bench_has_use(call, bench) ||
	    !tool_quantity(call, "rounds", NOPAL_COUNT, BENCH_ROUNDS, &rounds) ||
	    !tool_quantity(call, "count", NOPAL_COUNT, 0, &bench->count) ||
	    !tool_quantity(call, "sessions", NOPAL_COUNT, 0, &bench->sessions) ||
	    !tool_quantity(call, "size", NOPAL_SIZE, 0, &bench->size) ||
	    (plot && !report_can_plot("bench", plot)))
		return false;
	/* A bare number: the option's name is its unit. */
	bench->seconds = seconds ? strtod(seconds, &end) : BENCH_SECONDS;
	if (seconds && (end == seconds || *end ||
			!(bench->seconds > 0 && bench->seconds <= BENCH_SECONDS_MAX)))
		return tool_error("--seconds %s is no number of seconds\n"
				  "  fix: say 0.5 or 2, at most %d",
				  seconds, BENCH_SECONDS_MAX);
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX)
		return tool_error("--rounds %lld is no number of rounds\n  fix: say 1 to %d",
				  (long long)rounds, BENCH_ROUNDS_MAX);
	bench->rounds = (int)rounds;
	bench->row_words = tool_value(call, "rows");
	bench->paths = tool_value(call, "paths");
	bench->quiet = tool_value(call, "quiet") != NULL;
	return bench->measurement->words != BENCH_PLACE ||
	       bench_place_of(bench->word_count, bench->words, &bench->place);
}

/* --------------------------------------------------------------------- frame */

/* Rows: the configs that are named, else `words`, which are those of --rows, or the default ones. */
static enum tool_exit bench_run_rows(struct bench *bench, char **words)
{
	const struct bench_measurement *measurement = bench->measurement;
	bool named = measurement->words != BENCH_PLACE && bench->word_count > 0;
	enum tool_exit code = TOOL_GOOD;

	for (int i = 0; measurement->rows && (named ? i < bench->word_count : words[i] != NULL);
	     i++) {
		struct bench_row *row = &bench->rows[bench->row_count];
		const char *name = named ? bench->words[i] : words[i];

		if (bench->row_count == BENCH_ROWS) {
			tool_error("more than %d rows\n  fix: name fewer", BENCH_ROWS);
			return TOOL_BAD_INPUT;
		}
		*row = (struct bench_row){ .name = name, .plain = -1 };
		for (int at = 0; measurement->plain && measurement->plain[at]; at++)
			if (strcmp(measurement->plain[at], name) == 0)
				row->plain = at;
		if (row->plain < 0)
			row->plan = bench_plan(name);
		if (row->plain < 0 && !row->plan)
			return TOOL_BAD_INPUT;
		bench->row_count++;
	}
	for (int i = 0; measurement->columns[i].name; i++)
		report_column(bench->report, measurement->columns[i].name,
			      measurement->columns[i].unit, measurement->columns[i].better);
	if (measurement->reference)
		report_reference(bench->report, REPORT_NONE, measurement->reference);
	if (measurement->begin && !measurement->begin(bench))
		return TOOL_BAD_INPUT;
	for (int i = 0; measurement->notes && measurement->notes[i]; i++)
		report_note(bench->report, "%s", measurement->notes[i]);
	if (measurement->run)
		return measurement->run(bench);
	for (; bench->round < bench->rounds && code == TOOL_GOOD; bench->round++)
		code = measurement->round ? measurement->round(bench) : bench_each_row(bench);
	return code;
}

static enum tool_exit bench_run(const struct tool_call *call)
{
	struct bench bench = {
		.measurement = bench_find(call->words[0]),
		.words = call->words + 1,
		.word_count = call->word_count - 1,
	};
	enum tool_exit code;
	char **words;

	if (!bench.measurement || !bench_read(call, &bench))
		return TOOL_BAD_INPUT;
	words = bench_split(bench.row_words	      ? bench.row_words
			    : bench.measurement->rows ? bench.measurement->rows
						      : "");
	bench.report = report_new(REPORT_ROUNDS, bench.measurement->name);
	json_decref(bench.report->options);
	bench.report->options =
		json_pack("{s:i, s:f, s:I, s:I, s:I, s:s*, s:s*}", "rounds", bench.rounds,
			  "seconds", bench.seconds, "count", (json_int_t)bench.count, "sessions",
			  (json_int_t)bench.sessions, "size", (json_int_t)bench.size, "rows",
			  bench.row_words, "paths", bench.paths);
	code = bench_run_rows(&bench, words);
	if (code == TOOL_GOOD)
		code = report_results(bench.report, call);
	for (int i = 0; i < bench.row_count; i++)
		nopal_plan_unref(bench.rows[i].plan);
	report_free(bench.report);
	free(bench.state);
	free(words);
	return code;
}

static const struct tool_option bench_options_table[] = {
	{ "rounds", 'n', "NUMBER", "how often all rows are measured; default 10" },
	{ "seconds", 't', "SECONDS", "of one measurement; default 2" },
	{ "rows", 'r', "ROW,ROW...", "what is measured" },
	{ "paths", 0, "PATH,PATH...", "over what, where there is a choice" },
	{ "count", 0, "NUMBER", "of sessions, peers or messages" },
	{ "sessions", 0, "NUMBER", "of `scale` on one endpoint" },
	{ "size", 0, "BYTES", "of a message" },
	{ "json", 0, "FILE", "write everything as one JSON document" },
	{ "plot", 0, "FILE.png", "plot medians and quartiles (gnuplot)" },
	{ "quiet", 'q', NULL, "say nothing while it runs" },
	{ 0 },
};

const struct tool tool_bench = {
	.name = "bench",
	.words = "MEASUREMENT [CONF...]",
	.summary = "measure against raw UDP, TCP and peers, on this machine",
	.help = "Measures every row once a round, in random order, and prints medians\n"
		"and the ratios of rows within one round: absolute figures belong to one\n"
		"machine on one day.  Rows of different classes (no integrity, CRC, AEAD)\n"
		"are not compared.\n"
		"\n"
		"bulk: goodput from memory to memory between two network namespaces, for\n"
		"root.  Path V is a veth as it comes, W has its offloads off.  Rows are\n"
		"  raw raw-sg raw-plain raw-hot    UDP: ceilings without integrity\n"
		"  raw-crc raw-crc-sg              with a CRC32C over each datagram\n"
		"  tcp tcp-bbr                     the kernel's, by CUBIC or BBR\n"
		"  enet srt srt-live usrsctp udt   where they were built\n"
		"  monolith monolith_unsummed      bulk_cubic written by hand\n"
		"  CONFIG CONFIG-fused             interpreted, or its fused unit\n"
		"and words behind `bulk` are configs that take the place of those that are\n"
		"measured by default; the first one runs twice, as a control.\n"
		"\n"
		"pingpong: round trips of 64 bytes, asleep and spinning.\n"
		"messages: short messages a second.  fanout: one to many sessions.\n"
		"These three are two processes over loopback, or with the words HERE_NETNS\n"
		"THERE_NETNS THERE_ADDRESS between two network namespaces.  A row `bulk-fused`\n"
		"runs the unit of $NOPAL_FUSED, `bulk` is interpreted; `bulk+coalesce` puts\n"
		"short messages together.\n"
		"\n"
		"sessions: many on one port: rate of opening, bytes, idle processor time.\n"
		"sim: packets a second in the simulator.  fec: erasure codes against ISA-L.\n"
		"\n"
		"In virtual time, where a round is a seed:\n"
		"scale: a thousand destinations of a group, ten thousand sessions: bytes and\n"
		"time for each.  streams: many in one session: what one's loss and the others'\n"
		"load cost.\n"
		"\n"
		"  nopal bench bulk --rounds 10 --json bulk.json --plot bulk.png\n"
		"  nopal bench bulk --paths W --rows raw,tcp,bulk --seconds 1\n",
	.min_words = 1,
	.max_words = -1,
	.options = bench_options_table,
	.run = bench_run,
};
