/* SPDX-License-Identifier: MIT */
/*
 * stats.c -- order statistics of a handful of values.
 *
 * Medians and quartiles, since a machine that did something else for a while spoils a mean, and not
 * these.
 */
#include <stdlib.h>
#include <string.h>

#include "report/stats.h"

#define LOW_QUARTILE  0.25
#define MEDIAN	      0.5
#define HIGH_QUARTILE 0.75

static int stats_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The value below which a share of the sorted ones lies. */
static double stats_quantile(const double *sorted, int count, double share)
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
	sorted = malloc((size_t)count * sizeof(*sorted));
	if (!sorted)
		return (struct spread){ 0 };
	memcpy(sorted, values, (size_t)count * sizeof(*sorted));
	qsort(sorted, (size_t)count, sizeof(*sorted), stats_compare);
	spread.min = sorted[0];
	spread.low = stats_quantile(sorted, count, LOW_QUARTILE);
	spread.median = stats_quantile(sorted, count, MEDIAN);
	spread.high = stats_quantile(sorted, count, HIGH_QUARTILE);
	spread.max = sorted[count - 1];
	free(sorted);
	return spread;
}
