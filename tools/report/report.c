/* SPDX-License-Identifier: MIT */
/*
 * report.c -- the report of `bench` and `reproduce`: tables, ratios within rounds, notes, claims.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "report/report.h"

/* The array with room for one more element, which is zeros. */
static void *report_grown(void *array, int count, size_t size)
{
	char *grown = tool_need(reallocarray(array, (size_t)count + 1, size));

	memset(grown + (size_t)count * size, 0, size);
	return grown;
}

static char *report_copy(const char *text)
{
	return tool_need(strdup(text ? text : ""));
}

struct report *report_new(enum report_form form, const char *name)
{
	struct report *report = tool_need(calloc(1, sizeof(*report)));

	report->form = form;
	report->name = report_copy(name);
	report->options = tool_need(json_object());
	report->facts = tool_need(json_object());
	report->notes = tool_need(json_array());
	report->claims = tool_need(json_array());
	report->texts = tool_need(json_array());
	return report;
}

static void report_free_table(struct report_table *table)
{
	for (int i = 0; i < table->row_count; i++) {
		for (int column = 0; column < table->column_count; column++)
			series_fini(&table->rows[i].cells[column].ours);
		free(table->rows[i].cells);
		free(table->rows[i].name);
	}
	for (int i = 0; i < table->column_count; i++) {
		free(table->columns[i].name);
		free(table->columns[i].unit);
	}
	free(table->columns);
	free(table->rows);
	free(table->name);
}

void report_free(struct report *report)
{
	for (int i = 0; i < report->table_count; i++)
		report_free_table(&report->tables[i]);
	for (int i = 0; i < report->reference_count; i++)
		free(report->references[i].row);
	report_free_table(&report->head);
	json_decref(report->options);
	json_decref(report->facts);
	json_decref(report->notes);
	json_decref(report->claims);
	json_decref(report->texts);
	free(report->tables);
	free(report->beside);
	free(report->control_of);
	free(report->control);
	free(report->name);
	free(report);
}

const char *report_tool(const struct report *report)
{
	return report->form == REPORT_ROUNDS ? "bench" : "reproduce";
}

const char *report_class_name(enum report_class class)
{
	static const char *const names[] = {
		[REPORT_NONE] = "none",
		[REPORT_CRC] = "crc",
		[REPORT_AEAD] = "aead",
	};

	return class < REPORT_CLASSES ? names[class] : "?";
}

/* -------------------------------------------------------------------- columns */

static int report_column_make(struct report_table *table, const char *name, const char *unit,
			      enum report_better better)
{
	int at = table->column_count++;

	table->columns = report_grown(table->columns, at, sizeof(*table->columns));
	table->columns[at] = (struct report_column){ report_copy(name), report_copy(unit), better };
	for (int row = 0; row < table->row_count; row++)
		table->rows[row].cells =
			report_grown(table->rows[row].cells, at, sizeof(*table->rows->cells));
	return at;
}

void report_column(struct report *report, const char *name, const char *unit,
		   enum report_better better)
{
	report_column_make(&report->head, name, unit, better);
}

void report_intervals(struct report *report)
{
	report->intervals = true;
}

double report_margin(const struct report *report, const struct report_values *values)
{
	double interval = series_interval(&values->ours);

	if (!report->intervals)
		return series_deviation(&values->ours);
	return isinf(interval) ? 0 : interval;
}

void report_reference(struct report *report, enum report_class class, const char *row)
{
	if (report->reference_count == REPORT_REFERENCES)
		return;
	report->references[report->reference_count].class = class;
	report->references[report->reference_count++].row = report_copy(row);
}

void report_beside(struct report *report, const char *row)
{
	free(report->beside);
	report->beside = report_copy(row);
}

void report_control(struct report *report, const char *row, const char *again)
{
	free(report->control_of);
	free(report->control);
	report->control_of = report_copy(row);
	report->control = report_copy(again);
}

/* --------------------------------------------------------------------- values */

/* Places by name, or -1. */
static int report_table_at(const struct report *report, const char *name)
{
	for (int i = 0; i < report->table_count; i++)
		if (strcmp(report->tables[i].name, name) == 0)
			return i;
	return -1;
}

static int report_row_at(const struct report_table *table, const char *name)
{
	for (int i = 0; i < table->row_count; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return i;
	return -1;
}

static int report_column_at(const struct report_table *table, const char *name)
{
	for (int i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return i;
	return -1;
}

/* The values of a cell, which is made where it is new; a new table has the columns of `head`. */
static struct report_values *report_make(struct report *report, const struct report_cell *cell)
{
	int at = report_table_at(report, cell->table), row, column;
	struct report_table *table;

	if (at < 0) {
		at = report->table_count++;
		report->tables = report_grown(report->tables, at, sizeof(*report->tables));
		report->tables[at].name = report_copy(cell->table);
		for (int i = 0; i < report->head.column_count; i++) {
			const struct report_column *head = &report->head.columns[i];

			report_column_make(&report->tables[at], head->name, head->unit,
					   head->better);
		}
	}
	table = &report->tables[at];
	column = report_column_at(table, cell->column);
	if (column < 0)
		column = report_column_make(table, cell->column, cell->unit, REPORT_MORE_IS_BETTER);
	row = report_row_at(table, cell->row);
	if (row < 0) {
		row = table->row_count++;
		table->rows = report_grown(table->rows, row, sizeof(*table->rows));
		table->rows[row].name = report_copy(cell->row);
		table->rows[row].class = cell->class;
		table->rows[row].cells = tool_need(
			calloc((size_t)table->column_count, sizeof(struct report_values)));
	}
	return &table->rows[row].cells[column];
}

void report_declare(struct report *report, struct report_cell cell)
{
	report_make(report, &cell);
}

void report_add(struct report *report, struct report_cell cell, double value)
{
	series_add(&report_make(report, &cell)->ours, value);
	report->measured = true;
}

void report_set(struct report *report, struct report_cell cell, int round, double value)
{
	series_set(&report_make(report, &cell)->ours, round, value);
	report->measured = true;
}

void report_paper(struct report *report, struct report_cell cell, double mean, double deviation)
{
	struct report_values *values = report_make(report, &cell);

	values->paper = true;
	values->paper_mean = mean;
	values->paper_deviation = deviation;
}

const struct report_values *report_find(const struct report *report, struct report_cell cell)
{
	int at = report_table_at(report, cell.table), row, column;

	if (at < 0)
		return NULL;
	row = report_row_at(&report->tables[at], cell.row);
	column = report_column_at(&report->tables[at], cell.column);
	return row < 0 || column < 0 ? NULL : &report->tables[at].rows[row].cells[column];
}

double report_mean(const struct report *report, struct report_cell cell)
{
	const struct report_values *values = report_find(report, cell);

	return values ? series_mean(&values->ours) : NAN;
}

double report_median(const struct report *report, struct report_cell cell)
{
	const struct report_values *values = report_find(report, cell);

	if (!values || values->ours.count == 0)
		return NAN;
	return spread_of(values->ours.values, values->ours.count).median;
}

/* --------------------------------------------------------------------- ratios */

/* The value of a row in one round; NAN: there is no such row, or no value. */
static double report_value(const struct report_table *table, const char *row, int column, int round)
{
	int at = report_row_at(table, row);

	return at < 0 ? (double)NAN : series_at(&table->rows[at].cells[column].ours, round);
}

/* The best reference of a class in one round; NAN: there is none. */
static double report_best(const struct report *report, const struct report_table *table,
			  enum report_class class, int column, int round)
{
	bool more = table->columns[column].better == REPORT_MORE_IS_BETTER;
	double best = (double)NAN;

	for (int i = 0; i < report->reference_count; i++) {
		double value = report_value(table, report->references[i].row, column, round);

		if (report->references[i].class == class)
			best = more ? fmax(best, value) : fmin(best, value);
	}
	return best;
}

/* The spread of a row's values, each by its divisor; those without one are left out. */
static struct spread report_spread_by(const struct series *ours, const double *divisors)
{
	double *values = tool_need(calloc((size_t)ours->count + 1, sizeof(*values)));
	struct spread spread;
	int count = 0;

	for (int round = 0; round < ours->count; round++) {
		double divisor = divisors ? divisors[round] : 1, value = ours->values[round];

		if (!isnan(value) && !isnan(divisor) && fpclassify(divisor) != FP_ZERO)
			values[count++] = value / divisor;
	}
	spread = spread_of(values, count);
	free(values);
	return spread;
}

struct spread report_spread(const struct report_row *row, int column)
{
	return report_spread_by(&row->cells[column].ours, NULL);
}

struct spread report_ratios(const struct report *report, const struct report_table *table,
			    const struct report_row *row, int column, const char *to)
{
	const struct series *ours = &row->cells[column].ours;
	double *divisors = tool_need(calloc((size_t)ours->count + 1, sizeof(*divisors)));
	struct spread spread;

	for (int round = 0; round < ours->count; round++)
		divisors[round] = to ? report_value(table, to, column, round)
				     : report_best(report, table, row->class, column, round);
	spread = report_spread_by(ours, divisors);
	free(divisors);
	return spread;
}

static int report_compare_tables(const void *a, const void *b)
{
	return strcmp(((const struct report_table *)a)->name,
		      ((const struct report_table *)b)->name);
}

static int report_compare_rows(const void *a, const void *b, void *user)
{
	const struct report_row *left = a, *right = b;
	const struct report_table *table = user;
	double one, other;
	int order;

	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	if (table->column_count == 0)
		return 0;
	one = report_spread(left, 0).median;
	other = report_spread(right, 0).median;
	order = (one < other) - (one > other);
	return table->columns[0].better == REPORT_MORE_IS_BETTER ? order : -order;
}

void report_sort(struct report *report)
{
	if (report->form != REPORT_ROUNDS || report->table_count == 0)
		return;
	qsort(report->tables, (size_t)report->table_count, sizeof(*report->tables),
	      report_compare_tables);
	for (int i = 0; i < report->table_count; i++)
		qsort_r(report->tables[i].rows, (size_t)report->tables[i].row_count,
			sizeof(*report->tables[i].rows), report_compare_rows, &report->tables[i]);
}

/* ----------------------------------------------------------- notes and claims */

/* The text that a format makes, as JSON. */
static json_t *report_said(const char *format, va_list arguments)
	__attribute__((format(printf, 1, 0)));

static json_t *report_said(const char *format, va_list arguments)
{
	char *text = NULL;
	json_t *said;

	tool_need(vasprintf(&text, format, arguments) < 0 ? NULL : text);
	said = json_string(text);
	free(text);
	return said;
}

const char *report_format(const struct report *report, const char *format, ...)
{
	va_list arguments;
	json_t *said;

	va_start(arguments, format);
	said = report_said(format, arguments);
	va_end(arguments);
	json_array_append_new(report->texts, said);
	return json_string_value(said);
}

void report_fact(struct report *report, const char *name, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	json_object_set_new(report->facts, name, report_said(format, arguments));
	va_end(arguments);
}

static void report_add_note(struct report *report, json_t *note)
{
	size_t count = json_array_size(report->notes), i = 0;

	while (i < count && !json_equal(json_array_get(report->notes, i), note))
		i++;
	if (i == count)
		json_array_append(report->notes, note);
	json_decref(note);
}

void report_note(struct report *report, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_add_note(report, report_said(format, arguments));
	va_end(arguments);
}

void report_refused(struct report *report, const char *format, ...)
{
	va_list arguments;

	report->refused = true;
	va_start(arguments, format);
	report_add_note(report, report_said(format, arguments));
	va_end(arguments);
}

void report_claim(struct report *report, const char *claim, enum report_verdict verdict,
		  const char *why, ...)
{
	static const char *const verdicts[] = {
		[REPORT_HOLDS] = "holds",
		[REPORT_FAILS] = "does not hold",
		[REPORT_UNTESTABLE] = "not testable",
		[REPORT_UNMEASURED] = "not measured",
	};
	va_list arguments;

	va_start(arguments, why);
	json_array_append_new(report->claims,
			      json_pack("{s:s, s:s, s:o}", "claim", claim, "verdict",
					verdicts[verdict], "why", report_said(why, arguments)));
	va_end(arguments);
}

void report_less(struct report *report, const char *claim, double less, double more,
		 const char *why)
{
	char left[REPORT_NUMBER_BYTES], right[REPORT_NUMBER_BYTES];

	if (isnan(less) || isnan(more))
		report_claim(report, claim, REPORT_UNMEASURED, "%s", why);
	else
		report_claim(report, claim, less < more ? REPORT_HOLDS : REPORT_FAILS,
			     "%s: %s against %s", why, report_number(left, less),
			     report_number(right, more));
}

/* -------------------------------------------------------------------- outcome */

enum tool_exit report_results(struct report *report, const struct tool_call *call)
{
	const char *json = tool_value(call, "json"), *plot = tool_value(call, "plot");
	bool rounds = report->form == REPORT_ROUNDS, good = true;

	/* No value at all: the machine's doing, or that of the options. */
	if (!report->measured) {
		if (!rounds)
			report_notes(report, stderr);
		fprintf(stderr, "nopal %s: nothing could be measured\n", report_tool(report));
		return report->refused ? TOOL_SKIPPED : TOOL_FAILED;
	}
	/* `bench` names a file for the document; that of `reproduce` is in place of the text. */
	if (rounds || !json)
		report_text(report, stdout);
	if (json)
		good = report_json(report, rounds ? json : NULL);
	if (plot)
		good = report_plot(report, plot) && good;
	return good ? TOOL_GOOD : TOOL_ENVIRONMENT;
}
