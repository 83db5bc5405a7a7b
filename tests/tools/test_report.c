/* SPDX-License-Identifier: MIT */
/*
 * report/report.c, text.c, json.c, plot.c: ratios within rounds, figures of a paper beside ours,
 * notes and claims, and the output of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

#include "report/report.h"
#include "support/test.h"

#define CLOSE 1e-9

static struct report *report;

static int set_up(void **state)
{
	(void)state;
	report = report_new(REPORT_ROUNDS, "probe");
	report_column(report, "goodput", "Gbit/s", REPORT_MORE_IS_BETTER);
	report_column(report, "cpu", "s/GB", REPORT_LESS_IS_BETTER);
	report_reference(report, REPORT_NONE, "copied");
	report_reference(report, REPORT_NONE, "gathered");
	report_reference(report, REPORT_CRC, "summed");
	report_beside(report, "tcp");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	report_free(report);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void add(const char *path, enum report_class class, const char *row, int round,
		double goodput)
{
	struct report_cell cell = { .table = path,
				    .row = row,
				    .column = "goodput",
				    .class = class };

	report_set(report, cell, round, goodput);
}

static struct spread ratio_to(const char *path, const char *row, int column, const char *to)
{
	for (int i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		for (int k = 0; strcmp(table->name, path) == 0 && k < table->row_count; k++)
			if (strcmp(table->rows[k].name, row) == 0)
				return report_ratios(report, table, &table->rows[k], column, to);
	}
	fail_msg("no %s on %s", row, path);
	return (struct spread){ 0 };
}

static struct spread ratio(const char *path, const char *row)
{
	return ratio_to(path, row, 0, NULL);
}

/* The text of a report. */
static char *text_of(struct report *which)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	report_text(which, out);
	fclose(out);
	return text;
}

static void has(struct report *which, const char *words)
{
	char *text = text_of(which);

	if (!strstr(text, words))
		print_error("no \"%s\" in\n%s", words, text);
	assert_non_null(strstr(text, words));
	free(text);
}

/* A machine that halves its speed in round 1 changes no ratio. */
TEST(test_ratios_are_taken_within_a_round)
{
	const double speed[] = { 1, 0.5, 0.9 };

	for (int round = 0; round < 3; round++) {
		add("V", REPORT_CRC, "summed", round, 40 * speed[round]);
		add("V", REPORT_CRC, "bulk", round, 30 * speed[round]);
	}
	assert_float_equal(ratio("V", "bulk").min, 0.75, CLOSE);
	assert_float_equal(ratio("V", "bulk").max, 0.75, CLOSE);
}

TEST(test_the_better_reference_of_each_round_counts)
{
	add("V", REPORT_NONE, "copied", 0, 10);
	add("V", REPORT_NONE, "gathered", 0, 20);
	add("V", REPORT_NONE, "ours", 0, 10);
	add("V", REPORT_NONE, "copied", 1, 20);
	add("V", REPORT_NONE, "gathered", 1, 10);
	add("V", REPORT_NONE, "ours", 1, 10);
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
		report_set(report, (struct report_cell){ "V", names[i], "cpu", "" }, 0, cpu[i]);
	assert_float_equal(ratio_to("V", "ours", 1, NULL).median, 2, CLOSE);
}

TEST(test_classes_and_paths_are_kept_apart)
{
	add("V", REPORT_NONE, "copied", 0, 50);
	add("W", REPORT_CRC, "summed", 0, 10);
	add("V", REPORT_CRC, "bulk", 0, 25);
	add("V", REPORT_AEAD, "sealed", 0, 25);
	assert_int_equal(ratio("V", "bulk").count, 0);
	assert_int_equal(ratio("V", "sealed").count, 0);
}

TEST(test_a_missing_round_is_left_out)
{
	add("V", REPORT_CRC, "summed", 0, 10);
	add("V", REPORT_CRC, "summed", 2, 10);
	add("V", REPORT_CRC, "bulk", 1, 9);
	add("V", REPORT_CRC, "bulk", 2, 5);
	assert_int_equal(ratio("V", "bulk").count, 1);
	assert_float_equal(ratio("V", "bulk").median, 0.5, CLOSE);
}

TEST(test_beside_goes_across_classes)
{
	add("V", REPORT_NONE, "tcp", 0, 40);
	add("V", REPORT_CRC, "bulk", 0, 50);
	assert_float_equal(ratio_to("V", "bulk", 0, "tcp").median, 1.25, CLOSE);
}

TEST(test_an_undeclared_column_comes_last)
{
	report_set(report, (struct report_cell){ "V", "x", "taste", "" }, 0, 1);
	assert_int_equal(report->tables[0].column_count, 3);
	assert_string_equal(report->tables[0].columns[2].name, "taste");
	has(report, "goodput Gbit/s  cpu s/GB    taste");
}

TEST(test_rows_come_by_path_class_and_value)
{
	add("W", REPORT_NONE, "copied", 0, 1);
	add("V", REPORT_CRC, "summed", 0, 9);
	add("V", REPORT_NONE, "copied", 0, 2);
	add("V", REPORT_NONE, "gathered", 0, 3);
	report_sort(report);
	assert_string_equal(report->tables[0].name, "V");
	assert_string_equal(report->tables[0].rows[0].name, "gathered");
	assert_string_equal(report->tables[0].rows[1].name, "copied");
	assert_string_equal(report->tables[0].rows[2].name, "summed");
	assert_string_equal(report->tables[1].name, "W");
}

static void fill_two_rounds(void)
{
	report_control(report, "bulk", "bulk-again");
	report_note(report, "a %s", "caution");
	report_fact(report, "colour", "%d", 7);
	for (int round = 0; round < 2; round++) {
		add("V", REPORT_CRC, "summed", round, 40);
		add("V", REPORT_CRC, "bulk", round, 30);
		add("V", REPORT_CRC, "bulk-again", round, 33);
		add("V", REPORT_NONE, "tcp", round, 60);
	}
}

TEST(test_the_text_has_ratios_and_notes)
{
	fill_two_rounds();
	has(report, "V, class crc; ratios to summed");
	has(report, "0.75 (0.75..0.75)");
	has(report, "0.50 (0.50..0.50)"); /* of tcp */
	has(report, "the same program twice: goodput 1.100");
	has(report, "note: a caution");
}

static json_t *cell_of(const json_t *document, const char *row)
{
	const json_t *tables = json_object_get(document, "tables");
	json_t *cells = json_object_get(json_array_get(tables, 0), "cells"), *cell;
	size_t i;

	json_array_foreach(cells, i,
			   cell) if (strcmp(json_string_value(json_object_get(cell, "row")), row) ==
				     0) return cell;
	return NULL;
}

static double median_of(const json_t *document, const char *row, const char *key)
{
	const json_t *spread = json_object_get(cell_of(document, row), key);

	return json_number_value(json_object_get(spread, "median"));
}

TEST(test_the_document_holds_every_value)
{
	char name[] = "/tmp/nopal-report-XXXXXX";
	int fd = mkstemp(name);
	json_t *document;

	assert_true(fd >= 0);
	close(fd);
	fill_two_rounds();
	report_paper(report, (struct report_cell){ "V", "tcp", "goodput", "" }, 54, 2);
	assert_true(report_json(report, name));
	document = json_load_file(name, 0, NULL);
	unlink(name);
	assert_non_null(document);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(document, "facts"), "colour")),
		"7");
	assert_int_equal(json_array_size(json_object_get(cell_of(document, "bulk"), "values")), 2);
	assert_float_equal(median_of(document, "bulk", "spread"), 30, CLOSE);
	assert_float_equal(median_of(document, "bulk", "ratio"), 0.75, CLOSE);
	assert_float_equal(median_of(document, "bulk", "ratio_beside"), 0.5, CLOSE);
	assert_float_equal(median_of(document, "bulk-again", "control"), 1.1, CLOSE);
	assert_float_equal(
		json_number_value(json_object_get(cell_of(document, "tcp"), "paper_mean")), 54,
		CLOSE);
	json_decref(document);
}

TEST(test_a_document_that_cannot_be_written_is_told)
{
	fill_two_rounds();
	assert_false(report_json(report, "/nonexistent/folder/file"));
	assert_false(report_plot(report, "plot.of-no-known-kind"));
}

/* ----------------------------------------------------------- a report of runs */

static const struct report_cell latency = { "local", "Bulk", "latency", "ms" },
				rate = { "local", "TCP", "rate", "Mb/s" };

TEST(test_mean_and_median_of_the_runs)
{
	assert_true(isnan(report_mean(report, latency)));
	report_add(report, latency, 2);
	report_add(report, latency, 4);
	report_add(report, latency, 9);
	assert_int_equal(report_find(report, latency)->ours.count, 3);
	assert_float_equal(report_mean(report, latency), 5, CLOSE);
	assert_float_equal(report_median(report, latency), 4, CLOSE);
	assert_null(report_find(report, rate));
}

TEST(test_the_paper_is_beside_ours)
{
	struct report *runs = report_new(REPORT_RUNS, "test");

	report_paper(runs, latency, 0.38, 0.009);
	assert_false(runs->measured);
	has(runs, "Bulk          [0.3800 +- 0.0090]");
	report_add(runs, latency, 0.021);
	report_add(runs, latency, 0.023);
	report_add(runs, rate, 1234.4);
	assert_true(runs->measured);
	has(runs, "Bulk          0.0220 +- 0.0014 [0.3800 +- 0.0090]");
	has(runs, "latency ms");
	has(runs, "rate Mb/s");
	has(runs, " 1234\n");
	report_free(runs);
}

TEST(test_a_claim_holds_fails_or_was_not_measured)
{
	report_less(report, "one", 1, 2, "ms");
	report_less(report, "two", 2, 2, "ms");
	report_less(report, "three", NAN, 2, "ms");
	report_claim(report, "four", REPORT_UNTESTABLE, "no %s", "sky");
	has(report, "  holds          one\n                 ms: 1.000 against 2.000\n");
	has(report, "  does not hold  two\n");
	has(report, "  not measured   three\n");
	has(report, "  not testable   four\n                 no sky\n");
}

TEST(test_a_note_is_said_once)
{
	report_note(report, "run %d", 1);
	report_note(report, "run %d", 1);
	assert_int_equal(json_array_size(report->notes), 1);
	assert_false(report->refused);
	report_refused(report, "no rows");
	assert_true(report->refused);
	assert_int_equal(json_array_size(report->notes), 2);
}
