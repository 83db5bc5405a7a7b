/* SPDX-License-Identifier: MIT */
/*
 * bench.h -- what the measurements of `nopal bench` share: the options, and a report that collects
 * values and makes table, JSON and plot of them.
 *
 * A measurement is one file, tools/bench/NAME.c, with
 *
 *     int bench_NAME(int argc, char **argv, struct bench_report *report);
 *
 * and one line in bench.c's table.  It says what it measures, adds a value per row, path and round,
 * and returns one of `enum tool_exit`; the frame prints.
 *
 *     bench_measure(report, "p50", "us", BENCH_LESS_IS_BETTER);
 *     bench_reference(report, BENCH_NONE, "raw");
 *     for (int round = 0; round < bench_options(report)->rounds; round++)
 *             bench_add(report, &(struct bench_value){
 *                     .what = "raw", .path = "lo", .class = BENCH_NONE,
 *                     .measure = "p50", .value = 14.1, .round = round });
 *
 * A ratio is taken per round, to the reference of the row's own class and path; what is published
 * is the median of those ratios and their quartiles.  Classes are never compared with each other.
 */
#ifndef NOPAL_BENCH_H
#define NOPAL_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The promise of a row about its bytes. */
enum bench_class {
	BENCH_NONE, /* nothing, or a sum that its path leaves out */
	BENCH_CRC,  /* they are as they were sent, unless someone meant harm */
	BENCH_AEAD, /* they are encrypted and authentic */
	BENCH_CLASSES,
};
const char *bench_class_name(enum bench_class class);

enum bench_better { BENCH_MORE_IS_BETTER, BENCH_LESS_IS_BETTER };

/* The command line.  A measurement takes what it has a use for; 0 or NULL is "not said": take a
 * default of your own. */
struct bench_options {
	int rounds;	   /* default BENCH_ROUNDS */
	double seconds;	   /* of one measurement; default BENCH_SECONDS */
	int64_t count;	   /* of sessions, peers, messages */
	int64_t sessions;  /* where others are counted, too */
	int64_t size;	   /* of a message, bytes */
	const char *rows;  /* "raw,tcp,bulk" */
	const char *paths; /* "V,W" */
	bool quiet;	   /* no word about each value while it runs */
};
enum {
	BENCH_ROUNDS = 10,
	BENCH_ROUNDS_MAX = 1000,
	BENCH_SECONDS = 2,
	BENCH_SECONDS_MAX = 3600,
};

/* One value.  Texts are copied. */
struct bench_value {
	const char *what;    /* the row: "raw", "tcp", a config's name */
	const char *path;    /* "V", "W", "lo", "sim"; "" where it says nothing */
	const char *measure; /* declared by bench_measure() */
	enum bench_class class;
	int round;    /* from 0; values of one round are held against each other */
	double value; /* in the measure's unit */
};

struct nopal_world;
struct bench_report;

const struct bench_options *bench_options(const struct bench_report *report);

/* Declares a measure; columns come in this order.  The table has ratios of the first two, JSON has
 * them all. */
void bench_measure(struct bench_report *report, const char *measure, const char *unit,
		   enum bench_better better);
/* In this class `what` is 1.00.  Said twice: the better of the two, per round. */
void bench_reference(struct bench_report *report, enum bench_class class, const char *what);
/* One more column: ratios to this row, whatever its class ("tcp"). */
void bench_beside(struct bench_report *report, const char *what);
/* `again` is the same as `what` under another name: their ratio tells how much of a difference is
 * the machine's. */
void bench_control(struct bench_report *report, const char *what, const char *again);
/* Adds a value, and says so on stderr unless `quiet`. */
void bench_add(struct bench_report *report, const struct bench_value *value);
/* Has this row any value yet? */
bool bench_has(const struct bench_report *report, const char *what);
/* A fact about the run for the JSON document: a version, a size, a flag. */
void bench_fact(struct bench_report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A line below the table: what a reader must know to believe it. */
void bench_note(struct bench_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Helpers. */

/* Splits "a,b,c" (or `fallback` where NULL) into words; NULL-ended; free() the result, which holds
 * the words too.  Empty words are left out. */
char **bench_words(const char *text, const char *fallback);
/* A random order of 0..count-1, from the system's clock: rounds must differ. */
void bench_shuffle(int *order, int count);

#endif
