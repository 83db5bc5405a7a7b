/* SPDX-License-Identifier: MIT */
/*
 * madp.h -- downloads over the impaired paths of MADP's paper: which there are, where their figures
 * stand in the report, and how they are run.
 */
#ifndef NOPAL_REPRODUCE_MADP_H
#define NOPAL_REPRODUCE_MADP_H

#include "load/download.h"
#include "reproduce/place.h"

enum {
	MADP_CHUNK = 1426,	  /* bytes: section IV */
	MADP_LARGE = 1000 * 1000, /* bytes of a large object: ours */
	MADP_RUNS = 30,		  /* section V.B */
};
#define MADP_CUTOFF_NS (300 * NOPAL_SECOND) /* in virtual time */

enum { MADP_MADP, MADP_DYNAMIC, MADP_BULK, MADP_TCP, MADP_TCP_BBR, MADP_COLUMNS };
extern const struct madp_column {
	struct reproduce_protocol protocol;
	const char *congestion; /* of TCP */
} madp_columns[MADP_COLUMNS];

/* A row of Table I, with the paper's throughput in Mbit/s or latency in seconds (0: it has none).
 * MADP_MANY_CHUNKS is section IV's. */
enum {
	MADP_CLEAN,
	MADP_LOSS_5,
	MADP_LOSS_10,
	MADP_LOSS_15,
	MADP_CORRUPT_5,
	MADP_CORRUPT_10,
	MADP_DUPLICATE_5,
	MADP_DUPLICATE_10,
	MADP_NORMAL,
	MADP_UNIFORM,
	MADP_MANY_CHUNKS,
	MADP_FAR_CLEAN, /* ours: the same losses over a longer path */
	MADP_FAR_LOSS_5,
	MADP_FAR_LOSS_10,
	MADP_FAR_LOSS_15,
	MADP_CONDITIONS,
};
struct madp_condition {
	const char *word; /* in --paths */
	const char *name, *axis, *link;
	double tcp, madp;
};
extern const struct madp_condition madp_conditions[MADP_CONDITIONS];

/* A table: conditions down, protocols across. */
enum madp_object { MADP_OBJECT_LARGE, MADP_OBJECT_SMALL, MADP_OBJECT_CHUNKS };
struct madp_panel {
	const char *title;
	enum madp_object object;
	bool seconds, named; /* else throughput, and rows by their number */
	bool ours;	     /* the paper has no figures of it */
	int count;
	int conditions[MADP_CONDITIONS];
};

enum { MADP_PANELS = 3 };
struct madp_experiment {
	struct madp_panel panels[MADP_PANELS]; /* without a title: none */
};

enum { MADP_SIMULATED, MADP_LIVE, MADP_WORLDS };

/* A panel in one of the worlds. */
struct madp {
	const struct reproduce_options *options;
	const struct madp_panel *panel;
	int world;
};
static inline struct madp madp_at(const struct reproduce_options *options,
				  const struct madp_experiment *experiment, int panel, int world)
{
	return (struct madp){ options, &experiment->panels[panel], world };
}

/* All that is wanted of the experiment's panels, in both worlds. */
void madp_run(const struct reproduce_options *options, const struct madp_experiment *experiment);
/* Mbit/s of a download, cut off or not. */
double madp_throughput(const struct download *download);
/* The values of a cell; NULL: there is none. */
const struct series *madp_series(const struct madp *madp, int condition, int column);
/* NAN: not measured. */
double madp_mean(const struct madp *madp, int condition, int column);

#endif
