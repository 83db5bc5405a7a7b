/* SPDX-License-Identifier: MIT */
#include "engine/composite.h"
#include "support/one_flow.h"
#include "support/rig.h"
#include "support/test.h"

/* A reliable, numbered upper layer on a lower layer with a checksum. */
static const char STACK[] = "layer \"upper\" {\n"
			    "  transport_driver {}\n  resize {}\n"
			    "  sequenced_messages {}\n  lossy_fifo {}\n}\n"
			    "layer \"lower\" {\n"
			    "  transport_driver {}\n  fixed_size {}\n  checksum {}\n"
			    "  a_tap {}\n}\n";

TEST(test_a_message_goes_down_and_up_the_stack)
{
	struct rig rig;

	rig_open(&rig, STACK, NULL);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	assert_int_equal(rig_send_bytes(&rig, 5000), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[0], "hello");
	assert_int_equal(rig.acceptor.length[1], 5000);
	rig_close(&rig);
}

TEST(test_outcomes_travel_up)
{
	struct rig rig;

	rig_open(&rig, STACK, NULL);
	rig_send(&rig, "x");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(nopal__composite(rig.opener.session)->below->awake->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_a_layer_costs_no_header_of_its_own)
{
	struct nopal_plan *stack = rig_plan(STACK);

	/* kind, session id, message number, fragment, above's kind, checksum */
	assert_int_equal(nopal_plan_info(stack)->header_bytes, 1 + 4 + 4 + 2 + 1 + 4);
	nopal_plan_unref(stack);
}

/* A counter of the upper layer that runs fast: nearly as far at once as four bytes tell. */
enum { RUNNER_COUNT };
enum { RUNNER_BYTES = 4, RUNNER_TURNS = 9 };
static const uint64_t RUNNER_STEP = (UINT64_C(1) << 31) - 9;

struct runner {
	uint64_t count;
};

static uint64_t runner_read;

static enum nopal_verdict runner_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	struct runner *self = nopal_state(at);

	self->count += RUNNER_STEP;
	nopal_set(at, message, RUNNER_COUNT, self->count);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict runner_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	runner_read = nopal_get(at, segment, RUNNER_COUNT);
	nopal_serial_seen(at, RUNNER_COUNT, runner_read);
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol runner = {
	.abi = NOPAL_ABI,
	.name = "runner",
	.family = "fake",
	.summary = "a counter that runs fast",
	.attributes =
		(const struct nopal_attribute[]){ [RUNNER_COUNT] = { .name = "runner_count",
								     .access = NOPAL_WRITE,
								     .wire_bytes = RUNNER_BYTES,
								     .kinds = NOPAL_DATA,
								     .serial = true },
						  { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_USER, runner_on_from_user,
							     .before = "message_segments"),
						    NOPAL_ON(SEGMENT_FROM_NET, runner_on_from_net),
						    { 0 } },
	.state_size = sizeof(struct runner),
};

TEST(test_an_upper_layers_counter_outruns_its_bytes)
{
	struct rig rig;

	rig_add(&runner);
	rig_open(&rig,
		 "layer \"upper\" {\n  transport_driver {}\n  whole_messages {}\n"
		 "  runner {}\n}\n"
		 "layer \"lower\" {\n  transport_driver {}\n"
		 "  fixed_size {}\n}\n",
		 NULL);
	for (uint64_t i = 1; i <= RUNNER_TURNS; i++) {
		assert_int_equal(rig_send(&rig, "x"), 0);
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(runner_read, i * RUNNER_STEP);
	}
	rig_close(&rig);
}

TEST(test_the_stack_closes_from_the_top)
{
	struct rig rig;

	rig_open(&rig, STACK, NULL);
	rig_send(&rig, "x");
	nopal_session_close(rig.opener.session);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

#define UPPER                                                                                      \
	"layer \"upper\" {\n"                                                                      \
	"  transport_driver {}\n  resize {}\n"                                                     \
	"  sequenced_segments {}\n  reliable_fifo {}\n}\n"
#define LOWER                                                                                      \
	"layer \"lower\" {\n"                                                                      \
	"  transport_driver {}\n  virtual_circuit {}\n  fixed_size {}\n"                           \
	"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n"
static const char SHORT_WAY[] = UPPER LOWER "}\n";
static const char LONG_WAY[] = UPPER LOWER "  a_tap {}\n}\n"; /* it looks */

static struct nopal_awake *below(const struct rig_side *side)
{
	return rig_awake(&nopal__composite(side->session)->below->session);
}

/* ------------------------------------------ what one layer tells the next */

/* Bytes wait for the right to be sent, two layers above the one that sends. */
static const char THREE[] =
	"layer \"top\" {\n"
	"  transport_driver {}\n  fixed_size {}\n"
	"  rts_cts { buffer = 16KiB  initial = 1KiB  ahead = 1KiB }\n}\n"
	"layer \"middle\" {\n"
	"  transport_driver {}\n  resize {}\n"
	"  sequenced_segments {}\n  rts_cts { initial = 1KiB }\n}\n"
	"layer \"lowest\" {\n"
	"  transport_driver {}\n  virtual_circuit {}\n  fixed_size {}\n"
	"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n"
	"  reliable_fifo {}\n}\n";

TEST(test_each_of_three_layers_joined_its_own_control)
{
	enum { COUNT = 40, BYTES = 500 };
	struct rig rig;

	rig_open(&rig, THREE, NULL);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(rig_send_bytes(&rig, BYTES), 0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, COUNT);
	assert_int_equal(rig.acceptor.delivered_bytes, COUNT * BYTES);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], COUNT);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_each_layer_adds_a_byte_to_the_lowest_header)
{
	struct nopal_plan *plan = rig_plan(THREE);

	/* kind, session id; fragment and number of the middle, kinds of both above, packet number
	 * and segment number */
	assert_int_equal(nopal_plan_info(plan)->header_bytes, 1 + 4 + (2 + 4) + 2 + (4 + 4));
	nopal_plan_unref(plan);
}

/* A peer that says that a message is a segment of another layer's kind. */
static uint8_t said_kind;

static enum nopal_verdict liar_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	segment->attribute[nopal__composite(at.session)->layer->above_kind_slot] = said_kind;
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol liar = {
	.abi = NOPAL_ABI,
	.name = "liar",
	.family = "fake",
	.summary = "it lies on what the layer above has sent",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_FROM_NET, liar_on_from_net, .kinds = NOPAL_DATA), { 0 } },
};

TEST(test_a_kind_of_another_layer_does_not_rise)
{
	struct rig rig;

	rig_add(&liar);
	rig_open(&rig, UPPER LOWER "  liar {}\n}\n", NULL);
	said_kind = NOPAL_KIND_DATA;
	rig_send(&rig, "data");
	rig_run(&rig, NOPAL_SECOND);
	said_kind = rig_part(rig.acceptor.session, "positive_ack")->kind[0];
	assert_int_not_equal(said_kind, NOPAL_KIND_DATA);
	rig_send(&rig, "no ack");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(below(&rig.acceptor)->counters.rx_malformed, 1);
	rig_close(&rig);
}

/* ------------------------------------- where nobody below looks at messages */

/* The lower layer's segments of three messages of one, four and one segments, under way and then
 * there. */
static void send_three(struct rig *rig, bool messages)
{
	const struct nopal_awake *awake = below(&rig->opener);

	rig_send(rig, "one");
	rig_send_bytes(rig, 5000);
	rig_send(rig, "three");
	assert_int_equal(awake->segments.alive, 6);
	assert_int_equal(awake->messages.alive, messages ? 6 : 0);
	assert_int_equal(awake->unfinished, 6);
	assert_int_equal(awake->unfinished_bytes, 3 + 5000 + 5);
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->acceptor.delivered, 3);
	assert_string_equal(rig->acceptor.text[0], "one");
	assert_int_equal(rig->acceptor.length[1], 5000);
	assert_string_equal(rig->acceptor.text[2], "three");
}

static void see_counted(const struct rig *rig)
{
	const struct nopal_awake *there = below(&rig->acceptor), *here = below(&rig->opener);

	assert_int_equal(rig->opener.outcomes[NOPAL_OUTCOME_DELIVERED], 3);
	assert_int_equal(here->segments.alive, 0);
	assert_int_equal(here->unfinished, 0);
	assert_int_equal(here->unfinished_bytes, 0);
	assert_int_equal(here->bytes_held, there->bytes_held);
	assert_int_equal(here->counters.messages_sent, 6);
	assert_int_equal(here->counters.bytes_sent, 3 + 5000 + 5);
	assert_int_equal(here->counters.messages_arrived, 6);
	assert_int_equal(there->counters.messages_delivered, 6);
	assert_int_equal(there->counters.bytes_delivered, 3 + 5000 + 5);
}

TEST(test_whole_messages_go_through_as_segments)
{
	struct rig rig;

	rig_open(&rig, SHORT_WAY, NULL);
	send_three(&rig, false);
	see_counted(&rig);
	assert_true(below(&rig.acceptor)->numbered < 2 * 6);
	rig_close(&rig);
}

TEST(test_messages_that_are_looked_at_are_made)
{
	struct rig rig;

	rig_open(&rig, LONG_WAY, NULL);
	send_three(&rig, true);
	see_counted(&rig);
	assert_true(below(&rig.acceptor)->numbered >= 2 * 6);
	rig_close(&rig);
}

static uint32_t looked;

static enum nopal_verdict looks(struct nopal_at at, struct nopal_message *message)
{
	(void)at;
	(void)message;
	looked++;
	return NOPAL_CONTINUE;
}

static void bind_below(struct rig_side *side, const struct nopal_binding *binding)
{
	struct nopal_session *lower = &nopal__composite(side->session)->below->session;

	assert_int_equal(nopal_bind(rig_at(lower, "fixed_size"), binding), 0);
}

TEST(test_who_begins_to_look_sees_messages)
{
	static const struct nopal_binding done = NOPAL_ON(MSG_DONE, looks);
	static const struct nopal_binding consumed = NOPAL_ON(MSG_CONSUMED, looks);
	struct rig rig;

	looked = 0;
	rig_begin(&rig, SHORT_WAY);
	bind_below(&rig.opener, &done);
	bind_below(&rig.acceptor, &consumed);
	rig_send(&rig, "seen");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(looked, 2);
	rig_close(&rig);
}

/* `asker` raises an event of an arriving segment after the segment's handlers have run, and
 * later. */
static uint32_t asked;
static uint64_t asked_of;

static enum nopal_verdict asker_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	asked_of = segment->number;
	assert_null(nopal_segment_find(at.session, segment->handle));
	nopal_queue_SEGMENT_LOST(at.session, segment);
	nopal_delay_SEGMENT_LOST(at.session, segment, NOPAL_MILLISECOND);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict asker_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	assert_int_equal(segment->number, asked_of);
	asked++;
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol asker = {
	.abi = NOPAL_ABI,
	.name = "asker",
	.family = "fake",
	.summary = "it asks for more of what arrived",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_FROM_NET, asker_on_from_net),
						    NOPAL_ON(SEGMENT_LOST, asker_on_lost),
						    { 0 } },
};

TEST(test_what_rose_may_be_queued_and_not_kept)
{
	struct rig rig;

	rig_add(&asker);
	asked = 0;
	rig_open(&rig,
		 "layer \"upper\" {\n"
		 "  transport_driver {}\n  fixed_size {}\n  asker {}\n}\n" LOWER "}\n",
		 NULL);
	rig_send(&rig, "one");
	rig_send(&rig, "two");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(asked, 2);
	rig_close(&rig);
}

/* Resends and urgency are of the segment that carries it. */
TEST(test_the_short_way_is_lossless_too)
{
	const struct rig_options options = { .link = "delay 10ms loss 30%", .seed = 2 };
	const struct nopal_property urgent = { NOPAL_URGENT, 1 };
	struct rig rig;

	rig_open(&rig, UPPER LOWER "}\n", &options);
	for (uint32_t i = 0; i < 50; i++)
		rig_send_bytes(&rig, 2000);
	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = "x",
								      .length = 1,
								      .properties = &urgent,
								      .property_count = 1 }),
			 0);
	assert_int_equal(below(&rig.opener)->messages.alive, 0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, 51);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 51);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

/* ------------------------------------------------ what left is the flow's alone */

static const char IN_TURNS[] = "layer \"stream\" { multiplicity = per_stream\n" STREAM
			       " round_robin {}\n}\nlayer \"flow\" {\n" FLOW "}\n";

static const struct nopal_composite *flow_of(const struct end *end)
{
	return nopal__composite(end->session)->below;
}

static void open_two(void)
{
	pair_open(IN_TURNS, "delay 10ms");
	for (uint32_t i = 0; i < 2; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(100 * NOPAL_MILLISECOND);
}

/* Five segments of the first stream are under way, and nothing of it waits for them but their
 * message. */
static void send_five(void)
{
	static const uint8_t bytes[7000];
	const struct nopal_awake *stream, *flow;

	pair_change("delay 10ms loss 100%");
	assert_int_equal(nopal_send(pair.here[0].session, bytes, sizeof(bytes), 0), 0);
	stream = nopal__composite(pair.here[0].session)->awake;
	flow = flow_of(&pair.here[0])->awake;
	assert_int_equal(stream->segments.alive, 0);
	assert_int_equal(stream->messages.alive, 1);
	assert_int_equal(stream->unfinished, 1);
	assert_int_equal(flow->segments.alive, 5);
	assert_int_equal(flow->messages.alive, 0);
	assert_int_equal(flow->unfinished, 5);
}

TEST(test_segments_that_left_are_the_flows)
{
	open_two();
	send_five();
	flow_pair_run(100 * NOPAL_MILLISECOND);
	assert_int_equal(pair.here[0].arrived, 1);
	pair_change("delay 10ms");
	flow_pair_run(5 * NOPAL_SECOND);
	assert_int_equal(pair.there[0].bytes, 5 + 7000);
	assert_int_equal(pair.here[0].arrived, 2);
	assert_null(nopal__composite(pair.here[0].session)->awake);
	assert_null(flow_of(&pair.here[0])->awake);
	pair_close();
}

/* The flow keeps them, and does not miss whom they were for. */
TEST(test_a_stream_ends_before_what_left)
{
	open_two();
	send_five();
	nopal_session_abort(pair.here[0].session, "enough");
	flow_pair_run(100 * NOPAL_MILLISECOND);
	assert_int_equal(pair.here[0].ended, 1);
	assert_true(flow_of(&pair.here[1])->awake->unfinished >= 5);
	pair_change("delay 10ms");
	say(1, "more");
	flow_pair_run(20 * NOPAL_SECOND);
	assert_string_equal(pair.there[1].text, "more");
	assert_int_equal(pair.here[0].arrived, 1);
	assert_int_equal(pair.here[1].arrived, 2);
	assert_null(flow_of(&pair.here[1])->awake);
	pair_close();
}

static enum nopal_verdict waiter_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol waiter = {
	.abi = NOPAL_ABI,
	.name = "waiter",
	.family = "fake",
	.summary = "it says when a segment is done",
	.holds =
		(const struct nopal_hold[]){
			{ "the waiter says so", NOPAL_DONE, NOPAL_DATA, false }, { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_RECEIVED, waiter_on_received),
						    { 0 } },
};

/* By config: does the upper layer let go of what left? */
static bool lets_go(const char *config)
{
	struct nopal_plan *plan = rig_plan(config);
	bool good = plan->layers[0].lets_go;

	nopal_plan_unref(plan);
	return good;
}

TEST(test_who_waits_for_what_left_keeps_it)
{
#define ABOVE(parts)                                                                               \
	"layer \"upper\" {\n  transport_driver {}\n  resize {}\n"                                  \
	"  sequenced_segments {}\n" parts "}\n" LOWER "}\n"
	assert_true(lets_go(ABOVE("")));
	rig_add(&waiter);
	assert_false(lets_go(ABOVE("waiter {}\n")));		       /* done */
	assert_false(lets_go(ABOVE("a_tap {}\n")));		       /* SEGMENT_DONE */
	assert_false(lets_go(ABOVE("forward_error_correction {}\n"))); /* deallocate */
#undef ABOVE
}
