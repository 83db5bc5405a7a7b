/* SPDX-License-Identifier: MIT */
/*
 * plot.c -- a report as a plot, by gnuplot: a panel for each table.
 *
 * A table whose rows are numbers is a curve for each column, with the deviation as whiskers and the
 * paper's figures as points, logarithmic where it spans much; any other is bars, a panel for each
 * column.
 */
#include <math.h>
#include <stdlib.h>

#include "report/gnuplot.h"
#include "reproduce/plot.h"

enum {
	PLOT_WIDTH = 640, /* pixels, of a panel */
	PLOT_HEIGHT = 420,
	PLOT_ABREAST = 2, /* panels in a row */
	PLOT_WIDE = 50,	  /* from least to most: logarithmic */
};

static bool plot_is_curve(const struct reproduce_table *table)
{
	for (int row = 0; row < table->row_count; row++) {
		char *end;

		strtod(table->rows[row], &end);
		if (end == table->rows[row] || *end)
			return false;
	}
	return true;
}

static bool plot_has(const struct reproduce_table *table, int column, bool paper)
{
	for (int row = 0; row < table->row_count; row++) {
		const struct reproduce_values *values = reproduce_values_at(table, row, column);

		if (values && (paper ? values->paper : values->ours.count > 0))
			return true;
	}
	return false;
}

/* "row mean deviation paper" lines of a column; a name is quoted. */
static void plot_data(const struct reproduce_table *table, int number, int column, bool curve,
		      FILE *out)
{
	fprintf(out, "$t%dc%d << EOD\n", number, column);
	for (int row = 0; row < table->row_count; row++) {
		const struct reproduce_values *values = reproduce_values_at(table, row, column);

		if (!values || values->ours.count == 0)
			continue;
		fprintf(out, curve ? "%s %g %g %g\n" : "\"%s\" %g %g %g\n", table->rows[row],
			series_mean(&values->ours), series_deviation(&values->ours),
			values->paper ? values->paper_mean : NAN);
	}
	fprintf(out, "EOD\n");
}

static void plot_curves(const struct reproduce_table *table, int number, FILE *out)
{
	const char *comma = "";
	double min = INFINITY;
	double max = 0;

	for (int column = 0; column < table->column_count; column++)
		plot_data(table, number, column, true, out);
	fprintf(out, "set title \"%s\"\nset ylabel \"%s\"\n", table->name, table->columns[0].unit);
	/* Do the values span so much that a linear axis hides the small ones? */
	for (int row = 0; row < table->row_count; row++) {
		for (int column = 0; column < table->column_count; column++) {
			const struct reproduce_values *values =
				reproduce_values_at(table, row, column);
			double mean = values ? series_mean(&values->ours) : 0;

			if (!(mean > 0))
				continue;
			min = fmin(min, mean);
			max = fmax(max, mean);
		}
	}
	if (max > PLOT_WIDE * min)
		fprintf(out, "set logscale y\nset yrange [*:*]\n");
	fprintf(out, "plot ");
	for (int column = 0; column < table->column_count; column++) {
		if (!plot_has(table, column, false))
			continue;
		fprintf(out, "%s$t%dc%d using 1:2:3 with yerrorlines lc %d title \"%s\"", comma,
			number, column, column + 1, table->columns[column].name);
		comma = ", ";
		if (plot_has(table, column, true))
			fprintf(out,
				", $t%dc%d using 1:4 with points lc %d pt 6 "
				"ps 2 title \"%s, paper\"",
				number, column, column + 1, table->columns[column].name);
	}
	fprintf(out, "\nunset logscale y\nset yrange [0:*]\n");
}

/* Rows of a column that are drawn. */
static int plot_rows(const struct reproduce_table *table, int column)
{
	int rows = 0;

	for (int row = 0; row < table->row_count; row++) {
		const struct reproduce_values *values = reproduce_values_at(table, row, column);

		rows += values && values->ours.count > 0;
	}
	return rows;
}

static void plot_bars(const struct reproduce_table *table, int number, int column, FILE *out)
{
	plot_data(table, number, column, false, out);
	fprintf(out,
		"set title \"%s: %s\"\nset ylabel \"%s\"\n"
		"set style fill solid 0.5\nset boxwidth 0.7\n"
		"set xrange [-0.5:%d.5]\n"
		"plot $t%dc%d using 0:2:3:xtic(1) with boxerrorbars title \"ours\"%s",
		table->name, table->columns[column].name, table->columns[column].unit,
		plot_rows(table, column) - 1, number, column,
		plot_has(table, column, true) ? "" : "\n");
	if (plot_has(table, column, true))
		fprintf(out, ", '' using 0:4 with points pt 6 ps 2 title \"paper\"\n");
	fprintf(out, "set xrange [*:*]\n");
}

/* Panels of a table: one where it is a curve, else one a column with values. */
static int plot_table(const struct reproduce_table *table, int number, FILE *out)
{
	bool curve = plot_is_curve(table);
	int panels = 0;

	for (int column = 0; column < table->column_count; column++) {
		if (!plot_has(table, column, false))
			continue;
		if (out && curve && panels == 0)
			plot_curves(table, number, out);
		else if (out && !curve)
			plot_bars(table, number, column, out);
		panels++;
	}
	return curve && panels > 0 ? 1 : panels;
}

static int plot_panels(const struct reproduce_report *report)
{
	int panels = 0;

	for (int i = 0; i < report->table_count; i++)
		panels += plot_table(&report->tables[i], i, NULL);
	return panels;
}

static int plot_abreast(int panels)
{
	return panels < PLOT_ABREAST ? panels : PLOT_ABREAST;
}

static int plot_lines(int panels)
{
	return (panels + PLOT_ABREAST - 1) / PLOT_ABREAST;
}

static void plot_script(const void *what, FILE *out)
{
	const struct reproduce_report *report = what;
	int panels = plot_panels(report);

	fprintf(out,
		"set termoption noenhanced\nset grid ytics\n"
		"set yrange [0:*]\nset xtics rotate by -30\n"
		"set key outside below\nset multiplot layout %d,%d\n",
		plot_lines(panels), plot_abreast(panels));
	for (int i = 0; i < report->table_count; i++)
		plot_table(&report->tables[i], i, out);
	fprintf(out, "unset multiplot\n");
}

bool reproduce_plot(const struct reproduce_report *report, const char *file)
{
	int panels = plot_panels(report);
	struct gnuplot_size size = { .width = PLOT_WIDTH * plot_abreast(panels) };

	if (panels == 0)
		return true;
	size.height = PLOT_HEIGHT * plot_lines(panels);
	return gnuplot_draw("nopal reproduce", file, size, plot_script, report);
}
