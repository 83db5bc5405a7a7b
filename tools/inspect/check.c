/* SPDX-License-Identifier: MIT */
/*
 * check.c -- nopal check: is this config sound?  All that is wrong, at once.
 */
#include "inspect/show.h"

static const struct tool_option check_options[] = {
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ 0 },
};

static enum tool_exit check_run(const struct tool_call *call)
{
	json_t *results = tool_value(call, "json") ? json_array() : NULL;
	enum tool_exit exit = TOOL_GOOD;

	for (int i = 0; i < call->word_count; i++) {
		struct nopal_problems problems = { 0 };
		const char *name = call->words[i];
		struct nopal_plan *plan =
			nopal_plan_load(name, tool_values(call, "set"), &problems);
		size_t parts = plan ? nopal_plan_part_count(plan) : 0;
		unsigned header_bytes = plan ? nopal_plan_info(plan)->header_bytes : 0;

		if (results) {
			json_t *object =
				json_pack("{s:s, s:b, s:o}", "config", name, "good", plan != NULL,
					  "problems", show_problems(&problems));

			if (plan)
				json_object_update_new(object,
						       json_pack("{s:i, s:i}", "header_bytes",
								 (int)header_bytes,
								 "microprotocols", (int)parts));
			json_array_append_new(results, object);
		} else if (plan) {
			printf("%s: good: %zu microprotocols, %u header bytes\n", name, parts,
			       header_bytes);
		}
		if (!plan)
			exit = TOOL_BAD_INPUT;
		tool_problems(&problems);
		nopal_plan_unref(plan);
	}
	if (results) {
		json_t *object = show_object("nopal.check");

		json_object_set_new(object, "configs", results);
		show_json(object);
	}
	return exit;
}

const struct tool tool_check = {
	.name = "check",
	.words = "CONF...",
	.summary = "is this config sound? all that is wrong, at once",
	.help = "Reads configs by path or name, and reports every problem with "
		"its file, line,\ncause and fix. Exits with 2 when there is "
		"one; warnings alone are no refusal.\n\n"
		"  nopal check bulk\n"
		"  nopal check my.conf --set resize.mtu=9000B",
	.min_words = 1,
	.max_words = -1,
	.options = check_options,
	.run = check_run,
};
