/* SPDX-License-Identifier: MIT */
/* test_delays -- what is measured of messages' delays is what a known path does to them. */
#include "load/delays.h"
#include <nopal/microprotocol.h>
#include "support/suite.h"
#include "support/test.h"

/* 100 messages of 1250 bytes a second. */
static const char steady[] = "extends = \"udtcp\"\nwithout = { windowed_cc, tcp_congestion }\n"
			     "rate_cc {}\nconstant_rate { rate = 1Mbit }\n";

static struct delays begin(const char *config, const char *words, int flows)
{
	struct nopal_problems problems = { 0 };
	struct delays run = {
		.plan = nopal_plan_parse(config, "delays.conf", NULL, &problems),
		.flows = flows,
		.bytes = 1250,
		.seed = 1,
		.stagger_ns = NOPAL_SECOND,
		.warm_ns = NOPAL_SECOND,
		.run_ns = 10 * NOPAL_SECOND,
	};

	assert_non_null(run.plan);
	assert_true(bench_link("", &run.edge, &run.reverse));
	assert_true(bench_link(words, &run.forward, &run.reverse));
	return run;
}

static void assert_between(double min, double value, double max)
{
	if (value < min || value > max)
		fail_msg("%g is not from %g to %g", value, min, max);
}

TEST(test_path_without_a_queue_delays_all_messages_alike)
{
	struct delays run = begin(steady, "delay 40ms", 2);

	assert_true(delays_run(&run));
	assert_between(1990, (double)run.seen.count, 2010);
	/* a message waits for the rate, 10 ms, and crosses */
	assert_between(49, delays_quantile_ms(&run.seen, 0.01), 52);
	assert_between(49, delays_quantile_ms(&run.seen, 0.99), 52);
	assert_between(0, delays_deviation_ms(&run.seen), 1);
	assert_between(0, delays_step_ms(&run.seen), 1);
	assert_true(delays_missing(&run.seen) == 0);
	assert_true(delays_together(&run.seen) == 0);
	assert_true(delays_share(&run.seen, 100, 0) == 0);
	assert_true(delays_share(&run.seen, 40, 60) == 1);
	nopal_plan_unref(run.plan);
}

TEST(test_lost_messages_are_missing)
{
	struct delays run = begin(steady, "delay 40ms loss 10%", 1);

	assert_true(delays_run(&run));
	assert_between(0.07, delays_missing(&run.seen), 0.13);
	nopal_plan_unref(run.plan);
}

/* In order and without loss of messages: those behind a hole come together with what filled it. */
TEST(test_messages_behind_a_hole_come_together)
{
	struct delays run = begin("extends = \"udtcp_tcp\"\n", "delay 40ms loss 1%", 1);

	assert_true(delays_run(&run));
	assert_true(delays_missing(&run.seen) == 0);
	assert_true(delays_bunches(&run.seen) > 0);
	assert_true(delays_together(&run.seen) > delays_bunches(&run.seen));
	assert_true(delays_share(&run.seen, 100, 0) > delays_bunches(&run.seen));
	nopal_plan_unref(run.plan);
}
