/* SPDX-License-Identifier: MIT */
/*
 * stats.h -- order statistics of a handful of values.
 */
#ifndef NOPAL_STATS_H
#define NOPAL_STATS_H

/* Quartiles by linear interpolation between neighbours: of one value they are that value.  `count`
 * 0: all are 0. */
struct spread {
	double min, low, median, high, max;
	int count;
};

/* `values` are left as they are. */
struct spread spread_of(const double *values, int count);

#endif
