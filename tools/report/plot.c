/* SPDX-License-Identifier: MIT */
/*
 * plot.c -- a report as a plot, by gnuplot.
 *
 * A table whose rows are numbers is one panel, a curve for each column, logarithmic where it spans
 * much.  Any other table is a panel of bars for each column, the classes in colours of their own.
 * Whiskers are the deviation or the interval of runs, the quartiles of rounds; the paper's figures are points.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

enum {
	PLOT_WIDTH = 720, /* pixels, of a panel */
	PLOT_HEIGHT = 420,
	PLOT_FRAME_HEIGHT = 150,
	PLOT_BAR_HEIGHT = 28,
	PLOT_ABREAST = 2, /* panels in a row */
	PLOT_WIDE = 50,	  /* from least to most: logarithmic */
};

/* ---------------------------------------------------------------- file kinds */

struct plot_kind {
	const char *suffix, *terminal;
	int unit; /* pixels in one unit of the terminal's size */
};

static const struct plot_kind *plot_kind_of(const char *file)
{
	static const struct plot_kind kinds[] = {
		{ ".png", "pngcairo", 1 },
		{ ".svg", "svg", 1 },
		{ ".pdf", "pdfcairo", 96 }, /* inches */
	};
	const char *suffix = strrchr(file, '.');

	for (size_t i = 0; suffix && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(suffix, kinds[i].suffix) == 0)
			return &kinds[i];
	return NULL;
}

bool report_can_plot(const char *tool, const char *file)
{
	if (plot_kind_of(file) && !strpbrk(file, "\"\\\n"))
		return true;
	fprintf(stderr,
		"nopal %s: %s cannot be plotted\n"
		"  fix: name a file that ends in .png, .svg or .pdf\n",
		tool, file);
	return false;
}

/* -------------------------------------------------------------------- panels */

static bool plot_is_curve(const struct report_table *table)
{
	for (int row = 0; row < table->row_count; row++) {
		char *end;

		strtod(table->rows[row].name, &end);
		if (end == table->rows[row].name || *end)
			return false;
	}
	return true;
}

/* Rows of a column that have a value; with `paper`, that the paper has. */
static int plot_rows(const struct report_table *table, int column, bool paper)
{
	int rows = 0;

	for (int row = 0; row < table->row_count; row++)
		rows += paper ? table->rows[row].cells[column].paper
			      : report_spread(&table->rows[row], column).count > 0;
	return rows;
}

/* Is the column drawn? */
static bool plot_has(const struct report *report, const struct report_table *table, int column)
{
	return (report->form == REPORT_RUNS || column < REPORT_MAIN_COLUMNS) &&
	       plot_rows(table, column, false) > 0;
}

/* The rows of a column as a block of data: place (on a curve the number that names the row),
 * centre, low, high, class, paper, name. */
static void plot_data(const struct report *report, const struct report_table *table, int column,
		      const char *block, FILE *out)
{
	bool curve = plot_is_curve(table);
	int place = 0;

	fprintf(out, "%s << EOD\n", block);
	for (int i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];
		const struct report_values *values = &row->cells[column];
		struct spread spread = report_spread(row, column);
		double mean = series_mean(&values->ours), margin = report_margin(report, values);
		double paper = values->paper ? values->paper_mean : NAN;

		if (spread.count == 0)
			continue;
		fprintf(out, "%g ", curve ? strtod(row->name, NULL) : place++);
		if (report->form == REPORT_ROUNDS)
			fprintf(out, "%g %g %g", spread.median, spread.low, spread.high);
		else
			fprintf(out, "%g %g %g", mean, mean - margin, mean + margin);
		fprintf(out, " %d %g \"%s\"\n", (int)row->class + 1, paper, row->name);
	}
	fprintf(out, "EOD\n");
}

static void plot_curves(const struct report *report, const struct report_table *table, FILE *out)
{
	double min = INFINITY, max = 0;
	const char *comma = "";
	char block[REPORT_NUMBER_BYTES];

	for (int column = 0; column < table->column_count; column++) {
		snprintf(block, sizeof(block), "$c%d", column);
		plot_data(report, table, column, block, out);
		for (int row = 0; row < table->row_count; row++) {
			double centre = report_spread(&table->rows[row], column).median;

			if (!(centre > 0))
				continue;
			min = fmin(min, centre);
			max = fmax(max, centre);
		}
	}
	/* Do the values span so much that a linear axis hides the small ones? */
	fprintf(out,
		"%s\nset title \"%s\"\nset ylabel \"%s\"\nset xlabel \"\"\n"
		"set xrange [*:*]\nset ytics autofreq\nplot ",
		max > PLOT_WIDE * min ? "set logscale y\nset yrange [*:*]"
				      : "unset logscale y\nset yrange [0:*]",
		table->name, table->columns[0].unit);
	for (int column = 0; column < table->column_count; column++) {
		const char *name = table->columns[column].name;

		if (!plot_has(report, table, column))
			continue;
		fprintf(out, "%s$c%d using 1:2:3:4 with yerrorlines lc %d title \"%s\"", comma,
			column, column + 1, name);
		if (plot_rows(table, column, true))
			fprintf(out,
				", $c%d using 1:6 with points lc %d pt 6 ps 2 title \"%s, paper\"",
				column, column + 1, name);
		comma = ", ";
	}
	fprintf(out, "\n");
}

/* Panels of a table, which are drawn where `out` is not NULL. */
static int plot_table(const struct report *report, const struct report_table *table, FILE *out)
{
	bool curve = plot_is_curve(table);
	int panels = 0;

	for (int column = 0; column < table->column_count; column++) {
		const struct report_column *head = &table->columns[column];

		if (!plot_has(report, table, column) || (curve && panels > 0))
			continue;
		panels++;
		if (!out)
			continue;
		if (curve) {
			plot_curves(report, table, out);
			continue;
		}
		plot_data(report, table, column, "$bars", out);
		fprintf(out,
			"unset logscale y\nset title \"%s: %s\"\nset xlabel \"%s\"\n"
			"set ylabel \"\"\nset xrange [0:*]\nset yrange [%d.5:-0.5]\n"
			"unset ytics\nset ytics\n"
			"plot $bars using ($2/2):1:($2/2):(0.35):5:ytic(stringcolumn(7)) with "
			"boxxyerror lc variable fs solid 0.5 notitle, '' using 2:1:3:4 with "
			"xerrorbars pt 0 lc rgb 'black' notitle%s\n",
			table->name, head->name, head->unit, plot_rows(table, column, false) - 1,
			plot_rows(table, column, true)
				? ", '' using 6:1 with points pt 6 ps 2 title \"paper\""
				: "");
	}
	return panels;
}

/* ---------------------------------------------------------------------- file */

bool report_plot(struct report *report, const char *file)
{
	const struct plot_kind *kind = plot_kind_of(file);
	int panels = 0, height = PLOT_HEIGHT, status = -1, abreast, lines;
	void (*before)(int);
	FILE *out;

	if (!report_can_plot(report_tool(report), file))
		return false;
	report_sort(report);
	for (int i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		int bars = PLOT_FRAME_HEIGHT + PLOT_BAR_HEIGHT * table->row_count;

		panels += plot_table(report, table, NULL);
		if (!plot_is_curve(table) && bars > height)
			height = bars;
	}
	if (panels == 0)
		return true;
	abreast = panels < PLOT_ABREAST ? panels : PLOT_ABREAST;
	lines = (panels + PLOT_ABREAST - 1) / PLOT_ABREAST;
	before = signal(SIGPIPE, SIG_IGN);
	out = popen("gnuplot", "w");
	if (out) {
		fprintf(out,
			"set terminal %s size %d,%d\nset output \"%s\"\n"
			"set termoption noenhanced\nset grid\nset key outside below\n"
			"set multiplot layout %d,%d\n",
			kind->terminal, PLOT_WIDTH * abreast / kind->unit,
			height * lines / kind->unit, file, lines, abreast);
		for (int i = 0; i < report->table_count; i++)
			plot_table(report, &report->tables[i], out);
		fprintf(out, "unset multiplot\n");
		status = pclose(out);
	}
	signal(SIGPIPE, before);
	if (status != 0)
		fprintf(stderr,
			"nopal %s: gnuplot made no %s\n"
			"  fix: tools/install-packages bench installs gnuplot\n",
			report_tool(report), file);
	return status == 0;
}
