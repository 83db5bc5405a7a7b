/* SPDX-License-Identifier: MIT */
/*
 * table.h -- a report as text for people.
 */
#ifndef NOPAL_BENCH_TABLE_H
#define NOPAL_BENCH_TABLE_H

#include "bench/report.h"

void bench_report_table(struct bench_report *report, FILE *out);

#endif
