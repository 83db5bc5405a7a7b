/* SPDX-License-Identifier: MIT */
/* Shared variables of a layer: what is written, what is only read, and what the layers above are
 * told. */
#include "plan/plan.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

enum { READS_THREE = 3, READS_SEVEN = 7 };

FAKE(reads_three,
     .shared = FAKE_SHARED({ "fact", NOPAL_READ_OPTIONAL, READS_THREE, "3: unknown" }));
FAKE(reads_seven,
     .shared = FAKE_SHARED({ "fact", NOPAL_READ_OPTIONAL, READS_SEVEN, "7: unknown" }));
FAKE(writes_one, .shared = FAKE_SHARED({ "fact", NOPAL_WRITE, 1, "known" }));

/* The `initial` of the fact as the microprotocol reads it at first. */
static int64_t read_by(const struct rig *rig, const char *name)
{
	return nopal_shared_get(rig_at(rig->opener.session, name), 0);
}

static void open_with(struct rig *rig, const char *parts)
{
	char config[256];

	rig_add(&reads_three);
	rig_add(&reads_seven);
	rig_add(&writes_one);
	snprintf(config, sizeof(config), "transport_driver {} fixed_size {} %s", parts);
	rig_open(rig, config, NULL);
}

TEST(test_what_nobody_writes_is_what_each_reader_takes_it_for)
{
	static const char *const orders[] = {
		"reads_three {} reads_seven {}",
		"reads_seven {} reads_three {}",
	};
	struct rig rig;
	int64_t value;

	for (unsigned i = 0; i < 2; i++) {
		open_with(&rig, orders[i]);
		assert_int_equal(read_by(&rig, "reads_three"), READS_THREE);
		assert_int_equal(read_by(&rig, "reads_seven"), READS_SEVEN);
		assert_false(nopal_session_shared(rig.opener.session, "fact", &value));
		rig_close(&rig);
	}
}

TEST(test_what_is_written_begins_as_its_writer_says)
{
	struct rig rig;

	open_with(&rig, "reads_three {} reads_seven {} writes_one {}");
	assert_int_equal(read_by(&rig, "reads_three"), 1);
	assert_int_equal(read_by(&rig, "reads_seven"), 1);
	nopal_shared_set(rig_at(rig.opener.session, "writes_one"), 0, 9);
	assert_int_equal(read_by(&rig, "reads_three"), 9);
	assert_int_equal(read_by(&rig, "reads_seven"), 9);
	assert_int_equal(rig_shared(rig.opener.session, "fact"), 9);
	rig_close(&rig);
}

/* A reader above does not hide the writer below. */
TEST(test_a_variable_is_found_where_it_is_written)
{
	struct rig rig;

	rig_add(&reads_three);
	rig_add(&writes_one);
	rig_open(&rig,
		 "layer \"upper\" {\n transport_driver {} fixed_size {} reads_three {}\n}\n"
		 "layer \"lower\" {\n transport_driver {} fixed_size {} writes_one {}\n}\n",
		 NULL);
	assert_int_equal(rig_shared(rig.opener.session, "fact"), 1);
	rig_close(&rig);
}

/* ------------------------------------------------- whether a flow is at rest */

#define STREAMS_ON(flow)                                                                           \
	"layer \"stream\" { multiplicity = per_stream\n"                                           \
	" transport_driver {} stream_end {} fixed_size {} round_robin {}\n}\n"                     \
	"layer \"flow\" {\n"                                                                       \
	" transport_driver {} virtual_circuit {} fixed_size {}\n"                                  \
	" sequenced_segments {} positive_ack {} retransmission_timer {} rtt_estimation {}\n"       \
	" retransmit {} " flow "\n}\n"

TEST(test_a_flow_tells_that_it_is_idle_where_somebody_knows)
{
	struct nopal_plan *with = rig_plan(STREAMS_ON("windowed_cc {} tcp_congestion {}"));
	struct nopal_plan *without = rig_plan(STREAMS_ON(""));
	const struct nopal_layer *flow = &with->layers[1];

	assert_int_not_equal(with->flow_idle, 0);
	assert_string_equal(flow->shared[with->flow_idle - 1].name, "app_limited");
	assert_true(flow->shared[with->flow_idle - 1].written);
	assert_int_equal(without->flow_idle, 0); /* retransmit only reads it */
	nopal_plan_unref(with);
	nopal_plan_unref(without);
}

/* -------------------------------------- what is missing and must still come */

#define LAYER(name, parts)                                                                         \
	"layer \"" name "\" {\n transport_driver {} sequenced_segments {} " parts "\n}\n"
#define SENDS_AGAIN                                                                                \
	"virtual_circuit {} fixed_size {} positive_ack {} retransmission_timer {} retransmit {}"

/* The uppermost layer's resize takes it for this. */
static int64_t need_at_the_top(const char *config)
{
	struct nopal_plan *plan = rig_plan(config);
	const struct nopal_layer *top = &plan->layers[0];
	int64_t need = -1;

	for (uint32_t i = 0; i < top->shared_count; i++)
		if (strcmp(top->shared[i].name, "reliability_unmet") == 0)
			need = top->shared[i].initial;
	nopal_plan_unref(plan);
	return need;
}

TEST(test_all_layers_above_one_that_sends_again_need_all)
{
	assert_int_equal(need_at_the_top(LAYER("top", "resize {}") LAYER("low", "fixed_size {}")),
			 0);
	assert_int_equal(need_at_the_top(LAYER("top", "resize {}") LAYER("low", SENDS_AGAIN)), 1);
	assert_int_equal(need_at_the_top(LAYER("top", "resize {}") LAYER("middle", "resize {}")
						 LAYER("low", SENDS_AGAIN)),
			 1);
}

TEST(test_above_what_is_passed_over_nothing_is_needed)
{
	assert_int_equal(need_at_the_top(LAYER("top", "resize {}") LAYER(
				 "middle", "resize {} lossy_fifo {}") LAYER("low", SENDS_AGAIN)),
			 0);
	assert_int_equal(need_at_the_top(LAYER("top", "resize {}") LAYER(
				 "low", SENDS_AGAIN " partial_reliability {}")),
			 0);
}

/* A message takes longer than any that is incomplete may be where nobody resends. */
TEST(test_a_slow_message_comes_up_two_layers)
{
	const struct rig_options slow = { .link = "rate 30kbit delay 50ms" };
	struct rig rig;

	rig_open(&rig,
		 LAYER("top", "resize {} reliable_fifo {}")
			 LAYER("low", SENDS_AGAIN " rtt_estimation {} windowed_cc {} "
						  "cubic_congestion {}"),
		 &slow);
	assert_int_equal(rig_send_bytes(&rig, 60000), 0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.length[0], 60000);
	assert_true(rig.acceptor.delivered_ns[0] > 15 * NOPAL_SECOND);
	rig_close(&rig);
}
