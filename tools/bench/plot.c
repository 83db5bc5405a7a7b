/* SPDX-License-Identifier: MIT */
/*
 * plot.c -- a report as a plot, by gnuplot: a panel for each path, a bar for each row, the
 * quartiles as whiskers, the classes in colours of their own.
 */
#include <string.h>

#include "bench/plot.h"
#include "report/gnuplot.h"

enum {
	PANEL_WIDTH = 720, /* pixels */
	ROW_HEIGHT = 28,
	FRAME_HEIGHT = 150,
};

static bool plot_begins_path(const struct bench_report *report, int row)
{
	return row == 0 || strcmp(report->rows[row].path, report->rows[row - 1].path) != 0;
}

static int plot_panels(const struct bench_report *report)
{
	int panels = 0;

	for (int i = 0; i < report->row_count; i++)
		panels += plot_begins_path(report, i);
	return panels;
}

/* "place median low high class label" of the rows from `first` on its path. */
static int plot_data(const struct bench_report *report, int first, int panel, FILE *out)
{
	int row = first;

	fprintf(out, "$panel%d << EOD\n", panel);
	for (; row < report->row_count && (row == first || !plot_begins_path(report, row)); row++) {
		const struct bench_report_row *one = &report->rows[row];
		struct spread spread = bench_report_values(report, one, 0);

		fprintf(out, "%d %g %g %g %d \"%s (%s)\"\n", row - first, spread.median, spread.low,
			spread.high, (int)one->class + 1, one->what, bench_class_name(one->class));
	}
	fprintf(out, "EOD\n");
	return row - first;
}

static void plot_panel(const struct bench_report *report, int first, int panel, FILE *out)
{
	int rows = plot_data(report, first, panel, out);

	fprintf(out,
		"set title \"%s %s\" noenhanced\n"
		"set xlabel \"%s, %s: median and quartiles\" noenhanced\n"
		"set yrange [%d.5:-0.5]\n"
		"plot $panel%d using ($2/2):1:($2/2):(0.35):5:ytic(stringcolumn(6)) with "
		"boxxyerror lc variable fs solid 0.5 notitle, '' using 2:1:3:4 with xerrorbars pt "
		"0 lc rgb 'black' notitle\n",
		report->name, report->rows[first].path, report->measures[0].name,
		report->measures[0].unit, rows - 1, panel);
}

static void plot_script(const void *what, FILE *out)
{
	const struct bench_report *report = what;
	int panel = 0;

	fprintf(out,
		"set ytics noenhanced\nset xrange [0:*]\n"
		"set grid xtics\nset multiplot layout 1,%d\n",
		plot_panels(report));
	for (int i = 0; i < report->row_count; i++)
		if (plot_begins_path(report, i))
			plot_panel(report, i, panel++, out);
	fprintf(out, "unset multiplot\n");
}

bool bench_report_plot(struct bench_report *report, const char *file)
{
	struct gnuplot_size size;
	int panels;

	if (report->row_count == 0 || report->measure_count == 0)
		return true;
	bench_report_sort(report);
	panels = plot_panels(report);
	size.width = PANEL_WIDTH * panels;
	size.height = FRAME_HEIGHT + ROW_HEIGHT * report->row_count / panels;
	return gnuplot_draw("nopal bench", file, size, plot_script, report);
}
