/* SPDX-License-Identifier: MIT */
/* test_flow_piggyback -- windowed_flow's edge on data, between two sessions: it replaces windows,
 * is rebuilt as it left, and its loss stops nobody. */
#include "plan/plan.h"
#include "support/segments.h"
#include "support/test.h"

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"virtual_circuit {}\na_tap {}\n"
#define FLOW "windowed_flow { buffer = 32KiB  initial = 8  piggyback = "
/* Nobody is ever blocked: then there would be no data to ride on. */
#define WIDE "windowed_flow { buffer = 128KiB  initial = 64  piggyback = "
#define RELIABLY                                                                                   \
	"positive_ack { selective = on  piggyback = off } retransmission_timer {}\n"               \
	"rtt_estimation {}\nretransmit {}\nreliable_fifo {}\n"

/* The number and the edge of what left the opener. */
enum { LEFT = 1024 };
static struct {
	uint64_t edge;
	bool left;
} left[LEFT];
static uint32_t compared;

static enum nopal_verdict a_witness_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t number = nopal_get(at, segment, 0) % LEFT;

	if (nopal_session_is_opener(at.session) && segment->transmissions == 1) {
		left[number].edge = nopal_get(at, segment, 1);
		left[number].left = true;
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict a_witness_on_arrival(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t number = nopal_get(at, segment, 0) % LEFT;

	if (nopal_session_is_opener(at.session))
		return NOPAL_CONTINUE;
	compared++;
	assert_true(left[number].left);
	assert_int_equal(nopal_get(at, segment, 1), left[number].edge);
	return NOPAL_CONTINUE;
}

static const struct nopal_binding a_witness_bindings[] = {
	NOPAL_ON(SEND_SEGMENT, a_witness_on_send, .after = "flow_control"),
	NOPAL_ON(SEGMENT_FROM_NET, a_witness_on_arrival),
	{ 0 },
};

static const struct nopal_microprotocol a_witness = {
	.abi = NOPAL_ABI,
	.name = "a_witness",
	.family = "check",
	.summary = "compares what rides on data",
	.bindings = a_witness_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.attributes =
		(const struct nopal_attribute[]){
			{ .name = "segment_number", .access = NOPAL_READ },
			{ .name = "flow_edge", .access = NOPAL_READ },
			{ 0 } },
};

/* Both sides send, ten messages every 10 ms. */
static void both_ways(struct rig *rig, uint32_t count)
{
	static const uint8_t bytes[1000];
	uint32_t sent = 0;

	while (rig->opener.delivered < count || rig->acceptor.delivered < count) {
		for (int i = 0; i < 10 && sent < count; i++, sent++) {
			rig_send_bytes(rig, sizeof(bytes));
			nopal_send(rig->acceptor.session, bytes, sizeof(bytes), 0);
		}
		rig_run(rig, 10 * NOPAL_MILLISECOND);
		assert_true(nopal_world_now(rig->world) < 600 * NOPAL_SECOND);
	}
}

static uint64_t control_of(const char *config)
{
	struct rig rig;
	uint64_t control;

	rig_open(&rig, config, &(struct rig_options){ .link = "rate 10mbit delay 10ms" });
	both_ways(&rig, 1000);
	control = nopal_session_counters(rig.opener.session)->control_out;
	rig_close(&rig);
	return control;
}

TEST(test_few_windows_are_left)
{
	uint64_t windows = control_of(BASE WIDE "off }\n");

	assert_true(windows > 20);
	assert_true(control_of(BASE WIDE "on }\n") < windows / 4);
}

TEST(test_an_edge_is_rebuilt_as_it_left)
{
	struct rig rig;

	memset(left, 0, sizeof(left));
	compared = 0;
	rig_open(&rig,
		 BASE FLOW "on }\na_witness {}\n"
			   "forward_error_correction { k = 4  n = 5 }\n",
		 NULL);
	rig_change(&rig, "delay 10ms loss 20%");
	for (int i = 0; i < 100; i++) {
		nopal_send(rig.acceptor.session, "y", 1, 0);
		for (int j = 0; j < 3; j++)
			rig_send(&rig, "x");
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	assert_true(nopal_session_counters(rig.acceptor.session)->segments_rebuilt > 20);
	assert_true(compared > 240);
	rig_close(&rig);
}

TEST(test_lost_edges_stop_nobody)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig rig;

		rig_open(&rig, BASE FLOW "on }\na_witness {}\n" RELIABLY,
			 &(struct rig_options){ .link = "rate 20mbit delay 5ms 4ms loss 30% "
							"reorder 20% duplicate 10%",
						.seed = seed });
		both_ways(&rig, 500);
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		rig_close(&rig);
	}
}

TEST(test_both_must_want_it)
{
	struct nopal_plan *off = rig_plan(BASE FLOW "off }\n");
	struct nopal_plan *on = rig_plan(BASE FLOW "on }\n");

	assert_int_equal(nopal_plan_info(on)->header_bytes, nopal_plan_info(off)->header_bytes + 4);
	assert_true(nopal_plan_info(on)->fingerprint != nopal_plan_info(off)->fingerprint);
	nopal_plan_unref(off);
	nopal_plan_unref(on);
}

int main(void)
{
	rig_add(&a_witness);
	return tests_run();
}
