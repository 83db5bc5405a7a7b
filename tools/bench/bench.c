/* SPDX-License-Identifier: MIT */
/*
 * bench.c -- `nopal bench`: measurements against raw UDP, TCP and peers.
 *
 * This file is the frame: options, helpers of bench.h, and what is printed at the end.  A
 * measurement is a file of its own and a line of the table below.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/json.h"
#include "bench/plot.h"
#include "bench/table.h"
#include "frame/tool.h"
#include "load/clock.h"

int bench_bulk(int argc, char **argv, struct bench_report *report);
int bench_scale(int argc, char **argv, struct bench_report *report);
int bench_fanout(int argc, char **argv, struct bench_report *report);
int bench_fec(int argc, char **argv, struct bench_report *report);
int bench_messages(int argc, char **argv, struct bench_report *report);
int bench_pingpong(int argc, char **argv, struct bench_report *report);
int bench_sessions(int argc, char **argv, struct bench_report *report);
int bench_sim(int argc, char **argv, struct bench_report *report);
int bench_streams(int argc, char **argv, struct bench_report *report);

/* Options that some measurements have no use for. */
enum bench_use {
	BENCH_SECONDS_OF_ONE = 1 << 0,
	BENCH_ROWS = 1 << 1,
	BENCH_PATHS = 1 << 2,
	BENCH_COUNT = 1 << 3,
	BENCH_SESSIONS = 1 << 4,
	BENCH_SIZE = 1 << 5,
};
static const struct {
	const char *option;
	enum bench_use use;
} bench_uses[] = {
	{ "seconds", BENCH_SECONDS_OF_ONE },
	{ "rows", BENCH_ROWS },
	{ "paths", BENCH_PATHS },
	{ "count", BENCH_COUNT },
	{ "sessions", BENCH_SESSIONS },
	{ "size", BENCH_SIZE },
};

static const struct bench_entry {
	const char *name;
	int (*run)(int argc, char **argv, struct bench_report *report);
	unsigned uses; /* enum bench_use */
} bench_table[] = {
	{ "bulk", bench_bulk, BENCH_SECONDS_OF_ONE | BENCH_ROWS | BENCH_PATHS },
	{ "scale", bench_scale, BENCH_ROWS | BENCH_COUNT | BENCH_SESSIONS | BENCH_SIZE },
	{ "fanout", bench_fanout, BENCH_SECONDS_OF_ONE | BENCH_ROWS | BENCH_COUNT | BENCH_SIZE },
	{ "fec", bench_fec, BENCH_SECONDS_OF_ONE },
	{ "messages", bench_messages, BENCH_SECONDS_OF_ONE | BENCH_ROWS | BENCH_SIZE },
	{ "pingpong", bench_pingpong, BENCH_ROWS | BENCH_COUNT },
	{ "sessions", bench_sessions, BENCH_ROWS | BENCH_COUNT },
	{ "sim", bench_sim, BENCH_ROWS | BENCH_COUNT },
	{ "streams", bench_streams, BENCH_COUNT | BENCH_SIZE },
};
enum { BENCH_ENTRIES = sizeof(bench_table) / sizeof(bench_table[0]) };

/* ------------------------------------------------------------------- helpers */

char **bench_words(const char *text, const char *fallback)
{
	const char *from = text ? text : fallback;
	size_t length = strlen(from), max = length / 2 + 2;
	char **words = calloc(1, max * sizeof(*words) + length + 1);
	char *rest, *word;
	size_t count = 0;

	if (!words)
		return NULL;
	rest = memcpy((char *)(words + max), from, length + 1);
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

/* --------------------------------------------------------------------- frame */

static const struct bench_entry *bench_find(const char *name)
{
	for (int i = 0; i < BENCH_ENTRIES; i++)
		if (strcmp(bench_table[i].name, name) == 0)
			return &bench_table[i];
	fprintf(stderr,
		"error: there is no measurement `%s`\n"
		"  fix: say one of",
		name);
	for (int i = 0; i < BENCH_ENTRIES; i++)
		fprintf(stderr, " %s", bench_table[i].name);
	fprintf(stderr, "\n");
	return NULL;
}

static bool bench_read(const struct tool_call *call, struct bench_options *options)
{
	int64_t rounds;
	const char *text;
	char *end = NULL;

	if (!tool_quantity(call, "rounds", NOPAL_COUNT, BENCH_ROUNDS, &rounds))
		return false;
	/* A bare number: the option's name is its unit. */
	text = tool_value(call, "seconds");
	options->seconds = BENCH_SECONDS;
	if (text) {
		options->seconds = strtod(text, &end);
		if (!(end != text && *end == '\0' && options->seconds > 0 &&
		      options->seconds <= BENCH_SECONDS_MAX)) {
			fprintf(stderr,
				"error: --seconds %s is no number of seconds\n"
				"  fix: say 0.5 or 2, at most %d\n",
				text, BENCH_SECONDS_MAX);
			return false;
		}
	}
	if (!tool_quantity(call, "count", NOPAL_COUNT, 0, &options->count) ||
	    !tool_quantity(call, "sessions", NOPAL_COUNT, 0, &options->sessions) ||
	    !tool_quantity(call, "size", NOPAL_SIZE, 0, &options->size))
		return false;
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX) {
		fprintf(stderr,
			"error: --rounds %lld is no number of rounds\n"
			"  fix: say 1 to %d\n",
			(long long)rounds, BENCH_ROUNDS_MAX);
		return false;
	}
	options->rounds = (int)rounds;
	options->rows = tool_value(call, "rows");
	options->paths = tool_value(call, "paths");
	options->quiet = tool_value(call, "quiet") != NULL;
	return true;
}

static enum tool_exit bench_run(const struct tool_call *call)
{
	const struct bench_entry *entry = bench_find(call->words[0]);
	struct bench_options options = { 0 };
	struct bench_report *report;
	int code;

	if (!entry)
		return TOOL_BAD_INPUT;
	/* An option that changes nothing must not seem to. */
	for (size_t i = 0; i < sizeof(bench_uses) / sizeof(*bench_uses); i++) {
		if (entry->uses & bench_uses[i].use || !tool_value(call, bench_uses[i].option))
			continue;
		fprintf(stderr,
			"error: bench %s has no use for --%s\n"
			"  fix: leave it out; see `nopal help bench`\n",
			entry->name, bench_uses[i].option);
		return TOOL_BAD_INPUT;
	}
	if (!bench_read(call, &options))
		return TOOL_BAD_INPUT;
	report = bench_report_new(entry->name, &options);
	code = entry->run(call->word_count - 1, call->words + 1, report);
	if (code == TOOL_GOOD && report->row_count == 0) {
		fprintf(stderr, "nopal bench: nothing could be measured\n");
		code = TOOL_FAILED;
	}
	if (code == TOOL_GOOD) {
		const char *json = tool_value(call, "json"), *plot = tool_value(call, "plot");
		bool good = true;

		bench_report_table(report, stdout);
		if (json)
			good = bench_report_json(report, json);
		if (plot)
			good = bench_report_plot(report, plot) && good;
		if (!good)
			code = TOOL_ENVIRONMENT;
	}
	bench_report_free(report);
	return (enum tool_exit)code;
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
	.words = "WHAT [CONF...]",
	.summary = "measure against raw UDP, TCP and peers, on this machine",
	.help = "Measures every row once a round, in random order, and prints "
		"medians\n"
		"and the ratios of rows within one round: absolute figures "
		"belong to one\n"
		"machine on one day.  Rows of different classes (no integrity, "
		"CRC, AEAD)\n"
		"are not compared.\n"
		"\n"
		"bulk: goodput from memory to memory between two network "
		"namespaces, for\n"
		"root.  Path V is a veth as it comes, W has its offloads off.  "
		"Rows are\n"
		"  raw raw-sg raw-plain raw-hot    UDP: ceilings without "
		"integrity\n"
		"  raw-crc raw-crc-sg              with a CRC32C over each "
		"datagram\n"
		"  tcp tcp-bbr                     the kernel's, by CUBIC or "
		"BBR\n"
		"  enet srt srt-live usrsctp udt   where they were built\n"
		"  monolith monolith_unsummed      bulk_cubic written by "
		"hand\n"
		"  CONFIG CONFIG-fused             interpreted, or its fused "
		"unit\n"
		"and words behind `bulk` are configs that take the place of "
		"those that are\n"
		"measured by default; the first one runs twice, as a "
		"control.\n"
		"\n"
		"pingpong: round trips of 64 bytes, asleep and spinning.\n"
		"messages: short messages a second.  fanout: one to many "
		"sessions.\n"
		"These three are two processes over loopback, or with the "
		"words "
		"HERE_NETNS\n"
		"THERE_NETNS THERE_ADDRESS between two network namespaces.  A "
		"row `bulk-fused`\n"
		"runs the unit of $NOPAL_FUSED, `bulk` is interpreted; "
		"`bulk+coalesce` puts\n"
		"short messages together.\n"
		"\n"
		"sessions: many on one port: rate of opening, bytes, idle "
		"processor time.\n"
		"sim: packets a second in the simulator.  fec: erasure codes "
		"against ISA-L.\n"
		"\n"
		"In virtual time, where a round is a seed:\n"
		"scale: a thousand destinations of a group, ten thousand "
		"sessions: bytes and\n"
		"time for each.  streams: many in one session: what one's loss "
		"and the others'\n"
		"load cost.\n"
		"\n"
		"  nopal bench bulk --rounds 10 --json bulk.json --plot "
		"bulk.png\n"
		"  nopal bench bulk --paths W --rows raw,tcp,bulk "
		"--seconds 1\n",
	.min_words = 1,
	.max_words = -1,
	.options = bench_options_table,
	.run = bench_run,
};
