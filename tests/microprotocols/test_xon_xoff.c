/* SPDX-License-Identifier: MIT */
/* test_xon_xoff -- orders and their numbers, what comes beyond the mark, and that no loss,
 * duplicate or disorder of orders stops a sender for ever. */
#include "engine/turn.h"
#include "support/keeper.h"
#include "support/test.h"

enum { XOFF, XON, PROBE };
enum {
	HIGH = 64 << 10,
	LOW = 32 << 10,
	AHEAD = 16 << 10,
	MESSAGE = 1000,
	ON_ITS_WAY = 32 * MESSAGE, /* positive_ack { window } retransmission_timer {} */
};

#define FLOW "xon_xoff { high = 64KiB  low = 32KiB  ahead = 16KiB }\n"
#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"virtual_circuit {}\nkeeper {}\na_loser {}\na_tap {}\n" FLOW
/* Nothing lost is sent again. */
static const char PLAIN[] = BASE;
static const char RELIABLE[] =
	BASE "positive_ack { selective = on  window = 32 } retransmission_timer {}\n"
	     "duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n"
	     "reliable_fifo {}\n";

static void order(struct rig_side *side, unsigned kind, uint32_t number)
{
	const uint8_t bytes[4] = { (uint8_t)(number >> 24), (uint8_t)(number >> 16),
				   (uint8_t)(number >> 8), (uint8_t)number };

	arrive_control(side->session, "xon_xoff", kind, bytes, sizeof(bytes));
}

/* A filter that loses so many orders on their way to the opener. */
static uint32_t lost_orders;

static enum nopal_verdict a_loser_on_any(struct nopal_at at, struct nopal_segment *segment)
{
	if (!lost_orders || !nopal_session_is_opener(at.session) ||
	    segment->kind != rig_part(at.session, "xon_xoff")->kind[XOFF])
		return NOPAL_CONTINUE;
	lost_orders--;
	return NOPAL_STOP;
}

static const struct nopal_binding a_loser_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, a_loser_on_any, .kinds = NOPAL_EVERY_KIND),
	{ 0 },
};

static const struct nopal_microprotocol a_loser = {
	.abi = NOPAL_ABI,
	.name = "a_loser",
	.family = "check",
	.summary = "loses orders",
	.bindings = a_loser_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

static bool blocked(struct rig *rig)
{
	return rig_shared(rig->opener.session, "flow_blocked");
}

/* Did a segment leave that is sent now? */
static bool leaves(struct rig *rig)
{
	uint64_t before = nopal_session_counters(rig->opener.session)->transmissions;

	assert_int_equal(rig_send(rig, "x"), 0);
	return nopal_session_counters(rig->opener.session)->transmissions > before;
}

TEST(test_a_reader_that_stops_stops_the_sender)
{
	struct rig rig;
	uint64_t held;

	keeper_open(&rig, RELIABLE, &(struct rig_options){ .link = "rate 8mbit delay 5ms" });
	keeper_push(&rig, 1000, MESSAGE, 0, 2 * NOPAL_SECOND);
	assert_true(keeper.held_bytes > HIGH);
	/* what was on its way, and what had been let go */
	assert_true(keeper.held_bytes <= HIGH + MESSAGE + ON_ITS_WAY + AHEAD);
	assert_true(blocked(&rig));
	held = keeper.held_bytes;
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(keeper.held_bytes, held);

	/* down to the low mark, and it goes on */
	keeper_read(&rig, (uint32_t)(held - LOW) / MESSAGE - 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(blocked(&rig));
	keeper_read(&rig, 2);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_false(blocked(&rig));
	keeper.reads = true;
	keeper_read(&rig, UINT32_MAX);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1000);
	rig_close(&rig);
}

TEST(test_only_a_newer_order_is_obeyed)
{
	struct rig rig;

	keeper_open(&rig, PLAIN, NULL);
	assert_true(leaves(&rig));
	order(&rig.opener, XOFF, 1);
	assert_false(leaves(&rig));
	order(&rig.opener, XON, 1); /* no order has two meanings */
	assert_false(leaves(&rig));
	order(&rig.opener, XON, 4);
	assert_true(leaves(&rig));
	order(&rig.opener, XOFF, 3); /* late */
	order(&rig.opener, XOFF, 4);
	assert_true(leaves(&rig));
	assert_false(blocked(&rig));
	rig_close(&rig);
}

TEST(test_numbers_wrap)
{
	struct rig rig;

	keeper_open(&rig, PLAIN, NULL);
	order(&rig.opener, XON, INT32_MAX);
	order(&rig.opener, XOFF, UINT32_MAX - 1);
	assert_false(leaves(&rig));
	order(&rig.opener, XON, 1);
	assert_true(leaves(&rig));
	order(&rig.opener, XOFF, UINT32_MAX);
	assert_true(leaves(&rig));
	rig_close(&rig);
}

TEST(test_hostile_orders_change_nothing)
{
	static const uint8_t bytes[8] = { 0, 0, 0, 1, 0, 0, 0, 1 };
	struct rig rig;

	keeper_open(&rig, PLAIN, NULL);
	for (uint32_t length = 0; length <= 8; length++)
		for (unsigned kind = XOFF; length != 4 && kind <= PROBE; kind++)
			arrive_control(rig.opener.session, "xon_xoff", kind, bytes, length);
	assert_true(leaves(&rig));
	rig_close(&rig);
}

TEST(test_a_suspended_sender_probes_less_and_less)
{
	struct rig rig;
	uint64_t before;

	keeper_open(&rig, PLAIN, NULL);
	order(&rig.opener, XOFF, 1);
	rig_run(&rig, 100 * NOPAL_SECOND);
	before = nopal_session_counters(rig.opener.session)->control_out;
	rig_change_both(&rig, "loss 100%");
	rig_send(&rig, "x");
	rig_run(&rig, 6400 * NOPAL_MILLISECOND);
	/* 0.1 0.3 0.7 1.5 3.1 6.3 s; none while it had nothing to send */
	assert_int_equal(nopal_session_counters(rig.opener.session)->control_out, before + 6);
	assert_false(leaves(&rig));
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	/* The receiver never said it, goes on from its number, and lets go. */
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

TEST(test_probes_get_one_answer_a_turn)
{
	struct rig rig;
	uint64_t before;
	bool outermost;

	keeper_open(&rig, PLAIN, NULL);
	before = nopal_session_counters(rig.opener.session)->control_out;
	outermost = nopal__turn_begin(rig.world);
	for (int i = 0; i < 50; i++)
		order(&rig.opener, PROBE, 0);
	nopal__turn_end(rig.world, outermost);
	assert_int_equal(nopal_session_counters(rig.opener.session)->control_out, before + 1);
	rig_close(&rig);
}

/* The receiver's segments are lost for a while: xoff is said again for each quarter between the
 * marks that comes nevertheless. */
TEST(test_a_lost_xoff_is_said_again)
{
	struct rig rig;

	keeper_open(&rig, RELIABLE, &(struct rig_options){ .link = "rate 8mbit delay 5ms" });
	keeper_push(&rig, 60, MESSAGE, 0, NOPAL_SECOND);
	lost_orders = 3;
	keeper_push(&rig, 1000, MESSAGE, 0, 2 * NOPAL_SECOND);
	assert_int_equal(lost_orders, 0);
	assert_true(keeper.held_bytes > HIGH + 3 * (HIGH - LOW) / 4);
	assert_true(keeper.held_bytes <=
		    HIGH + 3 * ((HIGH - LOW) / 4 + MESSAGE) + ON_ITS_WAY + AHEAD);
	rig_close(&rig);
}

/* The network must not stop a sender whose reader reads. */
static void lossy(const char *config, const char *link, uint32_t reads, uint32_t min)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig rig;

		keeper_open(&rig, config, &(struct rig_options){ .link = link, .seed = seed });
		keeper_push(&rig, 2000, MESSAGE, reads, 300 * NOPAL_SECOND);
		keeper_read(&rig, UINT32_MAX);
		rig_run(&rig, 20 * NOPAL_SECOND);
		assert_true(rig.acceptor.delivered >= min);
		assert_false(blocked(&rig));
		keeper.reads = true;
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		rig_close(&rig);
	}
}

TEST(test_a_slow_reader_gets_all_of_it_under_loss)
{
	lossy(RELIABLE, "rate 20mbit delay 10ms loss 30%", 20, 2000);
	assert_true(keeper.max_bytes < 2 * HIGH);
}

TEST(test_disorder_and_duplicates_stop_nobody)
{
	lossy(RELIABLE, "rate 20mbit delay 10ms 8ms duplicate 30% reorder 30% loss 5%", 20, 2000);
}

TEST(test_what_is_never_sent_again_goes_on_too)
{
	lossy(PLAIN, "rate 20mbit delay 10ms 8ms loss 30% limit 4000", 20, 1200);
}

/* Ahead is what may wait at other gates, not what may leave at once. */
TEST(test_a_window_is_filled_in_one_go)
{
	struct rig rig;
	uint64_t before;

	keeper_open(&rig,
		    BASE
		    "positive_ack {} retransmission_timer {}\nduplicate_ack {}\nwindowed_cc {}\n"
		    "tcp_congestion {}\n",
		    NULL);
	keeper.reads = true;
	keeper_push(&rig, 1000, MESSAGE, 0, 60 * NOPAL_SECOND);
	before = nopal_session_counters(rig.opener.session)->transmissions;
	for (int i = 0; i < 60; i++) /* three times what may be ahead */
		rig_send_bytes(&rig, MESSAGE);
	rig_run(&rig, 10 * NOPAL_MICROSECOND);
	assert_int_equal(nopal_session_counters(rig.opener.session)->transmissions - before, 60);
	rig_close(&rig);
}

TEST(test_marks_in_order)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"xon_xoff { high = 64KiB  low = 64KiB }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "low"));
}

int main(void)
{
	rig_add(&a_loser);
	return tests_run();
}
