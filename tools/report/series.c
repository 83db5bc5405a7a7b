/* SPDX-License-Identifier: MIT */
/*
 * series.c -- values of one figure, a run or a round each, and their statistics.
 *
 * Memory that is out ends the program: a report with holes would be a lie.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "report/series.h"

enum { SERIES_FIRST_ROOM = 16 };
#define LOW_QUARTILE  0.25
#define MEDIAN	      0.5
#define HIGH_QUARTILE 0.75
/* of Student's quantile: the normal distribution's, and what one over the degrees adds */
#define STUDENT_NORMAL 1.960
#define STUDENT_TAIL   2.45

void series_set(struct series *series, int at, double value)
{
	if (at >= series->room) {
		series->room = at < SERIES_FIRST_ROOM ? SERIES_FIRST_ROOM : 2 * at;
		series->values = tool_need(reallocarray(series->values, (size_t)series->room,
							sizeof(*series->values)));
	}
	while (series->count <= at)
		series->values[series->count++] = (double)NAN;
	series->values[at] = value;
}

void series_add(struct series *series, double value)
{
	series_set(series, series->count, value);
}

void series_fini(struct series *series)
{
	free(series->values);
}

double series_at(const struct series *series, int at)
{
	return at < series->count ? series->values[at] : (double)NAN;
}

/* The number of values, their sum, and the sum of their squared distances to `from`. */
static int series_sums(const struct series *series, double from, double *sum, double *squares)
{
	int count = 0;

	*sum = *squares = 0;
	for (int i = 0; i < series->count; i++) {
		double value = series->values[i];

		if (isnan(value))
			continue;
		*sum += value;
		*squares += (value - from) * (value - from);
		count++;
	}
	return count;
}

double series_mean(const struct series *series)
{
	double sum, squares;
	int count = series_sums(series, 0, &sum, &squares);

	return count > 0 ? sum / count : (double)NAN;
}

double series_deviation(const struct series *series)
{
	double sum, squares;
	int count = series_sums(series, series_mean(series), &sum, &squares);

	if (count < 2)
		return count == 1 ? 0 : (double)NAN;
	return sqrt(squares / (count - 1));
}

/* The quantile 0.975 of Student's distribution, within 0.1 % beyond the table. */
static double series_student(int freedom)
{
	static const double table[] = { INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					2.306,	  2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
					2.120,	  2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
					2.064,	  2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
	const int known = sizeof(table) / sizeof(*table);

	return freedom < known ? table[freedom] : STUDENT_NORMAL + STUDENT_TAIL / freedom;
}

double series_interval(const struct series *series)
{
	double sum, squares;
	int count = series_sums(series, series_mean(series), &sum, &squares);

	if (count < 2)
		return count == 1 ? (double)INFINITY : (double)NAN;
	return series_student(count - 1) * sqrt(squares / (count - 1) / count);
}

/* ---------------------------------------------------------- order statistics */

static int spread_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The value below which a share of the sorted ones lies. */
static double spread_quantile(const double *sorted, int count, double share)
{
	double place = share * (count - 1);
	int below = (int)place;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

struct spread spread_of(const double *values, int count)
{
	struct spread spread = { .count = count };
	double *sorted;

	if (count <= 0)
		return (struct spread){ 0 };
	sorted = tool_need(malloc((size_t)count * sizeof(*sorted)));
	memcpy(sorted, values, (size_t)count * sizeof(*sorted));
	qsort(sorted, (size_t)count, sizeof(*sorted), spread_compare);
	spread.min = sorted[0];
	spread.low = spread_quantile(sorted, count, LOW_QUARTILE);
	spread.median = spread_quantile(sorted, count, MEDIAN);
	spread.high = spread_quantile(sorted, count, HIGH_QUARTILE);
	spread.max = sorted[count - 1];
	free(sorted);
	return spread;
}

/* ---------------------------------------------------------------------- JSON */

json_t *series_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *series_json(const struct series *series)
{
	json_t *list = json_array();

	for (int i = 0; i < series->count; i++)
		json_array_append_new(list, series_json_number(series->values[i]));
	return list;
}
