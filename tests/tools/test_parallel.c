/* SPDX-License-Identifier: MIT */
/* test_parallel -- what crosses the network for connections side by side adds up. */
#include "load/dumbbell.h"
#include <nopal/microprotocol.h>
#include "load/parallel.h"
#include "support/suite.h"
#include "support/test.h"

enum { CONNECTIONS = 20, MESSAGES = 3, SEGMENTS = 8 /* of a message */ };

static void link_of(const char *words, struct nopal_link *ret_forward,
		    struct nopal_link *ret_reverse)
{
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, ret_forward, ret_reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

static struct parallel run(const char *config, const char *words, int count)
{
	struct parallel parallel = { .plan = suite_plan(config),
				     .place = { .seed = 1 },
				     .connections = count,
				     .messages = MESSAGES,
				     .patience_ns = 20 * NOPAL_SECOND };

	link_of(words, &parallel.place.forward, &parallel.place.reverse);
	return parallel;
}

TEST(test_packets_are_counted)
{
	struct parallel parallel = run("udt4", "rate 1gbit delay 5ms", CONNECTIONS);

	assert_true(parallel_run(&parallel));
	assert_int_equal(parallel.data_packets, CONNECTIONS * MESSAGES * SEGMENTS);
	assert_int_equal(parallel.lost_packets, 0);
	/* each one's handshake, two there and two back, and acks and windows */
	assert_true(parallel.control_packets >= 6 * CONNECTIONS);
	assert_true(parallel.control_bytes > parallel.control_packets);
	/* three trips of 10 ms at least, and what the link takes for the bytes */
	assert_true(parallel.took_ns > 25 * NOPAL_MILLISECOND + NOPAL_SECOND / 1000000000 *
									CONNECTIONS * MESSAGES *
									PARALLEL_MESSAGE_BYTES * 8);
	assert_true(parallel.fairness > 0 && parallel.fairness <= 1);
	nopal_plan_unref(parallel.plan);
}

TEST(test_who_shares_a_flow_needs_fewer)
{
	struct parallel own = run("udt4", "rate 1gbit delay 5ms", CONNECTIONS),
			shared = run("udt4_shared", "rate 1gbit delay 5ms", CONNECTIONS);

	assert_true(parallel_run(&own));
	assert_true(parallel_run(&shared));
	assert_true(2 * shared.control_packets < own.control_packets);
	assert_int_equal(shared.data_packets, own.data_packets);
	nopal_plan_unref(own.plan);
	nopal_plan_unref(shared.plan);
}

TEST(test_losses_are_sent_again_and_told)
{
	struct parallel parallel = run("udt4_shared", "delay 5ms loss 10%", 5);

	assert_true(parallel_run(&parallel));
	assert_true(parallel.lost_packets > 0);
	assert_true(parallel.data_packets > 5 * MESSAGES * SEGMENTS);
	nopal_plan_unref(parallel.plan);
}

TEST(test_what_never_arrives_is_told)
{
	struct parallel parallel = run("udt4", "delay 5ms loss 100%", 2);

	assert_false(parallel_run(&parallel));
	nopal_plan_unref(parallel.plan);
}

TEST(test_joining_is_timed)
{
	struct parallel_joining joining = { .plan = suite_plan("udt4_shared"),
					    .place = { .seed = 1 } };

	link_of("delay 10ms", &joining.place.forward, &joining.place.reverse);
	assert_true(parallel_join(&joining));
	/* a cookie, then the session */
	assert_int_equal(joining.opened_ns[0], 40 * NOPAL_MILLISECOND);
	assert_int_equal(joining.arrived_ns[0], 50 * NOPAL_MILLISECOND);
	assert_int_equal(joining.opened_ns[1], 0);
	assert_int_equal(joining.arrived_ns[1], 10 * NOPAL_MILLISECOND);
	assert_true(joining.packets[1] >= SEGMENTS);
	assert_true(joining.packets[0] > joining.packets[1]);
	nopal_plan_unref(joining.plan);
}

TEST(test_fairness_is_jains)
{
	assert_true(parallel_fairness((const uint64_t[]){ 3, 3 }, 2) == 1);
	assert_true(parallel_fairness((const uint64_t[]){ 3, 1 }, 2) == 0.8);
	assert_true(parallel_fairness((const uint64_t[]){ 0, 0 }, 2) == 0);
}

/* Ten connections of one pair of hosts have what one has, or ten times that. */
TEST(test_a_foreign_flow_beside_many)
{
	struct dumbbell bell = { .seed = 1,
				 .flows = 2,
				 .connections = { 0, 10 },
				 .stagger_ns = 100 * NOPAL_MILLISECOND,
				 .warm_ns = 10 * NOPAL_SECOND,
				 .run_ns = 20 * NOPAL_SECOND };

	link_of("fwd: rate 20mbit delay 30ms limit 100 rev: delay 30ms", &bell.forward,
		&bell.reverse);
	bell.plans[0] = suite_plan("udt4");
	bell.plans[1] = suite_plan("udt4_shared");
	assert_true(dumbbell_run(&bell));
	assert_true(dumbbell_share(&bell) > 0.3 && dumbbell_share(&bell) < 0.7);
	nopal_plan_unref(bell.plans[1]);
	bell.plans[1] = nopal_plan_ref(bell.plans[0]);
	assert_true(dumbbell_run(&bell));
	assert_true(dumbbell_share(&bell) < 0.2);
	nopal_plan_unref(bell.plans[0]);
	nopal_plan_unref(bell.plans[1]);
}
