/* SPDX-License-Identifier: MIT */
/* test_dumbbell -- what is measured at a bottleneck adds up. */
#include "load/dumbbell.h"
#include "load/parallel.h"
#include <nopal/microprotocol.h>
#include "support/suite.h"
#include "support/test.h"

enum { RATE = 10000000 };

static struct dumbbell begin(const char *config, const char *words, int flows)
{
	struct dumbbell bell = {
		.seed = 1,
		.flows = flows,
		.stagger_ns = 100 * NOPAL_MILLISECOND,
		.warm_ns = 3 * NOPAL_SECOND,
		.run_ns = 6 * NOPAL_SECOND,
	};
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, &bell.forward, &bell.reverse, &problems), 0);
	nopal_problems_fini(&problems);
	for (int i = 0; i < flows; i++)
		bell.plans[i] = suite_plan(config);
	return bell;
}

static void end(struct dumbbell *bell)
{
	for (int i = 0; i < bell->flows; i++)
		nopal_plan_unref(bell->plans[i]);
}

static void assert_between(double min, double value, double max)
{
	if (value < min || value > max)
		fail_msg("%g is not from %g to %g", value, min, max);
}

TEST(test_one_flow_fills_the_link)
{
	struct dumbbell bell = begin("bulk_cubic", "rate 10mbit delay 20ms limit 40", 1);

	assert_true(dumbbell_run(&bell));
	assert_between(0.9, bell.utilisation, 1.01);
	/* The application has what the link carried, less headers. */
	assert_between(0.9, (double)bell.bytes[0] * 8 / 6 / RATE / bell.utilisation, 1.0);
	assert_between(1, bell.queue_mean_ms, bell.queue_p95_ms);
	/* 40 packets of 1.2 ms. */
	assert_between(10, bell.queue_p95_ms, 48);
	assert_between(1e-6, bell.loss, 0.1);
	assert_true(parallel_fairness(bell.bytes, bell.flows) == 1);
	assert_true(dumbbell_share(&bell) == 1);
	end(&bell);
}

/* A link that is idle half of the time: nothing waits, nothing gets lost. */
TEST(test_a_wide_link_has_no_queue)
{
	struct dumbbell bell = begin("bulk_cubic", "rate 10gbit delay 20ms", 1);

	bell.run_ns = NOPAL_SECOND / 10;
	bell.warm_ns = NOPAL_SECOND / 10;
	assert_true(dumbbell_run(&bell));
	assert_between(0, bell.utilisation, 0.3);
	assert_true(bell.loss == 0);
	assert_between(0, bell.queue_mean_ms, 0.5);
	end(&bell);
}

TEST(test_two_flows_share)
{
	struct dumbbell bell = begin("bulk_cubic", "rate 10mbit delay 20ms limit 40", 2);
	double sum;

	assert_true(dumbbell_run(&bell));
	sum = (double)(bell.bytes[0] + bell.bytes[1]);
	assert_between(0.8, sum * 8 / 6 / RATE, 1.0);
	assert_between(0.5, parallel_fairness(bell.bytes, bell.flows), 1);
	assert_between(0.05, dumbbell_share(&bell), 0.95);
	bell.bytes[0] = 3;
	bell.bytes[1] = 1;
	assert_true(dumbbell_share(&bell) == 0.75);
	assert_true(parallel_fairness(bell.bytes, bell.flows) == 0.8);
	end(&bell);
}

TEST(test_the_same_seed_is_the_same_run)
{
	struct dumbbell bell = begin("bulk_cubic", "rate 10mbit delay 20ms limit 40", 2);
	struct dumbbell again = bell, other = bell;

	other.seed = 2;
	assert_true(dumbbell_run(&bell));
	assert_true(dumbbell_run(&again));
	assert_true(dumbbell_run(&other));
	assert_int_equal(bell.bytes[0], again.bytes[0]);
	assert_int_equal(bell.bytes[1], again.bytes[1]);
	assert_true(bell.queue_mean_ms == again.queue_mean_ms);
	assert_true(bell.roughness == again.roughness);
	assert_int_not_equal(bell.bytes[0], other.bytes[0]);
	end(&bell);
}

/* A session that ends is no measurement. */
TEST(test_a_link_that_is_gone_is_told)
{
	struct dumbbell bell = begin("bulk_cubic", "delay 20ms loss 100%", 1);

	bell.warm_ns = 100 * NOPAL_SECOND;
	assert_false(dumbbell_run(&bell));
	end(&bell);
}
