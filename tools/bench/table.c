/* SPDX-License-Identifier: MIT */
/*
 * table.c -- a report as text for people: a table for each path and class.
 *
 *     path V, class crc; ratios to raw-crc
 *       row       goodput Gbit/s   cpu s/GB   goodput ratio       cpu ratio ...
 *       raw-crc            38.10       0.41   1.00                1.00
 *       bulk               24.02       0.66   0.63 (0.61..0.64)   1.60 ...
 */
#include <string.h>

#include "bench/table.h"

enum {
	REFERENCE_TEXT = 64,
	RATIO_TEXT = 32,
	RATIO_WIDTH = 20,
	RATIO_MEASURES = 2, /* ratios of so many measures, from the first */
};

static int table_ratios(const struct bench_report *report)
{
	return report->measure_count < RATIO_MEASURES ? report->measure_count : RATIO_MEASURES;
}

/* "raw", "raw or raw-sg"; empty where the class has none. */
static void table_reference(const struct bench_report *report, enum bench_class class, char *text,
			    size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < report->reference_count && used < room; i++) {
		if (report->references[i].class != class)
			continue;
		used += (size_t)snprintf(text + used, room - used, "%s%s", used ? " or " : "",
					 report->references[i].what);
	}
}

static void table_head(const struct bench_report *report, const struct bench_report_row *row,
		       FILE *out)
{
	char reference[REFERENCE_TEXT], label[REFERENCE_TEXT];

	table_reference(report, row->class, reference, sizeof(reference));
	fprintf(out, "\n%s%s%sclass %s%s%s\n", row->path[0] ? "path " : "", row->path,
		row->path[0] ? ", " : "", bench_class_name(row->class),
		reference[0] ? "; ratios to " : "", reference);
	fprintf(out, "  %-18s", "row");
	for (int i = 0; i < report->measure_count; i++) {
		snprintf(label, sizeof(label), "%s %s", report->measures[i].name,
			 report->measures[i].unit);
		fprintf(out, " %15s", label);
	}
	for (int i = 0; reference[0] && i < table_ratios(report); i++) {
		snprintf(label, sizeof(label), "%s ratio", report->measures[i].name);
		fprintf(out, "   %-*s", RATIO_WIDTH, label);
	}
	if (report->beside)
		fprintf(out, "   %s to %s", report->measures[0].name, report->beside);
	fprintf(out, "\n");
}

static void table_ratio(const struct spread *ratio, int width, FILE *out)
{
	char text[RATIO_TEXT];

	if (ratio->count > 1)
		snprintf(text, sizeof(text), "%.2f (%.2f..%.2f)", ratio->median, ratio->low,
			 ratio->high);
	else if (ratio->count == 1)
		snprintf(text, sizeof(text), "%.2f", ratio->median);
	else
		snprintf(text, sizeof(text), "-");
	fprintf(out, "   %-*s", width, text);
}

static void table_row(const struct bench_report *report, const struct bench_report_row *row,
		      FILE *out)
{
	char reference[REFERENCE_TEXT];
	struct spread spread;

	fprintf(out, "  %-18s", row->what);
	for (int i = 0; i < report->measure_count; i++) {
		spread = bench_report_values(report, row, i);
		if (spread.count)
			fprintf(out, " %15.4g", spread.median);
		else
			fprintf(out, " %15s", "-");
	}
	table_reference(report, row->class, reference, sizeof(reference));
	for (int i = 0; reference[0] && i < table_ratios(report); i++) {
		spread = bench_report_ratios(report, row, i);
		table_ratio(&spread, RATIO_WIDTH, out);
	}
	if (report->beside) {
		spread = bench_report_versus(report, row, report->beside, 0);
		table_ratio(&spread, 1, out);
	}
	fprintf(out, "\n");
}

static void table_control_row(const struct bench_report *report, const struct bench_report_row *row,
			      FILE *out)
{
	fprintf(out, "control %s: %s against %s, the same program twice:", row->path, row->what,
		report->control_of);
	for (int i = 0; i < table_ratios(report); i++) {
		struct spread spread = bench_report_versus(report, row, report->control_of, i);

		fprintf(out, "%s %s %.3f (quartiles %.3f..%.3f)", i ? "," : "",
			report->measures[i].name, spread.median, spread.low, spread.high);
	}
	fprintf(out, "\n");
}

void bench_report_table(struct bench_report *report, FILE *out)
{
	const struct bench_report_row *last = NULL;

	bench_report_sort(report);
	fprintf(out,
		"%s: medians of %d rounds; a ratio is taken in each round: "
		"median (quartiles)\n",
		report->name, report->options.rounds);
	for (int i = 0; i < report->row_count; i++) {
		const struct bench_report_row *row = &report->rows[i];

		if (!last || last->class != row->class || strcmp(last->path, row->path) != 0)
			table_head(report, row, out);
		table_row(report, row, out);
		last = row;
	}
	fprintf(out, "\n");
	if (report->control)
		for (int i = 0; i < report->row_count; i++)
			if (strcmp(report->rows[i].what, report->control) == 0)
				table_control_row(report, &report->rows[i], out);
	notes_print(&report->notes, out);
}
