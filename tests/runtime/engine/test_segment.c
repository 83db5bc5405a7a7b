/* SPDX-License-Identifier: MIT */
/* The three barriers of a segment and the four rules that guard them. */
#include "engine/composite.h"
#include "support/rig.h"
#include "support/test.h"

/* `gate` must let each transmission go; `pass` once is enough; `keeper` holds done and deallocate.
 * None releases anything by itself. */
static const struct nopal_hold gate_holds[] = { { "the gate", NOPAL_SEND, NOPAL_DATA, false },
						{ 0 } };
static const struct nopal_hold pass_holds[] = { { "the pass", NOPAL_SEND, NOPAL_DATA, true },
						{ 0 } };
static const struct nopal_hold keeper_holds[] = {
	{ "the keeper", NOPAL_DONE, NOPAL_DATA, false },
	{ "the keeper", NOPAL_DEALLOCATE, NOPAL_DATA, false },
	{ 0 },
};

static enum nopal_verdict nothing(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding idle[] = { NOPAL_ON(SEGMENT_LOST, nothing), { 0 } };

#define HOLDER(word, table)                                                                        \
	{                                                                                          \
		.abi = NOPAL_ABI, .name = word, .family = "check",                                 \
		.summary = "holds bits for a test", .holds = table, .bindings = idle,              \
		.provides = (const struct nopal_role[])                                            \
		{                                                                                  \
			{ "checker", false },                                                      \
			{                                                                          \
				0                                                                  \
			}                                                                          \
		}                                                                                  \
	}

static const struct nopal_microprotocol gate = HOLDER("gate", gate_holds);
static const struct nopal_microprotocol pass = HOLDER("pass", pass_holds);
static const struct nopal_microprotocol keeper = HOLDER("keeper", keeper_holds);

static const char CONFIG[] = "transport_driver {}\nfixed_size {}\ngate {}\npass {}\n"
			     "keeper {}\na_tap {}\n";

static struct rig rig;
static struct nopal_session *session;
static struct nopal_segment *segment;
static struct nopal_at the_gate, the_pass, the_keeper;

static int setup(void **state)
{
	(void)state;
	rig_add(&gate);
	rig_add(&pass);
	rig_add(&keeper);
	rig_open(&rig, CONFIG, NULL);
	session = rig.opener.session;
	the_gate = rig_at(session, "gate");
	the_pass = rig_at(session, "pass");
	the_keeper = rig_at(session, "keeper");
	rig_send(&rig, "x");
	segment = rig_segment(session, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (rig.opener.session)
		nopal__composite(session)->awake->counters.misuses = 0;
	rig_close(&rig);
	return 0;
}

EACH_TEST(setup, teardown);

static void leave(void)
{
	nopal_release(the_gate, segment, NOPAL_SEND);
	nopal_release(the_pass, segment, NOPAL_SEND);
}

TEST(test_all_must_agree_in_any_order)
{
	nopal_release(the_pass, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 0);
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 1);
}

TEST(test_epoch_rearms_what_is_not_sticky)
{
	leave();
	assert_true(nopal_holds(the_gate, segment, NOPAL_SEND));
	assert_false(nopal_holds(the_pass, segment, NOPAL_SEND));
}

TEST(test_a_resend_needs_the_gate_again)
{
	leave();
	assert_true(nopal_segment_resend(the_keeper, segment));
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 1);
	assert_false(nopal_segment_resend(the_keeper, segment));
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 2);
	assert_int_equal(nopal_session_counters(session)->resends, 1);
}

TEST(test_a_gate_opened_too_early_sends_nothing)
{
	leave();
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 1);
	assert_true(nopal_segment_resend(the_keeper, segment));
	assert_int_equal(segment->transmissions, 2);
}

TEST(test_a_bit_is_released_once_an_epoch)
{
	nopal_release(the_gate, segment, NOPAL_SEND);
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(nopal_session_counters(session)->misuses, 1);
	assert_int_equal(segment->transmissions, 0);
}

TEST(test_only_the_owner_releases)
{
	nopal_release(the_keeper, segment, NOPAL_SEND);
	assert_int_equal(nopal_session_counters(session)->misuses, 1);
	assert_true(nopal_holds(the_gate, segment, NOPAL_SEND));
}

TEST(test_done_once_and_before_deallocation)
{
	struct nopal_handle handle = segment->handle;

	leave();
	nopal_release(the_keeper, segment, NOPAL_DEALLOCATE);
	assert_non_null(nopal_segment_find(session, handle));
	nopal_release(the_keeper, segment, NOPAL_DONE);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_DONE), 1);
	assert_null(nopal_segment_find(session, handle));
}

TEST(test_no_send_after_done)
{
	leave();
	nopal_release(the_keeper, segment, NOPAL_DONE);
	assert_true(segment->done);
	assert_false(nopal_segment_resend(the_keeper, segment));
	assert_int_equal(nopal_session_counters(session)->refused_sends, 1);
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 1);
}

TEST(test_done_during_a_resend_request_ends_it)
{
	leave();
	nopal_segment_resend(the_keeper, segment);
	nopal_release(the_keeper, segment, NOPAL_DONE);
	assert_false(segment->wanted);
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, 1);
}

TEST(test_done_waits_for_the_transmission)
{
	nopal_release(the_keeper, segment, NOPAL_DONE);
	assert_false(segment->done);
	leave();
	assert_true(segment->done);
}

/* The keeper must still agree; the gates need not. */
static void assert_abandoned(uint32_t transmissions)
{
	nopal_segment_abandon(session, segment);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_ABANDONED), 1);
	assert_false(segment->done);
	assert_false(nopal_segment_resend(the_keeper, segment));
	nopal_release(the_gate, segment, NOPAL_SEND);
	if (nopal_holds(the_pass, segment, NOPAL_SEND))
		nopal_release(the_pass, segment, NOPAL_SEND);
	assert_int_equal(segment->transmissions, transmissions);
	assert_int_equal(nopal_oldest_transmission(session), nopal_next_packet_number(session));
	nopal_release(the_keeper, segment, NOPAL_DONE);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_DONE), 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	nopal_release(the_keeper, segment, NOPAL_DEALLOCATE);
	assert_int_equal(rig_awake(session)->segments.alive, 0);
	assert_int_equal(nopal_session_counters(session)->refused_sends, 0);
}

TEST(test_abandoned_before_it_left)
{
	assert_abandoned(0);
}

TEST(test_abandoned_in_flight)
{
	leave();
	assert_abandoned(1);
}

TEST(test_abandoned_while_it_wants_to_leave_again)
{
	leave();
	nopal_segment_resend(the_keeper, segment);
	assert_abandoned(1);
}

TEST(test_the_last_transmission_is_the_last)
{
	leave();
	segment->last = true;
	assert_false(nopal_segment_resend(the_keeper, segment));
	assert_false(segment->wanted);
	assert_int_equal(nopal_session_counters(session)->refused_sends, 0);
}

/* Lets go of the segment while it leaves, before others hear of the transmission. */
static enum nopal_verdict hasty_on_send(struct nopal_at at, struct nopal_segment *leaving)
{
	nopal_release(at, leaving, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

TEST(test_done_waits_for_all_who_hear_of_the_transmission)
{
	static const struct nopal_hold holds[] = {
		{ "the hasty", NOPAL_DEALLOCATE, NOPAL_DATA, false }, { 0 }
	};
	static const struct nopal_binding bindings[] = {
		NOPAL_ON(SEND_SEGMENT, hasty_on_send, .before = "a_tap"), { 0 }
	};
	static const struct nopal_microprotocol hasty = {
		.abi = NOPAL_ABI,
		.name = "hasty",
		.family = "check",
		.summary = "lets go of what leaves",
		.holds = holds,
		.bindings = bindings,
	};
	struct rig_side *side = &rig.opener;
	uint32_t at = 0;

	rig_close(&rig);
	rig_add(&hasty);
	rig_open(&rig, "transport_driver {}\nfixed_size {}\nhasty {}\na_tap {}\n", NULL);
	rig_send(&rig, "x");
	while (side->event[at].event != NOPAL_SEGMENT_DONE)
		assert_true(++at < side->events);
	assert_true(at > 0 && side->event[at - 1].event == NOPAL_SEND_SEGMENT);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	session = rig.opener.session;
}

TEST(test_stale_handles_name_nothing)
{
	struct nopal_handle handle = segment->handle;

	leave();
	nopal_release(the_keeper, segment, NOPAL_DONE);
	nopal_release(the_keeper, segment, NOPAL_DEALLOCATE);
	rig_send(&rig, "y");
	assert_null(nopal_segment_find(session, handle));
	assert_true(nopal_session_counters(session)->stale_handles > 0);
	assert_null(nopal_segment_find(session, (struct nopal_handle){ 1u << 30, 1 }));
}

TEST(test_transmissions_are_settled_once)
{
	uint64_t first;

	leave();
	first = segment->packet_number;
	assert_int_equal(nopal_oldest_transmission(session), first);
	nopal_segment_resend(the_keeper, segment);
	nopal_release(the_gate, segment, NOPAL_SEND);
	assert_int_equal(segment->packet_number, first + 1);
	assert_false(nopal_transmission_find(session, first)->open);
	assert_int_equal(nopal_oldest_transmission(session), first + 1);
	nopal_segment_settle(session, segment);
	assert_int_equal(nopal_oldest_transmission(session), nopal_next_packet_number(session));
	assert_null(nopal_transmission_find(session, first + 99));
}

TEST(test_the_watchdog_counts_what_waits_too_long)
{
	rig_run(&rig, 25 * NOPAL_SECOND);
	assert_true(nopal_session_counters(session)->long_holds >= 1);
}

TEST(test_the_end_gives_every_message_a_outcome)
{
	nopal_session_abort(session, "test");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	assert_int_equal(rig.opener.ended, 1);
}
