/* SPDX-License-Identifier: MIT */
/*
 * veth.c -- experiments whose rows are programs: what is wanted of them, run, and what
 * could not be.
 */
#include <string.h>

#include "frame/tool.h"
#include "reproduce/veth.h"

enum { REPRODUCE_VETH_PATHS_ROOM = 64 };

static void veth_append(char *text, size_t room, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, room - used, "%s%s", used ? "," : "", word);
}

static void veth_on_line(void *user, const json_t *line)
{
	const struct reproduce_veth *veth = user;
	const char *left_out = veth_text(line, "left_out");
	const char *name = veth_text(line, "row");
	int row = 0;

	if (left_out)
		report_note(veth->options->report,
			    "%s is left out, %s was not built; tools/install-packages bench, then "
			    "meson setup --reconfigure",
			    left_out, veth_text(line, "program"));
	while (row < veth->row_count && (!name || strcmp(veth->rows[row].row, name) != 0))
		row++;
	if (row == veth->row_count)
		return;
	if (veth_is_sound(line)) {
		reproduce_say(veth->options, "%s, %s, %.0f at once: %.3f s/GB, %.3f Gbit/s",
			      veth_text(line, "path"), veth->rows[row].name,
			      veth_number(line, "connections"), veth_cpu(line), veth_goodput(line));
		veth->add(veth, row, line);
		return;
	}
	report_note(veth->options->report,
		    "%s on %s, %.0f at once: a run delivered nothing, or not what was sent, or "
		    "took too long",
		    veth->rows[row].name, veth_text(line, "path"),
		    veth_number(line, "connections"));
}

int reproduce_veth(const struct reproduce_veth *veth)
{
	char rows[VETH_ROWS_ROOM] = "", paths[REPRODUCE_VETH_PATHS_ROOM] = "";
	const struct reproduce_options *options = veth->options;
	bool asked = options->runs_given || options->runs < veth->runs;
	const struct veth run = {
		.paths = paths,
		.rows = rows,
		.counts = veth->counts,
		.rounds = asked ? options->runs : veth->runs,
		.seconds = options->quick ? veth->quick_seconds : veth->seconds,
		.line = veth_on_line,
		.user = (void *)(uintptr_t)veth,
	};
	int exit;

	if (!options->live) {
		report_refused(options->report,
			       "processor time is a live machine's; udt-flows is simulated");
		return TOOL_GOOD;
	}
	for (int i = 0; i < veth->row_count; i++)
		if (reproduce_wanted(options->rows, veth->rows[i].row))
			veth_append(rows, sizeof(rows), veth->rows[i].row);
	for (int i = 0; veth->paths[i]; i++)
		if (reproduce_wanted(options->paths, veth->paths[i]))
			veth_append(paths, sizeof(paths), veth->paths[i]);
	if (!*rows || !*paths)
		return TOOL_GOOD;
	/* A refusal of this machine leaves the rows out, and is reported. */
	exit = veth_run(&run);
	if (exit == TOOL_SKIPPED)
		report_refused(options->report,
			       "no rows between network namespaces: they need root, and iproute2");
	else if (exit == TOOL_ENVIRONMENT)
		report_refused(options->report,
			       "no programs to run: they are in a build tree with tests, or where "
			       "NOPAL_BENCH_DIR says");
	else
		return exit;
	return TOOL_GOOD;
}
