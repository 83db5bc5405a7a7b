/* SPDX-License-Identifier: MIT */
/* results.c -- a grade in the forms that others read. */
#include "lab/results.h"

#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/html.h"

/* Why an item failed, and the hint; the caller frees it. */
static char *results_reason(const struct grade_result *result)
{
	return tool_printed("%s: %s\nhint: %s (\"%s\" in README.md)",
			    result->case_name ? result->case_name : result->item->name,
			    result->reason ? result->reason : "",
			    result->item->hint ? result->item->hint : "",
			    result->item->section ? result->item->section : "");
}

/* Where it does not compile, each item fails for that. */
static const struct grade_result *results_of(const struct grade *grade, const struct lab_item *item)
{
	for (size_t i = 0; i < grade->count; i++)
		if (grade->results[i].item == item)
			return &grade->results[i];
	return NULL;
}

static json_t *results_test(const struct grade *grade, const struct lab_item *item)
{
	const struct grade_result *result = results_of(grade, item);
	bool passed = result && result->passed;
	char *reason = passed || !result ? tool_need(strdup(grade->errors ? grade->errors : ""))
					 : results_reason(result);
	json_t *test = json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "name", item->name, "score",
				 passed ? item->points : 0, "max_score", item->points, "status",
				 passed ? "passed" : "failed", "output", reason, "visibility",
				 item->hidden ? "after_due_date" : "visible");

	free(reason);
	return tool_need(test);
}

json_t *results_json(const struct grade *grade)
{
	json_t *tests = tool_need(json_array());
	char *title = tool_printed("Lab %d, %s", grade->lab->number, grade->lab->title);
	json_t *all;

	for (const struct lab_item *item = grade->lab->items; item->name; item++)
		if (grade->errors || results_of(grade, item))
			json_array_append_new(tests, results_test(grade, item));
	all = json_pack("{s:i, s:i, s:s, s:s, s:o}", "score", grade->points, "max_score",
			grade->possible, "output", title, "visibility", "visible", "tests", tests);
	free(title);
	return tool_need(all);
}

void results_junit(const struct grade *grade, FILE *out)
{
	size_t failed = 0;

	for (size_t i = 0; i < grade->count; i++)
		failed += !grade->results[i].passed;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"lab %02d-%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\">\n",
		grade->lab->number, grade->lab->name, grade->count + (grade->errors != NULL),
		failed, grade->errors != NULL);
	if (grade->errors) {
		fputs("  <testcase classname=\"build\" name=\"it compiles\"><error>", out);
		lab_html_text(out, grade->errors);
		fputs("</error></testcase>\n", out);
	}
	for (size_t i = 0; i < grade->count; i++) {
		const struct grade_result *result = &grade->results[i];
		char *reason = result->passed ? NULL : results_reason(result);

		fputs("  <testcase classname=\"rubric\" name=\"", out);
		lab_html_text(out, result->item->name);
		fputs(reason ? "\"><failure>" : "\"/>\n", out);
		if (reason) {
			lab_html_text(out, reason);
			fputs("</failure></testcase>\n", out);
		}
		free(reason);
	}
	fputs("</testsuite>\n", out);
}
