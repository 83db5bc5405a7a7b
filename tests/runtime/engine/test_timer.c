/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/composite.h"
#include "support/own_rig.h"
#include "support/test.h"

static char fired[64];
static int64_t fired_ns[64];
static bool again;

static void note(struct nopal_session *session, char name)
{
	size_t length = strlen(fired);

	fired[length] = name;
	fired_ns[length] = session->now_ns;
}

enum { CLOCK_A, CLOCK_B };

static void clock_when_a(struct nopal_at at)
{
	note(at.session, 'a');
	if (again && strlen(fired) < 5)
		nopal_timer_start(at, CLOCK_A, at.session->now_ns);
}

static void clock_when_b(struct nopal_at at)
{
	note(at.session, 'b');
}

static const struct nopal_microprotocol clocks = {
	.abi = NOPAL_ABI,
	.name = "clocks",
	.family = "check",
	.summary = "two timers for a test",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.timers = (const struct nopal_timer[]){ [CLOCK_A] = { "a", clock_when_a },
						[CLOCK_B] = { "b", clock_when_b },
						{ 0 } },
};

static struct nopal_session *session;
static struct nopal_at at;

static int setup(void **state)
{
	(void)state;
	rig_add(&clocks);
	memset(fired, 0, sizeof(fired));
	again = false;
	rig_open(&rig, "transport_driver {}\nfixed_size {}\nclocks {}\n", NULL);
	session = rig.opener.session;
	at = rig_at(session, "clocks");
	return 0;
}

EACH_TEST(setup, own_rig_close);

enum { TICK = 1 << NOPAL_WHEEL_TICK_SHIFT };

TEST(test_fires_within_a_tick)
{
	nopal_timer_start(at, CLOCK_A, 123456789);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "a");
	assert_true(fired_ns[0] >= 123456789 && fired_ns[0] <= 123456789 + TICK);
}

TEST(test_earlier_deadline_first_ties_by_start)
{
	nopal_timer_start(at, CLOCK_B, 2 * NOPAL_MILLISECOND);
	nopal_timer_start(at, CLOCK_A, NOPAL_MILLISECOND);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "ab");
	nopal__be_awake(nopal__composite(session));
	nopal_timer_start(at, CLOCK_B, 3 * NOPAL_SECOND);
	nopal_timer_start(at, CLOCK_A, 3 * NOPAL_SECOND);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_string_equal(fired, "abba");
}

TEST(test_a_stopped_timer_never_fires)
{
	nopal_timer_start(at, CLOCK_A, NOPAL_MILLISECOND);
	assert_true(nopal_timer_running(at, CLOCK_A));
	nopal_timer_stop(at, CLOCK_A);
	assert_false(nopal_timer_running(at, CLOCK_A));
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "");
}

TEST(test_a_start_replaces_the_running_one)
{
	nopal_timer_start(at, CLOCK_A, NOPAL_MILLISECOND);
	nopal_timer_start(at, CLOCK_A, 50 * NOPAL_MILLISECOND);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_string_equal(fired, "");
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "a");
}

TEST(test_starting_for_now_comes_with_the_next_wake_up)
{
	again = true;
	nopal_timer_start(at, CLOCK_A, NOPAL_MILLISECOND);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "aaaaa");
	for (int i = 1; i < 5; i++)
		assert_true(fired_ns[i] > fired_ns[i - 1]);
}

TEST(test_no_timer_fires_after_the_end)
{
	nopal_timer_start(at, CLOCK_A, NOPAL_MILLISECOND);
	nopal_session_close(session);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(fired, "");
}
