/* SPDX-License-Identifier: MIT */
/*
 * costs.h -- what a composition costs on some networks, each of which is hard in a way of its own,
 * and whether another composition costs more.
 *
 * Costs come from runs of the oracle, in virtual time.  A run has the same seed and the same
 * messages for every composition, so two compositions are compared run by run.  A difference counts
 * where a user would notice it, and where chance does not explain it.
 */
#ifndef NOPAL_TEST_COSTS_H
#define NOPAL_TEST_COSTS_H

#include <stdbool.h>
#include <stddef.h>

enum cost {
	COST_LOST,	/* per cent of the messages */
	COST_OVERTAKEN, /* per cent that arrive after one that was sent later */
	COST_TIME,	/* until the last arrival, in seconds a message */
	/* in milliseconds; each sender counts as much as another: */
	COST_DELAY,	/* mean of its messages */
	COST_JITTER,	/* standard deviation of their delays */
	COST_DATAGRAMS, /* a message; from all hosts, until the last arrival */
	COST_BYTES,	/* a message, in UDP's payload */
	COSTS,
};
enum { COSTS_FEW = 6, COSTS_MANY = 16, COSTS_NETWORKS = 17 };

/* Of the runs on one network. */
struct costs_sample {
	unsigned runs;
	double run[COSTS_MANY][COSTS];
};

/* Of one composition; measured on demand. */
struct costs {
	const char *config; /* a name or a text, as of oracle_run; borrowed */
	struct nopal_plan *plan;
	struct costs_sample sample[COSTS_NETWORKS];
};

/* The config must be good.  By calloc; costs_free() takes it back. */
struct costs *costs_new(const char *config);
void costs_free(struct costs *costs);

/* Finds a network on which `other` costs more than `one`: the network, the cost and the difference
 * go into `text`.  False: there is none. */
bool costs_more(struct costs *other, struct costs *one, char *text, size_t room);

#endif
