/* SPDX-License-Identifier: MIT */
/*
 * print.c -- a report as text for people: tables with the paper's figures in brackets
 * beside ours, notes, and the ledger.
 *
 *     local area, simulated
 *       row            latency ms                       bandwidth Mb/s
 *       CTP-Bulk       0.154 +- 0.000 [0.380 +- 0.009]  85.32 +- 0.00 [68.31 ...
 *
 *     holds          the claim in a sentence
 *                    why: figures
 */
#include <math.h>
#include <string.h>

#include "reproduce/print.h"

enum { CELL_BYTES = 80, ROW_MIN = 12, CELL_MIN = 10, GAP = 2 };

static size_t print_pair(char *text, size_t room, double mean, double deviation)
{
	size_t used = strlen(reproduce_number(text, room, mean));

	if (isnan(deviation) || used + CELL_MIN >= room)
		return used;
	used += (size_t)snprintf(text + used, room - used, " +- ");
	return used + strlen(reproduce_number(text + used, room - used, deviation));
}

static void print_cell_text(const struct reproduce_values *values, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	if (!values)
		return;
	if (values->ours.count > 0)
		used = print_pair(text, room, series_mean(&values->ours),
				  values->ours.count > 1 ? series_deviation(&values->ours) : NAN);
	if (!values->paper || used + CELL_MIN >= room)
		return;
	used += (size_t)snprintf(text + used, room - used, "%s[", used ? " " : "");
	used += print_pair(text + used, room - used, values->paper_mean,
			   values->paper_deviation > 0 ? values->paper_deviation : NAN);
	if (used + 1 < room)
		snprintf(text + used, room - used, "]");
}

static int print_longer(int a, size_t b)
{
	return a > (int)b ? a : (int)b;
}

static int print_column_width(const struct reproduce_table *table, int column)
{
	const struct reproduce_column *head = &table->columns[column];
	int width = print_longer(CELL_MIN, strlen(head->name) + strlen(head->unit) + 1);
	char text[CELL_BYTES];

	for (int row = 0; row < table->row_count; row++) {
		print_cell_text(reproduce_values_at(table, row, column), text, sizeof(text));
		width = print_longer(width, strlen(text));
	}
	return width;
}

static int print_row_width(const struct reproduce_table *table)
{
	int width = ROW_MIN;

	for (int row = 0; row < table->row_count; row++)
		width = print_longer(width, strlen(table->rows[row]));
	return width;
}

static void print_head(const struct reproduce_table *table, FILE *out)
{
	char text[CELL_BYTES];

	fprintf(out, "\n%s\n  %-*s", table->name, print_row_width(table), "");
	for (int column = 0; column < table->column_count; column++) {
		snprintf(text, sizeof(text), "%s%s%s", table->columns[column].name,
			 table->columns[column].unit[0] ? " " : "", table->columns[column].unit);
		fprintf(out, "%*s%-*s", GAP, "", print_column_width(table, column), text);
	}
	fprintf(out, "\n");
}

/* Is there anything in it, be it the paper's? */
static bool print_has(const struct reproduce_table *table)
{
	for (int row = 0; row < table->row_count; row++)
		for (int column = 0; column < table->column_count; column++)
			if (reproduce_values_at(table, row, column))
				return true;
	return false;
}

static void print_table(const struct reproduce_table *table, FILE *out)
{
	char text[CELL_BYTES];

	if (!print_has(table))
		return;
	print_head(table, out);
	for (int row = 0; row < table->row_count; row++) {
		fprintf(out, "  %-*s", print_row_width(table), table->rows[row]);
		for (int column = 0; column < table->column_count; column++) {
			print_cell_text(reproduce_values_at(table, row, column), text,
					sizeof(text));
			fprintf(out, "%*s%-*s", GAP, "", print_column_width(table, column), text);
		}
		fprintf(out, "\n");
	}
}

void reproduce_print(const struct reproduce_report *report, FILE *out)
{
	fprintf(out, "%s: mean +- deviation of our runs [the paper's]\n", report->name);
	for (int i = 0; i < report->table_count; i++)
		print_table(&report->tables[i], out);
	if (report->notes.count > 0)
		fprintf(out, "\n");
	notes_print(&report->notes, out);
	fprintf(out, "\nclaims\n");
	for (int i = 0; i < report->line_count; i++)
		fprintf(out, "  %-14s %s\n%17s%s\n",
			reproduce_verdict_name(report->lines[i].verdict), report->lines[i].claim,
			"", report->lines[i].why);
}
