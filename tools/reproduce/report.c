/* SPDX-License-Identifier: MIT */
/*
 * report.c -- the report of an experiment: cells, notes and claims.
 *
 * A program without memory ends here: a report with holes would be a lie.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "report/stats.h"
#include "reproduce/report.h"

enum { REPORT_NUMBER_BYTES = 48 };

static void *report_grown(void *array, size_t count, size_t size)
{
	return tool_need(reallocarray(array, count, size));
}

struct reproduce_report *reproduce_report_new(const char *name)
{
	struct reproduce_report *report = tool_need(calloc(1, sizeof(*report)));

	report->name = tool_need(strdup(name));
	return report;
}

static void report_free_cells(struct reproduce_values *cells, int count)
{
	for (int i = 0; i < count; i++)
		series_fini(&cells[i].ours);
	free(cells);
}

static void report_free_table(struct reproduce_table *table)
{
	for (int i = 0; i < table->row_count; i++) {
		report_free_cells(table->cells[i], table->column_count);
		free(table->rows[i]);
	}
	for (int i = 0; i < table->column_count; i++) {
		free(table->columns[i].name);
		free(table->columns[i].unit);
	}
	free(table->cells);
	free(table->rows);
	free(table->columns);
	free(table->name);
}

void reproduce_report_free(struct reproduce_report *report)
{
	for (int i = 0; i < report->table_count; i++)
		report_free_table(&report->tables[i]);
	for (int i = 0; i < report->line_count; i++) {
		free(report->lines[i].claim);
		free(report->lines[i].why);
	}
	free(report->tables);
	free(report->lines);
	notes_fini(&report->notes);
	free(report->name);
	free(report);
}

/* -------------------------------------------------------------------- cells */

/* Places by name, or -1. */
static int report_table_at(const struct reproduce_report *report, const char *name)
{
	for (int i = 0; i < report->table_count; i++)
		if (strcmp(report->tables[i].name, name) == 0)
			return i;
	return -1;
}

static int report_row_at(const struct reproduce_table *table, const char *name)
{
	for (int i = 0; i < table->row_count; i++)
		if (strcmp(table->rows[i], name) == 0)
			return i;
	return -1;
}

static int report_column_at(const struct reproduce_table *table, const char *name)
{
	for (int i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return i;
	return -1;
}

static struct reproduce_table *report_table_make(struct reproduce_report *report, const char *name)
{
	int at = report_table_at(report, name);

	if (at >= 0)
		return &report->tables[at];
	at = report->table_count++;
	report->tables =
		report_grown(report->tables, (size_t)report->table_count, sizeof(*report->tables));
	report->tables[at] = (struct reproduce_table){ .name = tool_need(strdup(name)) };
	return &report->tables[at];
}

static int report_row_make(struct reproduce_table *table, const char *name)
{
	size_t rows = (size_t)table->row_count + 1, columns = (size_t)table->column_count;
	int at = report_row_at(table, name);

	if (at >= 0)
		return at;
	table->rows = report_grown(table->rows, rows, sizeof(*table->rows));
	table->cells = report_grown(table->cells, rows, sizeof(*table->cells));
	at = table->row_count++;
	table->rows[at] = tool_need(strdup(name));
	table->cells[at] = NULL;
	if (columns == 0)
		return at;
	table->cells[at] = report_grown(NULL, columns, sizeof(**table->cells));
	memset(table->cells[at], 0, columns * sizeof(**table->cells));
	return at;
}

static int report_column_make(struct reproduce_table *table, const char *name, const char *unit)
{
	size_t columns = (size_t)table->column_count + 1;
	int at = report_column_at(table, name);

	if (at >= 0)
		return at;
	table->columns = report_grown(table->columns, columns, sizeof(*table->columns));
	at = table->column_count++;
	table->columns[at].name = tool_need(strdup(name));
	table->columns[at].unit = tool_need(strdup(unit ? unit : ""));
	for (int row = 0; row < table->row_count; row++) {
		table->cells[row] =
			report_grown(table->cells[row], columns, sizeof(**table->cells));
		table->cells[row][at] = (struct reproduce_values){ 0 };
	}
	return at;
}

static struct reproduce_values *report_cell_make(struct reproduce_report *report,
						 const struct reproduce_cell *cell)
{
	struct reproduce_table *table = report_table_make(report, cell->table);
	int column = report_column_make(table, cell->column, cell->unit);
	int row = report_row_make(table, cell->row);

	return &table->cells[row][column];
}

static const struct reproduce_values *report_cell_find(const struct reproduce_report *report,
						       const struct reproduce_cell *cell)
{
	int at = report_table_at(report, cell->table), row, column;

	if (at < 0)
		return NULL;
	row = report_row_at(&report->tables[at], cell->row);
	column = report_column_at(&report->tables[at], cell->column);
	if (row < 0 || column < 0)
		return NULL;
	return &report->tables[at].cells[row][column];
}

void reproduce_declare(struct reproduce_report *report, const struct reproduce_cell *cell)
{
	report_cell_make(report, cell);
}

void reproduce_add(struct reproduce_report *report, const struct reproduce_cell *cell, double value)
{
	series_add(&report_cell_make(report, cell)->ours, value);
}

void reproduce_paper(struct reproduce_report *report, const struct reproduce_cell *cell,
		     double mean, double deviation)
{
	struct reproduce_values *values = report_cell_make(report, cell);

	values->paper = true;
	values->paper_mean = mean;
	values->paper_deviation = deviation;
}

/* --------------------------------------------------------------- statistics */

const struct reproduce_values *reproduce_values_at(const struct reproduce_table *table, int row,
						   int column)
{
	const struct reproduce_values *values = &table->cells[row][column];

	return values->ours.count > 0 || values->paper ? values : NULL;
}

double reproduce_mean(const struct reproduce_report *report, const struct reproduce_cell *cell)
{
	const struct reproduce_values *values = report_cell_find(report, cell);

	return values ? series_mean(&values->ours) : NAN;
}

double reproduce_deviation(const struct reproduce_report *report, const struct reproduce_cell *cell)
{
	const struct reproduce_values *values = report_cell_find(report, cell);

	return values ? series_deviation(&values->ours) : NAN;
}

double reproduce_median(const struct reproduce_report *report, const struct reproduce_cell *cell)
{
	const struct reproduce_values *values = report_cell_find(report, cell);

	if (!values || values->ours.count == 0)
		return NAN;
	return spread_of(values->ours.values, values->ours.count).median;
}

int reproduce_count(const struct reproduce_report *report, const struct reproduce_cell *cell)
{
	const struct reproduce_values *values = report_cell_find(report, cell);

	return values ? values->ours.count : 0;
}

static bool report_table_has_values(const struct reproduce_table *table)
{
	for (int row = 0; row < table->row_count; row++)
		for (int column = 0; column < table->column_count; column++)
			if (table->cells[row][column].ours.count > 0)
				return true;
	return false;
}

bool reproduce_report_has_values(const struct reproduce_report *report)
{
	for (int i = 0; i < report->table_count; i++)
		if (report_table_has_values(&report->tables[i]))
			return true;
	return false;
}

const char *reproduce_number(char *text, size_t room, double value)
{
	double size = fabs(value);
	int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;

	snprintf(text, room, "%.*f", digits, value);
	return text;
}

/* --------------------------------------------------------- notes and claims */

void reproduce_note(struct reproduce_report *report, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	notes_add(&report->notes, format, arguments);
	va_end(arguments);
}

void reproduce_refused(struct reproduce_report *report, const char *format, ...)
{
	va_list arguments;

	report->refused = true;
	va_start(arguments, format);
	notes_add(&report->notes, format, arguments);
	va_end(arguments);
}

static void report_line(struct reproduce_report *report, const char *claim,
			enum reproduce_verdict verdict, char *why)
{
	report->lines =
		report_grown(report->lines, (size_t)report->line_count + 1, sizeof(*report->lines));
	report->lines[report->line_count++] = (struct reproduce_line){
		.claim = tool_need(strdup(claim)),
		.why = why,
		.verdict = verdict,
	};
}

void reproduce_claim(struct reproduce_report *report, const char *claim,
		     enum reproduce_verdict verdict, const char *why, ...)
{
	va_list arguments;

	va_start(arguments, why);
	report_line(report, claim, verdict, notes_text(why, arguments));
	va_end(arguments);
}

void reproduce_claim_less(struct reproduce_report *report, const char *claim, double a, double b,
			  const char *why)
{
	char text[REPORT_NUMBER_BYTES], other[REPORT_NUMBER_BYTES];

	if (isnan(a) || isnan(b))
		reproduce_claim(report, claim, REPRODUCE_UNMEASURED, "%s", why);
	else
		reproduce_claim(report, claim, a < b ? REPRODUCE_HOLDS : REPRODUCE_FAILS,
				"%s: %s against %s", why, reproduce_number(text, sizeof(text), a),
				reproduce_number(other, sizeof(other), b));
}

const char *reproduce_verdict_name(enum reproduce_verdict verdict)
{
	static const char *const names[] = {
		[REPRODUCE_HOLDS] = "holds",
		[REPRODUCE_FAILS] = "does not hold",
		[REPRODUCE_UNTESTABLE] = "not testable",
		[REPRODUCE_UNMEASURED] = "not measured",
	};

	return names[verdict];
}
