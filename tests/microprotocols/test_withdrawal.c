/* SPDX-License-Identifier: MIT */
/* withdrawal -- messages that have not left in time are taken back, and no others. */
#include <string.h>

#include "support/own_rig.h"
#include "support/test.h"

static const char CONFIG[] = "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
			     "sequenced_segments {}\npositive_ack { selective = on }\n"
			     "retransmission_timer {}\nduplicate_ack {}\n"
			     "rtt_estimation { timeout_min = 2s  initial_timeout = 2s }\n"
			     "windowed_cc {}\ntcp_congestion { initial = 2seg }\n"
			     "withdrawal { after = 200ms }\n";

static int setup(void **state)
{
	(void)state;
	rig_begin(&rig, CONFIG);
	return 0;
}

EACH_TEST(setup, own_rig_close);

static uint32_t lost(void)
{
	return rig.opener.outcomes[NOPAL_OUTCOME_LOST];
}

TEST(test_message_that_leaves_in_time_is_not_withdrawn)
{
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig_send_bytes(&rig, 1000), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1 + 20);
	assert_int_equal(lost(), 0);
}

/* Nothing is acknowledged, and the window stays closed until the timeout. */
TEST(test_message_behind_a_closed_window_is_withdrawn_after_its_time)
{
	rig_change(&rig, "loss 100%");
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig_send_bytes(&rig, 1000), 0);
	rig_run(&rig, 199 * NOPAL_MILLISECOND);
	assert_int_equal(lost(), 0);
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_in_range(lost(), 15, 18); /* the others have left */
	rig_change(&rig, "delay 10ms");
	rig_send_bytes(&rig, 1000);
	rig_run(&rig, 4 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1); /* it waited too long, too */
	rig_send(&rig, "fresh");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[1], "fresh");
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
}

TEST(test_withdrawal_with_retransmission_is_refused)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
				"positive_ack {}\nretransmission_timer {}\nretransmit {}\n"
				"withdrawal {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "what must arrive is not taken back"));
}
