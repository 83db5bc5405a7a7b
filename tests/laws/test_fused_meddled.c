/* SPDX-License-Identifier: MIT */
/*
 * Changes that a running session may make to itself: bind and unbind, from outside and from within
 * a raise, events of its own, raises that wait, a filter's stop.  Run in a unit and interpreted,
 * all of them give one trace; a session that binds leaves the unit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/composite.h"
#include "a_meddler.h"
#include "support/pair.h"
#include "support/rig.h"
#include "support/suite.h"
#include "support/workshop.h"
#include "support/test.h"

enum {
	SEEDS = 3,
	AFTER = 10, /* segments before it meddles */
	OFTEN = 5,  /* every so many segments */
};
#define SOON_NS	   (3 * NOPAL_MILLISECOND)
#define MEDDLED_NS (150 * NOPAL_MILLISECOND)

/* The actions of a test at the N-th segment of a session, by way of a_meddler. */
struct meddling {
	enum nopal_verdict (*from_net)(struct nopal_at at, struct nopal_segment *segment,
				       uint32_t count);
	void (*to_net)(struct nopal_at at, uint32_t count);
	void (*outside)(struct nopal_at at);
};

static const struct meddling *meddling;
static uint32_t count_in[PAIR_SIDES], count_out[PAIR_SIDES];
static bool left[PAIR_SIDES]; /* who bound, or made an event */
static uint32_t ended_in_unit, ended_outside, extra_calls;

static int side_of(const struct nopal_session *session)
{
	return nopal__composite(session)->opener ? PAIR_OPENER : PAIR_ACCEPTOR;
}

enum nopal_verdict meddle_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	uint32_t count = ++count_in[side_of(at.session)];

	return meddling->from_net ? meddling->from_net(at, segment, count) : NOPAL_CONTINUE;
}

enum nopal_verdict meddle_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	if (meddling->to_net)
		meddling->to_net(at, ++count_out[side_of(at.session)]);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------ compare */

static void look(struct pair *pair, struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);

	(void)pair;
	for (; composite; composite = composite->below)
		if (composite->awake->fused)
			ended_in_unit++;
		else
			ended_outside++;
}

static void outside(struct pair *pair)
{
	for (int i = 0; i < PAIR_SIDES; i++)
		if (pair->session[i])
			meddling->outside(rig_at(pair->session[i], "a_meddler"));
}

static void run_one(struct nopal_plan *plan, const struct suite_network *network, uint64_t seed,
		    struct pair_seen *ret_seen)
{
	struct pair_run run = pair_run_over(network, seed);

	run.plan = plan;
	run.sparse = seed == SEEDS; /* far enough apart to rest in between */
	run.look = look;
	if (meddling->outside) {
		run.meddle = outside;
		run.meddle_ns = MEDDLED_NS;
	}
	memset(count_in, 0, sizeof(count_in));
	memset(count_out, 0, sizeof(count_out));
	memset(left, 0, sizeof(left));
	ended_in_unit = ended_outside = 0;
	pair_run(&run, ret_seen);
}

/* A session that left its unit ends without one; every other session has its unit to the end. */
static void check_where(bool fused)
{
	uint32_t leavers = left[PAIR_OPENER] + left[PAIR_ACCEPTOR];

	if (!fused)
		assert_int_equal(ended_in_unit, 0);
	else
		assert_int_equal(ended_outside, leavers);
}

/* Called as a session leaves its unit. */
static void leave(struct nopal_session *session)
{
	left[side_of(session)] = true;
	assert_null(nopal__composite(session)->awake->fused);
}

static struct unit {
	const char *file, *text;
	struct nopal_plan *fused, *interpreted;
} units[] = {
	{ .file = "meddled.conf", .text = "extends = \"bulk\"\na_meddler {}\n" },
	{ .file = "stack.conf",
	  .text = "layer \"upper\" {\n"
		  "  transport_driver {}\n  resize {}\n"
		  "  sequenced_messages {}\n  lossy_fifo {}\n}\n"
		  "layer \"lower\" {\n"
		  "  transport_driver {}\n  virtual_circuit {}\n"
		  "  fixed_size {}\n  sequenced_segments {}\n"
		  "  positive_ack { selective = on } retransmission_timer {}\n  duplicate_ack {}\n"
		  "  rtt_estimation {}\n  retransmit {}\n  checksum {}\n"
		  "  a_meddler {}\n}\n" },
};
enum { UNITS = sizeof(units) / sizeof(*units) };

/* Returns how often the meddler called something of its own. */
static uint32_t compare_one(const struct unit *unit, const struct suite_network *network,
			    uint64_t seed)
{
	struct pair_seen right, seen;
	const char *difference;
	uint32_t called;

	extra_calls = 0;
	run_one(unit->interpreted, network, seed, &right);
	check_where(false);
	called = extra_calls;
	run_one(unit->fused, network, seed, &seen);
	check_where(true);
	difference = pair_difference(&right, &seen);
	if (difference)
		fail_msg("%s over %s, seed %llu: %s", unit->file, network->name,
			 (unsigned long long)seed, difference);
	return called;
}

static void compare(const struct meddling *with)
{
	meddling = with;
	for (size_t u = 0; u < UNITS; u++) {
		uint32_t called = 0;

		for (size_t n = 0; n < suite_network_count; n++)
			for (uint64_t seed = 1; seed <= SEEDS; seed++)
				called += compare_one(&units[u], &suite_networks[n], seed);
		assert_true(called > 0);
	}
	meddling = NULL;
}

/* ------------------------------------------------------------------- binding */

/* Seen in the trace: it raises something. */
static enum nopal_verdict on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	extra_calls++;
	nopal_queue_TURN_END(at.session, at.session);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	extra_calls += *(const uint32_t *)nopal_argument(at);
	nopal_raise_TURN_END(at.session, at.session);
	return NOPAL_CONTINUE;
}

static const uint32_t one = 1;
static const struct nopal_binding verified = NOPAL_ON(SEGMENT_VERIFIED, on_verified);
static const struct nopal_binding from_net =
	NOPAL_ON(SEGMENT_FROM_NET, on_from_net, .argument = &one);

static void bind_both(struct nopal_at at)
{
	assert_int_equal(nopal_bind(at, &verified), 0);
	assert_int_equal(nopal_bind(at, &from_net), 0);
	leave(at.session);
}

TEST(test_bound_from_outside)
{
	compare(&(struct meddling){ .outside = bind_both });
}

/* The raise in progress keeps its handlers; the one nested in it, and what follows, has the new
 * ones. */
static enum nopal_verdict bind_within(struct nopal_at at, struct nopal_segment *segment,
				      uint32_t count)
{
	(void)segment;
	if (count == AFTER)
		bind_both(at);
	return NOPAL_CONTINUE;
}

TEST(test_bound_within_a_raise)
{
	compare(&(struct meddling){ .from_net = bind_within });
}

static enum nopal_verdict unbind_within(struct nopal_at at, struct nopal_segment *segment,
					uint32_t count)
{
	const struct nopal_binding *own = nopal_a_meddler.bindings;

	(void)segment;
	if (count == AFTER)
		bind_both(at);
	if (count == 2 * AFTER) {
		nopal_unbind(at, &from_net);
		nopal_unbind(at, &own[MEDDLER_TO_NET]);
	}
	if (count == 3 * AFTER)
		nopal_unbind(at, &own[MEDDLER_FROM_NET]);
	return NOPAL_CONTINUE;
}

TEST(test_unbound_within_a_raise)
{
	compare(&(struct meddling){ .from_net = unbind_within });
	/* it was called as often as it was bound, and no more */
	assert_true(count_in[PAIR_ACCEPTOR] <= 3 * AFTER);
}

/* A declared handler goes first thing: nothing but the plan's own is left. */
static void unbind_declared(struct nopal_at at)
{
	const struct nopal_binding *own = nopal_a_meddler.bindings;

	nopal_unbind(at, &own[MEDDLER_FROM_NET]);
	leave(at.session);
}

static enum nopal_verdict ask_for_turn_end(struct nopal_at at, struct nopal_segment *segment,
					   uint32_t count)
{
	(void)segment;
	(void)count;
	extra_calls++;
	nopal_raise_TURN_END(at.session, at.session);
	return NOPAL_CONTINUE;
}

TEST(test_unbound_from_outside)
{
	compare(&(struct meddling){ .from_net = ask_for_turn_end, .outside = unbind_declared });
}

/* ------------------------------------------------------------- custom events */

static enum nopal_verdict on_moon(struct nopal_at at, void *subject)
{
	(void)subject;
	extra_calls++;
	nopal_raise_TURN_END(at.session, at.session);
	return NOPAL_STOP;
}

static enum nopal_verdict on_moon_again(struct nopal_at at, void *subject)
{
	(void)at;
	(void)subject;
	fail_msg("the event was stopped");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict moon(struct nopal_at at, struct nopal_segment *segment, uint32_t count)
{
	int event = nopal_event_find(at.session, "MOON");

	if (count == AFTER) {
		event = nopal_event_create(at.session, "MOON");
		nopal_bind_custom(at, event, on_moon, NULL);
		nopal_bind_custom(at, event, on_moon_again, NULL);
		leave(at.session);
	}
	if (count == 4 * AFTER)
		nopal_event_delete(at.session, event);
	if (event >= 0)
		nopal_raise_custom(at.session, event, segment);
	return NOPAL_CONTINUE;
}

TEST(test_events_of_its_own)
{
	compare(&(struct meddling){ .from_net = moon });
}

/* ----------------------------------------------------- raises that wait, stops */

/* Some of these segments are gone when it is their time. */
static enum nopal_verdict defer(struct nopal_at at, struct nopal_segment *segment, uint32_t count)
{
	nopal_token token;

	extra_calls++;
	nopal_queue_TURN_END(at.session, at.session);
	nopal_queue_SEGMENT_VERIFIED(at.session, segment);
	token = nopal_delay_TURN_END(at.session, at.session, SOON_NS);
	if (count % OFTEN == 0)
		nopal_cancel(at.session, token);
	nopal_delay_SEGMENT_VERIFIED(at.session, segment, SOON_NS);
	return NOPAL_CONTINUE;
}

TEST(test_raises_that_wait)
{
	compare(&(struct meddling){ .from_net = defer });
}

/* As if it had been lost; later handlers must not see it. */
static enum nopal_verdict stop_often(struct nopal_at at, struct nopal_segment *segment,
				     uint32_t count)
{
	(void)at;
	(void)segment;
	extra_calls++;
	return count % OFTEN == 0 ? NOPAL_STOP : NOPAL_CONTINUE;
}

TEST(test_a_handler_that_stops)
{
	compare(&(struct meddling){ .from_net = stop_often });
}

/* A handler that stops events, is joined by others and goes on. */
static enum nopal_verdict stop_and_bind(struct nopal_at at, struct nopal_segment *segment,
					uint32_t count)
{
	if (count == AFTER)
		bind_both(at);
	if (count % (2 * OFTEN) == 0)
		defer(at, segment, count);
	return count % OFTEN == 0 ? NOPAL_STOP : NOPAL_CONTINUE;
}

static void bind_on_the_way_out(struct nopal_at at, uint32_t count)
{
	if (count == AFTER)
		bind_both(at);
}

TEST(test_all_at_once)
{
	compare(&(struct meddling){ .from_net = stop_and_bind, .to_net = bind_on_the_way_out });
}

/* --------------------------------------------------------------------- units */

static int make_units(void **state)
{
	(void)state;
	rig_add(&nopal_a_meddler);
	workshop_open();
	for (size_t u = 0; u < UNITS; u++) {
		workshop_write(units[u].file, units[u].text);
		workshop_fuse(units[u].file,
			      (const char *[]){ "flag", "-O1", "source",
						NOPAL_SOURCE_ROOT "/tests/laws/a_meddler.c",
						NULL });
		units[u].fused = workshop_plan(units[u].file, NULL);
		units[u].interpreted = workshop_plan(units[u].file, NULL);
		workshop_is_fused(units[u].fused);
		nopal_plan_interpret(units[u].interpreted);
	}
	return 0;
}

static int leave_units(void **state)
{
	(void)state;
	for (size_t u = 0; u < UNITS; u++) {
		nopal_plan_unref(units[u].fused);
		nopal_plan_unref(units[u].interpreted);
	}
	workshop_close();
	return 0;
}

ALL_TESTS(tests, make_units, leave_units);
