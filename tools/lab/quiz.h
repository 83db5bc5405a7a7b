/* SPDX-License-Identifier: MIT */
/*
 * quiz.h -- a student's own trial: the reference at all ends, with a seed of the student's id; the
 * questions about it, and the answers in the student's folder.
 */
#ifndef NOPAL_LAB_QUIZ_H
#define NOPAL_LAB_QUIZ_H

#include <stdio.h>

#include "lab/questions.h"

/* Verdicts on the answers of a folder. */
struct quiz_verdicts {
	int count;
	struct {
		enum lab_answer_verdict verdict;
		char question[LAB_QUESTION_TEXT], why[LAB_QUESTION_TEXT];
	} list[LAB_QUESTIONS];
};

/* The student whose folder it is, by its lab.txt; "": nobody said.  The caller frees it. */
char *quiz_student(const char *folder);
/* Writes what the student works with into the folder, where it is not there yet: answers.txt with
 * the questions, own.html with the trial, and own-N.trace of each host.  True, too, where the lab
 * asks nothing; false: a problem was printed. */
bool quiz_write(const struct lab *lab, const char *id, const char *folder);
/* Judges the answers in the folder; where there is no answers.txt, all are missing.  False: a problem
 * was printed. */
bool quiz_verdicts(const struct lab *lab, const char *folder, struct quiz_verdicts *ret_verdicts);
/* Prints a line for each answer, where there is an answers.txt.  False: a problem was printed. */
bool quiz_judge(const struct lab *lab, const char *folder, FILE *out);

#endif
