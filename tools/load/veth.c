/* SPDX-License-Identifier: MIT */
/*
 * veth.c -- the script veth.sh, found, run, and read.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "load/veth.h"

enum {
	PATH_ROOM = 4096,
	NUMBER_ROOM = 32,
	BITS = 8,
};
#define SCRIPT "veth.sh"
#define BESIDE "../tests/bench" /* of the program in a build tree */
#define GIGA   1e9

/* The script's folder: said, or beside the program in its build tree. */
static bool veth_directory(char *directory, size_t room)
{
	const char *said = getenv("NOPAL_BENCH_DIR");
	char program[PATH_ROOM], script[PATH_ROOM + sizeof("/" SCRIPT)];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[length > 0 ? length : 0] = '\0';
	slash = strrchr(program, '/');
	if (said)
		snprintf(directory, room, "%s", said);
	else
		snprintf(directory, room, "%.*s" BESIDE, slash ? (int)(slash + 1 - program) : 0,
			 program);
	snprintf(script, sizeof(script), "%s/" SCRIPT, directory);
	if (access(script, R_OK) == 0)
		return true;
	fprintf(stderr,
		"error: there is no %s\n"
		"  fix: build with tests (meson setup BUILD && ninja -C BUILD) and run\n"
		"       BUILD/tools/nopal, or set NOPAL_BENCH_DIR to BUILD/tests/bench\n",
		script);
	return false;
}

/* ------------------------------------------------------------ what it says */

const char *veth_text(const json_t *line, const char *key)
{
	return json_string_value(json_object_get(line, key));
}

double veth_number(const json_t *line, const char *key)
{
	return json_number_value(json_object_get(line, key));
}

double veth_side(const json_t *line, const char *side, const char *key)
{
	return veth_number(json_object_get(line, side), key);
}

bool veth_is_sound(const json_t *line)
{
	return veth_side(line, "recv", "delivered_bytes") > 0 &&
	       veth_side(line, "recv", "wrong_bytes") <= 0;
}

double veth_goodput(const json_t *line)
{
	return veth_side(line, "recv", "delivered_bytes") * BITS /
	       veth_side(line, "recv", "seconds") / GIGA;
}

double veth_cpu(const json_t *line)
{
	return (veth_side(line, "recv", "cpu_s") + veth_side(line, "send", "cpu_s") +
		veth_number(line, "softirq_s")) /
	       (veth_side(line, "recv", "delivered_bytes") / GIGA);
}

static void veth_read(const struct veth *veth, FILE *from)
{
	char *text = NULL;
	size_t room = 0;

	while (getline(&text, &room, from) > 0) {
		json_t *line = json_loads(text, 0, NULL);

		if (line)
			veth->line(veth->user, line);
		else
			fprintf(stderr, "%s: %s", SCRIPT, text);
		json_decref(line);
	}
	free(text);
}

/* --------------------------------------------------------------- how it runs */

int veth_run(const struct veth *veth)
{
	char directory[PATH_ROOM];
	int ends[2], status = 0;
	pid_t child;
	FILE *from;

	if (!veth_directory(directory, sizeof(directory)))
		return TOOL_ENVIRONMENT;
	if (pipe(ends) < 0 || (child = fork()) < 0) {
		fprintf(stderr, "nopal: %s\n", strerror(errno));
		return TOOL_ENVIRONMENT;
	}
	if (child == 0) {
		char script[PATH_ROOM + sizeof("/" SCRIPT)], rounds[NUMBER_ROOM],
			seconds[NUMBER_ROOM];

		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* Never returns. */
		/* where this program is killed the script must clean up after itself */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		snprintf(script, sizeof(script), "%s/" SCRIPT, directory);
		snprintf(rounds, sizeof(rounds), "%d", veth->rounds);
		snprintf(seconds, sizeof(seconds), "%.3f", veth->seconds);
		execlp("bash", "bash", script, "-d", directory, "-n", rounds, "-t", seconds, "-p",
		       veth->paths, "-c", veth->counts ? veth->counts : "1", "-r", veth->rows,
		       NULL);
		fprintf(stderr, "nopal: bash: %s\n", strerror(errno));
		_exit(TOOL_ENVIRONMENT);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (from) {
		veth_read(veth, from);
		fclose(from);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_FAILED;
}
