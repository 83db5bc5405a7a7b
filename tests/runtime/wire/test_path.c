/* SPDX-License-Identifier: MIT */
#include "engine/turn.h"
#include "support/segments.h"
#include "support/test.h"

/* The least that a path takes, and what an Ethernet does, in UDP payload. */
enum { FLOOR = 1200 - 28, MAX = 1500 - 28 };

/* By enum nopal_ecn, how many data segments arrived anywhere. */
static uint32_t arrived[4];

static enum nopal_verdict stub_path_on_data(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	arrived[segment->ecn]++;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding stub_path_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, stub_path_on_data),
	{ 0 },
};

/* A role path_limit that a test speaks for. */
static const struct nopal_microprotocol stub_path = {
	.abi = NOPAL_ABI,
	.name = "stub_path",
	.family = "base",
	.summary = "a path that a test knows",
	.provides = (const struct nopal_role[]){ { "path_limit", true }, { 0 } },
	.bindings = stub_path_bindings,
};

#define RELIABLE                                                                                   \
	"virtual_circuit {}\nsequenced_segments {}\npositive_ack {} retransmission_timer {}\n"     \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\na_tap {}\n"

static const char PLAIN[] = "transport_driver {}\nresize {}\n" RELIABLE;
static const char ASKS[] = "transport_driver {}\nresize {}\nstub_path {}\n" RELIABLE;
static const char WHOLE[] = "transport_driver {}\nfixed_size {}\nstub_path {}\n" RELIABLE;
static const char PROTECTED[] = "transport_driver {}\nresize {}\nstub_path {}\n"
				"forward_error_correction {}\nchecksum {}\n" RELIABLE;
static const char GATHERED[] =
	"transport_driver {}\ncoalesce {}\nstub_path {}\nvirtual_circuit {}\n"
	"sequenced_messages {}\nsequenced_segments {}\npositive_ack {} retransmission_timer {}\n"
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n";
static const char STACK[] = "layer \"upper\" {\n"
			    "  transport_driver {}\n  resize {}\n"
			    "  sequenced_messages {}\n  lossy_fifo {}\n}\n"
			    "layer \"lower\" {\n"
			    "  transport_driver {}\n  fixed_size {}\n  stub_path {}\n}\n";

static struct rig rig;
static struct tapped tapped;

static void begin(const char *config, const char *link)
{
	rig_add(&stub_path);
	rig_open(&rig, config, &(struct rig_options){ .link = link });
	tapped.count = 0;
	nopal_sim_tap(rig.world, tapped_note, &tapped);
}

static void limit(uint32_t datagram_bytes)
{
	rig_awake(rig.opener.session);
	nopal_path_limit_set(rig.opener.session, datagram_bytes);
}

/* The longest datagram that left for the acceptor, and forgets what left. */
static uint32_t longest(void)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < tapped.count; i++)
		if (tapped.to_acceptor[i] && tapped.length[i] > bytes)
			bytes = tapped.length[i];
	tapped.count = 0;
	return bytes;
}

TEST(test_without_the_role_the_path_is_the_plans)
{
	uint32_t before;

	begin(PLAIN, NULL);
	before = nopal_body_limit(rig.opener.session);
	limit(FLOOR);
	assert_int_equal(nopal_body_limit(rig.opener.session), before);
	assert_int_equal(nopal_path_limit(rig.opener.session), MAX);
	assert_int_equal(rig.plan->path_floor, MAX);
	rig_close(&rig);
}

TEST(test_a_limit_lies_between_the_floor_and_the_plans)
{
	struct nopal_at acks;
	struct nopal_session *session;
	uint32_t max;

	begin(ASKS, NULL);
	session = rig.opener.session;
	acks = rig_at(session, "positive_ack");
	max = nopal_body_limit(session);
	assert_int_equal(nopal_path_limit(session), MAX);
	limit(0);
	assert_int_equal(nopal_path_limit(session), FLOOR);
	assert_int_equal(nopal_body_limit(session), max - (MAX - FLOOR));
	assert_int_equal(nopal_body_max(session), max);
	assert_int_equal(nopal_control_limit(acks, 0), FLOOR - 1 - NOPAL_ID_BYTES);
	limit(1300);
	assert_int_equal(nopal_path_limit(session), 1300);
	assert_int_equal(nopal_body_limit(session), max - (MAX - 1300));
	limit(70000);
	assert_int_equal(nopal_path_limit(session), MAX);
	assert_int_equal(nopal_path_limit(rig.acceptor.session), MAX);
	rig_close(&rig);
}

TEST(test_a_narrow_composition_has_no_floor_of_its_own)
{
	static const char *const sets[] = { "resize.mtu=1000B", NULL };

	rig_add(&stub_path);
	rig_open(&rig, ASKS, &(struct rig_options){ .sets = sets });
	limit(0);
	assert_int_equal(nopal_path_limit(rig.opener.session), 1000 - 28);
	rig_close(&rig);
}

TEST(test_a_limit_outlives_rest)
{
	begin(ASKS, NULL);
	limit(1280);
	rig_send(&rig, "x");
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_null(nopal__composite(rig.opener.session)->awake);
	rig_awake(rig.opener.session);
	assert_int_equal(nopal_path_limit(rig.opener.session), 1280);
	rig_close(&rig);
}

/* Messages of which a longest one is many segments; the limit moves while they are under way. */
static void swing(const char *config, uint64_t message_bytes)
{
	static const uint32_t limits[] = { FLOOR, MAX, 1280, 1300, MAX };

	begin(config, "rate 20mbit delay 10ms loss 3%");
	for (unsigned i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		limit(limits[i]);
		for (int m = 0; m < 10; m++)
			assert_int_equal(rig_send_bytes(&rig, message_bytes), 0);
		rig_run(&rig, 20 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 50);
	assert_int_equal(rig.acceptor.delivered_bytes, 50 * message_bytes);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 50);
}

TEST(test_segments_are_cut_by_the_limit_of_their_time)
{
	swing(ASKS, 10000);
	longest();
	limit(1234);
	rig_send_bytes(&rig, 50000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(longest(), 1234);
	limit(MAX);
	rig_send_bytes(&rig, 50000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(longest(), MAX);
	rig_close(&rig);
}

TEST(test_a_message_that_is_a_segment_may_exceed_it)
{
	begin(WHOLE, NULL);
	limit(0);
	assert_int_equal(nopal_plan_info(rig.plan)->message_limit,
			 nopal_body_max(rig.opener.session));
	rig_send_bytes(&rig, nopal_plan_info(rig.plan)->message_limit);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

TEST(test_redundancy_goes_on_while_the_limit_moves)
{
	uint8_t parity;

	swing(PROTECTED, 10000);
	parity = rig_part(rig.opener.session, "forward_error_correction")->kind[0];
	tapped.count = 0;
	limit(1250);
	rig_send_bytes(&rig, 20000);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(tapped_count(&tapped, parity) >= 4);
	assert_in_range(longest(), 1240, 1250);
	rig_close(&rig);
}

TEST(test_gathered_messages_fill_what_there_is)
{
	bool outermost;

	swing(GATHERED, 600);
	for (int i = 0; i < 2; i++) {
		longest();
		limit(i ? FLOOR : MAX);
		outermost = nopal__turn_begin(rig.world);
		for (int m = 0; m < 30; m++)
			rig_send_bytes(&rig, 100);
		nopal__turn_end(rig.world, outermost);
		rig_run(&rig, NOPAL_SECOND);
		if (i)
			assert_in_range(longest(), FLOOR - 120, FLOOR);
		else
			assert_in_range(longest(), MAX - 120, MAX);
	}
	rig_close(&rig);
}

/* A segment that was cut before cannot be cut again: it leaves in fragments of IP. */
TEST(test_what_was_cut_longer_still_arrives)
{
	struct nopal_link_counters counters;

	begin(ASKS, "rate 10mbit delay 10ms");
	rig_send_bytes(&rig, 200000);
	rig_change(&rig, "rate 10mbit delay 10ms mtu 1300");
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 0);
	limit(1300 - 28);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.delivered_bytes, 200000);
	assert_true(nopal_sim_link_counters(rig.world, 0, 1, &counters));
	assert_true(counters.delivered_bytes > 200000);
	rig_close(&rig);
}

/* Of a datagram that is longer nothing else may depend: the path drops it. */
TEST(test_what_is_too_long_travels_alone)
{
	struct nopal_session *session;
	struct nopal_at acks;
	uint8_t *bytes;
	bool outermost;

	begin(ASKS, "delay 10ms mtu 1300");
	limit(1300 - 28);
	session = rig.opener.session;
	acks = rig_at(session, "positive_ack");
	outermost = nopal__turn_begin(rig.world);
	nopal__touch(nopal__composite(session));
	nopal_control_send(session, nopal_control_new(acks, 0, 1400, &bytes), 1400);
	rig_send_bytes(&rig, 5000);
	nopal__turn_end(rig.world, outermost);
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

TEST(test_marks_come_with_segments)
{
	begin(ASKS, "delay 10ms");
	rig_change(&rig, "delay 10ms loss mask 0011 ecn");
	memset(arrived, 0, sizeof(arrived));
	nopal_path_ecn_set(rig.opener.session, NOPAL_ECT_0);
	for (int i = 0; i < 4; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(arrived[NOPAL_ECT_0], 2);
	assert_int_equal(arrived[NOPAL_CE], 2);
	nopal_path_ecn_set(rig.opener.session, NOPAL_NOT_ECT);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(arrived[NOPAL_NOT_ECT], 1);
	rig_close(&rig);
}

TEST(test_a_stack_has_the_path_of_its_lowest_layer)
{
	struct nopal_session *bottom;

	begin(STACK, NULL);
	limit(FLOOR);
	assert_int_equal(nopal_path_limit(rig.opener.session), MAX);
	bottom = &nopal__composite(rig.opener.session)->below->session;
	nopal_path_limit_set(bottom, FLOOR);
	assert_int_equal(nopal_path_limit(rig.opener.session), FLOOR);
	longest();
	rig_send_bytes(&rig, 5000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_in_range(longest(), FLOOR - 20, FLOOR);
	rig_close(&rig);
}
