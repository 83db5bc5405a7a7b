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
static void bulk_rows(struct bench_report *report, int argc, char **argv, char *text, size_t room)
{
	char **words = bench_words(bench_options(report)->rows, DEFAULT_ROWS);
	const char *twice = argc > 0 ? argv[0] : NULL;
	bool replaces = argc > 0 && !bench_options(report)->rows;
	size_t used = 0;
	char again[VETH_ROWS_ROOM];

	text[0] = '\0';
	for (char **word = words; word && *word && used < room; word++) {
		if (replaces && bulk_is_config(*word))
			continue;
		used += (size_t)snprintf(text + used, room - used, "%s,", *word);
		if (!twice && bulk_is_config(*word))
			twice = *word;
	}
	for (int i = 0; i < argc && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s,", argv[i]);
	if (!twice && words)
		twice = words[0];
	if (twice && used < room) {
		snprintf(again, sizeof(again), "%s" CONTROL, twice);
		bench_control(report, twice, again);
		snprintf(text + used, room - used, "%s=%s", again, twice);
	}
	free(words);
}

/* --------------------------------------------------------- what is read of it */

static enum bench_class bulk_class(const char *name)
{
	for (int class = 0; class < BENCH_CLASSES; class ++)
		if (strcmp(bench_class_name((enum bench_class) class), name) == 0)
			return (enum bench_class) class;
	return BENCH_NONE;
}

struct bulk {
	struct bench_report *report;
	/* Runs of one thread a side, and those that others kept from their cores. */
	int runs, disturbed;
};

static void bulk_take(struct bench_report *report, const json_t *line)
{
	const char *class = veth_text(json_object_get(line, "recv"), "class"),
		   *row = veth_text(line, "row"), *path = veth_text(line, "path");
	struct bench_value value = { .what = row, .path = path };
	double wrong;

	value.round = (int)veth_number(line, "round");
	if (!row || !path)
		return;
	/* A run that delivered nothing, or something else than was sent, has no figure and is told
	 * of. */
	wrong = veth_side(line, "recv", "wrong_bytes");
	if (!veth_is_sound(line)) {
		bench_note(report, "%s on %s, round %d: %s", row, path, value.round + 1,
			   wrong > 0 ? "wrong bytes were delivered"
				     : "nothing was delivered, or it took too long");
		return;
	}
	if (class)
		value.class = bulk_class(class);
	if (!bench_has(report, row)) {
		const char *version = veth_text(json_object_get(line, "recv"), "version");

		/* Once a row: what it ran with. */
		bench_fact(report, row, "%s; rcvbuf %.0f, sender's sndbuf %.0f",
			   version ? version : "-", veth_side(line, "recv", "rcvbuf"),
			   veth_side(line, "send", "sndbuf"));
	}
	value.measure = "goodput";
	value.value = veth_goodput(line);
	bench_add(report, &value);
	value.measure = "cpu";
	value.value = veth_cpu(line);
	bench_add(report, &value);
}

static void bulk_on_line(void *user, const json_t *line)
{
	struct bulk *bulk = user;
	double waited;

	if (json_object_get(line, "left_out")) {
		const char *row = veth_text(line, "left_out"),
			   *program = veth_text(line, "program");

		bench_note(bulk->report,
			   "%s is left out, %s was not built; tools/install-packages "
			   "bench, then meson setup --reconfigure",
			   row ? row : "?", program ? program : "?");
		return;
	}
	waited = veth_side(line, "recv", "waited_s") + veth_side(line, "send", "waited_s");
	if (waited > 0) {
		bulk->runs++;
		bulk->disturbed += waited > DISTURBED * veth_side(line, "recv", "seconds");
	}
	bulk_take(bulk->report, line);
}

/* ------------------------------------------------------------------ how it is */

int bench_bulk(int argc, char **argv, struct bench_report *report)
{
	const struct bench_options *options = bench_options(report);
	const char *cores = getenv("NOPAL_BENCH_CORES");
	struct bulk bulk = { .report = report };
	char rows[VETH_ROWS_ROOM];
	const struct veth veth = {
		.paths = options->paths ? options->paths : DEFAULT_PATHS,
		.rows = rows,
		.rounds = options->rounds,
		.seconds = options->seconds,
		.line = bulk_on_line,
		.user = &bulk,
	};
	int exit;

	bench_measure(report, "goodput", "Gbit/s", BENCH_MORE_IS_BETTER);
	bench_measure(report, "cpu", "s/GB", BENCH_LESS_IS_BETTER);
	bench_reference(report, BENCH_NONE, "raw");
	bench_reference(report, BENCH_NONE, "raw-sg");
	bench_reference(report, BENCH_CRC, "raw-crc");
	bench_reference(report, BENCH_CRC, "raw-crc-sg");
	bench_beside(report, "tcp");
	bench_note(report, "payload is walked over 64 MiB by every row but "
			   "raw-hot; delivered and verified bytes count; cpu is "
			   "of both sides and of the kernel's softirq threads");
	bench_note(report, "tcp has a checksum that a veth leaves out on V and "
			   "computes on W");
	bulk_rows(report, argc, argv, rows, sizeof(rows));
	bench_fact(report, "cores", "%s", cores ? cores : "0,1");
	bench_fact(report, "payload_bytes", "1400");
	bench_fact(report, "mtu_bytes", "1500");
	exit = veth_run(&veth);
	bench_fact(bulk.report, "disturbed_runs", "%d of %d", bulk.disturbed, bulk.runs);
	if (bulk.disturbed > 0)
		bench_note(bulk.report,
			   "%d of %d runs waited for a core while other "
			   "programs had it: their goodput is too low",
			   bulk.disturbed, bulk.runs);
	return exit;
}
