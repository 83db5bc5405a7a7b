/* SPDX-License-Identifier: MIT */
/*
 * suite.h -- the shipped configs, and the networks that laws are tested over.
 */
#ifndef NOPAL_TEST_SUITE_H
#define NOPAL_TEST_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nopal/nopal.h>

enum { SUITE_CONFIGS = 64 };

struct suite_network {
	const char *name, *link, *calm_link; /* calm: from calm_ns on */
	int64_t calm_ns;
	bool corrupts;
};

extern const struct suite_network suite_networks[];
extern const size_t suite_network_count;

/* Has this build what the config, by its name, needs? */
bool suite_loads(const char *config);
/* Names of all configs in the source's folder, sorted; the caller frees each. */
size_t suite_configs(char **names);
/* A network that corrupts is nothing for a plan that would not notice. */
bool suite_fits(const struct suite_network *network, const struct nopal_plan *plan);
/* The plan of a config that must be good; else the test fails. */
struct nopal_plan *suite_plan(const char *config);

#endif
