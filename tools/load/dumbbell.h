/* SPDX-License-Identifier: MIT */
/*
 * dumbbell.h -- flows that send without end through one simulated bottleneck, each by a plan of its
 * own, and what the bottleneck saw of it.
 *
 *     struct dumbbell bell = { .forward = link, .reverse = back, .seed = 1,
 *                              .flows = 2, .plans = { cubic, newreno },
 *                              .warm_ns = 20 * NOPAL_SECOND,
 *                              .run_ns = 60 * NOPAL_SECOND };
 *     if (dumbbell_run(&bell))
 *             printf("%g %%\n", 100 * bell.utilisation);
 */
#ifndef NOPAL_DUMBBELL_H
#define NOPAL_DUMBBELL_H

#include <nopal/nopal.h>

enum { DUMBBELL_FLOWS = 8 };

struct dumbbell {
	struct nopal_link forward, reverse;
	uint64_t seed;
	int flows;
	struct nopal_plan *plans[DUMBBELL_FLOWS];
	/* Sessions of each, side by side between its two hosts; 0: one. */
	int connections[DUMBBELL_FLOWS];
	/* Each flow begins at random within that time; then all run on, and what comes after
	 * `warm_ns` is measured. */
	int64_t stagger_ns, warm_ns, run_ns;

	/* what came of it */
	uint64_t bytes[DUMBBELL_FLOWS]; /* that the receivers' applications got */
	double utilisation;		/* of the link's rate, headers included */
	double loss;			/* share of packets that the queue dropped */
	double queue_mean_ms;
	double queue_p95_ms; /* of spans of 10 ms */
	double roughness;    /* of flow 0: deviation over mean of its seconds */
};

/* False: out of memory, or a session ended before its time. */
bool dumbbell_run(struct dumbbell *bell);
/* The share of flow 0 in all bytes. */
double dumbbell_share(const struct dumbbell *bell);
/* A time from 0 up to below `below_ns`, by the seed: when a flow begins. */
int64_t dumbbell_draw(uint64_t seed, int64_t below_ns);

#endif
