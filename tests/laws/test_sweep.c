/* SPDX-License-Identifier: MIT */
/*
 * Every shipped config over every network with many seeds; what it promises is checked after every
 * event.  Prints how many sessions, events and violations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "support/oracle.h"
#include "support/suite.h"
#include "support/test.h"

enum { SEEDS = 20, MESSAGES = 60, PAIRS = 3 };

/* Of all sessions, one in so many may end by silence. */
enum { BROKEN_MAX = 200 };

struct tally {
	uint64_t sessions, events, broken;
};

static unsigned sweep(const char *config, const struct suite_network *network, struct tally *tally)
{
	unsigned violations = 0;
	char weather[WEATHER_TEXT];

	snprintf(weather, sizeof(weather), network->calm_link ? "%s; %lldms: %s" : "%s",
		 network->link, (long long)(network->calm_ns / NOPAL_MILLISECOND),
		 network->calm_link);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct oracle_run run = {
			.config = config,
			.weather = weather,
			.pairs = PAIRS,
			.seed = seed,
			.messages = MESSAGES,
		};
		static struct oracle oracle;

		tally->sessions++;
		if (!oracle_run(&oracle, &run)) {
			violations++;
			printf("%s over %s, seed %llu: %s\n", config, network->name,
			       (unsigned long long)seed, oracle.violation);
		}
		tally->events += oracle.events;
		tally->broken += oracle.broken;
	}
	return violations;
}

TEST(test_every_config_keeps_its_promises)
{
	char *names[SUITE_CONFIGS];
	size_t count = suite_configs(names);
	struct tally tally = { 0 };
	unsigned violations = 0;

	assert_true(count >= 6);
	for (size_t i = 0; i < count; i++) {
		struct nopal_plan *plan = suite_plan(names[i]);

		for (size_t n = 0; n < suite_network_count; n++)
			if (suite_fits(&suite_networks[n], plan))
				violations += sweep(names[i], &suite_networks[n], &tally);
		nopal_plan_unref(plan);
		free(names[i]);
	}
	printf("%zu configs, %llu sessions, %llu events, %llu ended by silence, %u violations\n",
	       count, (unsigned long long)tally.sessions, (unsigned long long)tally.events,
	       (unsigned long long)tally.broken, violations);
	assert_int_equal(violations, 0);
	assert_true(tally.broken * BROKEN_MAX <= tally.sessions);
}
