/* SPDX-License-Identifier: MIT */
/*
 * sim_series.h -- figures of several simulated runs, which differ in their seeds: median, quartiles
 * and extremes of each.
 */
#ifndef NOPAL_TOOL_SIM_SERIES_H
#define NOPAL_TOOL_SIM_SERIES_H

#include "run/sim_report.h"

/* Ends the program where memory is out. */
struct sim_series *sim_series_new(const struct sim_options *options, const struct sim_load *loads,
				  unsigned load_count);
void sim_series_free(struct sim_series *series);
/* Takes the figures of a run. */
void sim_series_add(struct sim_series *series, const struct sim_run *run,
		    const struct sim_totals *totals, bool good);
/* As a table, or as JSON where the options say so. */
void sim_series_print(struct sim_series *series);

#endif
