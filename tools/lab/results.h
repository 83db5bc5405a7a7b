/* SPDX-License-Identifier: MIT */
/*
 * results.h -- a grade in the forms that others read: Gradescope's results.json and JUnit's XML.
 *
 * The same submission gets the same bytes: no time, no path and no name of a machine is in them.
 */
#ifndef NOPAL_LAB_RESULTS_H
#define NOPAL_LAB_RESULTS_H

#include <jansson.h>
#include <stdio.h>

#include "lab/grade.h"

/* Gradescope's: score, and a test for each item.  The caller gives up the reference. */
json_t *results_json(const struct grade *grade);
/* A test suite with a case for each item. */
void results_junit(const struct grade *grade, FILE *out);

#endif
