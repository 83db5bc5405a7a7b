/* SPDX-License-Identifier: MIT */
/*
 * bench_bulk.c -- `nopal bench bulk`: goodput and processor time of bulk flows
 * between two network namespaces.
 *
 * The script veth.sh and the programs of the rows do the measuring; this file
 * finds them, reads a line of JSON a measurement, and adds it to the report.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "tool.h"

enum {
	PATH_ROOM = 4096,
	ROWS_ROOM = 1024,
	NUMBER_ROOM = 32,
};
#define SCRIPT	      "veth.sh"
#define BESIDE	      "../tests/bench" /* of the program in a build tree */
#define DEFAULT_PATHS "V,W"
#define DEFAULT_ROWS                                                           \
	"raw,raw-sg,raw-plain,raw-hot,raw-crc,raw-crc-sg,tcp,enet,srt,"        \
	"usrsctp,udt,monolith,monolith_unsummed,"                              \
	"bulk,bulk-fused,bulk_cubic,bulk_unsummed,bulk_unsummed-fused"
#define CONTROL "-again" /* behind the name of the row that runs twice */
#define GIGA	1e9
/* Above this share of its time without a core a run was disturbed. */
#define DISTURBED 0.05
#define BITS	  8

/* ------------------------------------------------------------ what is to run */

/* The script's folder: said, or beside the program in its build tree. */
static bool bulk_directory(char *directory, size_t room)
{
	const char *said = getenv("NOPAL_BENCH_DIR");
	char program[PATH_ROOM], script[PATH_ROOM + sizeof("/" SCRIPT)];
	ssize_t length =
		readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[length > 0 ? length : 0] = '\0';
	slash = strrchr(program, '/');
	if (said)
		snprintf(directory, room, "%s", said);
	else
		snprintf(directory, room, "%.*s" BESIDE,
			 slash ? (int)(slash + 1 - program) : 0, program);
	snprintf(script, sizeof(script), "%s/" SCRIPT, directory);
	if (access(script, R_OK) == 0)
		return true;
	fprintf(stderr,
		"error: there is no %s\n"
		"  fix: build with tests (meson setup BUILD && ninja -C BUILD) "
		"and run\n"
		"       BUILD/tools/nopal, or set NOPAL_BENCH_DIR to "
		"BUILD/tests/bench\n",
		script);
	return false;
}

static bool bulk_is_config(const char *row)
{
	static const char *const others[] = { "raw",	 "tcp",	    "enet",
					      "srt",	 "usrsctp", "udt",
					      "monolith" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(row, others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

/* The rows as the script wants them: those said, or the default ones with the
 * configs given as words in place of its configs, and the first config (or else
 * the first row) once more as a control. */
static void bulk_rows(struct bench_report *report, int argc, char **argv,
		      char *text, size_t room)
{
	char **words = bench_words(bench_options(report)->rows, DEFAULT_ROWS);
	const char *twice = argc > 0 ? argv[0] : NULL;
	bool replaces = argc > 0 && !bench_options(report)->rows;
	size_t used = 0;
	char again[ROWS_ROOM];

	text[0] = '\0';
	for (char **word = words; word && *word && used < room; word++) {
		if (replaces && bulk_is_config(*word))
			continue;
		used += (size_t)snprintf(text + used, room - used, "%s,",
					 *word);
		if (!twice && bulk_is_config(*word))
			twice = *word;
	}
	for (int i = 0; i < argc && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s,",
					 argv[i]);
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
		if (strcmp(bench_class_name((enum bench_class) class), name) ==
		    0)
			return (enum bench_class) class;
	return BENCH_NONE;
}

static double bulk_number(const json_t *side, const char *key)
{
	return json_number_value(json_object_get(side, key));
}

/* Once a row: what it ran with. */
static void bulk_describe(struct bench_report *report, const char *row,
			  const json_t *line)
{
	const json_t *recv = json_object_get(line, "recv");
	const char *version =
		json_string_value(json_object_get(recv, "version"));

	bench_fact(report, row, "%s; rcvbuf %.0f, sender's sndbuf %.0f",
		   version ? version : "-", bulk_number(recv, "rcvbuf"),
		   bulk_number(json_object_get(line, "send"), "sndbuf"));
}

/* A run that delivered nothing, or something else than was sent, has no figure
 * and is told of. */
static bool bulk_is_sound(struct bench_report *report, const char *row,
			  const char *path, int round, const json_t *recv)
{
	double wrong = bulk_number(recv, "wrong_bytes");

	if (bulk_number(recv, "delivered_bytes") > 0 && wrong <= 0)
		return true;
	bench_note(report, "%s on %s, round %d: %s", row, path, round + 1,
		   wrong > 0 ? "wrong bytes were delivered"
			     : "nothing was delivered, or it took too long");
	return false;
}

/* Runs of one thread a side, and those that others kept from their cores. */
struct bulk_disturbance {
	int runs, disturbed;
};

static void bulk_watch(struct bulk_disturbance *watch, const json_t *line)
{
	const json_t *recv = json_object_get(line, "recv"),
		     *send = json_object_get(line, "send");
	double waited =
		bulk_number(recv, "waited_s") + bulk_number(send, "waited_s");

	if (waited <= 0)
		return;
	watch->runs++;
	watch->disturbed += waited > DISTURBED * bulk_number(recv, "seconds");
}

static void bulk_warn(struct bench_report *report,
		      const struct bulk_disturbance *watch)
{
	bench_fact(report, "disturbed_runs", "%d of %d", watch->disturbed,
		   watch->runs);
	if (watch->disturbed > 0)
		bench_note(report,
			   "%d of %d runs waited for a core while other "
			   "programs had it: their goodput is too low",
			   watch->disturbed, watch->runs);
}

static void bulk_take(struct bench_report *report, const json_t *line)
{
	const json_t *recv = json_object_get(line, "recv"),
		     *send = json_object_get(line, "send");
	const char *class = json_string_value(json_object_get(recv, "class")),
		   *row = json_string_value(json_object_get(line, "row")),
		   *path = json_string_value(json_object_get(line, "path"));
	struct bench_value value = { .what = row, .path = path };
	double bytes = bulk_number(recv, "delivered_bytes");

	value.round = (int)bulk_number(line, "round");
	if (!row || !path ||
	    !bulk_is_sound(report, row, path, value.round, recv))
		return;
	if (class)
		value.class = bulk_class(class);
	if (!bench_has(report, row))
		bulk_describe(report, row, line);
	value.measure = "goodput";
	value.value = bytes * BITS / bulk_number(recv, "seconds") / GIGA;
	bench_add(report, &value);
	value.measure = "cpu";
	value.value = (bulk_number(recv, "cpu_s") + bulk_number(send, "cpu_s") +
		       bulk_number(line, "softirq_s")) /
		      (bytes / GIGA);
	bench_add(report, &value);
}

static void bulk_leave_out(struct bench_report *report, const json_t *line)
{
	const char *row = json_string_value(json_object_get(line, "left_out")),
		   *program =
			   json_string_value(json_object_get(line, "program"));

	bench_note(report,
		   "%s is left out, %s was not built; tools/install-packages "
		   "bench, then meson setup --reconfigure",
		   row ? row : "?", program ? program : "?");
}

static void bulk_read(struct bench_report *report, FILE *from)
{
	struct bulk_disturbance watch = { 0 };
	char *text = NULL;
	size_t room = 0;

	while (getline(&text, &room, from) > 0) {
		json_t *line = json_loads(text, 0, NULL);

		if (json_object_get(line, "left_out")) {
			bulk_leave_out(report, line);
		} else if (line) {
			bulk_watch(&watch, line);
			bulk_take(report, line);
		} else {
			fprintf(stderr, "%s: %s", SCRIPT, text);
		}
		json_decref(line);
	}
	bulk_warn(report, &watch);
	free(text);
}

/* ------------------------------------------------------------------ how it is */

/* Never returns. */
static void bulk_exec(const struct bench_report *report, const char *directory,
		      const char *rows)
{
	const struct bench_options *options = bench_options(report);
	char script[PATH_ROOM + sizeof("/" SCRIPT)];
	char rounds[NUMBER_ROOM], seconds[NUMBER_ROOM];

	/* where this program is killed the script must clean up after itself */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(script, sizeof(script), "%s/" SCRIPT, directory);
	snprintf(rounds, sizeof(rounds), "%d", options->rounds);
	snprintf(seconds, sizeof(seconds), "%.3f", options->seconds);
	execlp("bash", "bash", script, "-d", directory, "-n", rounds, "-t",
	       seconds, "-p", options->paths ? options->paths : DEFAULT_PATHS,
	       "-r", rows, NULL);
	fprintf(stderr, "nopal bench: bash: %s\n", strerror(errno));
	_exit(TOOL_ENVIRONMENT);
}

static int bulk_script(struct bench_report *report, const char *directory,
		       const char *rows)
{
	int ends[2], status = 0;
	pid_t child;
	FILE *from;

	if (pipe(ends) < 0 || (child = fork()) < 0) {
		fprintf(stderr, "nopal bench: %s\n", strerror(errno));
		return TOOL_ENVIRONMENT;
	}
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		bulk_exec(report, directory, rows);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (from) {
		bulk_read(report, from);
		fclose(from);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_FAILED;
}

static void bulk_explain(struct bench_report *report)
{
	bench_measure(report, "goodput", "Gbit/s", BENCH_MORE_IS_BETTER);
	bench_measure(report, "cpu", "s/GB", BENCH_LESS_IS_BETTER);
	bench_reference(report, BENCH_NONE, "raw");
	bench_reference(report, BENCH_NONE, "raw-sg");
	bench_reference(report, BENCH_CRC, "raw-crc");
	bench_reference(report, BENCH_CRC, "raw-crc-sg");
	bench_beside(report, "tcp");
	bench_note(report,
		   "payload is walked over 64 MiB by every row but "
		   "raw-hot; delivered and verified bytes count; cpu is "
		   "of both sides and of the kernel's softirq threads");
	bench_note(report, "tcp has a checksum that a veth leaves out on V and "
			   "computes on W");
}

int bench_bulk(int argc, char **argv, struct bench_report *report)
{
	const char *cores = getenv("NOPAL_BENCH_CORES");
	char directory[PATH_ROOM], rows[ROWS_ROOM];

	if (!bulk_directory(directory, sizeof(directory)))
		return TOOL_ENVIRONMENT;
	bulk_explain(report);
	bulk_rows(report, argc, argv, rows, sizeof(rows));
	bench_fact(report, "cores", "%s", cores ? cores : "0,1");
	bench_fact(report, "payload_bytes", "1400");
	bench_fact(report, "mtu_bytes", "1500");
	return bulk_script(report, directory, rows);
}
