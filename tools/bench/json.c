/* SPDX-License-Identifier: MIT */
/*
 * json.c -- a report as one JSON document: the machine, the run's facts, every value of every
 * round, and what was made of them.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <nopal/nopal.h>
#include "bench/json.h"

enum { DOCUMENT_VERSION = 1, LINE_ROOM = 512 };
#define DOCUMENT_SCHEMA "nopal.bench"

static json_t *json_machine(void)
{
	char model[LINE_ROOM];
	struct utsname name = { 0 };
	size_t room = sizeof(model);
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[LINE_ROOM];

	/* The text behind the first line of /proc/cpuinfo that begins with `key`. */
	snprintf(model, room, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
			continue;
		snprintf(model, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
		break;
	}
	if (file)
		fclose(file);
	uname(&name);
	return json_pack("{s:s, s:s, s:s, s:s, s:I}", "cpu", model, "architecture", name.machine,
			 "system", name.sysname, "kernel", name.release, "cores",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *json_options(const struct bench_options *options)
{
	return json_pack("{s:i, s:f, s:I, s:I, s:s*, s:s*}", "rounds", options->rounds, "seconds",
			 options->seconds, "count", (json_int_t)options->count, "size",
			 (json_int_t)options->size, "rows", options->rows, "paths", options->paths);
}

static json_t *json_measures(const struct bench_report *report)
{
	json_t *list = json_array();

	for (int i = 0; i < report->measure_count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b}", "name", report->measures[i].name, "unit",
					report->measures[i].unit, "more_is_better",
					report->measures[i].better == BENCH_MORE_IS_BETTER));
	return list;
}

static json_t *json_references(const struct bench_report *report)
{
	json_t *list = json_array();

	for (int i = 0; i < report->reference_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "class",
						      bench_class_name(report->references[i].class),
						      "row", report->references[i].what));
	return list;
}

static json_t *json_spread(struct spread spread)
{
	if (spread.count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "median", spread.median, "low_quartile",
			 spread.low, "high_quartile", spread.high, "least", spread.min, "most",
			 spread.max, "rounds", spread.count);
}

static json_t *json_row_measure(const struct bench_report *report,
				const struct bench_report_row *row, int measure)
{
	json_t *one = json_pack("{s:o, s:o, s:o}", "values", series_json(&row->values[measure]),
				"spread", json_spread(bench_report_values(report, row, measure)),
				"ratio", json_spread(bench_report_ratios(report, row, measure)));

	if (report->beside)
		json_object_set_new(
			one, "ratio_beside",
			json_spread(bench_report_versus(report, row, report->beside, measure)));
	if (report->control && strcmp(row->what, report->control) == 0)
		json_object_set_new(
			one, "control",
			json_spread(bench_report_versus(report, row, report->control_of, measure)));
	return one;
}

static json_t *json_row(const struct bench_report *report, const struct bench_report_row *row)
{
	json_t *one = json_pack("{s:s, s:s, s:s}", "what", row->what, "path", row->path, "class",
				bench_class_name(row->class));

	for (int i = 0; i < report->measure_count; i++)
		if (bench_report_values(report, row, i).count)
			json_object_set_new(one, report->measures[i].name,
					    json_row_measure(report, row, i));
	return one;
}

static json_t *json_rows(const struct bench_report *report)
{
	json_t *list = json_array();

	for (int i = 0; i < report->row_count; i++)
		json_array_append_new(list, json_row(report, &report->rows[i]));
	return list;
}

static json_t *json_facts(const struct bench_report *report)
{
	json_t *facts = json_object();

	for (int i = 0; i < report->fact_count; i++)
		json_object_set_new(facts, report->facts[i].name,
				    json_string(report->facts[i].text));
	return facts;
}

bool bench_report_json(struct bench_report *report, const char *file)
{
	json_t *document;
	int written;
	char when[sizeof("2000-01-01T00:00:00Z")];
	time_t now;

	bench_report_sort(report);
	now = time(NULL);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	document = json_pack("{s:s, s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s*, s:o, s:o}",
			     "schema", DOCUMENT_SCHEMA, "version", DOCUMENT_VERSION, "bench",
			     report->name, "nopal", NOPAL_VERSION, "ended", when, "machine",
			     json_machine(), "options", json_options(&report->options), "facts",
			     json_facts(report), "measures", json_measures(report), "references",
			     json_references(report), "beside", report->beside, "rows",
			     json_rows(report), "notes", notes_json(&report->notes));
	written = json_dump_file(document, file, JSON_INDENT(2));
	json_decref(document);
	if (written < 0)
		fprintf(stderr, "nopal bench: %s: %s\n", file, strerror(errno));
	return written == 0;
}
