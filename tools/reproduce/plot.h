/* SPDX-License-Identifier: MIT */
/*
 * plot.h -- a report as a plot, by gnuplot: a panel for each table.
 */
#ifndef NOPAL_REPRODUCE_PLOT_H
#define NOPAL_REPRODUCE_PLOT_H

#include "reproduce/report.h"

/* The file's suffix names the kind: png, svg or pdf.  False: it was said why. */
bool reproduce_plot(const struct reproduce_report *report, const char *file);

#endif
