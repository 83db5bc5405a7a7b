/* SPDX-License-Identifier: MIT */
/*
 * report.c -- collects the values of a measurement, and holds those of one round against each
 * other.
 *
 * A machine's speed drifts from minute to minute; the rows of one round share it.  So a ratio is
 * taken in each round, and the median of ratios is published, not the ratio of medians.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report.h"
#include "frame/tool.h"

const char *bench_class_name(enum bench_class class)
{
	static const char *const names[] = {
		[BENCH_NONE] = "none",
		[BENCH_CRC] = "crc",
		[BENCH_AEAD] = "aead",
	};

	return class < BENCH_CLASSES ? names[class] : "?";
}

struct bench_report *bench_report_new(const char *name, const struct bench_options *options)
{
	struct bench_report *report = tool_need(calloc(1, sizeof(*report)));

	report->name = tool_need(strdup(name));
	report->options = *options;
	return report;
}

void bench_report_free(struct bench_report *report)
{
	for (int i = 0; i < report->row_count; i++) {
		free(report->rows[i].what);
		free(report->rows[i].path);
		for (int m = 0; m < BENCH_MEASURES; m++)
			series_fini(&report->rows[i].values[m]);
	}
	free(report->rows);
	for (int i = 0; i < report->measure_count; i++) {
		free(report->measures[i].name);
		free(report->measures[i].unit);
	}
	for (int i = 0; i < report->reference_count; i++)
		free(report->references[i].what);
	for (int i = 0; i < report->fact_count; i++) {
		free(report->facts[i].name);
		free(report->facts[i].text);
	}
	free(report->facts);
	notes_fini(&report->notes);
	free(report->beside);
	free(report->control_of);
	free(report->control);
	free(report->name);
	free(report);
}

/* ------------------------------------------------------------- what it holds */

const struct bench_options *bench_options(const struct bench_report *report)
{
	return &report->options;
}

void bench_measure(struct bench_report *report, const char *measure, const char *unit,
		   enum bench_better better)
{
	if (report->measure_count == BENCH_MEASURES)
		return;
	report->measures[report->measure_count++] =
		(struct bench_report_measure){ tool_need(strdup(measure)), tool_need(strdup(unit)),
					       better };
}

void bench_reference(struct bench_report *report, enum bench_class class, const char *what)
{
	if (report->reference_count == BENCH_REFERENCES)
		return;
	report->references[report->reference_count].class = class;
	report->references[report->reference_count].what = tool_need(strdup(what));
	report->reference_count++;
}

void bench_beside(struct bench_report *report, const char *what)
{
	free(report->beside);
	report->beside = tool_need(strdup(what));
}

void bench_control(struct bench_report *report, const char *what, const char *again)
{
	free(report->control_of);
	free(report->control);
	report->control_of = tool_need(strdup(what));
	report->control = tool_need(strdup(again));
}

static int bench_report_measure(const struct bench_report *report, const char *name)
{
	for (int i = 0; i < report->measure_count; i++)
		if (strcmp(report->measures[i].name, name) == 0)
			return i;
	return -1;
}

const struct bench_report_row *bench_report_row(const struct bench_report *report, const char *path,
						const char *what)
{
	for (int i = 0; i < report->row_count; i++)
		if (strcmp(report->rows[i].what, what) == 0 &&
		    strcmp(report->rows[i].path, path) == 0)
			return &report->rows[i];
	return NULL;
}

static struct bench_report_row *bench_report_row_for(struct bench_report *report,
						     const struct bench_value *value)
{
	const char *path = value->path ? value->path : "";
	const struct bench_report_row *row = bench_report_row(report, path, value->what);
	struct bench_report_row *fresh;

	if (row)
		return &report->rows[row - report->rows];
	report->rows = tool_need(
		reallocarray(report->rows, (size_t)report->row_count + 1, sizeof(*report->rows)));
	fresh = &report->rows[report->row_count++];
	*fresh = (struct bench_report_row){
		.what = tool_need(strdup(value->what)),
		.path = tool_need(strdup(path)),
		.class = value->class,
	};
	return fresh;
}

void bench_add(struct bench_report *report, const struct bench_value *value)
{
	int measure = bench_report_measure(report, value->measure);
	struct bench_report_row *row;

	if (measure < 0 || value->round < 0)
		return;
	row = bench_report_row_for(report, value);
	/* a round has a place in every measure, also where it lacks a value */
	for (int i = 0; i < report->measure_count; i++)
		if (row->values[i].count <= value->round)
			series_set(&row->values[i], value->round, (double)NAN);
	series_set(&row->values[measure], value->round, value->value);
	if (!report->options.quiet)
		fprintf(stderr, "round %-3d %-4s %-16s %-12s %12.4g %s\n", value->round + 1,
			row->path, row->what, value->measure, value->value,
			report->measures[measure].unit);
}

bool bench_has(const struct bench_report *report, const char *what)
{
	for (int i = 0; i < report->row_count; i++)
		if (strcmp(report->rows[i].what, what) == 0)
			return true;
	return false;
}

void bench_fact(struct bench_report *report, const char *name, const char *format, ...)
{
	struct bench_report_pair *fact;
	va_list arguments;

	report->facts = tool_need(reallocarray(report->facts, (size_t)report->fact_count + 1,
					       sizeof(*report->facts)));
	fact = &report->facts[report->fact_count++];
	fact->name = tool_need(strdup(name));
	va_start(arguments, format);
	fact->text = notes_text(format, arguments);
	va_end(arguments);
}

void bench_note(struct bench_report *report, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	notes_add(&report->notes, format, arguments);
	va_end(arguments);
}

/* ------------------------------------------------------------- what it makes */

/* NAN: there is no row, or it has no such value. */
static double bench_report_value(const struct bench_report_row *row, int round, int measure)
{
	return row ? series_at(&row->values[measure], round) : (double)NAN;
}

/* The best reference of a class and path in one round; NAN: there is none. */
static double bench_report_best(const struct bench_report *report, enum bench_class class,
				const char *path, int round, int measure)
{
	bool more = report->measures[measure].better == BENCH_MORE_IS_BETTER;
	double best = (double)NAN;

	for (int i = 0; i < report->reference_count; i++) {
		double value;

		if (report->references[i].class != class)
			continue;
		value = bench_report_value(
			bench_report_row(report, path, report->references[i].what), round, measure);
		if (isnan(best))
			best = value;
		else if (!isnan(value) && (more ? value > best : value < best))
			best = value;
	}
	return best;
}

/* The divisor of a value: a constant 1, a reference, or a named row. */
enum bench_report_by { BY_ONE, BY_REFERENCE, BY_ROW };

static double bench_report_divisor(const struct bench_report *report,
				   const struct bench_report_row *row, enum bench_report_by by,
				   const char *what, int round, int measure)
{
	switch (by) {
	case BY_ONE:
		return 1;
	case BY_REFERENCE:
		return bench_report_best(report, row->class, row->path, round, measure);
	case BY_ROW:
		return bench_report_value(bench_report_row(report, row->path, what), round,
					  measure);
	}
	return (double)NAN;
}

static struct spread bench_report_spread(const struct bench_report *report,
					 const struct bench_report_row *row,
					 enum bench_report_by by, const char *what, int measure)
{
	int rounds = row->values[measure].count, count = 0;
	double *values = tool_need(calloc((size_t)rounds + 1, sizeof(*values)));
	struct spread spread;

	for (int round = 0; round < rounds; round++) {
		double value = bench_report_value(row, round, measure);
		double divisor = bench_report_divisor(report, row, by, what, round, measure);

		if (isnan(value) || isnan(divisor) || fpclassify(divisor) == FP_ZERO)
			continue;
		values[count++] = value / divisor;
	}
	spread = spread_of(values, count);
	free(values);
	return spread;
}

struct spread bench_report_values(const struct bench_report *report,
				  const struct bench_report_row *row, int measure)
{
	return bench_report_spread(report, row, BY_ONE, NULL, measure);
}

struct spread bench_report_ratios(const struct bench_report *report,
				  const struct bench_report_row *row, int measure)
{
	return bench_report_spread(report, row, BY_REFERENCE, NULL, measure);
}

struct spread bench_report_versus(const struct bench_report *report,
				  const struct bench_report_row *row, const char *what, int measure)
{
	return bench_report_spread(report, row, BY_ROW, what, measure);
}

/* ---------------------------------------------------------------------- order */

static int bench_report_compare(const void *a, const void *b, void *user)
{
	const struct bench_report_row *left = a, *right = b;
	const struct bench_report *report = user;
	double better, worse;
	int order = strcmp(left->path, right->path);

	if (order)
		return order;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	if (report->measure_count == 0)
		return 0;
	better = bench_report_values(report, left, 0).median;
	worse = bench_report_values(report, right, 0).median;
	order = (better < worse) - (better > worse);
	return report->measures[0].better == BENCH_MORE_IS_BETTER ? order : -order;
}

void bench_report_sort(struct bench_report *report)
{
	if (report->row_count > 0)
		qsort_r(report->rows, (size_t)report->row_count, sizeof(*report->rows),
			bench_report_compare, report);
}
