/* SPDX-License-Identifier: MIT */
/*
 * test_sim.c -- the simulated world: time, order, batches, buffers and ports.
 */
#include "ports/world.h"
#include "support/noting_core.h"
#include "support/test.h"

TEST(a_datagram_takes_its_delay)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 25ms", 1, ends);

	ends[1]->echo = true;
	assert_int_equal(say(ends[0], ends[1], "hello"), NOPAL_TRANSMITTED);
	assert_int_equal(nopal_sim_run(world, NOPAL_SECOND), 1);
	assert_int_equal(note_count, 2);
	heard(0, ends[1], 25 * NOPAL_MILLISECOND, "hello");
	heard(1, ends[0], 50 * NOPAL_MILLISECOND, "hello");
	assert_memory_equal(&notes[0].from, &ends[0]->port.local, sizeof(notes[0].from));
	end(world);
}

TEST(trains_are_split_and_arrive_as_one_batch)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 1ms", 1, ends);

	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 3);
	heard(0, ends[1], NOPAL_MILLISECOND, "aaaa");
	heard(1, ends[1], NOPAL_MILLISECOND, "bbbb");
	heard(2, ends[1], NOPAL_MILLISECOND, "cc");
	assert_int_equal(ends[1]->calls, 1);
	end(world);
}

TEST(a_rate_spaces_datagrams)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("rate 8mbit", 1, ends);

	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], (UDP_IP + 4) * NOPAL_MICROSECOND, "aaaa");
	heard(1, ends[1], 2 * (UDP_IP + 4) * NOPAL_MICROSECOND, "bbbb");
	heard(2, ends[1], (3 * UDP_IP + 10) * NOPAL_MICROSECOND, "cc");
	assert_int_equal(ends[1]->calls, 3);
	end(world);
}

TEST(what_does_not_fit_is_told)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("mtu 100", 1, ends);
	struct nopal_address nowhere;
	static const uint8_t bytes[200];

	assert_int_equal(transmit(ends[0], &ends[1]->port.local, bytes, 73, 0), NOPAL_TOO_BIG);
	assert_int_equal(transmit(ends[0], &ends[1]->port.local, bytes, 144, 72),
			 NOPAL_TRANSMITTED);
	nopal_sim_address(7, PORT, &nowhere);
	assert_int_equal(transmit(ends[0], &nowhere, bytes, 5, 0), NOPAL_UNSENT);
	nopal_sim_address(1, PORT + 1, &nowhere); /* nobody listens there */
	assert_int_equal(transmit(ends[0], &nowhere, bytes, 5, 0), NOPAL_TRANSMITTED);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	end(world);
}

TEST(ports_are_opened_once)
{
	struct nopal_endpoint *ends[2], *other;
	struct nopal_world *world = pair("", 1, ends);

	assert_null(nopal_sim_endpoint(world, 0, PORT));
	assert_null(nopal_sim_endpoint(world, 2, PORT));
	for (int i = 0; i < 200; i++) {
		other = nopal_sim_endpoint(world, 0, 0);
		assert_non_null(other);
		assert_int_equal(other->port.local.port, 49152 + i);
	}
	assert_int_equal(say(ends[1], other, "found"), NOPAL_TRANSMITTED);
	nopal_sim_run(world, 0);
	heard(0, other, 0, "found");
	end(world);
}

TEST(an_endpoint_may_close_while_it_receives)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 5ms", 1, ends);

	ends[1]->close_on_receive = true;
	say(ends[0], ends[1], "one");
	say(ends[0], ends[1], "two");
	nopal_sim_run(world, 5 * NOPAL_MILLISECOND);
	say(ends[0], ends[1], "three");
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	end(world);
}

TEST(kept_buffers_outlive_the_world)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("", 1, ends);

	ends[1]->keep = true;
	say(ends[0], ends[1], "kept");
	nopal_sim_run(world, 0);
	end(world);
	assert_memory_equal(kept->bytes, "kept", 4);
	nopal_buffer_unref(kept);
}

/* Text of a call that is to be made. */
static char called[16];

static void call(void *user)
{
	strcat(called, user);
}

TEST(calls_are_in_order)
{
	struct nopal_world *world = nopal_sim_new(1);

	called[0] = '\0';
	nopal_sim_at(world, 30, call, "d");
	nopal_sim_at(world, 10, call, "a");
	nopal_sim_at(world, 20, call, "b");
	nopal_sim_at(world, 20, call, "c");
	assert_int_equal(nopal_sim_run(world, 20), 0);
	assert_string_equal(called, "abc");
	assert_int_equal(world->now_ns, 20);
	nopal_sim_at(world, 5, call, "x"); /* the past is now */
	assert_true(nopal_sim_step(world));
	assert_int_equal(world->now_ns, 20);
	assert_true(nopal_sim_step(world));
	assert_int_equal(world->now_ns, 30);
	assert_false(nopal_sim_step(world));
	assert_string_equal(called, "abcxd");
	end(world);
}

TEST(timers_of_the_core_run)
{
	struct nopal_world *world = nopal_sim_new(1);

	timer_ns = 700;
	assert_int_equal(nopal_sim_run(world, 600), 0);
	assert_int_equal(world->now_ns, 600);
	assert_int_equal(wakes, 0);
	assert_int_equal(nopal_sim_run(world, NOPAL_SECOND), 1);
	assert_int_equal(wakes, 1);
	assert_int_equal(world->now_ns, 700);
	end(world);
}

TEST(injected_datagrams_arrive)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("", 1, ends);
	struct nopal_address stranger;

	nopal_sim_address(5000, 1, &stranger);
	nopal_sim_inject(world, ends[0], &stranger, "boo", 3);
	assert_int_equal(note_count, 0);
	nopal_sim_step(world);
	heard(0, ends[0], 0, "boo");
	assert_int_equal(notes[0].from.port, 1);
	end(world);
}

static void count_tap(void *user, int64_t now_ns, const struct nopal_address *from,
		      const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)now_ns;
	(void)bytes;
	assert_int_equal(from->port, PORT);
	assert_int_equal(to->port, PORT);
	*(size_t *)user += length;
}

TEST(a_tap_sees_what_enters)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("loss 100%", 1, ends);
	size_t seen = 0;

	nopal_sim_tap(world, count_tap, &seen);
	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	assert_int_equal(seen, 10);
	end(world);
}

TEST(duplicates_and_flips_are_copies)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("duplicate 100% corrupt 100% delay 9ms", 1, ends);
	unsigned flipped[2] = { 0 };

	transmit(ends[0], &ends[1]->port.local, "\0\0\0\0", 4, 0);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned at = 0; at < 4; at++)
			flipped[i] += (unsigned)__builtin_popcount(notes[i].bytes[at]);
	assert_int_equal(flipped[0], 1);
	assert_int_equal(flipped[1], 1);
	end(world);
}

TEST(an_overtaking_datagram_arrives_first)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 10ms reorder 100% gap 2", 1, ends);

	say(ends[0], ends[1], "one");
	say(ends[0], ends[1], "two");
	say(ends[0], ends[1], "three");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], 0, "two");
	heard(1, ends[1], 10 * NOPAL_MILLISECOND, "one");
	heard(2, ends[1], 10 * NOPAL_MILLISECOND, "three");
	end(world);
}

/* All arrivals with their times and order, as one number. */
static uint64_t noisy_run(uint64_t seed)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("rate 10mbit delay 20ms 5ms distribution normal "
					 "loss 5% duplicate 5% corrupt 5% reorder 5%",
					 seed, ends);
	struct nopal_hash hash;

	for (int i = 0; i < 5000; i++) {
		say(ends[0], ends[1], "some bytes");
		nopal_sim_run(world, i * NOPAL_MILLISECOND / 10);
	}
	nopal_sim_run(world, NOPAL_NEVER);
	nopal_hash_init(&hash);
	for (unsigned i = 0; i < note_count; i++) {
		nopal_hash_update(&hash, &notes[i].time_ns, sizeof(notes[i].time_ns));
		nopal_hash_update(&hash, notes[i].bytes, NOTED_BYTES);
	}
	for (int i = 0; i < 100; i++) {
		uint64_t draw = world->ops->random(world);

		nopal_hash_update(&hash, &draw, sizeof(draw));
	}
	end(world);
	return nopal_hash_final(&hash);
}

TEST(a_seed_gives_one_run)
{
	assert_true(noisy_run(3) == noisy_run(3));
	assert_true(noisy_run(3) != noisy_run(4));
	assert_true(noisy_run(3) == UINT64_C(0xba5cfe3af98dead2));
}

TEST(keys_come_of_the_seed)
{
	uint8_t keys[3][37] = { { 0 } };

	for (int i = 0; i < 3; i++) {
		struct nopal_world *world = nopal_sim_new(i < 2 ? 3 : 4);

		world->ops->random_bytes(world, keys[i], sizeof(keys[i]) - 1);
		assert_int_equal(keys[i][sizeof(keys[i]) - 1], 0);
		world->ops->free(world);
	}
	assert_memory_equal(keys[0], keys[1], sizeof(keys[0]));
	assert_memory_not_equal(keys[0], keys[2], 32);
}

TEST(time_never_goes_back)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 20ms 15ms reorder 10%", 1, ends);
	int64_t last_ns = 0;

	ends[1]->echo = true;
	for (int i = 0; i < 2000; i++)
		say(ends[0], ends[1], "go");
	while (nopal_sim_step(world)) {
		assert_true(world->now_ns >= last_ns);
		last_ns = world->now_ns;
	}
	assert_int_equal(note_count, 4000);
	end(world);
}

TEST(packets_under_way_are_freed)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("rate 8mbit delay 20ms 15ms reorder 10%", 1, ends);
	static const uint8_t jumbo[1400];

	for (int i = 0; i < 100; i++)
		transmit(ends[0], &ends[1]->port.local, jumbo, sizeof(jumbo), 0);
	nopal_sim_run(world, 30 * NOPAL_MILLISECOND);
	assert_true(note_count > 0 && note_count < 100);
	end(world);
}
