/* SPDX-License-Identifier: MIT */
/*
 * json.h -- a report as one JSON document.
 */
#ifndef NOPAL_BENCH_JSON_H
#define NOPAL_BENCH_JSON_H

#include "bench/report.h"

/* False: it could not be written, which was said. */
bool bench_report_json(struct bench_report *report, const char *file);

#endif
