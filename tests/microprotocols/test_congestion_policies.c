/* SPDX-License-Identifier: MIT */
/* test_congestion_policies -- every policy in a whole composition, on one link. */
#include "../support/bottleneck.h"

#define WINDOWED "windowed_cc {}\n"
#define RATED	 "windowed_cc {}\nrate_cc {}\n"
/* One bandwidth-delay product of queue. */
#define LINK "rate 20mbit delay 30ms limit 100"
#define LINK_LOSS                                                              \
	"fwd: rate 20mbit delay 30ms limit 100 loss 0.2% rev: delay 30ms"

enum { LINK_BPS = 20000000 };

static const struct policy {
	const char *text;
	int64_t least_percent; /* of the link, from 10 s to 20 s */
	int64_t most_queue_ms; /* mean */
} policies[] = {
	{ WINDOWED "tcp_congestion { variant = tahoe }", 60, 60 },
	{ WINDOWED "tcp_congestion { variant = reno }", 85, 60 },
	{ WINDOWED "tcp_congestion {}", 85, 60 },
	{ WINDOWED "cubic_congestion {}", 85, 60 },
	{ WINDOWED "westwood_congestion {}", 85, 60 },
	/* Two to four segments of 0.6 ms, and bursts of acks on top. */
	{ WINDOWED "vegas_congestion {}", 90, 6 },
	{ RATED "scp_congestion {}", 90, 6 },
	{ RATED "bbr_congestion {}", 90, 30 },
	{ RATED "cubic_congestion {}\npacing {}", 85, 60 },
	{ "rate_cc {}\ntfrc {}", 80, 60 },
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static void test_fills_the_link(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		int64_t percent, queue_ms;

		bottleneck_open(policies[i].text, LINK);
		bottleneck_run(10 * NOPAL_SECOND);
		bottleneck_run(10 * NOPAL_SECOND);
		percent = bottleneck_percent(LINK_BPS);
		queue_ms = bottleneck_mean_queue_ns() / NOPAL_MILLISECOND;
		print_message("%s\n\t%lld %%, %lld ms of queue, %llu drops\n",
			      policies[i].text, (long long)percent,
			      (long long)queue_ms,
			      (unsigned long long)bottleneck_dropped());
		assert_in_range(percent, policies[i].least_percent, 100);
		assert_in_range(queue_ms, 0, policies[i].most_queue_ms);
		bottleneck_close();
	}
}

/* What is lost at random is no reason to stop. */
static void test_goes_on_through_loss(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		bottleneck_open(policies[i].text, LINK_LOSS);
		bottleneck_run(10 * NOPAL_SECOND);
		print_message("%s\n\t%lld %%\n", policies[i].text,
			      (long long)bottleneck_percent(LINK_BPS));
		assert_in_range(bottleneck_percent(LINK_BPS), 10, 100);
		assert_int_equal(bottleneck.rig.opener.ended, 0);
		bottleneck_close();
	}
}

/* A path that is gone for seconds is used again when it is back. */
static void test_goes_on_after_an_outage(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		bottleneck_open(policies[i].text, LINK);
		bottleneck_run(2 * NOPAL_SECOND);
		rig_change_both(&bottleneck.rig, "delay 30ms loss 100%");
		bottleneck_run(3 * NOPAL_SECOND);
		rig_change_both(&bottleneck.rig, LINK);
		bottleneck_run(10 * NOPAL_SECOND);
		bottleneck_run(5 * NOPAL_SECOND);
		print_message("%s\n\t%lld %%\n", policies[i].text,
			      (long long)bottleneck_percent(LINK_BPS));
		assert_in_range(bottleneck_percent(LINK_BPS), 30, 100);
		bottleneck_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills_the_link),
		cmocka_unit_test(test_goes_on_through_loss),
		cmocka_unit_test(test_goes_on_after_an_outage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
