/* SPDX-License-Identifier: MIT */
#include "engine/turn.h"
#include "support/segments.h"
#include "support/test.h"

static const char ALIVE[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
			    "keep_alive { interval = 10s  timeout = 30s  probes = 4 }\na_tap {}\n";

enum { PROBE, ANSWER };

static uint64_t control_out(struct rig_side *side)
{
	return nopal_session_counters(side->session)->control_out;
}

TEST(test_an_idle_session_stays_up)
{
	struct rig rig;
	uint64_t before;

	rig_open(&rig, ALIVE, NULL);
	before = control_out(&rig.opener) + control_out(&rig.acceptor);
	rig_run(&rig, 600 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	assert_int_equal(rig.acceptor.ended, 0);
	/* about one probe and one answer every 10 s */
	assert_in_range(control_out(&rig.opener) + control_out(&rig.acceptor) - before, 100, 130);
	rig_close(&rig);
}

TEST(test_a_silent_peer_is_found_on_time)
{
	struct rig rig;
	int64_t heard;

	rig_open(&rig, ALIVE, NULL);
	heard = nopal_world_now(rig.world);
	rig_change_both(&rig, "loss 100%");
	rig_run(&rig, 29 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_run(&rig, NOPAL_SECOND + 20 * NOPAL_MILLISECOND);
	assert_true(nopal_world_now(rig.world) >= heard + 30 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_probes_fill_the_time_that_is_left)
{
	struct rig rig;
	uint64_t before;

	rig_open(&rig, ALIVE, NULL);
	before = control_out(&rig.opener);
	rig_change_both(&rig, "loss 100%");
	rig_run(&rig, 29 * NOPAL_SECOND);
	assert_int_equal(control_out(&rig.opener) - before, 4);
	rig_close(&rig);
}

TEST(test_data_counts_as_life)
{
	struct rig rig;
	uint64_t before;

	rig_open(&rig, ALIVE, NULL);
	before = control_out(&rig.acceptor);
	for (int i = 0; i < 20; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 5 * NOPAL_SECOND);
	}
	/* the opener hears nothing but answers: only it asks */
	assert_int_equal(rig.acceptor.delivered, 20);
	assert_in_range(control_out(&rig.acceptor) - before, 8, 12);
	rig_close(&rig);
}

TEST(test_many_probes_get_one_answer)
{
	struct rig rig;
	uint64_t before;
	bool outermost;

	rig_open(&rig, ALIVE, NULL);
	before = control_out(&rig.opener);
	outermost = nopal__turn_begin(rig.world);
	for (int i = 0; i < 50; i++)
		arrive_control(rig.opener.session, "keep_alive", PROBE, "", 0);
	nopal__turn_end(rig.world, outermost);
	assert_int_equal(control_out(&rig.opener) - before, 1);
	arrive_control(rig.opener.session, "keep_alive", PROBE, "x", 1);
	arrive_control(rig.opener.session, "keep_alive", ANSWER, "", 0);
	assert_int_equal(control_out(&rig.opener) - before, 1);
	rig_close(&rig);
}

TEST(test_messages_on_their_way_do_not_hide_silence)
{
	struct rig rig;

	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
		 "sequenced_segments {}\npositive_ack {} retransmission_timer {}\n"
		 "retransmit { attempts = 1000 }\n"
		 "keep_alive { interval = 10s  timeout = 30s }\na_tap {}\n",
		 NULL);
	rig_change_both(&rig, "loss 100%");
	rig_send(&rig, "x");
	rig_run(&rig, 31 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_close(&rig);
}

TEST(test_timeout_must_exceed_the_interval)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"keep_alive { interval = 45s }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "timeout"));
}
