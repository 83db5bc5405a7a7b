/* SPDX-License-Identifier: MIT */
/*
 * report/series.c: mean, deviation, medians and quartiles of values, some of them missing.
 */
#include <math.h>

#include "report/series.h"
#include "support/test.h"

#define EXACT 1e-12

TEST(test_an_odd_count_has_its_middle)
{
	const double values[] = { 9, 1, 5, 3, 7 };
	struct spread spread = spread_of(values, 5);

	assert_int_equal(spread.count, 5);
	assert_float_equal(spread.min, 1, EXACT);
	assert_float_equal(spread.low, 3, EXACT);
	assert_float_equal(spread.median, 5, EXACT);
	assert_float_equal(spread.high, 7, EXACT);
	assert_float_equal(spread.max, 9, EXACT);
	assert_float_equal(values[0], 9, EXACT); /* left as it was */
}

TEST(test_an_even_count_interpolates)
{
	const double values[] = { 4, 1, 3, 2 };
	struct spread spread = spread_of(values, 4);

	assert_float_equal(spread.low, 1.75, EXACT);
	assert_float_equal(spread.median, 2.5, EXACT);
	assert_float_equal(spread.high, 3.25, EXACT);
}

TEST(test_one_value_is_all_of_them)
{
	const double value = 2.5;
	struct spread spread = spread_of(&value, 1);

	assert_int_equal(spread.count, 1);
	assert_float_equal(spread.min, value, EXACT);
	assert_float_equal(spread.low, value, EXACT);
	assert_float_equal(spread.median, value, EXACT);
	assert_float_equal(spread.high, value, EXACT);
	assert_float_equal(spread.max, value, EXACT);
}

TEST(test_no_value_is_told_by_its_count)
{
	assert_int_equal(spread_of(NULL, 0).count, 0);
	assert_float_equal(spread_of(NULL, 0).median, 0, EXACT);
}

/* One run that was disturbed does not move the median. */
TEST(test_an_outlier_does_not_count)
{
	const double values[] = { 10, 10, 10, 10, 0.1 };
	struct spread spread = spread_of(values, 5);

	assert_float_equal(spread.median, 10, EXACT);
	assert_float_equal(spread.low, 10, EXACT);
}

TEST(test_a_missing_value_is_in_no_statistic)
{
	struct series series = { 0 };

	assert_true(isnan(series_mean(&series)));
	assert_true(isnan(series_deviation(&series)));
	series_set(&series, 2, 4);
	assert_int_equal(series.count, 3);
	assert_true(isnan(series_at(&series, 0)));
	assert_float_equal(series_deviation(&series), 0, 0);
	series_add(&series, 2);
	series_add(&series, 9);
	assert_float_equal(series_mean(&series), 5, EXACT);
	/* the sample's: (1 + 9 + 16) / 2 is 13 */
	assert_float_equal(series_deviation(&series), sqrt(13), EXACT);
	series_fini(&series);
}

/* Five values of mean 3 and deviation 1.5811: 2.776 * 1.5811 / sqrt(5), by the tables. */
TEST(test_interval_is_by_students_distribution)
{
	struct series series = { 0 };

	assert_true(isnan(series_interval(&series)));
	series_add(&series, 1);
	assert_true(isinf(series_interval(&series)));
	for (int i = 2; i <= 5; i++)
		series_add(&series, i);
	series_add(&series, NAN);
	assert_float_equal(series_interval(&series), 1.9629, 1e-3);
	series_fini(&series);
}

/* Of many values it is the normal distribution's: 1.984 with 99 degrees of freedom. */
TEST(test_interval_of_many_values_is_near_the_normal_one)
{
	struct series series = { 0 };

	for (int i = 0; i < 100; i++)
		series_add(&series, i % 2);
	assert_float_equal(series_interval(&series), 0.0997, 1e-3);
	series_fini(&series);
}
