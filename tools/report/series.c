/* SPDX-License-Identifier: MIT */
/*
 * series.c -- values of one figure, a run or a round each, and their statistics.
 *
 * Memory that is out ends the program: a report with holes would be a lie.
 */
#include <math.h>
#include <stdlib.h>

#include "frame/tool.h"
#include "report/series.h"

enum { SERIES_FIRST_ROOM = 16 };

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

double series_mean(const struct series *series)
{
	double sum = 0;

	for (int i = 0; i < series->count; i++)
		sum += series->values[i];
	return series->count > 0 ? sum / series->count : (double)NAN;
}

double series_deviation(const struct series *series)
{
	double mean = series_mean(series), sum = 0;

	if (series->count < 2)
		return series->count == 1 ? 0 : (double)NAN;
	for (int i = 0; i < series->count; i++)
		sum += (series->values[i] - mean) * (series->values[i] - mean);
	return sqrt(sum / (series->count - 1));
}

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
