/* SPDX-License-Identifier: MIT */
/*
 * A fused unit does exactly what the interpreter does: every shipped config over every network with
 * many seeds, run both ways and compared event by event, on the wire, in what is delivered, and in
 * the counters of both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"
#include "support/pair.h"
#include "support/suite.h"
#include "support/test.h"

enum { SEEDS = 10, FEWEST_CONFIGS = 6 };

struct tally {
	uint64_t sessions, events;
	size_t configs;
	unsigned different;
};

struct both {
	struct nopal_plan *fused, *interpreted;
};

static void compare_one(const struct both *both, struct pair_run run, const char *network,
			struct tally *tally)
{
	struct pair_seen interpreted, fused;
	const char *difference;

	run.plan = both->interpreted;
	pair_run(&run, &interpreted);
	run.plan = both->fused;
	pair_run(&run, &fused);
	tally->sessions++;
	tally->events += interpreted.counters[PAIR_OPENER].raises +
			 interpreted.counters[PAIR_ACCEPTOR].raises;
	difference = pair_difference(&interpreted, &fused);
	if (!difference)
		return;
	tally->different++;
	printf("%s over %s, seed %llu: %s\n", nopal_plan_info(both->fused)->name, network,
	       (unsigned long long)run.seed, difference);
}

/* Some are not worth one: what differs from another config in its upper layer. */
static bool has_unit(const char *config)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.fused.so", getenv("NOPAL_FUSED"), config);
	return access(path, R_OK) == 0;
}

/* A unit that is there and not taken is a failure, never a skip. */
static void load_both(struct both *both, const char *config)
{
	both->fused = suite_plan(config);
	both->interpreted = suite_plan(config);
	if (strncmp(nopal_plan_runs(both->fused), "fused: ", 7) != 0)
		fail_msg("%s runs %s", config, nopal_plan_runs(both->fused));
	nopal_plan_interpret(both->interpreted);
	assert_string_equal(nopal_plan_runs(both->interpreted), "interpreted: asked for");
}

static void compare(const struct both *both, struct tally *tally)
{
	for (size_t n = 0; n < suite_network_count; n++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			if (suite_fits(&suite_networks[n], both->fused))
				compare_one(both, pair_run_over(&suite_networks[n], seed),
					    suite_networks[n].name, tally);
}

TEST(test_units_do_what_the_interpreter_does)
{
	char *names[SUITE_CONFIGS];
	size_t count = suite_configs(names);
	struct tally tally = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct both both;

		if (has_unit(names[i])) {
			load_both(&both, names[i]);
			compare(&both, &tally);
			compare_one(&both, pair_long_run(), "a long run", &tally);
			nopal_plan_unref(both.fused);
			nopal_plan_unref(both.interpreted);
			tally.configs++;
		}
		free(names[i]);
	}
	printf("%zu configs, %llu sessions compared, %llu events, %u differ\n", tally.configs,
	       (unsigned long long)tally.sessions, (unsigned long long)tally.events,
	       tally.different);
	assert_true(tally.configs >= FEWEST_CONFIGS);
	assert_true(tally.events > tally.sessions);
	assert_int_equal(tally.different, 0);
}
