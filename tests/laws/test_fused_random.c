/* SPDX-License-Identifier: MIT */
/*
 * Compositions that nobody chose, in one layer and in two: their units do what the interpreter
 * does, too.  $NOPAL_RANDOM_CONFIGS draws more of them than the few of a short run,
 * $NOPAL_RANDOM_SEED others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "support/composition.h"
#include "support/pair.h"
#include "support/suite.h"
#include "support/workshop.h"
#include "support/test.h"

enum { CONFIGS = 12, SEEDS = 2, INSTANTS = 15000 };

struct tally {
	struct kit kit;
	struct composition_tally configs;
	uint64_t seed, sessions, events, deliveries;
	unsigned different;
};

static void compare(struct tally *tally, struct nopal_plan *const plans[2],
		    const struct suite_network *network, uint64_t seed)
{
	struct pair_run run = pair_run_over(network, seed);
	struct pair_seen seen[2];
	const char *difference;

	run.instants = INSTANTS;
	for (int i = 0; i < 2; i++) {
		run.plan = plans[i];
		pair_run(&run, &seen[i]);
	}
	tally->sessions++;
	tally->deliveries += seen[0].delivered;
	tally->events +=
		seen[0].counters[PAIR_OPENER].raises + seen[0].counters[PAIR_ACCEPTOR].raises;
	difference = pair_difference(&seen[0], &seen[1]);
	if (!difference)
		return;
	tally->different++;
	printf("%s over %s, seed %llu: %s\n", nopal_plan_info(plans[0])->name, network->name,
	       (unsigned long long)seed, difference);
}

static void compare_all(struct tally *tally, const char *file)
{
	struct nopal_plan *plans[2] = { workshop_plan(file, NULL), workshop_plan(file, NULL) };
	unsigned before = tally->different;

	nopal_plan_interpret(plans[0]);
	workshop_is_fused(plans[1]);
	for (size_t n = 0; n < suite_network_count; n++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			if (suite_fits(&suite_networks[n], plans[0]))
				compare(tally, plans, &suite_networks[n], seed);
	if (tally->different != before)
		printf("%s\n", nopal_plan_info(plans[0])->canonical);
	nopal_plan_unref(plans[0]);
	nopal_plan_unref(plans[1]);
}

static void draw_config(struct tally *tally, const char *file, int layers)
{
	char *text = composition_draw(&tally->kit, ++tally->seed, layers, &tally->configs);

	workshop_write(file, text);
	free(text);
}

static unsigned long asked(const char *variable, unsigned long otherwise)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

TEST(test_units_of_random_configs)
{
	static struct tally tally;
	unsigned long count = asked("NOPAL_RANDOM_CONFIGS", CONFIGS);

	tally.seed = asked("NOPAL_RANDOM_SEED", 0);
	kit_take_stock(&tally.kit, false);
	workshop_open();
	for (unsigned long i = 0; i < count; i++) {
		char file[32];

		snprintf(file, sizeof(file), "random%lu.conf", i);
		draw_config(&tally, file, i % 3 == 2 ? COMPOSITION_TWO : COMPOSITION_ONE);
		workshop_fuse(file, (const char *[]){ "flag", "-O1", NULL });
		compare_all(&tally, file);
	}
	workshop_close();
	printf("%lu configs, %llu sessions compared, %llu events, %llu deliveries, %u differ\n",
	       count, (unsigned long long)tally.sessions, (unsigned long long)tally.events,
	       (unsigned long long)tally.deliveries, tally.different);
	assert_true(tally.deliveries > tally.sessions);
	assert_int_equal(tally.different, 0);
}
