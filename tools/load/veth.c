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
#include "load/pair.h"
#include "load/veth.h"

enum {
	PATH_ROOM = 4096,
	NUMBER_ROOM = 32,
	BITS = 8,
};
#define SCRIPT "veth.sh"
#define GIGA   1e9

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

/* --------------------------------------------------------------- how it runs */

int veth_run(const struct veth *veth)
{
	char script[PATH_ROOM], rounds[NUMBER_ROOM], seconds[NUMBER_ROOM];
	int ends[2], status = 0;
	char *text = NULL;
	size_t room = 0;
	pid_t child;
	FILE *from;

	if (!bench_program(SCRIPT, R_OK, script, sizeof(script))) {
		tool_error("there is no %s\n"
			   "  fix: build with tests (meson setup BUILD && ninja -C BUILD) and run\n"
			   "       BUILD/tools/nopal, or set NOPAL_BENCH_DIR to BUILD/tests/bench",
			   script);
		return TOOL_ENVIRONMENT;
	}
	if (pipe(ends) < 0 || (child = fork()) < 0) {
		fprintf(stderr, "nopal: %s\n", strerror(errno));
		return TOOL_ENVIRONMENT;
	}
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* where this program is killed the script must clean up after itself */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		snprintf(rounds, sizeof(rounds), "%d", veth->rounds);
		snprintf(seconds, sizeof(seconds), "%.3f", veth->seconds);
		execlp("bash", "bash", script, "-c", veth->counts ? veth->counts : "1", "-n",
		       rounds, "-t", seconds, "-p", veth->paths, "-r", veth->rows, NULL);
		fprintf(stderr, "nopal: bash: %s\n", strerror(errno));
		_exit(TOOL_ENVIRONMENT);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	while (from && getline(&text, &room, from) > 0) {
		json_t *line = json_loads(text, 0, NULL);

		if (line)
			veth->line(veth->user, line);
		else
			fprintf(stderr, "%s: %s", SCRIPT, text);
		json_decref(line);
	}
	free(text);
	if (from)
		fclose(from);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_FAILED;
}
