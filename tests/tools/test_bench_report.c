/* SPDX-License-Identifier: MIT */
/*
 * bench/report.c, table.c, json.c: ratios within rounds, and what is printed of them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

#include "bench/json.h"
#include "bench/plot.h"
#include "bench/report.h"
#include "bench/table.h"
#include "support/test.h"

#define CLOSE 1e-9

static struct bench_report *report;

static int set_up(void **state)
{
	const struct bench_options options = { .rounds = 3, .seconds = 1, .quiet = true };

	(void)state;
	report = bench_report_new("probe", &options);
	bench_measure(report, "goodput", "Gbit/s", BENCH_MORE_IS_BETTER);
	bench_measure(report, "cpu", "s/GB", BENCH_LESS_IS_BETTER);
	bench_reference(report, BENCH_NONE, "copied");
	bench_reference(report, BENCH_NONE, "gathered");
	bench_reference(report, BENCH_CRC, "summed");
	bench_beside(report, "tcp");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bench_report_free(report);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void add(const char *path, enum bench_class class, const char *what, int round,
		double goodput)
{
	bench_add(report, &(struct bench_value){ .what = what,
						 .path = path,
						 .class = class,
						 .measure = "goodput",
						 .round = round,
						 .value = goodput });
}

static struct spread ratio(const char *path, const char *what)
{
	const struct bench_report_row *row = bench_report_row(report, path, what);

	assert_non_null(row);
	return bench_report_ratios(report, row, 0);
}

/* A machine that halves its speed in round 1 changes no ratio. */
TEST(test_ratios_are_taken_within_a_round)
{
	const double speed[] = { 1, 0.5, 0.9 };

	for (int round = 0; round < 3; round++) {
		add("V", BENCH_CRC, "summed", round, 40 * speed[round]);
		add("V", BENCH_CRC, "bulk", round, 30 * speed[round]);
	}
	assert_float_equal(ratio("V", "bulk").min, 0.75, CLOSE);
	assert_float_equal(ratio("V", "bulk").max, 0.75, CLOSE);
}

TEST(test_the_better_reference_of_each_round_counts)
{
	add("V", BENCH_NONE, "copied", 0, 10);
	add("V", BENCH_NONE, "gathered", 0, 20);
	add("V", BENCH_NONE, "ours", 0, 10);
	add("V", BENCH_NONE, "copied", 1, 20);
	add("V", BENCH_NONE, "gathered", 1, 10);
	add("V", BENCH_NONE, "ours", 1, 10);
	assert_int_equal(ratio("V", "ours").count, 2);
	assert_float_equal(ratio("V", "ours").min, 0.5, CLOSE);
	assert_float_equal(ratio("V", "ours").max, 0.5, CLOSE);
}

/* Where less is better, so is the lesser reference. */
TEST(test_less_can_be_better)
{
	const char *const names[] = { "copied", "gathered", "ours" };
	const double cpu[] = { 0.5, 0.4, 0.8 };

	for (int i = 0; i < 3; i++)
		bench_add(report, &(struct bench_value){ .what = names[i],
							 .path = "V",
							 .measure = "cpu",
							 .value = cpu[i] });
	assert_float_equal(
		bench_report_ratios(report, bench_report_row(report, "V", "ours"), 1).median, 2,
		CLOSE);
}

TEST(test_classes_and_paths_are_kept_apart)
{
	add("V", BENCH_NONE, "copied", 0, 50);
	add("W", BENCH_CRC, "summed", 0, 10);
	add("V", BENCH_CRC, "bulk", 0, 25);
	add("V", BENCH_AEAD, "sealed", 0, 25);
	assert_int_equal(ratio("V", "bulk").count, 0);
	assert_int_equal(ratio("V", "sealed").count, 0);
}

TEST(test_a_missing_round_is_left_out)
{
	add("V", BENCH_CRC, "summed", 0, 10);
	add("V", BENCH_CRC, "summed", 2, 10);
	add("V", BENCH_CRC, "bulk", 1, 9);
	add("V", BENCH_CRC, "bulk", 2, 5);
	assert_int_equal(ratio("V", "bulk").count, 1);
	assert_float_equal(ratio("V", "bulk").median, 0.5, CLOSE);
}

TEST(test_beside_goes_across_classes)
{
	add("V", BENCH_NONE, "tcp", 0, 40);
	add("V", BENCH_CRC, "bulk", 0, 50);
	assert_float_equal(
		bench_report_versus(report, bench_report_row(report, "V", "bulk"), "tcp", 0).median,
		1.25, CLOSE);
}

TEST(test_an_undeclared_measure_is_no_row)
{
	bench_add(report, &(struct bench_value){ .what = "x", .measure = "taste", .value = 1 });
	assert_int_equal(report->row_count, 0);
	assert_false(bench_has(report, "x"));
}

TEST(test_rows_come_by_path_class_and_value)
{
	add("W", BENCH_NONE, "copied", 0, 1);
	add("V", BENCH_CRC, "summed", 0, 9);
	add("V", BENCH_NONE, "copied", 0, 2);
	add("V", BENCH_NONE, "gathered", 0, 3);
	bench_report_sort(report);
	assert_string_equal(report->rows[0].what, "gathered");
	assert_string_equal(report->rows[1].what, "copied");
	assert_string_equal(report->rows[2].what, "summed");
	assert_string_equal(report->rows[3].path, "W");
}

static void fill_two_rounds(void)
{
	bench_control(report, "bulk", "bulk-again");
	bench_note(report, "a %s", "caution");
	bench_fact(report, "colour", "%d", 7);
	for (int round = 0; round < 2; round++) {
		add("V", BENCH_CRC, "summed", round, 40);
		add("V", BENCH_CRC, "bulk", round, 30);
		add("V", BENCH_CRC, "bulk-again", round, 33);
		add("V", BENCH_NONE, "tcp", round, 60);
	}
}

TEST(test_the_table_says_it_all)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	fill_two_rounds();
	bench_report_table(report, out);
	fclose(out);
	assert_non_null(strstr(text, "class crc; ratios to summed"));
	assert_non_null(strstr(text, "0.75 (0.75..0.75)"));
	assert_non_null(strstr(text, "0.50 (0.50..0.50)")); /* of tcp */
	assert_non_null(strstr(text, "the same program twice: goodput 1.100"));
	assert_non_null(strstr(text, "note: a caution"));
	free(text);
}

TEST(test_the_document_holds_every_value)
{
	char name[] = "/tmp/nopal-bench-XXXXXX";
	int fd = mkstemp(name);
	json_t *document, *rows, *row;

	assert_true(fd >= 0);
	close(fd);
	fill_two_rounds();
	assert_true(bench_report_json(report, name));
	document = json_load_file(name, 0, NULL);
	unlink(name);
	assert_non_null(document);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(document, "facts"), "colour")),
		"7");
	rows = json_object_get(document, "rows");
	assert_int_equal(json_array_size(rows), 4);
	row = json_object_get(json_array_get(rows, 3), "goodput");
	assert_int_equal(json_array_size(json_object_get(row, "values")), 2);
	assert_float_equal(
		json_number_value(json_object_get(json_object_get(row, "ratio"), "median")), 0.75,
		CLOSE);
	row = json_object_get(json_array_get(rows, 2), "goodput");
	assert_float_equal(
		json_number_value(json_object_get(json_object_get(row, "control"), "median")), 1.1,
		CLOSE);
	json_decref(document);
}

TEST(test_a_document_that_cannot_be_written_is_told)
{
	fill_two_rounds();
	assert_false(bench_report_json(report, "/nonexistent/folder/file"));
	assert_false(bench_report_plot(report, "plot.of-no-known-kind"));
}

TEST(test_words_are_split)
{
	char **words = bench_words("a,,bc,", "x");
	char **others = bench_words(NULL, "x");

	assert_string_equal(words[0], "a");
	assert_string_equal(words[1], "bc");
	assert_null(words[2]);
	assert_string_equal(others[0], "x");
	assert_null(others[1]);
	free(words);
	free(others);
}

TEST(test_a_shuffle_is_an_order)
{
	enum { COUNT = 17 };
	int order[COUNT], seen[COUNT] = { 0 };

	bench_shuffle(order, COUNT);
	for (int i = 0; i < COUNT; i++)
		seen[order[i]]++;
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(seen[i], 1);
}
