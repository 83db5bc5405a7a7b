/* SPDX-License-Identifier: MIT */
/* test_rts_cts -- nothing leaves that was not granted, nothing is granted that there is no room
 * for, and lost requests and grants stop nobody for ever. */
#include <errno.h>

#include "plan/plan.h"
#include "support/keeper.h"
#include "support/test.h"

enum { REQUEST, GRANT };
enum { BUFFER = 64 << 10, INITIAL = 4 << 10, AHEAD = 16 << 10, MESSAGE = 1000 };

#define FLOW "rts_cts { buffer = 64KiB  initial = 4KiB  ahead = 16KiB }\n"
#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"virtual_circuit {}\nkeeper {}\nan_auditor {}\na_tap {}\n"
/* Nothing lost is sent again. */
static const char PLAIN[] = BASE FLOW;
#define RELIABLY                                                                                   \
	"positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"              \
	"rtt_estimation {}\nretransmit {}\nreliable_fifo {}\n"
static const char RELIABLE[] = BASE FLOW RELIABLY;
static const char PURE[] = BASE "rts_cts { buffer = 64KiB  initial = 0B  ahead = 0B }\n" RELIABLY;

/* Credit that the opener was granted, and segments that it let go. */
static struct {
	uint64_t granted, left, grants, requests;
} audit;

static uint64_t total(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static enum nopal_verdict an_auditor_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	const uint8_t *kind = rig_part(at.session, "rts_cts")->kind;
	bool opener = nopal_session_is_opener(at.session);

	if (segment->kind == kind[GRANT] && opener && segment->body.length == 8) {
		audit.grants++;
		if (total(segment->body.bytes) > audit.granted)
			audit.granted = total(segment->body.bytes);
	}
	if (segment->kind == kind[REQUEST] && !opener)
		audit.requests++;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict an_auditor_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	if (nopal_session_is_opener(at.session) && segment->transmissions == 1) {
		audit.left += segment->body.length;
		assert_true(audit.left <= audit.granted);
	}
	return NOPAL_CONTINUE;
}

static const struct nopal_binding an_auditor_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, an_auditor_on_from_net, .kinds = NOPAL_EVERY_KIND),
	NOPAL_ON(SEND_SEGMENT, an_auditor_on_send),
	{ 0 },
};

static const struct nopal_microprotocol an_auditor = {
	.abi = NOPAL_ABI,
	.name = "an_auditor",
	.family = "check",
	.summary = "nothing leaves that was not granted",
	.bindings = an_auditor_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

static void begin(struct rig *rig, const char *config, const struct rig_options *options)
{
	memset(&audit, 0, sizeof(audit));
	audit.granted = config == PURE ? 0 : INITIAL;
	keeper_open(rig, config, options);
}

static void hear(struct rig_side *side, unsigned kind, uint64_t first, uint64_t second)
{
	uint8_t bytes[16];

	for (int i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(first >> (56 - 8 * i));
		bytes[8 + i] = (uint8_t)(second >> (56 - 8 * i));
	}
	arrive_control(side->session, "rts_cts", kind, bytes, kind == REQUEST ? 16 : 8);
}

static uint64_t control_out(struct rig_side *side)
{
	return nopal_session_counters(side->session)->control_out;
}

TEST(test_begins_with_the_initial_right)
{
	struct rig rig;

	begin(&rig, PLAIN, NULL);
	for (int i = 0; i < 10; i++)
		rig_send_bytes(&rig, MESSAGE);
	assert_int_equal(audit.left, 4000);
	assert_int_equal(rig_shared(rig.opener.session, "flow_blocked"), 6);
	rig_run(&rig, 25 * NOPAL_MILLISECOND); /* request there, grant back */
	assert_int_equal(audit.left, 10000);
	assert_int_equal(rig_shared(rig.opener.session, "flow_blocked"), 0);
	rig_close(&rig);
}

TEST(test_without_a_grant_nothing_leaves)
{
	struct rig rig;

	begin(&rig, PURE, NULL);
	rig_send_bytes(&rig, MESSAGE);
	assert_int_equal(audit.left, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	/* exactly what was wanted was asked for and given */
	assert_int_equal(audit.granted, MESSAGE);
	assert_int_equal(audit.requests, 1);
	assert_int_equal(audit.grants, 1);
	rig_close(&rig);
}

TEST(test_no_room_then_room)
{
	struct rig rig;
	uint64_t held;

	begin(&rig, RELIABLE, NULL);
	keeper_push(&rig, 1000, MESSAGE, 0, 2 * NOPAL_SECOND);
	held = keeper.held_bytes;
	assert_true(held <= BUFFER && held > BUFFER - 2 * MESSAGE);
	rig_run(&rig, 100 * NOPAL_SECOND); /* many refused requests later */
	assert_int_equal(keeper.held_bytes, held);
	keeper_read(&rig, 1);
	rig_run(&rig, 10 * NOPAL_SECOND); /* a request asks again */
	assert_int_equal(rig.acceptor.delivered, held / MESSAGE + 1);
	/* a quarter of the buffer: told without being asked */
	keeper_read(&rig, BUFFER / MESSAGE / 4 + 1);
	rig_run(&rig, 25 * NOPAL_MILLISECOND);
	assert_true(rig.acceptor.delivered > held / MESSAGE + 10);
	keeper.reads = true;
	keeper_read(&rig, UINT32_MAX);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1000);
	assert_int_equal(keeper.max_bytes <= BUFFER, 1);
	rig_close(&rig);
}

TEST(test_what_comes_again_says_nothing_new)
{
	struct rig rig;

	begin(&rig, PLAIN, NULL);
	rig_change_both(&rig, "loss 100%");
	for (int i = 0; i < 20; i++)
		rig_send_bytes(&rig, MESSAGE);
	hear(&rig.opener, GRANT, 9000, 0);
	assert_int_equal(audit.left, 9000);
	hear(&rig.opener, GRANT, 9000, 0);
	hear(&rig.opener, GRANT, 5000, 0);
	assert_int_equal(audit.left, 9000);
	hear(&rig.opener, GRANT, 12000, 0);
	assert_int_equal(audit.left, 12000);
	rig_close(&rig);
}

TEST(test_hostile_control_changes_nothing)
{
	static const uint8_t bytes[24] = { 0, 0, 0, 0, 0, 0, 0x40 };
	struct rig rig;
	uint64_t before;

	begin(&rig, PLAIN, NULL);
	for (int i = 0; i < 100; i++)
		rig_send_bytes(&rig, MESSAGE);
	for (uint32_t length = 0; length <= 24; length++) {
		if (length != 8)
			arrive_control(rig.opener.session, "rts_cts", GRANT, bytes, length);
		if (length != 16)
			arrive_control(rig.acceptor.session, "rts_cts", REQUEST, bytes, length);
	}
	/* more than was asked for */
	hear(&rig.opener, GRANT, UINT64_MAX, 0);
	hear(&rig.opener, GRANT, 100 * MESSAGE + AHEAD + 1, 0);
	assert_int_equal(audit.left, 4000);
	/* more left than was granted */
	before = control_out(&rig.acceptor);
	hear(&rig.acceptor, REQUEST, UINT64_MAX, INITIAL + 1);
	hear(&rig.acceptor, REQUEST, UINT64_MAX, UINT64_MAX);
	assert_int_equal(control_out(&rig.acceptor), before);
	/* all there is, and no more */
	audit.granted = UINT64_MAX;
	hear(&rig.acceptor, REQUEST, UINT64_MAX, 0);
	assert_int_equal(control_out(&rig.acceptor), before + 1);
	rig_close(&rig);
}

TEST(test_a_lost_request_is_repeated_less_and_less)
{
	struct rig rig;
	uint64_t before;

	begin(&rig, PLAIN, NULL);
	rig_change_both(&rig, "loss 100%");
	before = control_out(&rig.opener);
	for (int i = 0; i < 10; i++)
		rig_send_bytes(&rig, MESSAGE);
	rig_run(&rig, 6400 * NOPAL_MILLISECOND);
	/* asked twice, then 0.1 0.3 0.7 1.5 3.1 6.3 s */
	assert_int_equal(control_out(&rig.opener) - before, 8);
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 6); /* four are lost */
	rig_close(&rig);
}

static void lossy(const char *config, const char *link, uint32_t reads, uint32_t count,
		  uint32_t min)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig rig;

		begin(&rig, config, &(struct rig_options){ .link = link, .seed = seed });
		keeper_push(&rig, count, MESSAGE, reads, 300 * NOPAL_SECOND);
		keeper.reads = true;
		keeper_read(&rig, UINT32_MAX);
		rig_run(&rig, 20 * NOPAL_SECOND);
		assert_true(rig.acceptor.delivered >= min);
		assert_int_equal(rig_shared(rig.opener.session, "flow_blocked"), 0);
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		rig_close(&rig);
	}
}

TEST(test_no_deadlock_and_never_beyond_the_buffer)
{
	lossy(RELIABLE, "rate 20mbit delay 10ms loss 30%", 20, 2000, 2000);
	assert_true(keeper.max_bytes <= BUFFER);
	lossy(PURE, "rate 20mbit delay 10ms loss 30%", 20, 500, 500);
	assert_true(keeper.max_bytes <= BUFFER);
}

TEST(test_disorder_and_duplicates)
{
	lossy(RELIABLE, "rate 20mbit delay 10ms 8ms duplicate 30% reorder 30% loss 5%", 20, 2000,
	      2000);
	assert_true(keeper.max_bytes <= BUFFER);
}

/* 64 KiB of losses would take all credit if they were not written off. */
TEST(test_losses_take_no_credit_where_they_stay)
{
	lossy(PLAIN, "rate 20mbit delay 10ms loss 30%", 1000, 2000, 1200);
}

/* A message that is given up takes no credit with it, whether it left or not. */
TEST(test_what_is_given_up_is_written_off)
{
	static const char config[] = BASE FLOW RELIABLY "partial_reliability { attempts = 1 }\n";
	static const char waits[] = BASE FLOW RELIABLY "partial_reliability { deadline = 50ms }\n";

	lossy(config, "rate 20mbit delay 10ms loss 30%", 1000, 2000, 1000);
	lossy(waits, "rate 2mbit delay 10ms loss 30%", 1000, 2000, 5);
	assert_true(keeper.max_bytes <= BUFFER);
}

/* The grant is on its way when less is asked for than before. */
TEST(test_what_was_asked_for_once_may_be_granted)
{
	static const char config[] = BASE FLOW RELIABLY "partial_reliability {}\n";
	const struct rig_options far = { .link = "delay 300ms" };
	struct nopal_property deadline = { 0, 150 * NOPAL_MILLISECOND };
	static const char bytes[MESSAGE];
	struct rig rig;

	begin(&rig, config, &far);
	keeper.reads = true;
	deadline.which = nopal_property(rig.plan, "deadline");
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			nopal_send_message(rig.opener.session,
					   &(struct nopal_outgoing){ .bytes = bytes,
								     .length = MESSAGE,
								     .properties = &deadline,
								     .property_count = 1 }),
			0);
	rig_run(&rig, 160 * NOPAL_MILLISECOND);
	for (int i = 0; i < 8; i++)
		rig_send_bytes(&rig, MESSAGE);
	rig_run(&rig, 20 * NOPAL_SECOND);
	/* four had left before their time, and came */
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 4 + 8);
	rig_close(&rig);
}

/* An urgent message would be complete, fill the buffer, and wait for the one that the sender keeps
 * back. */
TEST(test_what_is_urgent_takes_no_room_of_what_is_before_it)
{
	static const char config[] = "transport_driver {}\nresize {}\nsequenced_segments {}\n"
				     "sequenced_messages {}\nvirtual_circuit {}\n"
				     "rts_cts { buffer = 2seg  initial = 2KiB }\n" RELIABLY;
	const struct nopal_property urgent = { NOPAL_URGENT, 1 };
	static const char bytes[2500];
	struct rig rig;

	rig_open(&rig, config, NULL);
	rig_send_bytes(&rig, 6000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			nopal_send_message(rig.opener.session,
					   &(struct nopal_outgoing){ .bytes = bytes,
								     .length = sizeof(bytes),
								     .properties = &urgent,
								     .property_count = 1 }),
			0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, 4);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

/* Granted, kept back by another gate, and given up: who comes next goes. */
TEST(test_a_right_that_nobody_used_is_the_next_ones)
{
	static const char config[] =
		"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		"virtual_circuit {}\npositive_ack { window = 2 } retransmission_timer {}\n"
		"rtt_estimation {}\nretransmit {}\npartial_reliability {}\n"
		"rts_cts { buffer = 1seg  initial = 4000B  ahead = 0B }\n";
	struct nopal_property deadline = { 0, 150 * NOPAL_MILLISECOND };
	const struct rig_options far = { .link = "delay 300ms" };
	static const char bytes[MESSAGE];
	struct rig rig;

	rig_open(&rig, config, &far);
	deadline.which = nopal_property(rig.plan, "deadline");
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			nopal_send_message(rig.opener.session,
					   &(struct nopal_outgoing){ .bytes = bytes,
								     .length = MESSAGE,
								     .properties = &deadline,
								     .property_count = 1 }),
			0);
	for (int i = 0; i < 4; i++)
		rig_send_bytes(&rig, MESSAGE);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_true(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED] >= 4);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED] +
				 rig.opener.outcomes[NOPAL_OUTCOME_LOST],
			 8);
	rig_close(&rig);
}

TEST(test_ahead_needs_no_stop)
{
	struct rig rig;

	begin(&rig, RELIABLE, &(struct rig_options){ .link = "delay 10ms" });
	keeper.reads = true;
	for (int i = 0; i < 100; i++) {
		rig_send_bytes(&rig, MESSAGE);
		assert_int_equal(audit.left, (i + 1) * MESSAGE);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	rig_close(&rig);
}

/* Messages that the layer below cuts are segments here. */
TEST(test_no_segment_is_longer_than_the_buffer)
{
	enum { COUNT = 4 };
	struct rig rig;

	rig_open(&rig,
		 "layer \"upper\" {\n transport_driver {} whole_messages {}\n"
		 " sequenced_segments {} " FLOW "}\n"
		 "layer \"lower\" {\n transport_driver {} virtual_circuit {}\n"
		 " resize {} sequenced_segments {} " RELIABLY
		 " windowed_cc {} tcp_congestion {}\n}\n",
		 NULL);
	assert_int_equal(nopal_plan_info(rig.plan)->message_limit, BUFFER);
	assert_int_equal(rig_send_bytes(&rig, BUFFER + 1), -EMSGSIZE);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(rig_send_bytes(&rig, BUFFER), 0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, COUNT);
	rig_close(&rig);
}

/* 9000 bytes of MTU, and a buffer of less. */
TEST(test_no_buffer_is_shorter_than_a_segment)
{
	char text[512];

	assert_true(rig_refused("transport_driver {}\nresize { mtu = 9000B }\n"
				"sequenced_segments {}\nvirtual_circuit {}\n"
				"rts_cts { buffer = 4KiB }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "buffer"));
}

int main(void)
{
	rig_add(&an_auditor);
	return tests_run();
}
