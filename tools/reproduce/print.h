/* SPDX-License-Identifier: MIT */
/*
 * print.h -- a report as text for people.
 */
#ifndef NOPAL_REPRODUCE_PRINT_H
#define NOPAL_REPRODUCE_PRINT_H

#include "reproduce/report.h"

void reproduce_print(const struct reproduce_report *report, FILE *out);

#endif
