/* SPDX-License-Identifier: MIT */
/*
 * text.c -- a report as text for people: a table for each class of rows, notes and claims.  The
 * paper's figures are in brackets beside ours.
 *
 *     local area, simulated
 *       row            latency ms                       bandwidth Mb/s
 *       CTP-Bulk       0.154 +- 0.000 [0.380 +- 0.009]  85.32 +- 0.00 [68.31 ...
 *
 *     V, class crc; ratios to raw-crc
 *       row            goodput Gbit/s  cpu s/GB  goodput ratio      cpu ratio ...
 *       raw-crc        38.10           0.41      1.00 (1.00..1.00)  1.00 (1.00..1.00)
 *
 *     holds          the claim in a sentence
 *                    why: figures
 */
#include <math.h>
#include <string.h>

#include "report/report.h"

enum { TEXT_CELL_BYTES = 120, TEXT_ROW_MIN = 12, TEXT_CELL_MIN = 10, TEXT_GAP = 2 };

/* Rows of one class of a table, with their columns of text: values, then ratios of the main
 * columns, then the ratio to the row beside. */
struct text_section {
	const struct report *report;
	const struct report_table *table;
	enum report_class class;
	char references[TEXT_CELL_BYTES]; /* "raw or raw-sg"; empty: there are none */
	int ratios, columns;
};

const char *report_number(char text[REPORT_NUMBER_BYTES], double value)
{
	double size = fabs(value);
	int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;

	snprintf(text, REPORT_NUMBER_BYTES, "%.*f", digits, value);
	return text;
}

/* "0.38 +- 0.009", or without a deviation where that is NAN. */
static void text_pair(char text[TEXT_CELL_BYTES], double mean, double deviation)
{
	char number[REPORT_NUMBER_BYTES], other[REPORT_NUMBER_BYTES];

	report_number(number, mean);
	if (isnan(deviation))
		snprintf(text, TEXT_CELL_BYTES, "%s", number);
	else
		snprintf(text, TEXT_CELL_BYTES, "%s +- %s", number,
			 report_number(other, deviation));
}

static void text_value(const struct text_section *section, const struct report_row *row, int column,
		       char text[TEXT_CELL_BYTES])
{
	const struct report_values *values = &row->cells[column];
	char ours[TEXT_CELL_BYTES] = "", paper[TEXT_CELL_BYTES];

	if (report_spread(row, column).count == 0)
		snprintf(ours, sizeof(ours), "%s", values->paper ? "" : "-");
	else if (section->report->form == REPORT_ROUNDS)
		text_pair(ours, report_spread(row, column).median, NAN);
	else
		text_pair(ours, series_mean(&values->ours),
			  values->ours.count > 1 ? report_margin(section->report, values) : NAN);
	snprintf(text, TEXT_CELL_BYTES, "%s", ours);
	if (!values->paper)
		return;
	text_pair(paper, values->paper_mean,
		  values->paper_deviation > 0 ? values->paper_deviation : NAN);
	snprintf(text, TEXT_CELL_BYTES, "%.50s%s[%.50s]", ours, *ours ? " " : "", paper);
}

static void text_ratio(struct spread ratio, char text[TEXT_CELL_BYTES])
{
	if (ratio.count > 1)
		snprintf(text, TEXT_CELL_BYTES, "%.2f (%.2f..%.2f)", ratio.median, ratio.low,
			 ratio.high);
	else if (ratio.count == 1)
		snprintf(text, TEXT_CELL_BYTES, "%.2f", ratio.median);
	else
		snprintf(text, TEXT_CELL_BYTES, "-");
}

/* The text of a column in a row; of the head, where the row is NULL. */
static void text_cell(const struct text_section *section, const struct report_row *row, int column,
		      char text[TEXT_CELL_BYTES])
{
	const struct report *report = section->report;
	const struct report_table *table = section->table;
	const struct report_column *columns = table->columns;
	int ratio = column - table->column_count;

	if (ratio < 0 && row)
		text_value(section, row, column, text);
	else if (ratio < 0)
		snprintf(text, TEXT_CELL_BYTES, "%s%s%s", columns[column].name,
			 columns[column].unit[0] ? " " : "", columns[column].unit);
	else if (ratio < section->ratios && row)
		text_ratio(report_ratios(report, table, row, ratio, NULL), text);
	else if (ratio < section->ratios)
		snprintf(text, TEXT_CELL_BYTES, "%s ratio", columns[ratio].name);
	else if (row)
		text_ratio(report_ratios(report, table, row, 0, report->beside), text);
	else
		snprintf(text, TEXT_CELL_BYTES, "%s to %s", columns[0].name, report->beside);
}

static int text_longer(int width, const char *text)
{
	return width > (int)strlen(text) ? width : (int)strlen(text);
}

static int text_width(const struct text_section *section, int column)
{
	const struct report_table *table = section->table;
	char text[TEXT_CELL_BYTES];
	int width;

	text_cell(section, NULL, column, text);
	width = text_longer(TEXT_CELL_MIN, text);
	for (int i = 0; i < table->row_count; i++) {
		if (table->rows[i].class != section->class)
			continue;
		text_cell(section, &table->rows[i], column, text);
		width = text_longer(width, text);
	}
	return width;
}

static void text_line(const struct text_section *section, const struct report_row *row, FILE *out)
{
	char text[TEXT_CELL_BYTES];
	int width = TEXT_ROW_MIN;

	for (int i = 0; i < section->table->row_count; i++)
		width = text_longer(width, section->table->rows[i].name);
	fprintf(out, "  %-*s", width, row ? row->name : "row");
	for (int column = 0; column < section->columns; column++) {
		bool last = column + 1 == section->columns;

		text_cell(section, row, column, text);
		fprintf(out, "%*s%-*s", TEXT_GAP, "", last ? 0 : text_width(section, column), text);
	}
	fprintf(out, "\n");
}

static void text_section(const struct report *report, const struct report_table *table,
			 enum report_class class, FILE *out)
{
	struct text_section section = { .report = report, .table = table, .class = class };
	size_t used = 0, room = sizeof(section.references);
	bool begun = false;

	for (int i = 0; i < report->reference_count && used < room; i++)
		if (report->references[i].class == class)
			used += (size_t)snprintf(section.references + used, room - used, "%s%s",
						 used ? " or " : "", report->references[i].row);
	if (used)
		section.ratios = table->column_count < REPORT_MAIN_COLUMNS ? table->column_count
									   : REPORT_MAIN_COLUMNS;
	section.columns = table->column_count + section.ratios + (report->beside != NULL);
	for (int i = 0; i < table->row_count; i++) {
		if (table->rows[i].class != class)
			continue;
		if (!begun) {
			fprintf(out, "\n%s", table->name);
			if (report->form == REPORT_ROUNDS)
				fprintf(out, ", class %s", report_class_name(class));
			fprintf(out, "%s%s\n", section.ratios ? "; ratios to " : "",
				section.references);
			text_line(&section, NULL, out);
		}
		begun = true;
		text_line(&section, &table->rows[i], out);
	}
}

/* The row that ran twice, against itself. */
static void text_control(const struct report *report, const struct report_table *table, FILE *out)
{
	for (int row = 0; report->control && row < table->row_count; row++) {
		if (strcmp(table->rows[row].name, report->control) != 0)
			continue;
		fprintf(out, "\ncontrol %s: %s against %s, the same program twice:", table->name,
			report->control, report->control_of);
		for (int i = 0; i < REPORT_MAIN_COLUMNS && i < table->column_count; i++) {
			struct spread spread = report_ratios(report, table, &table->rows[row], i,
							     report->control_of);

			fprintf(out, "%s %s %.3f (quartiles %.3f..%.3f)", i ? "," : "",
				table->columns[i].name, spread.median, spread.low, spread.high);
		}
		fprintf(out, "\n");
	}
}

/* Has the table any figure, be it the paper's? */
static bool text_has(const struct report_table *table)
{
	for (int row = 0; row < table->row_count; row++)
		for (int column = 0; column < table->column_count; column++)
			if (table->rows[row].cells[column].ours.count > 0 ||
			    table->rows[row].cells[column].paper)
				return true;
	return false;
}

void report_notes(const struct report *report, FILE *out)
{
	const json_t *note;
	size_t i;

	json_array_foreach(report->notes, i, note)
		fprintf(out, "note: %s\n", json_string_value(note));
}

static const char *text_of(const json_t *claim, const char *key)
{
	return json_string_value(json_object_get(claim, key));
}

void report_text(struct report *report, FILE *out)
{
	const json_t *claim;
	size_t i;

	report_sort(report);
	if (report->form == REPORT_ROUNDS)
		fprintf(out,
			"%s: medians of %d rounds; a ratio is taken in each round: median "
			"(quartiles)\n",
			report->name,
			(int)json_integer_value(json_object_get(report->options, "rounds")));
	else
		fprintf(out, "%s: mean +- %s of our runs [the paper's]\n", report->name,
			report->intervals ? "95 % interval" : "deviation");
	for (int table = 0; table < report->table_count; table++)
		for (int class = 0; class < REPORT_CLASSES && text_has(&report->tables[table]);
		     class ++)
			text_section(report, &report->tables[table], (enum report_class) class,
				     out);
	for (int table = 0; table < report->table_count; table++)
		text_control(report, &report->tables[table], out);
	if (json_array_size(report->notes) > 0)
		fprintf(out, "\n");
	report_notes(report, out);
	if (json_array_size(report->claims) > 0)
		fprintf(out, "\nclaims\n");
	json_array_foreach(report->claims, i, claim)
		fprintf(out, "  %-14s %s\n%17s%s\n", text_of(claim, "verdict"),
			text_of(claim, "claim"), "", text_of(claim, "why"));
}
