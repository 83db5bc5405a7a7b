/* SPDX-License-Identifier: MIT */
/* Segments of an upper layer fit the layer below it: data, what is wrapped around them, and
 * control; and each segment is there once. */
#include "engine/composite.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

/* Redundancy above a layer that cuts nothing. */
static const char CODED[] = "layer \"upper\" {\n"
			    "  transport_driver {}\n  fixed_size {}\n  sequenced_segments {}\n"
			    "  forward_error_correction {}\n}\n"
			    "layer \"lower\" {\n"
			    "  transport_driver {}\n  fixed_size {}\n  sequenced_segments {}\n"
			    "  positive_ack {} retransmission_timer {}\n  checksum {}\n}\n";

TEST(test_an_upper_layer_codes_over_its_own_fields)
{
	struct nopal_plan *plan = rig_plan(CODED);
	const struct nopal_header *data = &plan->kinds[NOPAL_KIND_DATA].header;

	/* segment number, block and place in it */
	assert_int_equal(plan->layers[0].coded.bytes, 4 + 2 + 1);
	/* all but the packet number */
	assert_int_equal(plan->layers[1].coded.bytes, data->bytes - 4);
	nopal_plan_unref(plan);
}

TEST(test_a_wrapped_segment_fits_the_layer_below)
{
	struct nopal_plan *plan = rig_plan(CODED);
	const struct nopal_layer *upper = &plan->layers[0];
	uint32_t around = 0;

	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
		around += plan->kinds[code].around;
	assert_int_not_equal(around, 0);
	assert_int_equal(upper->body_bytes + upper->coded.bytes + around, upper->below_takes);
	assert_int_equal(upper->below_takes, upper[1].body_bytes);
	assert_int_equal(nopal_plan_info(plan)->body_bytes, upper->body_bytes);
	nopal_plan_unref(plan);
}

TEST(test_parity_of_the_longest_segments_arrives)
{
	const struct rig_options losing = { .link = "delay 10ms loss mask 01" };
	struct rig rig;

	rig_open(&rig, CODED, &losing);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(rig_send_bytes(&rig, nopal_plan_info(rig.plan)->body_bytes), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 4);
	assert_int_equal(rig_awake(rig.acceptor.session)->counters.segments_rebuilt, 1);
	rig_close(&rig);
}

static uint64_t all_but_two(const void *parameters, uint32_t body_bytes)
{
	(void)parameters;
	return body_bytes - 2;
}

FAKE(marks_messages, .provides = FAKE_ROLES({ "message_segments", true }),
     .message_limit = all_but_two);

TEST(test_a_layer_below_that_adds_to_messages_takes_less)
{
	struct nopal_plan *plan;

	rig_add(&marks_messages);
	plan = rig_plan("layer \"upper\" {\n  transport_driver {}\n"
			"  fixed_size {}\n}\n"
			"layer \"lower\" {\n  transport_driver {}\n"
			"  marks_messages {}\n}\n");
	assert_int_equal(plan->layers[0].body_bytes, plan->layers[1].body_bytes - 2);
	nopal_plan_unref(plan);
}

TEST(test_control_of_an_upper_layer_fits_the_layer_below)
{
	struct nopal_session *session;
	struct nopal_at at;
	struct rig rig;
	uint8_t *bytes;
	uint32_t limit;

	rig_open(&rig, CODED, NULL);
	session = rig.opener.session;
	at = rig_at(session, "forward_error_correction");
	limit = nopal_control_limit(at, 0);
	assert_int_equal(limit, nopal__composite(session)->layer[1].body_bytes);
	nopal_control_send(session, nopal_control_new(at, 0, limit, &bytes), limit);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* Both layers send again; what the lower one has not brought yet, the upper one does not give it
 * once more. */
TEST(test_nothing_stands_in_line_behind_itself)
{
	enum { COUNT = 10 };
	const struct rig_options options = { .link = "delay 10ms" };
	const struct nopal_awake *below;
	struct rig rig;

	rig_open(
		&rig,
		"layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
		"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n"
		"  rtt_estimation {}\n}\n"
		"layer \"lower\" {\n  transport_driver {}\n"
		"  virtual_circuit {}\n  fixed_size {}\n"
		"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n"
		"  retransmit { attempts = 100 }\n}\n",
		&options);
	rig_change(&rig, "loss 100%");
	for (uint32_t i = 0; i < COUNT; i++)
		rig_send_bytes(&rig, 100);
	rig_run(&rig, 20 * NOPAL_SECOND);
	below = rig_awake(&nopal__composite(rig.opener.session)->below->session);
	assert_int_equal(below->unfinished, COUNT);
	assert_true(rig_awake(rig.opener.session)->counters.segments_timeout > 0);
	rig_change(&rig, "delay 10ms");
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, COUNT);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], COUNT);
	rig_close(&rig);
}

/* Where the lower layer cannot tell what becomes of it, it may leave at once. */
TEST(test_what_left_for_good_is_sent_again)
{
	const struct rig_options losing = { .link = "delay 10ms loss mask 0111" };
	struct rig rig;

	rig_open(
		&rig,
		"layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
		"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n"
		"  rtt_estimation {}\n}\n"
		"layer \"lower\" {\n  transport_driver {}\n  fixed_size {}\n}\n",
		&losing);
	rig_send_bytes(&rig, 100);
	rig_send_bytes(&rig, 100);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	rig_close(&rig);
}
