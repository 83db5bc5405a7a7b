/* SPDX-License-Identifier: MIT */
/*
 * report.h -- the report of a measurement from its inside: for what prints it, and for tests.
 * Measurements themselves need bench.h alone.
 */
#ifndef NOPAL_BENCH_REPORT_H
#define NOPAL_BENCH_REPORT_H

#include "bench/bench.h"
#include "report/notes.h"
#include "report/series.h"
#include "report/stats.h"

enum {
	BENCH_MEASURES = 12,
	BENCH_REFERENCES = 8,
};

struct bench_report_measure {
	char *name, *unit;
	enum bench_better better;
};

/* One row: all rounds of one name on one path. */
struct bench_report_row {
	char *what, *path;
	enum bench_class class;
	struct series values[BENCH_MEASURES]; /* by measure; a round each */
};

struct bench_report_pair {
	char *name, *text;
};

struct bench_report {
	char *name; /* of the measurement */
	struct bench_options options;
	struct bench_report_measure measures[BENCH_MEASURES];
	int measure_count;
	struct {
		enum bench_class class;
		char *what;
	} references[BENCH_REFERENCES];
	int reference_count;
	char *beside;		    /* or NULL */
	char *control_of, *control; /* or NULL */
	struct bench_report_row *rows;
	int row_count;
	struct bench_report_pair *facts;
	int fact_count;
	struct notes notes;
};

struct bench_report *bench_report_new(const char *name, const struct bench_options *options);
void bench_report_free(struct bench_report *report);

/* Rows by path, then class, then the first measure, best first. */
void bench_report_sort(struct bench_report *report);
const struct bench_report_row *bench_report_row(const struct bench_report *report, const char *path,
						const char *what);
struct spread bench_report_values(const struct bench_report *report,
				  const struct bench_report_row *row, int measure);
/* Per-round ratios to the best reference of the row's class and path. */
struct spread bench_report_ratios(const struct bench_report *report,
				  const struct bench_report_row *row, int measure);
/* Per-round ratios to another row of the path. */
struct spread bench_report_versus(const struct bench_report *report,
				  const struct bench_report_row *row, const char *what,
				  int measure);

#endif
