/* SPDX-License-Identifier: MIT */
/*
 * bottleneck.h -- a path that is narrow at one place, as lab 10 and its tournament draw it, and what
 * its queue does.
 */
#ifndef NOPAL_LABS_BOTTLENECK_H
#define NOPAL_LABS_BOTTLENECK_H

#include "lab/lab.h"

struct bottleneck {
	int64_t rate_kbit, delay_us, limit;
	double packets_s, window; /* full segments a second, and in path and queue together */
	char link[96];
};

enum { BOTTLENECK_MESSAGE = 14000 /* bytes: ten segments */ };

/* The queue holds between 0.7 and 1.5 of what the path does, which is little: a period of the saw has
 * 5 M M / 36 packets. */
void bottleneck_draw(struct lab_trial *trial, struct bottleneck *ret_path);
/* As many messages as the link carries in this time, sent at once. */
void bottleneck_fill(struct lab_trial *trial, int host, int64_t at_ns,
		     const struct bottleneck *path, double seconds);
/* The 95th percentile of the time in the queue of a host's segments that left behind `from_ns`, in
 * ms. */
double bottleneck_queue(const struct lab_trial *trial, int host, const struct bottleneck *path,
			int64_t from_ns);
/* Jain's index of two shares. */
double bottleneck_fairness(double one, double two);

#endif
