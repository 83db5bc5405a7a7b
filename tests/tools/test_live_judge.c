/* SPDX-License-Identifier: MIT */
/*
 * test_live_judge -- what one end can judge of what it sees itself.
 */
#include "plan/plan.h"
#include "ports/world.h"
#include "peer/live_judge.h"
#include "support/test.h"

static const struct nopal_plan *plan;
static struct nopal_world *world;
static struct live_judge one;

static int setup(void **state)
{
	const struct live_judge_options options = { .patience_ns = 1 };
	struct nopal_problems problems = { 0 };
	struct nopal_plan *bulk;

	(void)state;
	bulk = nopal_plan_load("bulk", NULL, &problems);
	nopal_problems_fini(&problems);
	assert_non_null(bulk);
	plan = bulk;
	world = nopal_sim_new(1);
	live_judge_begin(&one, plan, world, &options, false);
	one.facts.numbered = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	live_judge_fini(&one);
	nopal_world_free(world);
	nopal_plan_unref((struct nopal_plan *)(uintptr_t)plan);
	return 0;
}

TEST_WITH(setup, teardown, test_of_three_messages_one_is_missing)
{
	live_judge_came(&one, 0);
	live_judge_came(&one, 2);
	live_judge_missing(&one, 0, 3);
	assert_int_equal(one.facts.sent, 3);
	assert_int_equal(one.facts.missing.times, 1);
	assert_int_equal(one.facts.gaps.times, 1);
}

/* A length that a peer claims costs no time: what cannot be noted is not looked at. */
TEST_WITH(setup, teardown, test_lengths_beyond_all_notes_are_not_judged)
{
	live_judge_came(&one, 0);
	live_judge_missing(&one, 1, UINT64_MAX);
	assert_false(one.facts.counted);
	assert_int_equal(one.facts.missing.times, 0);
}
