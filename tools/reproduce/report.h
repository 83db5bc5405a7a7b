/* SPDX-License-Identifier: MIT */
/*
 * report.h -- the report of an experiment from its inside: for what prints it, and for
 * tests.  Experiments need reproduce.h alone.
 */
#ifndef NOPAL_REPRODUCE_REPORT_H
#define NOPAL_REPRODUCE_REPORT_H

#include "report/notes.h"
#include "report/series.h"
#include "reproduce/reproduce.h"

/* All runs of one cell. */
struct reproduce_values {
	struct series ours;
	bool paper; /* the paper has it */
	double paper_mean, paper_deviation;
};

struct reproduce_column {
	char *name, *unit;
};

struct reproduce_table {
	char *name;
	char **rows;
	struct reproduce_column *columns;
	struct reproduce_values **cells; /* [row][column]; may be absent */
	int row_count, column_count;
};

struct reproduce_line {
	char *claim, *why;
	enum reproduce_verdict verdict;
};

struct reproduce_report {
	char *name;
	struct reproduce_table *tables;
	struct reproduce_line *lines;
	struct notes notes;
	int table_count, line_count;
	bool refused; /* the machine refused something */
};

struct reproduce_report *reproduce_report_new(const char *name);
void reproduce_report_free(struct reproduce_report *report);

/* NULL: nothing was said of this cell. */
const struct reproduce_values *reproduce_values_at(const struct reproduce_table *table, int row,
						   int column);
/* Has any cell a value? */
bool reproduce_report_has_values(const struct reproduce_report *report);
const char *reproduce_verdict_name(enum reproduce_verdict verdict);

/* Four significant digits, as tables have them; returns `text`. */
const char *reproduce_number(char *text, size_t room, double value);

#endif
