/* SPDX-License-Identifier: MIT */
/*
 * hosts.h -- two hosts on this machine with an emulated link between them: two network namespaces
 * without names, and a process that holds both and the link. All of it goes with that process.
 */
#ifndef NOPAL_HOSTS_H
#define NOPAL_HOSTS_H

#include "load/pair.h"

enum { HOSTS_PATH_BYTES = 64, HOSTS_WHY_BYTES = 96 };

struct hosts {
	struct bench_place place; /* for a pair of processes */
	char here[HOSTS_PATH_BYTES], there[HOSTS_PATH_BYTES];
	char why[HOSTS_WHY_BYTES]; /* there are none: a few words */
	pid_t emulator;
	int home;    /* the namespace that this process comes from */
	int reports; /* from the emulator */
};

/* False: this machine refuses, and `why` says so. */
bool hosts_open(struct hosts *hosts, const struct nopal_link *forward,
		const struct nopal_link *reverse, uint64_t seed);
/* Back home; what the link did, forward and reverse (zeros: not known). */
void hosts_close(struct hosts *hosts, struct nopal_link_counters ret_did[2]);

/* A link that waits for the processor is another link.  Where this is not granted, the counters of
 * lateness say what it cost. */
void hosts_hurry(void);

#endif
