/* SPDX-License-Identifier: MIT */
/* test_congestion_policies -- every policy in a whole composition, on one link. */
#include "support/bottleneck.h"
#include "support/test.h"

#define WINDOWED "windowed_cc {}\n"
#define RATED	 "windowed_cc {}\nrate_cc {}\n"
#define BBR_PARTS                                                                                  \
	"usual_rtt {} loss_compensation {} ack_train {} standing_queue {} ack_aggregation {} "     \
	"queue_drain {} marked_drain {}"
/* One bandwidth-delay product of queue. */
#define LINK	  "rate 20mbit delay 30ms limit 100"
#define LINK_LOSS "fwd: rate 20mbit delay 30ms limit 100 loss 0.2% rev: delay 30ms"

enum { LINK_BPS = 20000000, POLICY_TEXT = 256 };

static const struct policy {
	const char *text;
	int64_t min_percent;  /* of the link, from 10 s to 20 s */
	int64_t max_queue_ms; /* mean */
} policies[] = {
	{ WINDOWED "tcp_congestion { variant = tahoe }", 60, 60 },
	{ WINDOWED "tcp_congestion { variant = reno }", 85, 60 },
	{ WINDOWED "tcp_congestion {}", 85, 60 },
	{ WINDOWED "cubic_congestion {}", 85, 60 },
	{ WINDOWED "westwood_congestion {}", 85, 60 },
	/* Two to four segments of 0.6 ms, and bursts of acks on top. */
	{ WINDOWED "vegas_congestion {}", 90, 6 },
	{ WINDOWED "scalable_congestion {}", 85, 60 },
	{ WINDOWED "highspeed_congestion {}", 85, 60 },
	{ WINDOWED "bic_congestion {}", 85, 60 },
	/* Twenty segments. */
	{ WINDOWED "fast_congestion {}", 90, 20 },
	{ RATED "scp_congestion {}", 90, 6 },
	{ RATED "bbr_congestion {}\n" BBR_PARTS, 90, 30 },
	{ RATED "udt_congestion {}", 80, 60 },
	{ RATED "cubic_congestion {}\npacing {}", 85, 60 },
	{ "rate_cc {}\ntfrc {}", 80, 60 },
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

TEST(test_fills_the_link)
{
	for (size_t i = 0; i < POLICIES; i++) {
		int64_t percent, queue_ms;

		bottleneck_open(policies[i].text, LINK);
		bottleneck_run(10 * NOPAL_SECOND);
		bottleneck_run(10 * NOPAL_SECOND);
		percent = bottleneck_percent(LINK_BPS);
		queue_ms = bottleneck_mean_queue_ns() / NOPAL_MILLISECOND;
		print_message("%s\n\t%lld %%, %lld ms of queue, %llu drops\n", policies[i].text,
			      (long long)percent, (long long)queue_ms,
			      (unsigned long long)bottleneck_dropped());
		assert_in_range(percent, policies[i].min_percent, 100);
		assert_in_range(queue_ms, 0, policies[i].max_queue_ms);
		bottleneck_close();
	}
}

/* Random loss is no reason to stop. */
TEST(test_goes_on_through_loss)
{
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
TEST(test_goes_on_after_an_outage)
{
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

/* ---------------------------------------------------------------------- marks */

/* Says that there is congestion with each ack that met more than 12 ms of queue, as a queue that
 * marks would. */
enum { MARKER_LATEST, MARKER_MIN };
#define MARKER_QUEUE_NS (12 * NOPAL_MILLISECOND)

static enum nopal_verdict a_marker_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	int64_t latest = nopal_shared_get(at, MARKER_LATEST);
	int64_t min = nopal_shared_get(at, MARKER_MIN);

	if (ack->largest_is_new && latest > min + MARKER_QUEUE_NS)
		nopal_raise_CONGESTION_MARKED(at.session, at.session);
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol a_marker = {
	.abi = NOPAL_ABI,
	.name = "a_marker",
	.family = "status",
	.summary = "marks as a queue that grows would",
	.provides = (const struct nopal_role[]){ { "congestion_marks", true }, { 0 } },
	.shared =
		(const struct nopal_shared[]){
			[MARKER_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "met a queue" },
			[MARKER_MIN] = { "minimum_rtt_ns", NOPAL_READ, 0, "met none" },
			{ 0 } },
	.raises = (const char *const[]){ "CONGESTION_MARKED", NULL },
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(ACK_FROM_NET, a_marker_on_ack, .after = "rtt"), { 0 } },
};

/* Their reports come before anything gets lost: the queue does not fill. */
TEST(test_marks_keep_the_queue_short)
{
	rig_add(&a_marker);
	for (size_t i = 0; i < POLICIES; i++) {
		char text[POLICY_TEXT];
		int64_t percent, queue_ms;

		snprintf(text, sizeof(text), "%s\na_marker {}", policies[i].text);
		bottleneck_open(text, LINK);
		bottleneck_run(10 * NOPAL_SECOND);
		bottleneck_run(10 * NOPAL_SECOND);
		percent = bottleneck_percent(LINK_BPS);
		queue_ms = bottleneck_mean_queue_ns() / NOPAL_MILLISECOND;
		print_message("%s\n\t%lld %%, %lld ms of queue, %llu drops\n", policies[i].text,
			      (long long)percent, (long long)queue_ms,
			      (unsigned long long)bottleneck_dropped());
		assert_in_range(percent, 60, 100);
		assert_in_range(queue_ms, 0, 12);
		assert_int_equal(bottleneck_dropped(), 0);
		bottleneck_close();
	}
}
