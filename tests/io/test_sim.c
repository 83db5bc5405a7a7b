/* SPDX-License-Identifier: MIT */
/*
 * test_sim.c -- the simulated world against a core that only notes what it is
 * given: time, order, batches, routes, buffers and ports.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "io.h"
#include "link_engine.h"

enum {
	MOST_NOTES = 20000,
	PORT = 9000,
	NOTED_BYTES = 16,
	UDP_IP = NOPAL__UDP_HEADER_BYTES,
};

/* ------------------------------------------- a core that notes what it gets */

struct nopal_endpoint {
	struct nopal_port port;
	unsigned calls;
	bool close_on_receive, echo, keep;
	struct nopal_endpoint *next;
};

struct note {
	int64_t time_ns;
	struct nopal_endpoint *endpoint;
	struct nopal_address from;
	unsigned call; /* which call of the endpoint gave it */
	uint32_t length;
	uint8_t bytes[NOTED_BYTES];
};

static struct note notes[MOST_NOTES];
static unsigned note_count;
static int64_t timer_ns;
static unsigned wakes;
static struct nopal_buffer *kept;

struct nopal_port *nopal__endpoint_port(struct nopal_endpoint *endpoint)
{
	return &endpoint->port;
}

void nopal__world_init(struct nopal_world *world,
		       const struct nopal_world_ops *ops)
{
	world->ops = ops;
	timer_ns = NOPAL_NEVER;
	note_count = wakes = 0;
	kept = NULL;
}

int64_t nopal__world_next(const struct nopal_world *world)
{
	(void)world;
	return timer_ns;
}

void nopal__world_wake(struct nopal_world *world)
{
	assert_true(world->now_ns >= timer_ns);
	timer_ns = NOPAL_NEVER;
	wakes++;
}

struct nopal_endpoint *nopal_endpoint_open(struct nopal_world *world,
					   const struct nopal_address *local,
					   struct nopal_problems *problems)
{
	struct nopal_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	endpoint->port.world = world;
	endpoint->port.local = *local;
	if (world->ops->port_open(world, endpoint, problems)) {
		free(endpoint);
		return NULL;
	}
	endpoint->next = world->endpoints;
	world->endpoints = endpoint;
	return endpoint;
}

static enum nopal_transmitted transmit(struct nopal_endpoint *from,
				       const struct nopal_address *to,
				       const void *bytes, uint32_t length,
				       uint32_t stride)
{
	struct nopal_train train = {
		.to = to, .bytes = bytes, .length = length, .stride = stride
	};

	return from->port.world->ops->transmit(from->port.world, from, &train);
}

void nopal__endpoint_receive(struct nopal_endpoint *endpoint,
			     const struct nopal_arrival *arrivals, size_t count)
{
	struct nopal_world *world = endpoint->port.world;

	endpoint->calls++;
	if (endpoint->close_on_receive)
		world->ops->port_close(world, endpoint);
	for (size_t i = 0; i < count; i++) {
		const struct nopal_arrival *arrival = &arrivals[i];
		struct note *note = &notes[note_count++];

		assert_true(note_count < MOST_NOTES);
		*note = (struct note){ .time_ns = world->now_ns,
				       .endpoint = endpoint,
				       .from = arrival->from,
				       .call = endpoint->calls,
				       .length = arrival->length };
		memcpy(note->bytes, arrival->bytes,
		       arrival->length < NOTED_BYTES ? arrival->length
						     : NOTED_BYTES);
		if (endpoint->keep)
			kept = nopal_buffer_ref(arrival->buffer);
		if (endpoint->echo)
			transmit(endpoint, &arrival->from, arrival->bytes,
				 arrival->length, arrival->length);
	}
}

void nopal__world_fini(struct nopal_world *world)
{
	struct nopal_endpoint *endpoint = world->endpoints;

	while (endpoint) {
		struct nopal_endpoint *next = endpoint->next;

		world->ops->port_close(world, endpoint);
		free(endpoint);
		endpoint = next;
	}
}

static void end(struct nopal_world *world)
{
	world->ops->free(world);
}

/* ----------------------------------------------------------------- fixtures */

static void words(const char *text, struct nopal_link *ret_link)
{
	struct nopal_problems problems;
	struct nopal_link reverse;

	nopal_problems_init(&problems);
	assert_int_equal(nopal_link_parse(text, ret_link, &reverse, &problems),
			 0);
	nopal_problems_fini(&problems);
}

/* Two hosts, joined by one link with these words both ways. */
static struct nopal_world *pair(const char *text, uint64_t seed,
				struct nopal_endpoint *ends[2])
{
	struct nopal_world *world = nopal_sim_new(seed);
	struct nopal_link link;

	words(text, &link);
	assert_int_equal(nopal_sim_host(world), 0);
	assert_int_equal(nopal_sim_host(world), 1);
	assert_int_equal(nopal_sim_connect(world, 0, 1, &link, NULL), 0);
	for (int i = 0; i < 2; i++) {
		ends[i] = nopal_sim_endpoint(world, i, PORT);
		assert_non_null(ends[i]);
	}
	return world;
}

static enum nopal_transmitted say(struct nopal_endpoint *from,
				  struct nopal_endpoint *to, const char *text)
{
	return transmit(from, &to->port.local, text, (uint32_t)strlen(text), 0);
}

static void heard(unsigned index, struct nopal_endpoint *at, int64_t time_ns,
		  const char *text)
{
	assert_true(index < note_count);
	assert_ptr_equal(notes[index].endpoint, at);
	assert_int_equal(notes[index].time_ns, time_ns);
	assert_int_equal(notes[index].length, strlen(text));
	assert_memory_equal(notes[index].bytes, text, strlen(text));
}

/* -------------------------------------------------------------------- tests */

static void hosts_have_addresses(void **state)
{
	struct nopal_address address;
	static const uint8_t expected[16] = { 0, 0, 0,	  0,	0,  0, 0, 0,
					      0, 0, 0xff, 0xff, 10, 0, 1, 44 };

	(void)state;
	nopal_sim_address(300, PORT, &address);
	assert_memory_equal(address.ip, expected, sizeof(expected));
	assert_int_equal(address.port, PORT);
}

static void a_datagram_takes_its_delay(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 25ms", 1, ends);

	(void)state;
	ends[1]->echo = true;
	assert_int_equal(say(ends[0], ends[1], "hello"), NOPAL_TRANSMITTED);
	assert_int_equal(nopal_sim_run(world, NOPAL_SECOND), 1);
	assert_int_equal(note_count, 2);
	heard(0, ends[1], 25 * NOPAL_MILLISECOND, "hello");
	heard(1, ends[0], 50 * NOPAL_MILLISECOND, "hello");
	assert_memory_equal(&notes[0].from, &ends[0]->port.local,
			    sizeof(notes[0].from));
	end(world);
}

static void trains_are_split_and_arrive_as_one_batch(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 1ms", 1, ends);

	(void)state;
	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 3);
	heard(0, ends[1], NOPAL_MILLISECOND, "aaaa");
	heard(1, ends[1], NOPAL_MILLISECOND, "bbbb");
	heard(2, ends[1], NOPAL_MILLISECOND, "cc");
	assert_int_equal(ends[1]->calls, 1);
	end(world);
}

static void a_rate_spaces_datagrams(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("rate 8mbit", 1, ends);

	(void)state;
	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], (UDP_IP + 4) * NOPAL_MICROSECOND, "aaaa");
	heard(1, ends[1], 2 * (UDP_IP + 4) * NOPAL_MICROSECOND, "bbbb");
	heard(2, ends[1], (3 * UDP_IP + 10) * NOPAL_MICROSECOND, "cc");
	assert_int_equal(ends[1]->calls, 3);
	end(world);
}

static void what_does_not_fit_is_told(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("mtu 100", 1, ends);
	struct nopal_address nowhere;
	static const uint8_t bytes[200];

	(void)state;
	assert_int_equal(transmit(ends[0], &ends[1]->port.local, bytes, 73, 0),
			 NOPAL_TOO_BIG);
	assert_int_equal(
		transmit(ends[0], &ends[1]->port.local, bytes, 144, 72),
		NOPAL_TRANSMITTED);
	nopal_sim_address(7, PORT, &nowhere);
	assert_int_equal(transmit(ends[0], &nowhere, bytes, 5, 0),
			 NOPAL_UNSENT);
	nopal_sim_address(1, PORT + 1, &nowhere); /* nobody listens there */
	assert_int_equal(transmit(ends[0], &nowhere, bytes, 5, 0),
			 NOPAL_TRANSMITTED);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	end(world);
}

static void ports_are_opened_once(void **state)
{
	struct nopal_endpoint *ends[2], *other;
	struct nopal_world *world = pair("", 1, ends);

	(void)state;
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

static void a_host_reaches_itself(void **state)
{
	struct nopal_endpoint *ends[2], *other;
	struct nopal_world *world = pair("delay 5ms", 1, ends);

	(void)state;
	other = nopal_sim_endpoint(world, 0, 0);
	say(ends[0], other, "near");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, other, 0, "near");
	end(world);
}

static void an_endpoint_may_close_while_it_receives(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 5ms", 1, ends);

	(void)state;
	ends[1]->close_on_receive = true;
	say(ends[0], ends[1], "one");
	say(ends[0], ends[1], "two");
	nopal_sim_run(world, 5 * NOPAL_MILLISECOND);
	say(ends[0], ends[1], "three");
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	end(world);
}

static void kept_buffers_outlive_the_world(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("", 1, ends);

	(void)state;
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

static void calls_are_in_order(void **state)
{
	struct nopal_world *world = nopal_sim_new(1);

	(void)state;
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

static void timers_of_the_core_run(void **state)
{
	struct nopal_world *world = nopal_sim_new(1);

	(void)state;
	timer_ns = 700;
	assert_int_equal(nopal_sim_run(world, 600), 0);
	assert_int_equal(world->now_ns, 600);
	assert_int_equal(wakes, 0);
	assert_int_equal(nopal_sim_run(world, NOPAL_SECOND), 1);
	assert_int_equal(wakes, 1);
	assert_int_equal(world->now_ns, 700);
	end(world);
}

static void injected_datagrams_arrive(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("", 1, ends);
	struct nopal_address stranger;

	(void)state;
	nopal_sim_address(5000, 1, &stranger);
	nopal_sim_inject(world, ends[0], &stranger, "boo", 3);
	assert_int_equal(note_count, 0);
	nopal_sim_step(world);
	heard(0, ends[0], 0, "boo");
	assert_int_equal(notes[0].from.port, 1);
	end(world);
}

static void count_tap(void *user, int64_t now_ns,
		      const struct nopal_address *from,
		      const struct nopal_address *to, const uint8_t *bytes,
		      size_t length)
{
	(void)now_ns;
	(void)bytes;
	assert_int_equal(from->port, PORT);
	assert_int_equal(to->port, PORT);
	*(size_t *)user += length;
}

static void a_tap_sees_what_enters(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("loss 100%", 1, ends);
	size_t seen = 0;

	(void)state;
	nopal_sim_tap(world, count_tap, &seen);
	transmit(ends[0], &ends[1]->port.local, "aaaabbbbcc", 10, 4);
	assert_int_equal(seen, 10);
	end(world);
}

static void duplicates_and_flips_are_copies(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world =
		pair("duplicate 100% corrupt 100% delay 9ms", 1, ends);
	unsigned flipped[2] = { 0 };

	(void)state;
	transmit(ends[0], &ends[1]->port.local, "\0\0\0\0", 4, 0);
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 2);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned at = 0; at < 4; at++)
			flipped[i] += (unsigned)__builtin_popcount(
				notes[i].bytes[at]);
	assert_int_equal(flipped[0], 1);
	assert_int_equal(flipped[1], 1);
	end(world);
}

static void an_overtaking_datagram_arrives_first(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world =
		pair("delay 10ms reorder 100% gap 2", 1, ends);

	(void)state;
	say(ends[0], ends[1], "one");
	say(ends[0], ends[1], "two");
	say(ends[0], ends[1], "three");
	nopal_sim_run(world, NOPAL_SECOND);
	heard(0, ends[1], 0, "two");
	heard(1, ends[1], 10 * NOPAL_MILLISECOND, "one");
	heard(2, ends[1], 10 * NOPAL_MILLISECOND, "three");
	end(world);
}

static void a_star_forwards_through_its_middle(void **state)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[4];
	struct nopal_link out, back;

	(void)state;
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

static void dumbbell(struct nopal_world *world, int count,
		     struct nopal_endpoint **ends)
{
	struct nopal_link edge, forward, reverse;

	words("delay 1ms", &edge);
	words("rate 8mbit limit 4", &forward);
	words("delay 30ms", &reverse);
	assert_int_equal(
		nopal_sim_dumbbell(world, count, &edge, &forward, &reverse), 0);
	for (int i = 0; i < 2 * count; i++)
		ends[i] = nopal_sim_endpoint(world, i, PORT);
}

static void a_dumbbell_shares_its_bottleneck(void **state)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[6];
	struct nopal_link_counters counters;
	const int64_t each_ns = (UDP_IP + 4) * NOPAL_MICROSECOND;

	(void)state;
	dumbbell(world, 3, ends);
	for (int i = 0; i < 6; i += 2) {
		say(ends[i], ends[i + 1], "fwd1");
		say(ends[i], ends[i + 1], "fwd2");
	}
	nopal_sim_run(world, NOPAL_SECOND);
	assert_int_equal(note_count, 4); /* the queue holds 4 */
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(notes[i].time_ns,
				 2 * NOPAL_MILLISECOND + (i + 1) * each_ns);
	assert_true(nopal_sim_link_counters(world, 2, 3, &counters));
	assert_int_equal(counters.entered, 6);
	assert_int_equal(counters.overflowed, 2);
	assert_true(nopal_sim_link_counters(world, 0, -1, &counters));
	assert_int_equal(counters.entered, 2);
	end(world);
}

static void a_dumbbell_routes_all_ways(void **state)
{
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *ends[4];
	struct nopal_link_counters counters;

	(void)state;
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

static void links_change_and_are_checked(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world = pair("delay 5ms", 1, ends);
	struct nopal_link link, bad = { .loss = UINT32_MAX };

	(void)state;
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

/* What arrives, when, and in what order, as one number. */
static uint64_t noisy_run(uint64_t seed)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world =
		pair("rate 10mbit delay 20ms 5ms distribution normal "
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
		nopal_hash_update(&hash, &notes[i].time_ns,
				  sizeof(notes[i].time_ns));
		nopal_hash_update(&hash, notes[i].bytes, NOTED_BYTES);
	}
	for (int i = 0; i < 100; i++) {
		uint64_t draw = world->ops->random(world);

		nopal_hash_update(&hash, &draw, sizeof(draw));
	}
	end(world);
	return nopal_hash_final(&hash);
}

static void a_seed_gives_one_run(void **state)
{
	(void)state;
	assert_true(noisy_run(3) == noisy_run(3));
	assert_true(noisy_run(3) != noisy_run(4));
	assert_true(noisy_run(3) == UINT64_C(0xba5cfe3af98dead2));
}

static void time_never_goes_back(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world =
		pair("delay 20ms 15ms reorder 10%", 1, ends);
	int64_t last_ns = 0;

	(void)state;
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

static void packets_under_way_are_freed(void **state)
{
	struct nopal_endpoint *ends[2];
	struct nopal_world *world =
		pair("rate 8mbit delay 20ms 15ms reorder 10%", 1, ends);
	static const uint8_t jumbo[1400];

	(void)state;
	for (int i = 0; i < 100; i++)
		transmit(ends[0], &ends[1]->port.local, jumbo, sizeof(jumbo),
			 0);
	nopal_sim_run(world, 30 * NOPAL_MILLISECOND);
	assert_true(note_count > 0 && note_count < 100);
	end(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_have_addresses),
		cmocka_unit_test(a_datagram_takes_its_delay),
		cmocka_unit_test(trains_are_split_and_arrive_as_one_batch),
		cmocka_unit_test(a_rate_spaces_datagrams),
		cmocka_unit_test(what_does_not_fit_is_told),
		cmocka_unit_test(ports_are_opened_once),
		cmocka_unit_test(a_host_reaches_itself),
		cmocka_unit_test(an_endpoint_may_close_while_it_receives),
		cmocka_unit_test(kept_buffers_outlive_the_world),
		cmocka_unit_test(calls_are_in_order),
		cmocka_unit_test(timers_of_the_core_run),
		cmocka_unit_test(injected_datagrams_arrive),
		cmocka_unit_test(a_tap_sees_what_enters),
		cmocka_unit_test(duplicates_and_flips_are_copies),
		cmocka_unit_test(an_overtaking_datagram_arrives_first),
		cmocka_unit_test(a_star_forwards_through_its_middle),
		cmocka_unit_test(a_dumbbell_shares_its_bottleneck),
		cmocka_unit_test(a_dumbbell_routes_all_ways),
		cmocka_unit_test(links_change_and_are_checked),
		cmocka_unit_test(a_seed_gives_one_run),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(packets_under_way_are_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
