/* SPDX-License-Identifier: MIT */
/* test_rate_feedback -- the sender keeps to what the receiving application asked for last, whatever
 * is lost, late or comes twice. */
#include <errno.h>

#include "engine/turn.h"
#include "support/segments.h"
#include "support/test.h"

enum { RATE, ECHO };
enum { MESSAGE = 1000, AT_ONCE = 2 * 4 * 1500 };

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"                                 \
	"rate_cc {}\n"
static const char ALONE[] = BASE "constant_rate {}\nrate_feedback {}\na_tap {}\n";
static const char LIMITED[] = BASE "constant_rate { rate = 800kbit }\nrate_feedback {}\na_tap {}\n";

/* Sends a hundred messages every 10 ms while few wait; bytes that left. */
static uint64_t left_in(struct rig *rig, int64_t duration_ns)
{
	uint64_t before = nopal_session_counters(rig->opener.session)->transmissions;

	for (int64_t at = 0; at < duration_ns; at += 10 * NOPAL_MILLISECOND) {
		for (int i = 0; i < 100; i++)
			if (nopal_session_send_room(rig->opener.session) >
			    (4 << 20) - 200 * MESSAGE)
				rig_send_bytes(rig, MESSAGE);
		rig_run(rig, 10 * NOPAL_MILLISECOND);
	}
	return MESSAGE * (nopal_session_counters(rig->opener.session)->transmissions - before);
}

static void hear(struct rig_side *side, unsigned kind, uint32_t number, uint64_t bps)
{
	uint8_t bytes[12];

	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(number >> (24 - 8 * i));
	for (int i = 0; i < 8; i++)
		bytes[4 + i] = (uint8_t)(bps >> (56 - 8 * i));
	arrive_control(side->session, "rate_feedback", kind, bytes, sizeof(bytes));
}

static int64_t allowed(struct rig *rig)
{
	return rig_shared(rig->opener.session, "receiver_rate_bps");
}

TEST(test_the_sender_keeps_to_it)
{
	struct rig rig;

	rig_open(&rig, ALONE, NULL);
	assert_int_equal(nopal_session_accept_rate(rig.acceptor.session, 800000), 0);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_in_range(left_in(&rig, 2 * NOPAL_SECOND), 200000 - AT_ONCE, 200000 + AT_ONCE);
	/* another, while segments wait */
	nopal_session_accept_rate(rig.acceptor.session, 4000000);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_in_range(left_in(&rig, 2 * NOPAL_SECOND), 1000000 - AT_ONCE, 1000000 + AT_ONCE);
	nopal_session_accept_rate(rig.acceptor.session, 0);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_true(left_in(&rig, NOPAL_SECOND) > 4000000);
	rig_close(&rig);
}

TEST(test_the_less_of_policy_and_receiver_counts)
{
	struct rig rig;

	rig_open(&rig, LIMITED, NULL);
	nopal_session_accept_rate(rig.acceptor.session, 8000000);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_in_range(left_in(&rig, NOPAL_SECOND), 100000 - AT_ONCE, 100000 + AT_ONCE);
	nopal_session_accept_rate(rig.acceptor.session, 400000);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_in_range(left_in(&rig, 2 * NOPAL_SECOND), 100000 - AT_ONCE, 100000 + AT_ONCE);
	rig_close(&rig);
}

TEST(test_it_is_repeated_until_the_echo)
{
	struct rig rig;
	uint64_t before;

	rig_open(&rig, ALONE, NULL);
	rig_change_both(&rig, "loss 100%");
	before = nopal_session_counters(rig.acceptor.session)->control_out;
	nopal_session_accept_rate(rig.acceptor.session, 1000);
	nopal_session_accept_rate(rig.acceptor.session, 2000);
	rig_run(&rig, 6400 * NOPAL_MILLISECOND);
	/* both said, then 0.1 0.3 0.7 1.5 3.1 6.3 s */
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out - before, 8);
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(allowed(&rig), 2000);
	before = nopal_session_counters(rig.acceptor.session)->control_out;
	rig_run(&rig, 100 * NOPAL_SECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before);
	rig_close(&rig);
}

TEST(test_only_a_newer_rate_counts)
{
	struct rig rig;

	rig_open(&rig, ALONE, NULL);
	hear(&rig.opener, RATE, 2, 5000);
	hear(&rig.opener, RATE, 1, 9000);
	hear(&rig.opener, RATE, 2, 9000);
	assert_int_equal(allowed(&rig), 5000);
	hear(&rig.opener, RATE, 3, UINT64_MAX);
	assert_int_equal(allowed(&rig), 0);
	/* The receiver never said 1000: it goes on from there. */
	hear(&rig.opener, RATE, 1000, 7000);
	nopal_session_accept_rate(rig.acceptor.session, 6000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(allowed(&rig), 6000);
	rig_close(&rig);
}

TEST(test_hostile_control_changes_nothing)
{
	static const uint8_t bytes[16] = { 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct rig rig;
	uint64_t before;
	bool outermost;

	rig_open(&rig, ALONE, NULL);
	before = nopal_session_counters(rig.opener.session)->control_out;
	for (uint32_t length = 0; length <= 16; length++) {
		if (length != 12)
			arrive_control(rig.opener.session, "rate_feedback", RATE, bytes, length);
		/* also where nothing was said */
		arrive_control(rig.opener.session, "rate_feedback", ECHO, bytes, length);
	}
	assert_int_equal(allowed(&rig), 0);
	assert_int_equal(nopal_session_counters(rig.opener.session)->control_out, before);
	/* a flood is answered once a turn */
	outermost = nopal__turn_begin(rig.world);
	for (uint32_t i = 1; i <= 50; i++)
		hear(&rig.opener, RATE, i, 1000 * i);
	nopal__turn_end(rig.world, outermost);
	assert_int_equal(nopal_session_counters(rig.opener.session)->control_out, before + 1);
	assert_int_equal(allowed(&rig), 50000);
	rig_close(&rig);
}

TEST(test_under_loss_the_last_one_wins)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct rig rig;

		rig_open(&rig, ALONE,
			 &(struct rig_options){ .link = "delay 10ms 9ms loss 30% reorder 30% "
							"duplicate 30%",
						.seed = seed });
		for (uint64_t i = 1; i <= 100; i++) {
			nopal_session_accept_rate(rig.acceptor.session, 1000 * i);
			rig_run(&rig, 7 * NOPAL_MILLISECOND);
		}
		rig_run(&rig, 60 * NOPAL_SECOND);
		assert_int_equal(allowed(&rig), 100000);
		rig_close(&rig);
	}
}

static void say_early(void *user)
{
	struct rig *rig = user;

	assert_int_equal(rig->opener.opened, 0);
	assert_int_equal(nopal_session_accept_rate(rig->opener.session, 3000), 0);
}

TEST(test_said_before_it_is_open)
{
	struct rig rig;

	rig_open(&rig, ALONE, &(struct rig_options){ .stay_closed = true });
	nopal_sim_at(rig.world, 5 * NOPAL_MILLISECOND, say_early, &rig);
	rig_start(&rig);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_shared(rig.acceptor.session, "receiver_rate_bps"), 3000);
	rig_close(&rig);
}

TEST(test_nobody_would_tell)
{
	struct rig rig;

	rig_open(&rig, BASE "constant_rate {}\n", NULL);
	assert_int_equal(nopal_session_accept_rate(rig.opener.session, 1), -ENOTSUP);
	rig_close(&rig);
}
