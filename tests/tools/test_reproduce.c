/* SPDX-License-Identifier: MIT */
/*
 * reproduce/report.c and print.c: statistics, tables with the paper's figures beside
 * ours, notes, claims.
 */
#include <math.h>
#include <string.h>

#include "reproduce/print.h"
#include "reproduce/report.h"
#include "support/test.h"

enum { PRINTED_BYTES = 4096 };

static const struct reproduce_cell cell = { "local", "Bulk", "latency", "ms" },
				   other = { "local", "TCP", "rate", "Mb/s" };

static void has(const struct reproduce_report *report, const char *what)
{
	char text[PRINTED_BYTES] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	reproduce_print(report, out);
	fclose(out);
	if (!strstr(text, what))
		print_error("no \"%s\" in\n%s", what, text);
	assert_non_null(strstr(text, what));
}

TEST(test_mean_deviation_and_median_of_the_runs)
{
	struct reproduce_report *report = reproduce_report_new("test");

	assert_true(isnan(reproduce_mean(report, &cell)));
	reproduce_add(report, &cell, 2);
	assert_float_equal(reproduce_deviation(report, &cell), 0, 0);
	reproduce_add(report, &cell, 4);
	reproduce_add(report, &cell, 9);
	assert_int_equal(reproduce_count(report, &cell), 3);
	assert_float_equal(reproduce_mean(report, &cell), 5, 1e-9);
	/* the sample's: (9 + 1 + 16) / 2 is 13 */
	assert_float_equal(reproduce_deviation(report, &cell), sqrt(13), 1e-9);
	assert_float_equal(reproduce_median(report, &cell), 4, 1e-9);
	assert_int_equal(reproduce_count(report, &other), 0);
	reproduce_report_free(report);
}

TEST(test_the_paper_is_beside_ours)
{
	struct reproduce_report *report = reproduce_report_new("test");

	reproduce_paper(report, &cell, 0.38, 0.009);
	assert_false(reproduce_report_has_values(report));
	has(report, "Bulk          [0.3800 +- 0.0090]");
	reproduce_add(report, &cell, 0.021);
	reproduce_add(report, &cell, 0.023);
	reproduce_add(report, &other, 1234.4);
	assert_true(reproduce_report_has_values(report));
	has(report, "Bulk          0.0220 +- 0.0014 [0.3800 +- 0.0090]");
	has(report, "latency ms");
	has(report, "rate Mb/s");
	has(report, " 1234 ");
	reproduce_report_free(report);
}

TEST(test_a_claim_holds_fails_or_was_not_measured)
{
	struct reproduce_report *report = reproduce_report_new("test");

	reproduce_claim_less(report, "one", 1, 2, "ms");
	reproduce_claim_less(report, "two", 2, 2, "ms");
	reproduce_claim_less(report, "three", NAN, 2, "ms");
	reproduce_claim(report, "four", REPRODUCE_UNTESTABLE, "no %s", "sky");
	has(report, "  holds          one\n                 ms: 1.000 against 2.000\n");
	has(report, "  does not hold  two\n");
	has(report, "  not measured   three\n");
	has(report, "  not testable   four\n                 no sky\n");
	reproduce_report_free(report);
}

TEST(test_a_note_is_said_once)
{
	struct reproduce_report *report = reproduce_report_new("test");

	reproduce_note(report, "run %d", 1);
	reproduce_note(report, "run %d", 1);
	assert_int_equal(report->notes.count, 1);
	assert_false(report->refused);
	reproduce_refused(report, "no rows");
	assert_true(report->refused);
	assert_int_equal(report->notes.count, 2);
	reproduce_report_free(report);
}

TEST(test_rows_are_wanted_by_whole_words)
{
	assert_true(reproduce_wanted(NULL, "tcp"));
	assert_true(reproduce_wanted("udp,tcp", "tcp"));
	assert_true(reproduce_wanted("tcp,udp", "tcp"));
	assert_false(reproduce_wanted("udp,tcpx", "tcp"));
	assert_false(reproduce_wanted("", "tcp"));
}
