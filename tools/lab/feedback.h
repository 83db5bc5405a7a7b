/* SPDX-License-Identifier: MIT */
/*
 * feedback.h -- a failed trial, told so that a student learns from it: steps in virtual time, the
 * ladder, who held what, and a hint.
 */
#ifndef NOPAL_LAB_FEEDBACK_H
#define NOPAL_LAB_FEEDBACK_H

#include <stdio.h>

#include "lab/grade.h"

/* Adds the steps that led to the failure, of the message that its reason names: to a trial that has
 * been run, once. */
void feedback_steps(struct lab_trial *trial);
/* Copies all of a file, from its beginning.  False: `out` has the error. */
bool feedback_copy(int from, FILE *out);
/* As text, for a terminal. */
void feedback_print(const struct lab *lab, const struct grade_result *result, FILE *out);
/* Writes FOLDER/feedback.html, and the trace of each of the student's hosts as FOLDER/host-N.trace.
 * False: a problem was printed. */
bool feedback_write(const struct lab *lab, const struct grade_result *result, const char *folder);

#endif
