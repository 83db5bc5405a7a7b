/* SPDX-License-Identifier: MIT */
/*
 * sim_report.h -- the numbers of a simulated run, for its reports as text and as JSON.
 */
#ifndef NOPAL_TOOL_SIM_REPORT_H
#define NOPAL_TOOL_SIM_REPORT_H

#include "run/sim.h"

enum { SIM_MILLION = 1000000 };

/* Delays of messages: percentiles, and the longest. */
struct sim_delays {
	uint64_t count;
	int64_t p50_ns, p99_ns, max_ns;
};

/* All sessions together. */
struct sim_totals {
	struct nopal_counters sender, receiver;
	struct sim_tally tally;
	uint64_t messages_sent, sent_bytes;
	int64_t last_delivery_ns, duration_ns;
	uint64_t goodput_bps, overhead_ppm, fairness_ppm;
	struct nopal_link_counters link;
	struct sim_delays delays;
	bool all_delivered, all_well; /* of every flow; well: as far as it has ended */
};

/* Messages of one kind, of all sessions of a load. */
struct sim_kind_row {
	char names[PROPERTIES_TEXT]; /* "": no property */
	uint64_t sent, delivered, late;
	struct sim_delays delays;
};

/* Bits per second of `bytes` in a time; 0 where no time passed. */
uint64_t sim_report_rate(uint64_t bytes, int64_t time_ns);
uint64_t sim_report_goodput(const struct sim_receiver *receiver);
/* Over a link without delay and rate all comes at once. */
static inline bool sim_report_took_no_time(uint64_t delivered_bytes, uint64_t goodput_bps)
{
	return delivered_bytes > 0 && goodput_bps == 0;
}
const char *sim_report_end_word(const struct sim_end *end);
/* Sorts values; the least that `percent` of sorted ones do not exceed, 0 where there is none. */
void sim_report_sort(int64_t *values, uint64_t count);
int64_t sim_report_at(const int64_t *values, uint64_t count, unsigned percent);
/* Prints the begin of a title: "udt4, bulk over delay 10ms, seed". */
void sim_report_title(const struct sim_options *options, const struct sim_load *loads,
		      unsigned load_count);
/* Messages that were later than a deadline of a load, and the words for it. */
uint64_t sim_report_late(const struct sim_run *run, unsigned load, unsigned deadline);
void sim_report_late_name(const struct sim_load *loads, unsigned load_count, unsigned load,
			  unsigned deadline, char *text, size_t room);
struct sim_delays sim_report_delays(const struct sim_receiver *receiver);
void sim_report_kind(const struct sim_run *run, const struct sim_load *load, unsigned kind,
		     struct sim_kind_row *ret_row);
/* sim_report_json.c */
void sim_report_json(const struct sim_run *run, const struct sim_totals *totals);

/* sim_series.c: figures of several runs, which differ in their seeds: median, quartiles and extremes
 * of each. */

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
