/* SPDX-License-Identifier: MIT */
/*
 * quiz.h -- a student's own trial: the reference at all ends, with a seed of the student's id; the
 * questions about it, and the answers in the student's folder.
 */
#ifndef NOPAL_LAB_QUIZ_H
#define NOPAL_LAB_QUIZ_H

#include <stdio.h>

#include "lab/lab.h"

/* Writes what the student works with into the folder, where it is not there yet: answers.txt with
 * the questions, own.html with the trial, and own-N.trace of each host.  True, too, where the lab
 * asks nothing; false: a problem was printed. */
bool quiz_write(const struct lab *lab, const char *id, const char *folder);
/* Prints a line for each answer in the folder.  False: a problem was printed. */
bool quiz_judge(const struct lab *lab, const char *id, const char *folder, FILE *out);

#endif
