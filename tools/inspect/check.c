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

static bool check_one(const struct tool_call *call, const char *name, json_t *results)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	bool good;

	plan = nopal_plan_load(name, tool_values(call, "set"), &problems);
	good = plan != NULL;
	if (results) {
		json_t *object = json_pack("{s:s, s:b, s:o}", "config", name, "good", good,
					   "problems", show_problems(&problems));

		if (good)
			json_object_update_new(object,
					       json_pack("{s:i, s:i}", "header_bytes",
							 (int)nopal_plan_info(plan)->header_bytes,
							 "microprotocols",
							 (int)nopal_plan_part_count(plan)));
		json_array_append_new(results, object);
	} else if (good)
		printf("%s: good: %zu microprotocols, %u header bytes\n", name,
		       nopal_plan_part_count(plan), nopal_plan_info(plan)->header_bytes);
	tool_problems(&problems);
	nopal_plan_unref(plan);
	return good;
}

static enum tool_exit check_run(const struct tool_call *call)
{
	json_t *results = tool_value(call, "json") ? json_array() : NULL;
	bool good = true;

	for (int i = 0; i < call->word_count; i++)
		good = check_one(call, call->words[i], results) && good;
	if (results) {
		json_t *object = show_object("nopal.check");

		json_object_set_new(object, "configs", results);
		show_json(object);
	}
	return good ? TOOL_GOOD : TOOL_BAD_INPUT;
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
