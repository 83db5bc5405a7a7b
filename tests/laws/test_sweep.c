/* SPDX-License-Identifier: MIT */
/*
 * Every shipped config over every network with many seeds; what it promises is
 * checked after every event.  Prints how many sessions, events and violations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

enum { SEEDS = 20, CONFIG_ROOM = 64, MESSAGES = 60 };

struct network {
	const char *name, *link, *calm_link;
	int64_t calm_ns;
	bool corrupts;
};

static const struct network networks[] = {
	{ .name = "clean", .link = "delay 5ms" },
	{ .name = "slow", .link = "rate 2mbit delay 20ms limit 100" },
	{ .name = "shallow", .link = "rate 4mbit delay 10ms limit 8" },
	{ .name = "loss 1%", .link = "delay 10ms loss 1%" },
	{ .name = "loss 5%",
	  .link = "rate 20mbit delay 25ms loss 5% limit 100" },
	{ .name = "loss 20%", .link = "delay 10ms loss 20%" },
	{ .name = "bursts", .link = "delay 10ms loss gemodel 3% 60%" },
	{ .name = "duplicates", .link = "delay 10ms duplicate 30%" },
	{ .name = "reordered", .link = "delay 20ms reorder 25% gap 3" },
	{ .name = "jitter", .link = "delay 30ms 10ms distribution normal" },
	{ .name = "corrupt",
	  .link = "delay 10ms corrupt 5%",
	  .corrupts = true },
	{ .name = "one way",
	  .link = "fwd: delay 10ms rev: delay 60ms loss 30%" },
	{ .name = "partition", .link = "delay 10ms down 100ms 3s" },
	{ .name = "chaos, then calm",
	  .link = "delay 20ms 15ms loss 30% duplicate 20% corrupt 5% reorder "
		  "20%",
	  .calm_link = "delay 20ms",
	  .calm_ns = 5000000000,
	  .corrupts = true },
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t shipped(char **names)
{
	DIR *folder = opendir(NOPAL_SOURCE_ROOT "/configs");
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) && count < CONFIG_ROOM) {
		char *dot = strstr(entry->d_name, ".conf");

		if (dot && !dot[5])
			names[count++] = strndup(entry->d_name,
						 (size_t)(dot - entry->d_name));
	}
	closedir(folder);
	qsort(names, count, sizeof(*names), by_name);
	return count;
}

static bool makes_sense(const struct network *network, const char *config)
{
	struct nopal_problems problems;
	struct nopal_plan *plan;
	bool guarded;

	nopal_problems_init(&problems);
	plan = nopal_plan_load(config, NULL, &problems);
	nopal_problems_fini(&problems);
	guarded = plan && nopal_plan_provides(plan, "integrity");
	nopal_plan_unref(plan);
	return guarded || !network->corrupts;
}

static unsigned sweep(const char *config, const struct network *network,
		      uint64_t *sessions, uint64_t *events)
{
	unsigned violations = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct oracle_run run = {
			.config = config,
			.link = network->link,
			.calm_link = network->calm_link,
			.calm_ns = network->calm_ns,
			.seed = seed,
			.messages = MESSAGES,
			.patience_ns = 600 * NOPAL_SECOND,
		};
		struct oracle oracle;

		++*sessions;
		if (!oracle_run(&oracle, &run)) {
			violations++;
			printf("%s over %s, seed %llu: %s\n", config,
			       network->name, (unsigned long long)seed,
			       oracle.violation);
		}
		*events += oracle.events;
	}
	return violations;
}

static void test_every_config_keeps_its_promises(void **state)
{
	char *names[CONFIG_ROOM];
	size_t count = shipped(names);
	uint64_t sessions = 0, events = 0;
	unsigned violations = 0;

	(void)state;
	assert_true(count >= 6);
	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < sizeof(networks) / sizeof(networks[0]);
		     n++)
			if (makes_sense(&networks[n], names[i]))
				violations += sweep(names[i], &networks[n],
						    &sessions, &events);
		free(names[i]);
	}
	printf("%zu configs, %llu sessions, %llu events, %u violations\n",
	       count, (unsigned long long)sessions, (unsigned long long)events,
	       violations);
	assert_int_equal(violations, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_config_keeps_its_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
