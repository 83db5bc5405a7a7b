/* SPDX-License-Identifier: MIT */
/* minimum_rate -- beside a window and beside a rate: no less than it, and no more than without it
 * where congestion control is faster. */
#include "support/bottleneck.h"

enum { SECONDS = 20 };

static uint64_t bytes_out(void)
{
	return nopal_session_counters(bottleneck.rig.opener.session)->datagram_bytes_out;
}

/* Kilobits a second that leave, once it has settled. */
static int64_t kbps_sent(const char *policy, const char *link)
{
	uint64_t before;
	int64_t kbps;

	bottleneck_open(policy, link);
	bottleneck_run(5 * NOPAL_SECOND);
	before = bytes_out();
	bottleneck_run(SECONDS * NOPAL_SECOND);
	kbps = (int64_t)(bytes_out() - before) * 8 / 1000 / SECONDS;
	bottleneck_close();
	return kbps;
}

/* With so many losses Reno's window is one segment or two. */
TEST(test_minimum_rate_beside_a_closed_window_leaves)
{
	static const char link[] = "rate 10mbit delay 100ms limit 50 loss 40%";
	int64_t without = kbps_sent("windowed_cc {} tcp_congestion {}", link);
	int64_t with =
		kbps_sent("windowed_cc {} tcp_congestion {} minimum_rate { rate = 1Mbit }", link);

	assert_in_range(without, 0, 300);
	assert_in_range(with, 950, 1150);
}

TEST(test_minimum_rate_below_what_the_window_lets_go_changes_nothing)
{
	static const char link[] = "rate 10mbit delay 20ms limit 50";
	int64_t without = kbps_sent("windowed_cc {} tcp_congestion {}", link);
	int64_t with =
		kbps_sent("windowed_cc {} tcp_congestion {} minimum_rate { rate = 100kbit }", link);

	assert_int_equal(with, without);
}

TEST(test_minimum_rate_beside_a_slow_rate_leaves)
{
	static const char link[] = "rate 10mbit delay 100ms limit 50 loss 20%";
	int64_t without = kbps_sent("rate_cc {} tfrc {}", link);
	int64_t with = kbps_sent("rate_cc {} tfrc {} minimum_rate { rate = 1Mbit }", link);

	assert_in_range(without, 0, 300);
	assert_in_range(with, 950, 1150);
}
