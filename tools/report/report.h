/* SPDX-License-Identifier: MIT */
/*
 * report.h -- the report of `bench` and `reproduce`: tables of values with the figures of a paper
 * beside them, ratios, notes and claims, printed as text, as JSON and as a plot.
 *
 * A measurement adds a value a run to cells; tables, rows and columns come in the order of their
 * first mention.
 *
 *     struct report_cell cell = { "local area", "CTP-Bulk", "latency", "ms" };
 *     report_paper(report, cell, 0.380, 0.0090);
 *     for (int run = 0; run < runs; run++)
 *             report_add(report, cell, 0.021);
 *     report_less(report, "bulk costs more than minimal", minimal, report_mean(report, cell),
 *                 "ms, minimal against bulk");
 *
 * There are two forms.  A report of runs has means and deviations, as papers have them.  A report
 * of rounds has medians, and ratios of rows to the reference of their class: a machine's speed
 * drifts from minute to minute, and the rows of one round share it, so a ratio is taken in each
 * round, and the median of ratios is published, not the ratio of medians.
 *
 * Texts are copied.  Memory that is out ends the program: a report with holes would be a lie.
 */
#ifndef NOPAL_REPORT_H
#define NOPAL_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "frame/tool.h"
#include "report/series.h"

enum report_form { REPORT_RUNS, REPORT_ROUNDS };
enum report_better { REPORT_MORE_IS_BETTER, REPORT_LESS_IS_BETTER };

/* The promise of a row about its bytes.  Rows of different classes are not compared. */
enum report_class {
	REPORT_NONE, /* nothing, or a sum that its path leaves out */
	REPORT_CRC,  /* they are as they were sent, unless someone meant harm */
	REPORT_AEAD, /* they are encrypted and authentic */
	REPORT_CLASSES,
};

/* The place of a value.  `row` may be a number ("5"): then a table is a curve over its rows.  The
 * unit is the column's, the class the row's; both are of the first mention. */
struct report_cell {
	const char *table, *row, *column, *unit;
	enum report_class class;
};

enum { REPORT_REFERENCES = 8, REPORT_MAIN_COLUMNS = 2, REPORT_NUMBER_BYTES = 48 };

struct report_values {
	struct series ours; /* a run or a round each */
	bool paper;	    /* the paper has the cell */
	double paper_mean, paper_deviation;
};

struct report_row {
	char *name;
	enum report_class class;
	struct report_values *cells; /* by column */
};

struct report_column {
	char *name, *unit;
	enum report_better better;
};

struct report_table {
	char *name;
	struct report_row *rows;
	struct report_column *columns;
	int row_count, column_count;
};

struct report {
	enum report_form form;
	char *name; /* of the measurement */
	struct report_table *tables;
	int table_count;
	struct report_table head; /* columns that each new table begins with */
	struct {
		enum report_class class;
		char *row;
	} references[REPORT_REFERENCES];
	int reference_count;
	char *beside;		    /* or NULL */
	char *control_of, *control; /* or NULL */
	json_t *options, *facts, *notes, *claims, *texts;
	bool intervals; /* behind a mean stands its interval of 95 %, not the deviation */
	bool measured;	/* a cell has a value of ours */
	bool refused;	/* the machine refused something */
};

struct report *report_new(enum report_form form, const char *name);
void report_free(struct report *report);
/* "bench" or "reproduce". */
const char *report_tool(const struct report *report);
const char *report_class_name(enum report_class class);

/* -------------------------------------------------------------------- columns */

/* A column of every table that is made later.  The first REPORT_MAIN_COLUMNS have ratios in the
 * text and panels in the plot; JSON has them all. */
void report_column(struct report *report, const char *name, const char *unit,
		   enum report_better better);
/* Means of runs stand with their intervals of 95 %, not with deviations. */
void report_intervals(struct report *report);
/* In this class `row` is 1.00.  Of several references the best of each round counts. */
void report_reference(struct report *report, enum report_class class, const char *row);
/* One more column: ratios to this row, whatever its class ("tcp"). */
void report_beside(struct report *report, const char *row);
/* `again` is the same as `row` under another name: their ratio tells how much of a difference is
 * the machine's. */
void report_control(struct report *report, const char *row, const char *again);

/* --------------------------------------------------------------------- values */

/* Mentions a cell, for the order of tables, rows and columns. */
void report_declare(struct report *report, struct report_cell cell);
/* The value of one more run, or of round `round`, from 0. */
void report_add(struct report *report, struct report_cell cell, double value);
void report_set(struct report *report, struct report_cell cell, int round, double value);
/* The paper's figure of the cell; `deviation` 0: the paper says none. */
void report_paper(struct report *report, struct report_cell cell, double mean, double deviation);

/* Of the runs; NAN where there is none. */
double report_mean(const struct report *report, struct report_cell cell);
/* Where a machine that did something else for a while would spoil a mean. */
double report_median(const struct report *report, struct report_cell cell);
/* NULL: the cell was not mentioned. */
const struct report_values *report_find(const struct report *report, struct report_cell cell);

/* Sorts a report of rounds: tables by name, rows by class, then the first column, best first. */
void report_sort(struct report *report);
/* Ratios within a round to the best reference of the row's class, or, where `to` is not NULL, to
 * that row of the table. */
struct spread report_ratios(const struct report *report, const struct report_table *table,
			    const struct report_row *row, int column, const char *to);
struct spread report_spread(const struct report_row *row, int column);
/* The number behind a mean, and its whisker: of runs the deviation, or the interval, of which one
 * run has none (0). */
double report_margin(const struct report *report, const struct report_values *values);

/* ----------------------------------------------------------- notes and claims */

/* A text that the report keeps until its end: of a cell, or of a claim. */
const char *report_format(const struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A fact about the run for the JSON document: a version, a size, a flag. */
void report_fact(struct report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A line below the tables, which a reader must know to believe them.  A line that is there is not
 * added again. */
void report_note(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same: this machine refuses something, and rows are left out for it. */
void report_refused(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

enum report_verdict {
	REPORT_HOLDS,
	REPORT_FAILS,
	REPORT_UNTESTABLE, /* not by us: `why` says */
	REPORT_UNMEASURED, /* not by this run, which left it out */
};

/* A claim of the paper, or of ours, and the verdict of this run. */
void report_claim(struct report *report, const char *claim, enum report_verdict verdict,
		  const char *why, ...) __attribute__((format(printf, 4, 5)));
/* The same from a comparison: the claim holds where `less` is below `more`, and is unmeasured where
 * either is NAN.  `why` names the two sides. */
void report_less(struct report *report, const char *claim, double less, double more,
		 const char *why);

/* --------------------------------------------------------------------- output */

/* Four significant digits, as tables have them; returns `text`. */
const char *report_number(char text[REPORT_NUMBER_BYTES], double value);
void report_notes(const struct report *report, FILE *out);
/* The outcome of a tool: as text, and by its options "json" and "plot".  A report without a value
 * is a failure, or TOOL_SKIPPED where the machine refused. */
enum tool_exit report_results(struct report *report, const struct tool_call *call);
void report_text(struct report *report, FILE *out);
/* One JSON document; NULL: to stdout.  False: it could not be written, which was said. */
bool report_json(struct report *report, const char *file);
/* Can such a file be drawn?  Its suffix names the kind: png, svg or pdf.  False: it was said why
 * not, in the name of the tool. */
bool report_can_plot(const char *tool, const char *file);
/* Draws the tables by gnuplot.  False: it was said why not. */
bool report_plot(struct report *report, const char *file);

#endif
