/* SPDX-License-Identifier: MIT */
/*
 * bench.h -- the description of a measurement of `nopal bench`, and the run of one.
 *
 * A measurement is one file, tools/bench/NAME.c, with one `const struct bench_measurement
 * bench_NAME` at its end, and a line in bench.c's table.  It names its rows, columns and their
 * units, and measures a row; the frame reads the options, loads the plans, runs the rounds, each
 * with its rows in random order, and prints the report.
 *
 *     static enum tool_exit probe_measure(struct bench *bench, const struct bench_row *row)
 *     {
 *             bench_add(bench, "lo", row->name, "p50", 14.1);
 *             return TOOL_GOOD;
 *     }
 *
 *     const struct bench_measurement bench_probe = {
 *             .name = "probe",
 *             .rows = "raw,bulk",
 *             .plain = (const char *const[]){ "raw", NULL },
 *             .columns = { { "p50", "us", REPORT_LESS_IS_BETTER } },
 *             .reference = "raw",
 *             .measure = probe_measure,
 *     };
 */
#ifndef NOPAL_BENCH_H
#define NOPAL_BENCH_H

#include "frame/tool.h"
#include "load/side.h"
#include "report/report.h"

enum {
	BENCH_ROUNDS = 10,
	BENCH_ROUNDS_MAX = 1000,
	BENCH_SECONDS = 2,
	BENCH_SECONDS_MAX = 3600,
	BENCH_ROWS = 32,   /* at most */
	BENCH_COLUMNS = 8, /* at most */
};

/* Options that some measurements have no use for. */
enum bench_use {
	BENCH_USE_SECONDS = 1 << 0,
	BENCH_USE_ROWS = 1 << 1,
	BENCH_USE_PATHS = 1 << 2,
	BENCH_USE_COUNT = 1 << 3,
	BENCH_USE_SESSIONS = 1 << 4,
	BENCH_USE_SIZE = 1 << 5,
};

/* The words behind the measurement's name. */
enum bench_words {
	BENCH_NO_WORDS,
	BENCH_PLACE,   /* two network namespaces and an address, or none of them: bench_place_of */
	BENCH_CONFIG,  /* a config in place of the default row */
	BENCH_CONFIGS, /* configs in place of the default rows */
};

/* A row of the report: a config, or a protocol without one. */
struct bench_row {
	const char *name;
	int plain;		 /* place in the measurement's `plain`; -1: a config */
	struct nopal_plan *plan; /* of a config; else NULL */
};

/* The run of a measurement.  An option that was not given is 0 or NULL. */
struct bench {
	const struct bench_measurement *measurement;
	struct report *report;
	int rounds;	       /* default BENCH_ROUNDS */
	double seconds;	       /* of one measurement; default BENCH_SECONDS */
	int64_t count;	       /* of sessions, peers, messages */
	int64_t sessions;      /* where others are counted, too */
	int64_t size;	       /* of a message, bytes */
	const char *row_words; /* "raw,tcp,bulk" */
	const char *paths;     /* "V,W" */
	bool quiet;	       /* no word about each value while it runs */
	char **words;	       /* behind the measurement's name */
	int word_count;
	struct bench_place place; /* of BENCH_PLACE */

	struct bench_row rows[BENCH_ROWS];
	int row_count;
	int round;		 /* that runs, from 0 */
	enum report_class class; /* of the rows that are added */
	void *state;		 /* of the measurement: one block, which the frame frees */
};

struct bench_measurement {
	const char *name;
	unsigned uses; /* enum bench_use */
	enum bench_words words;
	const char *rows;	  /* the default ones; NULL: the measurement has rows of its own */
	const char *const *plain; /* rows that are no configs, NULL-ended; NULL: none */
	struct {
		const char *name, *unit;
		enum report_better better;
	} columns[BENCH_COLUMNS + 1];
	const char *reference;	  /* the row that is 1.00 in its class; NULL: none */
	const char *const *notes; /* behind those of `begin`, NULL-ended; NULL: none */
	/* Before the first round: checks the options, adds notes.  False: it was said what is
	 * wrong with them.  NULL: nothing is to be done. */
	bool (*begin)(struct bench *bench);
	/* Measures a row in a round. */
	enum tool_exit (*measure)(struct bench *bench, const struct bench_row *row);
	/* Measures a round; NULL: bench_each_row(). */
	enum tool_exit (*round)(struct bench *bench);
	/* Measures all rounds; NULL: `round` for each. */
	enum tool_exit (*run)(struct bench *bench);
};

/* Measures all rows once, in random order, as far as all goes well. */
enum tool_exit bench_each_row(struct bench *bench);
/* Adds the value of this round, and says so on stderr unless `quiet`. */
void bench_add(struct bench *bench, const char *path, const char *row, const char *column,
	       double value);

/* Splits "a,b,c" into words; NULL-ended; free() the result, which holds the words too.  Empty words
 * are left out. */
char **bench_split(const char *text);
/* A random order of 0..count-1, from the system's clock: rounds must differ. */
void bench_shuffle(int *order, int count);
/* Sorts times; the time that `thousandths` of sorted ones are not above. */
void bench_sort(int64_t *times_ns, size_t count);
int64_t bench_share(const int64_t *times_ns, size_t count, size_t thousandths);
/* Bytes that the C library has allocated for this process. */
double bench_allocated(void);

#endif
