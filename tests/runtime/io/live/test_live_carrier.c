/* SPDX-License-Identifier: MIT */
/*
 * A link in real time: nothing comes out before its time, and datagrams come out
 * in the order of time.
 */
#include <event2/event.h>
#include <string.h>

#include "io/live/live.h"
#include <nopal/microprotocol.h>
#include "support/test.h"

enum { PACKETS = 40, SEED = 5, ROUNDS = 4000 };

/* A carrier and what came out of it. */
struct scene {
	struct event_base *base;
	struct live_carrier carrier;
	uint8_t came[PACKETS];
	enum live_direction from[PACKETS];
	int64_t at_ns[PACKETS];
	unsigned count;
	bool refuses;
};

static bool note(void *user, struct live_packet *packet)
{
	struct scene *scene = user;
	unsigned at = scene->count;

	assert_true(at < PACKETS);
	assert_int_equal(packet->length, 1);
	scene->came[at] = packet->bytes[0];
	scene->from[at] = packet->direction;
	scene->at_ns[at] = nopal__live_carrier_now(&scene->carrier);
	scene->count++;
	return !scene->refuses;
}

static void open_scene(struct scene *scene, const char *words)
{
	struct nopal_link links[LIVE_DIRECTIONS];
	const struct nopal_link *const both[] = { &links[0], &links[1] };
	struct nopal_problems problems = { 0 };

	memset(scene, 0, sizeof(*scene));
	assert_int_equal(nopal_link_parse(words, &links[0], &links[1], &problems), 0);
	nopal_problems_fini(&problems);
	scene->base = event_base_new();
	assert_int_equal(
		nopal__live_carrier_open(&scene->carrier, scene->base, both, 0, SEED, note, scene),
		0);
}

static void close_scene(struct scene *scene)
{
	nopal__live_carrier_close(&scene->carrier);
	event_base_free(scene->base);
}

static void enter(struct scene *scene, enum live_direction direction, uint8_t fill)
{
	nopal__live_carrier_enter(&scene->carrier, direction, NULL, &fill, 1, 0,
				  nopal__live_carrier_now(&scene->carrier));
}

/* The timer brings them out: the loop sleeps until it fires. */
static void wait_for(struct scene *scene, unsigned count)
{
	nopal__live_carrier_turn(&scene->carrier);
	for (int i = 0; i < ROUNDS && scene->count < count; i++)
		event_base_loop(scene->base, EVLOOP_ONCE);
	assert_int_equal(scene->count, count);
}

static const struct nopal_link_counters *counters(const struct scene *scene)
{
	return &scene->carrier.engine[LIVE_FORWARD].counters;
}

TEST(nothing_comes_out_before_its_time)
{
	int64_t entered_ns[PACKETS];
	struct scene scene;

	open_scene(&scene, "delay 5ms");
	for (uint8_t i = 0; i < PACKETS; i++) {
		entered_ns[i] = nopal__live_carrier_now(&scene.carrier);
		enter(&scene, LIVE_FORWARD, i);
	}
	wait_for(&scene, PACKETS);
	for (uint8_t i = 0; i < PACKETS; i++) {
		assert_int_equal(scene.came[i], i);
		assert_true(scene.at_ns[i] >= entered_ns[i] + 5 * NOPAL_MILLISECOND);
	}
	close_scene(&scene);
}

TEST(the_shorter_way_is_out_first)
{
	struct scene scene;

	open_scene(&scene, "fwd: delay 300ms rev: delay 1ms");
	for (uint8_t i = 0; i < PACKETS; i++)
		enter(&scene, i % 2 ? LIVE_REVERSE : LIVE_FORWARD, i);
	wait_for(&scene, PACKETS);
	for (unsigned i = 0; i < PACKETS; i++) {
		bool first_half = i < PACKETS / 2;

		assert_int_equal(scene.from[i], first_half ? LIVE_REVERSE : LIVE_FORWARD);
		assert_int_equal(scene.came[i] % 2, first_half ? 1 : 0);
		assert_true(i % (PACKETS / 2) == 0 || scene.came[i] > scene.came[i - 1]);
	}
	close_scene(&scene);
}

/* The link's clock is not the machine's. */
TEST(time_begins_when_it_is_opened)
{
	struct scene scene;

	open_scene(&scene, "down 0s 3600s");
	enter(&scene, LIVE_FORWARD, 1);
	assert_int_equal(counters(&scene)->lost, 1);
	assert_int_equal(scene.count, 0);
	close_scene(&scene);
}

TEST(lateness_and_refusals_are_counted)
{
	struct scene scene;
	int64_t late_ns;

	open_scene(&scene, "rate 1mbit");
	scene.refuses = true;
	enter(&scene, LIVE_FORWARD, 1);
	enter(&scene, LIVE_FORWARD, 2);
	wait_for(&scene, 2);
	late_ns = counters(&scene)->late_peak_ns;
	assert_true(late_ns > 0);
	assert_true(counters(&scene)->late_sum_ns >= late_ns);
	assert_true(counters(&scene)->late_sum_ns <= 2 * late_ns);
	assert_int_equal(counters(&scene)->refused, 2);
	close_scene(&scene);
}

TEST(what_it_carries_goes_with_it)
{
	struct scene scene;

	open_scene(&scene, "delay 60s duplicate 100%");
	for (uint8_t i = 0; i < PACKETS; i++)
		enter(&scene, LIVE_FORWARD, i);
	assert_int_equal(scene.carrier.heap.count, 2 * PACKETS);
	assert_int_equal(scene.count, 0);
	close_scene(&scene); /* sanitizers see what is left */
}
