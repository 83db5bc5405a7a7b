/* SPDX-License-Identifier: MIT */
/*
 * class.h -- all submissions of a class to one lab: graded side by side, and reported to the
 * teacher as a table, as CSV and as one page.
 */
#ifndef NOPAL_LAB_CLASS_H
#define NOPAL_LAB_CLASS_H

#include <stdio.h>

#include "lab/grade.h"
#include "lab/results.h"
#include "lab/similar.h"

struct class_submission {
	const char *folder;
	json_t *results; /* results_json(); NULL: it could not be graded */
	struct similar similar;
};

struct class
{
	const struct lab *lab;
	struct class_submission *submissions;
	size_t count;
};

/* Grades all, `jobs` at a time. */
void class_grade(struct class *class, const struct grade_options *options, int jobs);
void class_fini(struct class *class);
void class_print(const struct class *class, FILE *out);
void class_csv(const struct class *class, FILE *out);
/* The page: class_page.c. */
void class_page(const struct class *class, FILE *out);

/* Points of a submission, and of one of its items (by its place in the rubric); 0 where it could
 * not be graded. */
int class_points(const struct class_submission *submission);
int class_item_points(const struct class_submission *submission, size_t item);
/* Why an item has no points; "": it has. */
const char *class_item_reason(const struct class_submission *submission, size_t item);
/* Pairs that have more than CLASS_ALIKE in common, by their share; the caller frees them. */
struct class_pair {
	size_t one, other;
	double share;
};
#define CLASS_ALIKE 0.6
struct class_pair *class_pairs(const struct class *class, size_t *ret_count);

#endif
