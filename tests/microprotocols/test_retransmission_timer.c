/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/segments.h"
#include "support/test.h"

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\na_tap "                        \
	"{}\n"
static const char CUMULATIVE[] = BASE "positive_ack {}\nretransmission_timer {}\nretransmit {}\n";
static const char SELECTIVE[] =
	BASE "positive_ack { selective = on }\nretransmission_timer {}\nretransmit {}\n";

TEST(test_timeouts_back_off_and_recover)
{
	struct rig rig;

	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 8 * NOPAL_SECOND); /* at 1, 3 and 7 s */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 3);
	rig_change(&rig, "delay 10ms");
	rig_run(&rig, 8 * NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	/* the news of the first wait: the next one is as long as the first */
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 4);
	rig_close(&rig);
}

/* As often as it may, and then it is the same wait again and again. */
TEST(test_a_back_off_has_a_limit)
{
	struct rig rig;

	rig_open_spoken(
		&rig, BASE "positive_ack {}\nretransmission_timer { backoff = 2 }\nretransmit {}\n",
		"delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 16 * NOPAL_SECOND); /* at 1, 3, 7, 11 and 15 s */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 5);
	rig_close(&rig);
}

/* Nobody detects losses, or whoever did has given up, and others arrive all the time:
 * what is missing is waited for longer, and not for ever. */
TEST(test_arrivals_do_not_hide_a_hole)
{
	struct rig rig;

	rig_open_spoken(&rig, SELECTIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_change(&rig, "delay 10ms");
	for (unsigned i = 0; i < 50; i++) { /* the wait is 1 s, four of them */
		rig_send_many(&rig, 1);
		assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), i > 40);
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 52);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 1);
	rig_close(&rig);
}

/* A segment that no part resends is missing as soon as it timed out. */
TEST(test_without_resends_a_timeout_is_the_end)
{
	struct rig rig;

	rig_open_spoken(&rig, BASE "positive_ack {}\nretransmission_timer { timeout_min = 3s }\n",
			"delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 2900 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 0);
	rig_run(&rig, 200 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	rig_close(&rig);
}

/* timeout_max bounds the estimate and the doublings. */
TEST(test_the_longest_wait_holds)
{
	struct rig rig;

	rig_open_spoken(
		&rig,
		BASE
		"positive_ack {}\nretransmission_timer { timeout_max = 500ms }\nretransmit {}\n",
		"delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 2100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 4);
	rig_close(&rig);
}

TEST(test_relations)
{
	char text[4096];

	assert_true(rig_refused(BASE "positive_ack {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "add one of: go_back_n {}, retransmission_timer {}"));
	assert_true(rig_refused(BASE "retransmission_timer {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "acknowledgement"));
	assert_true(
		rig_refused(BASE "go_back_n {}\nretransmission_timer {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "both provide retransmission_timer"));
	assert_true(rig_refused(BASE "positive_ack { backoff = 2 }\nretransmission_timer {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "retransmission_timer { backoff = N }"));
	assert_true(rig_refused(BASE "positive_ack {}\nretransmission_timer { timeout_min = 2s  "
				     "timeout_max = 1s }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "make timeout_max at least timeout_min"));
}
