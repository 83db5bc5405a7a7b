/* SPDX-License-Identifier: MIT */
/*
 * udtcp.h -- what the experiments of UDTCP's paper measure: compositions at two configurations of
 * its testbed, simulated and live, and the tables of that.
 */
#ifndef NOPAL_REPRODUCE_UDTCP_H
#define NOPAL_REPRODUCE_UDTCP_H

#include "load/delays.h"
#include "reproduce/reproduce.h"

enum {
	UDTCP_CONFIGURATIONS = 2,
	UDTCP_MESSAGE_BYTES = 1455,
	UDTCP_PERCENT = 100,
	UDTCP_DEADLINES = 9,
	UDTCP_DEADLINE_MS = 100, /* the first */
	UDTCP_DEADLINE_STEP_MS = 50,
};
#define UDTCP_WARM_NS (10 * NOPAL_SECOND)
#define UDTCP_RUN_NS  (100 * NOPAL_SECOND)

struct udtcp_configuration {
	const char *name;
	int flows, send_buffer;
	const char *edge, *link; /* simulated: to the bottleneck, and the bottleneck */
	const char *live;	 /* all of the path */
	double loss;		 /* per cent: the paper's, of UDTCP */
};
extern const struct udtcp_configuration udtcp_configurations[UDTCP_CONFIGURATIONS];

/* A config that extends another one; NULL: the kernel's TCP.  `instead`: without UDTCP's congestion
 * control; `halves`: its send buffer, in halves of the configuration's; 0: no such one. */
struct udtcp_composition {
	const char *name, *word; /* word: in --rows */
	const char *extends;
	bool instead;
	int halves;
	const char *sections;
};
enum {
	UDTCP_TCP,
	UDTCP_TCP_MORE,
	UDTCP_UDTCP,
	UDTCP_TFRC,
	UDTCP_BELOW,
	UDTCP_ABOVE,
	UDTCP_BBR,
	UDTCP_FRESH,
	UDTCP_KERNEL,
	UDTCP_RESENDS,
	UDTCP_DEQUEUES,
	UDTCP_RESEQUENCES,
	UDTCP_WAITS,
	UDTCP_SAWTOOTH,
	UDTCP_COMPOSITIONS,
};
extern const struct udtcp_composition udtcp_compositions[UDTCP_COMPOSITIONS];

/* Where it is measured: all cells of a table are from one of these. */
struct udtcp {
	const struct reproduce_options *options;
	const struct udtcp_configuration *configuration;
	bool live;
};

/* The plan of a composition, interpreted; NULL for the kernel's TCP.  False: it was said why. */
bool udtcp_plan(const struct udtcp *udtcp, int composition, struct nopal_plan **ret_plan);

/* All runs of a composition: a line of the table of delays, and what `add` (NULL: nothing) makes of
 * each.  False: it failed; where the machine refuses a live one, a note says so. */
typedef void udtcp_add(const struct udtcp *udtcp, int composition, const struct delays_seen *seen);
bool udtcp_measure(const struct udtcp *udtcp, int composition, udtcp_add *add);
/* Shares that are late by deadline; by delay. */
udtcp_add udtcp_add_late, udtcp_add_distribution;

/* Means over the runs; NAN: it was not measured. */
struct report_cell udtcp_delay_cell(const struct udtcp *udtcp, int composition, const char *column,
				    const char *unit);
double udtcp_mean(const struct udtcp *udtcp, int composition, const char *column);
double udtcp_late(const struct udtcp *udtcp, int composition, int deadline);

#endif
