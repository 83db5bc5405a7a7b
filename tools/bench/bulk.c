/* SPDX-License-Identifier: MIT */
/*
 * bulk.c -- `nopal bench bulk`: goodput and processor time of bulk flows between two network
 * namespaces.
 *
 * The script veth.sh and the programs of the rows do the measuring; this file finds them, reads a
 * line of JSON a measurement, and adds it to the report.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "load/veth.h"

#define DEFAULT_PATHS "V,W"
#define DEFAULT_ROWS                                                                               \
	"raw,raw-sg,raw-plain,raw-hot,raw-crc,raw-crc-sg,tcp,enet,srt,"                            \
	"usrsctp,udt,monolith,monolith_unsummed,"                                                  \
	"bulk,bulk-fused,bulk_cubic,bulk_unsummed,bulk_unsummed-fused"
#define CONTROL "-again" /* behind the name of the row that runs twice */
/* Above this share of its time without a core a run was disturbed. */
#define DISTURBED 0.05

/* ------------------------------------------------------------ what is to run */

static bool bulk_is_config(const char *row)
{
	static const char *const others[] = { "raw",	 "tcp", "enet",	   "srt",
					      "usrsctp", "udt", "monolith" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(row, others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

/* The rows as the script wants them: those said, or the default ones with the configs given as
 * words in place of its configs, and the first config (or else the first row) once more as a
 * control. */
static void bulk_rows(const struct bench *bench, char *text, size_t room)
{
	char **words = bench_split(bench->row_words ? bench->row_words : DEFAULT_ROWS);
	const char *twice = bench->word_count > 0 ? bench->words[0] : NULL;
	bool replaces = bench->word_count > 0 && !bench->row_words;
	size_t used = 0;
	char again[VETH_ROWS_ROOM];

	text[0] = '\0';
	for (char **word = words; *word && used < room; word++) {
		if (replaces && bulk_is_config(*word))
			continue;
		used += (size_t)snprintf(text + used, room - used, "%s,", *word);
		if (!twice && bulk_is_config(*word))
			twice = *word;
	}
	for (int i = 0; i < bench->word_count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s,", bench->words[i]);
	if (!twice)
		twice = words[0];
	if (twice && used < room) {
		snprintf(text + used, room - used, "%s" CONTROL "=%s", twice, twice);
		snprintf(again, sizeof(again), "%s" CONTROL, twice);
		report_control(bench->report, twice, again);
	}
	free(words);
}

/* --------------------------------------------------------- what is read of it */

struct bulk {
	struct bench *bench;
	/* Runs of one thread a side, and those that others kept from their cores. */
	int runs, disturbed;
};

static void bulk_on_line(void *user, const json_t *line)
{
	struct bulk *bulk = user;
	struct bench *bench = bulk->bench;
	double waited = veth_side(line, "recv", "waited_s") + veth_side(line, "send", "waited_s");
	const json_t *receiver = json_object_get(line, "recv");
	const char *row = veth_text(line, "row"), *path = veth_text(line, "path"),
		   *version = veth_text(receiver, "version"), *class = veth_text(receiver, "class"),
		   *left_out = veth_text(line, "left_out"), *program = veth_text(line, "program");

	if (left_out)
		report_note(bench->report,
			    "%s is left out, %s was not built; tools/install-packages bench, then "
			    "meson setup --reconfigure",
			    left_out, program ? program : "?");
	if (waited > 0) {
		bulk->runs++;
		bulk->disturbed += waited > DISTURBED * veth_side(line, "recv", "seconds");
	}
	bench->round = (int)veth_number(line, "round");
	if (!row || !path || bench->round < 0)
		return;
	/* A run that delivered nothing, or something else than was sent, has no figure and is told
	 * of. */
	if (!veth_is_sound(line)) {
		report_note(bench->report, "%s on %s, round %d: %s", row, path, bench->round + 1,
			    veth_number(receiver, "wrong_bytes") > 0
				    ? "wrong bytes were delivered"
				    : "nothing was delivered, or it took too long");
		return;
	}
	report_fact(bench->report, row, "%s; rcvbuf %.0f, sender's sndbuf %.0f",
		    version ? version : "-", veth_number(receiver, "rcvbuf"),
		    veth_side(line, "send", "sndbuf"));
	bench->class = REPORT_NONE;
	for (int i = 0; class && i < REPORT_CLASSES; i++)
		if (strcmp(report_class_name((enum report_class)i), class) == 0)
			bench->class = (enum report_class)i;
	bench_add(bench, path, row, "goodput", veth_goodput(line));
	bench_add(bench, path, row, "cpu", veth_cpu(line));
}

static enum tool_exit bulk_run(struct bench *bench)
{
	struct report *report = bench->report;
	const char *cores = getenv("NOPAL_BENCH_CORES");
	struct bulk bulk = { .bench = bench };
	char rows[VETH_ROWS_ROOM];
	const struct veth veth = {
		.paths = bench->paths ? bench->paths : DEFAULT_PATHS,
		.rows = rows,
		.rounds = bench->rounds,
		.seconds = bench->seconds,
		.line = bulk_on_line,
		.user = &bulk,
	};
	int code;

	report_reference(report, REPORT_NONE, "raw-sg");
	report_reference(report, REPORT_CRC, "raw-crc");
	report_reference(report, REPORT_CRC, "raw-crc-sg");
	report_beside(report, "tcp");
	report_note(
		report,
		"payload is walked over 64 MiB by every row but raw-hot; delivered and verified "
		"bytes count; cpu is of both sides and of the kernel's softirq threads");
	report_note(report, "tcp has a checksum that a veth leaves out on V and computes on W");
	bulk_rows(bench, rows, sizeof(rows));
	report_fact(report, "cores", "%s", cores ? cores : "0,1");
	report_fact(report, "payload_bytes", "1400");
	report_fact(report, "mtu_bytes", "1500");
	code = veth_run(&veth);
	report_fact(report, "disturbed_runs", "%d of %d", bulk.disturbed, bulk.runs);
	if (bulk.disturbed > 0)
		report_note(report,
			    "%d of %d runs waited for a core while other programs had it: their "
			    "goodput is too low",
			    bulk.disturbed, bulk.runs);
	return (enum tool_exit)code;
}

const struct bench_measurement bench_bulk = {
	.name = "bulk",
	.uses = BENCH_USE_SECONDS | BENCH_USE_ROWS | BENCH_USE_PATHS,
	.words = BENCH_CONFIGS,
	.columns = { { "goodput", "Gbit/s", REPORT_MORE_IS_BETTER },
		     { "cpu", "s/GB", REPORT_LESS_IS_BETTER } },
	.reference = "raw",
	.run = bulk_run,
};
