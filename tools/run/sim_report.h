/* SPDX-License-Identifier: MIT */
/*
 * sim_report.h -- results of a simulated run as text and as JSON.
 */
#ifndef NOPAL_SIM_REPORT_H
#define NOPAL_SIM_REPORT_H

#include "run/sim.h"

/* One object of --jsonl; NULL-safe to call at any time of the run. */
void sim_report_moment(struct sim_run *run);
void sim_report_end(struct sim_run *run);
bool sim_report_is_good(const struct sim_run *run);
/* Mean time in the queue of the datagrams that it took. */
int64_t sim_report_queue_ns(const struct nopal_link_counters *link);

#endif
