/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/suite.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "aead_crypto.h"
#include "support/test.h"

const struct suite_network suite_networks[] = {
	{ .name = "clean", .link = "delay 5ms" },
	{ .name = "slow", .link = "rate 2mbit delay 20ms limit 100" },
	{ .name = "shallow", .link = "rate 4mbit delay 10ms limit 8" },
	{ .name = "loss 1%", .link = "delay 10ms loss 1%" },
	{ .name = "loss 5%", .link = "rate 20mbit delay 25ms loss 5% limit 100" },
	{ .name = "loss 20%", .link = "delay 10ms loss 20%" },
	{ .name = "bursts", .link = "delay 10ms loss gemodel 3% 60%" },
	{ .name = "duplicates", .link = "delay 10ms duplicate 30%" },
	{ .name = "reordered", .link = "delay 20ms reorder 25% gap 3" },
	{ .name = "jitter", .link = "delay 30ms 10ms distribution normal" },
	{ .name = "corrupt", .link = "delay 10ms corrupt 5%", .corrupts = true },
	{ .name = "one way", .link = "fwd: delay 10ms rev: delay 60ms loss 30%" },
	{ .name = "partition", .link = "delay 10ms down 100ms 3s" },
	{ .name = "chaos, then calm",
	  .link = "delay 20ms 15ms loss 30% duplicate 20% corrupt 5% reorder 20%",
	  .calm_link = "delay 20ms",
	  .calm_ns = 5000000000,
	  .corrupts = true },
};
const size_t suite_network_count = sizeof(suite_networks) / sizeof(suite_networks[0]);

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool suite_loads(const char *config)
{
	const char *slash = strrchr(config, '/');

	const char *name = slash ? slash : config;

	/* aead's ciphers and MADP's digest come from the same library */
	return nopal__aead_found() || (!strstr(name, "aead") && !strstr(name, "madp"));
}

size_t suite_configs(char **names)
{
	DIR *folder = opendir(NOPAL_SOURCE_ROOT "/configs");
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) && count < SUITE_CONFIGS) {
		char *dot = strstr(entry->d_name, ".conf");

		if (dot && !dot[5] && suite_loads(entry->d_name))
			names[count++] = strndup(entry->d_name, (size_t)(dot - entry->d_name));
	}
	closedir(folder);
	qsort(names, count, sizeof(*names), by_name);
	return count;
}

bool suite_fits(const struct suite_network *network, const struct nopal_plan *plan)
{
	return !network->corrupts || nopal_plan_provides(plan, "integrity");
}

struct nopal_plan *suite_plan(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(config, NULL, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	assert_non_null(plan);
	return plan;
}
