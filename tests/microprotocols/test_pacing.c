/* SPDX-License-Identifier: MIT */
/* test_pacing -- the rate of a window, and fewer drops of bursts. */
#include "support/bottleneck.h"
#include "support/test.h"

#define WINDOWED "windowed_cc {}\n"
#define PACED	 "windowed_cc {}\nrate_cc {}\npacing {}\n"
#define LINK	 "rate 20mbit delay 30ms limit 20"

static int64_t shared(const char *name)
{
	return rig_shared(bottleneck.rig.opener.session, name);
}

static int64_t window_rate(void)
{
	return (int64_t)nopal_scale((uint64_t)shared("congestion_window_bytes"), 8 * NOPAL_SECOND,
				    (uint64_t)shared("smoothed_rtt_ns"));
}

TEST(test_no_rate_before_a_round_trip)
{
	bottleneck_open(PACED "tcp_congestion {}", LINK);
	rig_send_bytes(&bottleneck.rig, BOTTLENECK_MESSAGE);
	rig_run(&bottleneck.rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(shared("sending_rate_bps"), 0);
	bottleneck_close();
}

/* Slow start is below the threshold's half: of the first there is none. */
TEST(test_twice_the_window_in_slow_start)
{
	bottleneck_open(PACED "tcp_congestion {}", "delay 30ms");
	bottleneck_run(100 * NOPAL_MILLISECOND);
	assert_int_equal(shared("slow_start_threshold_bytes"), INT64_MAX);
	assert_int_equal(shared("sending_rate_bps"), 2 * window_rate());
	bottleneck_close();
}

TEST(test_a_fifth_more_than_the_window_after_it)
{
	bottleneck_open(PACED "tcp_congestion {}", LINK);
	bottleneck_run(5 * NOPAL_SECOND);
	assert_true(shared("congestion_window_bytes") > shared("slow_start_threshold_bytes") / 2);
	assert_int_equal(shared("sending_rate_bps"), window_rate() * 6 / 5);
	bottleneck_close();
}

TEST(test_gains_are_the_configs)
{
	bottleneck_open("windowed_cc {}\nrate_cc {}\n"
			"pacing { start = 150%  steady = 100% }\n"
			"tcp_congestion {}",
			"delay 30ms");
	bottleneck_run(100 * NOPAL_MILLISECOND);
	assert_int_equal(shared("sending_rate_bps"), window_rate() * 3 / 2);
	bottleneck_close();
	bottleneck_open("windowed_cc {}\nrate_cc {}\n"
			"pacing { start = 150%  steady = 100% }\n"
			"tcp_congestion {}",
			LINK);
	bottleneck_run(5 * NOPAL_SECOND);
	assert_int_equal(shared("sending_rate_bps"), window_rate());
	bottleneck_close();
}

struct came_of {
	uint64_t drops;
	int64_t percent; /* of the link */
};

/* Bulk, once slow start is over. */
static struct came_of bulk(const char *policy)
{
	struct came_of came_of;

	bottleneck_open(policy, LINK);
	bottleneck_run(10 * NOPAL_SECOND);
	bottleneck_run(40 * NOPAL_SECOND);
	came_of.drops = bottleneck_dropped();
	came_of.percent = bottleneck_percent(20000000);
	bottleneck_close();
	return came_of;
}

/* An application that sends three times what the queue holds, twice a second. */
static struct came_of in_bursts(const char *policy)
{
	struct came_of came_of;

	bottleneck_open(policy, LINK);
	bottleneck_look(&bottleneck.before, &bottleneck.bytes_before);
	for (int i = 0; i < 60; i++) {
		rig_send_bytes(&bottleneck.rig, 60 * 1400);
		rig_run(&bottleneck.rig, 500 * NOPAL_MILLISECOND);
	}
	bottleneck_look(&bottleneck.after, &bottleneck.bytes_after);
	bottleneck.duration_ns = 30 * NOPAL_SECOND;
	came_of.drops = bottleneck_dropped();
	came_of.percent = bottleneck_percent(20000000);
	bottleneck_close();
	return came_of;
}

static void say(const char *what, struct came_of burst, struct came_of paced)
{
	print_message("%s: %llu drops, %lld %%; paced: %llu drops, %lld %%\n", what,
		      (unsigned long long)burst.drops, (long long)burst.percent,
		      (unsigned long long)paced.drops, (long long)paced.percent);
}

TEST(test_bursts_at_a_short_queue_drop_less)
{
	static const char *const policies[][2] = {
		{ WINDOWED "cubic_congestion {}", PACED "cubic_congestion {}" },
		{ WINDOWED "tcp_congestion {}", PACED "tcp_congestion {}" },
	};

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct came_of burst = in_bursts(policies[i][0]);
		struct came_of paced = in_bursts(policies[i][1]);

		say("bursts", burst, paced);
		assert_true(burst.drops > 10);
		assert_true(paced.drops < burst.drops / 4);
		assert_int_equal(paced.percent, burst.percent);
	}
}

/* Where a window is clocked by its acks already, pacing changes little. */
TEST(test_bulk_uses_the_link_as_well)
{
	struct came_of burst = bulk(WINDOWED "cubic_congestion {}");
	struct came_of paced = bulk(PACED "cubic_congestion {}");

	say("bulk", burst, paced);
	assert_true(paced.percent + 2 >= burst.percent);
}
