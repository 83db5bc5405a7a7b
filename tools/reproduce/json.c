/* SPDX-License-Identifier: MIT */
/*
 * json.c -- a report as one JSON object: every value of every run, mean and deviation,
 * the paper's figures, notes and claims.
 */
#include <jansson.h>
#include <math.h>

#include <nopal/nopal.h>
#include "reproduce/json.h"

enum { REPRODUCE_JSON_VERSION = 1, REPRODUCE_JSON_INDENT = 1 };
#define REPRODUCE_JSON_SCHEMA "nopal.reproduce"

static json_t *json_cell(const struct reproduce_table *table, int row, int column,
			 const struct reproduce_values *values)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "row", table->rows[row],
			 "column", table->columns[column].name, "unit", table->columns[column].unit,
			 "mean", series_json_number(series_mean(&values->ours)), "deviation",
			 series_json_number(series_deviation(&values->ours)), "values",
			 series_json(&values->ours), "paper_mean",
			 series_json_number(values->paper ? values->paper_mean : NAN),
			 "paper_deviation",
			 series_json_number(values->paper && values->paper_deviation > 0
						    ? values->paper_deviation
						    : NAN));
}

static json_t *json_table(const struct reproduce_table *table)
{
	json_t *cells = json_array();

	for (int row = 0; row < table->row_count; row++)
		for (int column = 0; column < table->column_count; column++) {
			const struct reproduce_values *values =
				reproduce_values_at(table, row, column);

			if (values)
				json_array_append_new(cells, json_cell(table, row, column, values));
		}
	return json_pack("{s:s, s:o}", "table", table->name, "cells", cells);
}

static json_t *json_claims(const struct reproduce_report *report)
{
	json_t *list = json_array();

	for (int i = 0; i < report->line_count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "claim", report->lines[i].claim,
					"verdict", reproduce_verdict_name(report->lines[i].verdict),
					"why", report->lines[i].why));
	return list;
}

bool reproduce_json(const struct reproduce_report *report, const struct reproduce_options *options,
		    FILE *out)
{
	json_t *tables = json_array(), *document;
	bool good;

	for (int i = 0; i < report->table_count; i++)
		json_array_append_new(tables, json_table(&report->tables[i]));
	document =
		json_pack("{s:s, s:i, s:s, s:s, s:i, s:I, s:b, s:o, s:o, s:o}", "schema",
			  REPRODUCE_JSON_SCHEMA, "version", REPRODUCE_JSON_VERSION, "nopal",
			  NOPAL_VERSION, "experiment", report->name, "runs", options->runs, "seed",
			  (json_int_t)options->seed, "quick", options->quick, "tables", tables,
			  "notes", notes_json(&report->notes), "claims", json_claims(report));
	good = document && json_dumpf(document, out, JSON_INDENT(REPRODUCE_JSON_INDENT)) == 0 &&
	       fputc('\n', out) != EOF;
	json_decref(document);
	return good;
}
