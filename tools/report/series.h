/* SPDX-License-Identifier: MIT */
/*
 * series.h -- values of one figure, a run or a round each, and their statistics.
 */
#ifndef NOPAL_SERIES_H
#define NOPAL_SERIES_H

#include <jansson.h>

/* Zeros: no value yet.  A run without a value has NAN in its place; no statistic counts it. */
struct series {
	double *values;
	int count, room;
};

void series_add(struct series *series, double value);
/* The value of run `at`, from 0; runs before it that have none get NAN. */
void series_set(struct series *series, int at, double value);
void series_fini(struct series *series);

/* NAN: run `at` has no value. */
double series_at(const struct series *series, int at);
/* NAN: there is no value.  The deviation is the sample's, and 0 of one value. */
double series_mean(const struct series *series);
double series_deviation(const struct series *series);
/* Half of the interval that has the mean of all runs that there could be with 95 % confidence, by
 * Student's distribution.  NAN: there is no value; infinite: there is one. */
double series_interval(const struct series *series);

/* Quartiles by linear interpolation between neighbours: of one value they are that value.  `count`
 * 0: all are 0. */
struct spread {
	double min, low, median, high, max;
	int count;
};
/* Medians and quartiles, since a machine that did something else for a while spoils a mean, and
 * not these.  `values` are left as they are. */
struct spread spread_of(const double *values, int count);

/* A number, or null where it is none. */
json_t *series_json_number(double value);
/* All values in their order. */
json_t *series_json(const struct series *series);

#endif
