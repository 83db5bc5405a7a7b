/* SPDX-License-Identifier: MIT */
/*
 * json.c -- a report as one JSON document: the machine, the run's facts, every value of every
 * run or round, their statistics, the paper's figures, notes and claims (docs/json.md).
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <nopal/nopal.h>
#include "report/report.h"

enum { JSON_VERSION = 1, JSON_LINE_BYTES = 512 };
#define JSON_SCHEMA "nopal.report"
#define JSON_MODEL  "model name"

static json_t *json_machine(void)
{
	char model[JSON_LINE_BYTES] = "unknown", line[JSON_LINE_BYTES], tcp[32] = "unknown";
	struct utsname name = { 0 };
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, JSON_MODEL, strlen(JSON_MODEL)) != 0 || !colon)
			continue;
		snprintf(model, sizeof(model), "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
		break;
	}
	if (file)
		fclose(file);
	file = fopen("/proc/sys/net/ipv4/tcp_congestion_control", "r");
	if (file) {
		(void)!fscanf(file, "%31s", tcp);
		fclose(file);
	}
	uname(&name);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "cpu", model, "architecture",
			 name.machine, "system", name.sysname, "kernel", name.release, "tcp", tcp,
			 "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *json_spread(struct spread spread)
{
	if (spread.count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "median", spread.median, "low_quartile",
			 spread.low, "high_quartile", spread.high, "least", spread.min, "most",
			 spread.max, "count", spread.count);
}

/* The cell, with figures of the paper and ratios where it can have them. */
static void json_add_cell(const struct report *report, const struct report_table *table,
			  const struct report_row *row, int column, json_t *cells)
{
	const struct report_values *values = &row->cells[column];
	double deviation = values->paper_deviation > 0 ? values->paper_deviation : NAN;
	const struct {
		const char *key, *to;
		bool there;
	} ratios[] = {
		{ "ratio", NULL, report->reference_count > 0 },
		{ "ratio_beside", report->beside, report->beside },
		{ "control", report->control_of,
		  report->control && strcmp(row->name, report->control) == 0 },
	};
	json_t *cell;

	if (report_spread(row, column).count == 0 && !values->paper)
		return;
	cell = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "row", row->name,
			 "column", table->columns[column].name, "unit", table->columns[column].unit,
			 "class", report_class_name(row->class), "mean",
			 series_json_number(series_mean(&values->ours)), "deviation",
			 series_json_number(series_deviation(&values->ours)), "interval",
			 series_json_number(series_interval(&values->ours)), "spread",
			 json_spread(report_spread(row, column)), "values",
			 series_json(&values->ours));
	if (values->paper) {
		json_object_set_new(cell, "paper_mean", series_json_number(values->paper_mean));
		json_object_set_new(cell, "paper_deviation", series_json_number(deviation));
	}
	if (report->form == REPORT_ROUNDS)
		json_object_set_new(
			cell, "more_is_better",
			json_boolean(table->columns[column].better == REPORT_MORE_IS_BETTER));
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++)
		if (ratios[i].there)
			json_object_set_new(cell, ratios[i].key,
					    json_spread(report_ratios(report, table, row, column,
								      ratios[i].to)));
	json_array_append_new(cells, cell);
}

bool report_json(struct report *report, const char *file)
{
	char ended[sizeof("2000-01-01T00:00:00Z")];
	time_t now = time(NULL);
	json_t *document, *references = json_array(), *tables = json_array();
	FILE *out;
	bool good;

	report_sort(report);
	for (int i = 0; i < report->reference_count; i++)
		json_array_append_new(references,
				      json_pack("{s:s, s:s}", "class",
						report_class_name(report->references[i].class),
						"row", report->references[i].row));
	for (int i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		json_t *cells = json_array();

		for (int row = 0; row < table->row_count; row++)
			for (int column = 0; column < table->column_count; column++)
				json_add_cell(report, table, &table->rows[row], column, cells);
		json_array_append_new(
			tables, json_pack("{s:s, s:o}", "table", table->name, "cells", cells));
	}
	strftime(ended, sizeof(ended), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	document = json_pack(
		"{s:s, s:i, s:s, s:s, s:s, s:s, s:o, s:O, s:O, s:o, s:s*, s:o, s:O, s:O}", "schema",
		JSON_SCHEMA, "version", JSON_VERSION, "tool", report_tool(report), "measurement",
		report->name, "nopal", NOPAL_VERSION, "ended", ended, "machine", json_machine(),
		"options", report->options, "facts", report->facts, "references", references,
		"beside", report->beside, "tables", tables, "notes", report->notes, "claims",
		report->claims);
	out = file ? fopen(file, "w") : stdout;
	good = document && out && json_dumpf(document, out, JSON_INDENT(1)) == 0 &&
	       fputc('\n', out) != EOF;
	if (file && out)
		good = fclose(out) == 0 && good;
	json_decref(document);
	if (!good)
		fprintf(stderr, "nopal %s: %s: %s\n", report_tool(report),
			file ? file : "standard output", strerror(errno));
	return good;
}
