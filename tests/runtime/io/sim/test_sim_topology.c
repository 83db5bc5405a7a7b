/* SPDX-License-Identifier: MIT */
/*
 * test_sim_topology.c -- hosts, routes and links of the simulated world.
 */
#include <errno.h>

#include "support/noting_core.h"
#include "io/sim/sim.h"
#include "support/test.h"

TEST(a_host_reaches_itself)
{
	struct nopal_endpoint *ends[2], *other;
	struct nopal_world *world = pair("delay 5ms", 1, ends);

	other = nopal_sim_endpoint(world, 0, 0);
	say(ends[0], other, "near");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, other, 0, "near");
	end(world);
}

TEST(hosts_have_addresses)
{
	struct nopal_address address;
	static const uint8_t expected[16] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 44
	};

	nopal_sim_address(300, PORT, &address);
	assert_memory_equal(address.ip, expected, sizeof(expected));
	assert_int_equal(address.port, PORT);
}

/* And each has one of IPv6: who is spoken to by that hears that of the sender. */
TEST(hosts_have_two_addresses)
{
	struct nopal_address address, from;
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 5ms", 1, ends);

	nopal__sim_address6(300, PORT, &address);
	assert_int_equal(nopal__sim_host_of((struct sim *)world, &address), SIM_NONE);
	address = nopal__endpoint_port(ends[1])->local;
	nopal__sim_address6(1, address.port, &address);
	assert_int_equal(nopal__sim_host_of((struct sim *)world, &address), 1);
	assert_false(nopal_address_is_v4(&address));
	assert_int_equal(transmit(ends[0], &address, "six", 3, 0), NOPAL_TRANSMITTED);
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], 5 * NOPAL_MILLISECOND, "six");
	nopal__sim_address6(0, nopal__endpoint_port(ends[0])->local.port, &from);
	assert_true(nopal_address_equal(&notes[0].from, &from));
	end(world);
}

TEST(a_star_forwards_through_its_middle)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[4];
	struct nopal_link out, back;

	words("delay 1ms", &out);
	words("delay 10ms", &back);
	assert_int_equal(nopal_sim_star(world, 3, &out, &back), 0);
	for (int i = 0; i < 4; i++)
		ends[i] = nopal_sim_endpoint(world, i, PORT);
	say(ends[0], ends[2], "out");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[2], NOPAL_MILLISECOND, "out");
	say(ends[3], ends[1], "across");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(1, ends[1], 12 * NOPAL_MILLISECOND, "across");
	end(world);
}

static void dumbbell(struct nopal_world *world, int count, struct nopal_endpoint **ends)
{
	struct nopal_link edge, forward, reverse;

	words("delay 1ms", &edge);
	words("rate 8mbit limit 4", &forward);
	words("delay 30ms", &reverse);
	assert_int_equal(nopal_sim_dumbbell(world, count, &edge, &forward, &reverse), 0);
	for (int i = 0; i < 2 * count; i++)
		ends[i] = nopal_sim_endpoint(world, i, PORT);
}

TEST(a_dumbbell_shares_its_bottleneck)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[6];
	struct nopal_link_counters counters;
	const int64_t each_ns = (UDP_IP + 4) * NOPAL_MICROSECOND;

	dumbbell(world, 3, ends);
	for (int i = 0; i < 6; i += 2) {
		say(ends[i], ends[i + 1], "fwd1");
		say(ends[i], ends[i + 1], "fwd2");
	}
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 4); /* the queue holds 4 */
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(notes[i].time_ns, 2 * NOPAL_MILLISECOND + (i + 1) * each_ns);
	assert_true(nopal_sim_link_counters(world, 2, 3, &counters));
	assert_int_equal(counters.entered, 6);
	assert_int_equal(counters.overflowed, 2);
	assert_true(nopal_sim_link_counters(world, 0, -1, &counters));
	assert_int_equal(counters.entered, 2);
	end(world);
}

TEST(a_dumbbell_routes_all_ways)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[4];
	struct nopal_link_counters counters;

	dumbbell(world, 2, ends);
	say(ends[3], ends[2], "back");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[2], 32 * NOPAL_MILLISECOND, "back");
	say(ends[0], ends[2], "left"); /* does not cross the middle */
	nopal_sim_run(world, NOPAL_SECOND);
	heard(1, ends[2], 34 * NOPAL_MILLISECOND, "left");
	assert_true(nopal_sim_link_counters(world, 1, 0, &counters));
	assert_int_equal(counters.entered, 1);
	assert_true(nopal_sim_link_counters(world, 0, 1, &counters));
	assert_int_equal(counters.entered, 0);
	assert_false(nopal_sim_link_counters(world, 0, 2, &counters));
	assert_false(nopal_sim_link_counters(world, 0, 9, &counters));
	end(world);
}

TEST(links_change_and_are_checked)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 5ms", 1, ends);
	struct nopal_link link, bad = { .loss = UINT32_MAX };

	words("delay 7ms", &link);
	assert_int_equal(nopal_sim_connect(world, 0, 1, &link, NULL), -EEXIST);
	assert_int_equal(nopal_sim_connect(world, 0, 0, &link, NULL), -EINVAL);
	assert_int_equal(nopal_sim_connect(world, 0, 2, &link, NULL), -EINVAL);
	assert_int_equal(nopal_sim_host(world), 2);
	assert_int_equal(nopal_sim_connect(world, 0, 2, &bad, NULL), -EINVAL);
	assert_int_equal(nopal_sim_change(world, 0, 1, &bad), -EINVAL);
	assert_int_equal(nopal_sim_change(world, 0, 2, &link), -EINVAL);
	assert_int_equal(nopal_sim_change(world, 0, 1, &link), 0);
	say(ends[0], ends[1], "slow");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], 7 * NOPAL_MILLISECOND, "slow");
	end(world);
}
