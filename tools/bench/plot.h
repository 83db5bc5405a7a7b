/* SPDX-License-Identifier: MIT */
/*
 * plot.h -- a report as a plot, by gnuplot.
 */
#ifndef NOPAL_BENCH_PLOT_H
#define NOPAL_BENCH_PLOT_H

#include "bench/report.h"

/* The file's suffix names the kind: png, svg or pdf.  False: it was said why. */
bool bench_report_plot(struct bench_report *report, const char *file);

#endif
