/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "support/segments.h"
#include "support/test.h"

#define MS NOPAL_MILLISECOND

/* A timer fires at most so late. */
enum { TICK_NS = 2000 };

#define RELIABLE                                                                                   \
	"transport_driver {}\nresize {}\nsequenced_segments {}\n"                                  \
	"positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"              \
	"rtt_estimation { timeout_min = 50ms }\nretransmit {}\n"                                   \
	"partial_reliability {}\ncheck_holds {}\na_tap {}\na_watch {}\n"
static const char UNORDERED[] = RELIABLE;
static const char ORDERED[] = RELIABLE "reliable_fifo {}\ncheck_fifo {}\n";
/* Where acks tell the floor alone. */
static const char CUMULATIVE[] =
	"transport_driver {}\nresize {}\nsequenced_segments {}\n"
	"positive_ack {} retransmission_timer {}\nduplicate_ack {}\nretransmit {}\n"
	"partial_reliability {}\na_tap {}\na_watch {}\nreliable_fifo {}\n"
	"virtual_circuit {}\nrtt_estimation {}\n";

static struct rig rig;

/* ------------------------------------------------- nothing leaves too late */

static uint32_t watched;

static enum nopal_verdict watch_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	int64_t expires_ns = (int64_t)nopal_get(at, segment, 0);
	uint64_t max = nopal_get(at, segment, 1);

	if (expires_ns == NOPAL_NEVER && !max)
		return NOPAL_CONTINUE;
	watched++;
	assert_true(expires_ns == NOPAL_NEVER || at.session->now_ns <= expires_ns + TICK_NS);
	assert_true(!max || segment->transmissions <= max);
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol a_watch = {
	.abi = NOPAL_ABI,
	.name = "a_watch",
	.family = "check",
	.summary = "looks at what leaves",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.attributes =
		(const struct nopal_attribute[]){ { .name = "expires_ns", .access = NOPAL_READ },
						  { .name = "attempts", .access = NOPAL_PROPERTY },
						  { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEND_SEGMENT, watch_on_send), { 0 } },
};

/* ------------------------------------------------------------------ sending */

static void open_with(const char *config, const char *link)
{
	rig_add(&a_watch);
	rig_open(&rig, config, &(struct rig_options){ .link = link });
}

static int send_with(const char *text, size_t length, const char *name, uint64_t value)
{
	static uint8_t bytes[20000];
	const struct nopal_property property = { nopal_property(rig.plan, name), value };

	memset(bytes, 0, sizeof(bytes));
	strcpy((char *)bytes, text);
	return nopal_send_message(rig.opener.session,
				  &(struct nopal_outgoing){ .bytes = bytes,
							    .length = length,
							    .cookie = rig.cookie++,
							    .properties = &property,
							    .property_count = 1 });
}

static int send_for(const char *text, int64_t deadline_ns)
{
	return send_with(text, strlen(text), "deadline", (uint64_t)deadline_ns);
}

/* One message across, so that the acceptor is there; then the mask's are lost. */
static void begin(const char *config, const char *link)
{
	open_with(config, "delay 10ms");
	assert_int_equal(rig_send(&rig, "0"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_change(&rig, link);
}

static uint32_t transmissions(void)
{
	return rig_count(&rig.opener, NOPAL_SEND_SEGMENT);
}

/* -------------------------------------------------------------- one at a time */

TEST(test_in_time_it_is_sent_again)
{
	begin(ORDERED, "delay 10ms loss mask 1");
	assert_int_equal(send_for("1", 500 * MS), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	assert_int_equal(transmissions(), 3);
	rig_close(&rig);
}

TEST(test_after_its_time_it_is_not)
{
	begin(ORDERED, "delay 10ms loss 100%");
	assert_int_equal(send_for("1", 40 * MS), 0);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(transmissions(), 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_change(&rig, "delay 10ms");
	assert_int_equal(rig_send(&rig, "2"), 0);
	rig_run(&rig, 100 * NOPAL_SECOND); /* the forward, backed off */
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[1], "2");
	rig_close(&rig);
}

/* The order waits for what may still come, and no longer. */
TEST(test_the_order_goes_on_at_the_deadline)
{
	int64_t sent_ns;

	begin(ORDERED, "delay 10ms loss mask 1");
	sent_ns = nopal_world_now(rig.world);
	assert_int_equal(send_with("1", 1, "attempts", 1), 0);
	assert_int_equal(send_for("2", 30 * MS), 0);
	rig_change(&rig, "delay 10ms loss mask 11");
	assert_int_equal(send_for("3", 30 * MS), 0);
	rig_run(&rig, MS);
	rig_change(&rig, "delay 10ms");
	assert_int_equal(rig_send(&rig, "4"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[rig.acceptor.delivered - 1], "4");
	assert_true(rig.acceptor.delivered_ns[rig.acceptor.delivered - 1] < sent_ns + 300 * MS);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST] + rig.acceptor.delivered, 5);
	rig_close(&rig);
}

TEST(test_a_lost_forward_is_told_again)
{
	begin(ORDERED, "delay 10ms loss 100%");
	assert_int_equal(send_for("1", 5 * MS), 0);
	rig_run(&rig, 300 * MS);
	rig_change(&rig, "delay 10ms");
	assert_int_equal(rig_send(&rig, "2"), 0);
	rig_run(&rig, 3 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_true(rig_count(&rig.acceptor, NOPAL_FORWARD_RECEIVED) >= 1);
	rig_close(&rig);
}

/* However short the round trip: 1 ms, and twice as long each time up to 64 ms. */
TEST(test_without_a_delay_it_is_not_told_without_end)
{
	static const char *const sets[] = { "positive_ack.every=1", NULL };

	rig_add(&a_watch);
	rig_open(&rig, ORDERED, &(struct rig_options){ .link = "delay 1ns", .sets = sets });
	assert_int_equal(rig_send(&rig, "0"), 0);
	rig_run(&rig, NOPAL_SECOND);
	rig_change(&rig, "loss 100%");
	assert_int_equal(send_for("1", 5 * MS), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_in_range(nopal_session_counters(rig.opener.session)->control_out, 10, 30);
	rig_close(&rig);
}

/* A message that nobody let leave is withdrawn, and the numbers that it had are passed:
 * here 64 segments in flight keep it back. */
TEST(test_what_never_left_is_withdrawn)
{
	static const char kept[] =
		"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		"positive_ack { selective = on window = 4 } retransmission_timer {}\nretransmit {}\n"
		"partial_reliability {}\nreliable_fifo {}\na_tap {}\n"
		"check_holds {}\n";
	char text[16];

	rig_open(&rig, kept, &(struct rig_options){ .link = "delay 50ms" });
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_send(&rig, "r"), 0);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(send_for(text, 20 * MS), 0);
	}
	assert_int_equal(rig_send(&rig, "last"), 0);
	assert_int_equal(transmissions(), 4);
	rig_run(&rig, 30 * MS);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 10);
	rig_run(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(transmissions(), 5);
	assert_int_equal(rig.acceptor.delivered, 5);
	assert_string_equal(rig.acceptor.text[4], "last");
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}

TEST(test_attempts_are_transmissions)
{
	begin(ORDERED, "delay 10ms loss 100%");
	for (uint64_t max = 1; max <= 3; max++) {
		uint32_t before = transmissions();

		assert_int_equal(send_with("x", 1, "attempts", max), 0);
		rig_run(&rig, 20 * NOPAL_SECOND);
		assert_int_equal(transmissions() - before, max);
		assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], max);
	}
	rig_close(&rig);
}

/* UDTCP's retransmission on request: in configs/udtcp_resend.conf the messages that ask leave
 * again until they arrive, others do not, and nobody waits for either.  Every pattern of losses of
 * five messages, with every choice of those that ask. */
static void assert_requested(uint32_t lost, uint32_t asks)
{
	enum { FIVE = 5, OFTEN = 1000 };
	static const char *const names[FIVE] = { "a", "b", "c", "d", "e" };
	uint32_t arrived = 1, resends = 0, before;
	char link[64];

	snprintf(link, sizeof(link), "delay 10ms loss mask 0x%x", lost);
	begin("extends = \"udtcp_resend\"\ncheck_holds {}\na_tap {}\na_watch {}\n", link);
	before = transmissions();
	for (uint32_t i = 0; i < FIVE; i++)
		assert_int_equal(send_with(names[i], 1, "attempts", asks >> i & 1 ? OFTEN : 0), 0);
	rig_run(&rig, 15 * MS);
	for (uint32_t i = 0; i < FIVE; i++) {
		if (!(lost >> i & 1))
			assert_string_equal(rig.acceptor.text[arrived++], names[i]);
		resends += lost >> i & asks >> i & 1;
	}
	assert_int_equal(rig.acceptor.delivered, arrived);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, arrived + resends);
	assert_int_equal(transmissions() - before, FIVE + resends);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], arrived + resends);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1 + FIVE - arrived - resends);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}

TEST(test_only_messages_that_ask_leave_again)
{
	for (uint32_t lost = 0; lost < 1 << 5; lost++)
		for (uint32_t asks = 0; asks < 1 << 5; asks++)
			assert_requested(lost, asks);
}

/* A message that lacks one segment is worth no other. */
TEST(test_a_message_is_given_up_whole)
{
	begin(ORDERED, "delay 10ms loss mask 01");
	assert_int_equal(send_with("long", 4500, "attempts", 1), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	assert_int_equal(rig_send(&rig, "next"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

/* The session's deadline is for those that say nothing. */
TEST(test_the_default_and_never)
{
	const char *const sets[] = { "partial_reliability.deadline=30ms", NULL };

	rig_add(&a_watch);
	rig_open(&rig, ORDERED, &(struct rig_options){ .link = "delay 10ms", .sets = sets });
	rig_send(&rig, "0");
	rig_run(&rig, NOPAL_SECOND);
	rig_change(&rig, "delay 10ms loss 100%");
	assert_int_equal(rig_send(&rig, "1"), 0);
	assert_int_equal(send_for("2", NOPAL_NEVER), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	rig_change(&rig, "delay 10ms");
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[1], "2");
	rig_close(&rig);
}

/* The message waits for the session to open until its deadline has passed. */
TEST(test_of_no_use_when_the_session_opens)
{
	rig_add(&a_watch);
	rig_open(&rig,
		 RELIABLE "virtual_circuit { attempts = 32 }\n"
			  "reliable_fifo {}\n",
		 &(struct rig_options){ .link = "loss 100%" });
	assert_int_equal(rig.opener.opened, 0);
	assert_int_equal(send_for("1", 20 * MS), 0);
	assert_int_equal(rig_send(&rig, "2"), 0);
	rig_run(&rig, 100 * MS);
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_string_equal(rig.acceptor.text[0], "2");
	assert_int_equal(transmissions(), 1);
	rig_finish(&rig);
	rig_close(&rig);
}

/* All that waits is delivered before the session ends, whatever became of the forward. */
TEST(test_nothing_waits_at_the_end)
{
	rig_add(&a_watch);
	rig_open(&rig, RELIABLE "virtual_circuit {}\nreliable_fifo {}\n",
		 &(struct rig_options){ .link = "delay 10ms" });
	rig_change(&rig, "delay 10ms loss mask 1");
	assert_int_equal(send_with("1", 1, "attempts", 1), 0);
	rig_run(&rig, MS);
	rig_change(&rig, "delay 10ms");
	assert_int_equal(rig_send(&rig, "2"), 0);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_string_equal(rig.acceptor.text[0], "2");
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

/* ------------------------------------------------------------- from the wire */

static void forward(uint32_t segment, uint32_t order, size_t length)
{
	uint8_t bytes[9] = { (uint8_t)(segment >> 24), (uint8_t)(segment >> 16),
			     (uint8_t)(segment >> 8),  (uint8_t)segment,
			     (uint8_t)(order >> 24),   (uint8_t)(order >> 16),
			     (uint8_t)(order >> 8),    (uint8_t)order };

	arrive_control(rig.acceptor.session, "partial_reliability", 0, bytes, length);
}

TEST(test_forwards_that_cannot_be)
{
	begin(ORDERED, "delay 10ms");
	for (size_t length = 0; length < 10; length++)
		if (length != 8)
			forward(3, 3, length);
	forward(1u << 30, 3, 8);
	forward(3, 1u << 30, 8);
	forward(3, 4, 8);
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_FORWARD_RECEIVED), 0);
	forward(3, 3, 8);
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_FORWARD_RECEIVED), 1);
	forward(2, 2, 8); /* an old one: told once more that it was heard */
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_FORWARD_RECEIVED), 2);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- many of them */

enum { MANY = 400, KINDS = 4 };

/* The kind of the i-th message: reliable, 60 ms, 150 ms, two attempts. */
static int send_one(unsigned i)
{
	static const int64_t deadline_ns[KINDS] = { 0, 60 * MS, 150 * MS, 0 };
	char text[32];

	snprintf(text, sizeof(text), "%u %" PRId64, i, nopal_world_now(rig.world));
	if (i % KINDS == 3)
		return send_with(text, sizeof(text), "attempts", 2);
	return send_with(text, i % 7 ? sizeof(text) : 5000, "deadline",
			 (uint64_t)deadline_ns[i % KINDS]);
}

/* `late_ns`: how long one may take on the way, and behind others. */
static void check_many(bool ordered, int64_t late_ns)
{
	bool seen[MANY] = { false };
	long last = -1;

	for (uint32_t i = 1; i < rig.acceptor.delivered; i++) {
		char *end;
		long number = strtol(rig.acceptor.text[i], &end, 10);
		int64_t age_ns = rig.acceptor.delivered_ns[i] - strtoll(end, NULL, 10);

		assert_in_range(number, 0, MANY - 1);
		assert_false(seen[number]);
		seen[number] = true;
		assert_true(!ordered || number > last);
		last = number;
		if (late_ns && number % KINDS == 1)
			assert_true(age_ns <= 60 * MS + late_ns);
		if (late_ns && number % KINDS == 2)
			assert_true(age_ns <= 150 * MS + late_ns);
	}
	for (unsigned i = 0; i < MANY; i += KINDS)
		assert_true(seen[i]);
}

static void run_many(const char *config, const char *link, uint64_t seed, bool ordered,
		     int64_t late_ns)
{
	rig_add(&a_watch);
	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms", .seed = seed });
	assert_int_equal(rig_send(&rig, "-1"), 0);
	rig_run(&rig, NOPAL_SECOND);
	rig_change_both(&rig, link);
	watched = 0;
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(send_one(i), 0);
		rig_run(&rig, 2 * MS);
	}
	rig_run(&rig, 50 * NOPAL_SECOND);
	assert_true(watched > MANY / 16);
	check_many(ordered, late_ns);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED] +
				 rig.opener.outcomes[NOPAL_OUTCOME_LOST],
			 MANY + 1);
	assert_true(rig.opener.outcomes[NOPAL_OUTCOME_LOST] > 0);
	/* A missing message may have come all the same; one that arrived did. */
	assert_true(rig.acceptor.delivered >= rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED]);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
}

static const char HEAVY[] = "delay 20ms loss 30%";
static const char WILD[] = "delay 20ms 8ms loss 20% duplicate 5%";

TEST(test_on_time_or_not_at_all)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		run_many(UNORDERED, HEAVY, seed, false, 20 * MS + TICK_NS);
		run_many(UNORDERED, WILD, seed, false, 28 * MS + TICK_NS);
	}
}

TEST(test_the_order_holds)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		run_many(ORDERED, HEAVY, seed, true, 0);
		run_many(ORDERED, WILD, seed, true, 0);
		run_many(CUMULATIVE, "delay 20ms loss 10%", seed, true, 0);
	}
}

TEST(test_in_company)
{
	static const char *const configs[] = {
		RELIABLE "windowed_flow {}\nwindowed_cc {}\n"
			 "cubic_congestion {}\nreliable_fifo {}\n",
		RELIABLE "windowed_flow { buffer = 64KiB }\nwindowed_cc {}\n"
			 "rate_cc {}\nbbr_congestion {}\nnegative_ack {}\n",
		RELIABLE "sequenced_messages {}\nreliable_fifo {}\n"
			 "forward_error_correction {}\nchecksum {}\n",
		RELIABLE "xon_xoff { high = 32KiB low = 16KiB }\n"
			 "sliding_window_fec {}\nreliable_fifo {}\n",
		RELIABLE "virtual_circuit {}\nwindowed_cc {}\n"
			 "tcp_congestion {}\nreliable_fifo {}\n",
	};

	for (unsigned i = 0; i < sizeof(configs) / sizeof(*configs); i++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			run_many(configs[i], HEAVY, seed, i != 1, 0);
			run_many(configs[i], WILD, seed, i != 1, 0);
		}
}

TEST(test_refuses_company)
{
	char text[4096];

	assert_true(rig_refused("transport_driver {}\ncoalesce {}\n"
				"sequenced_messages {}\nsequenced_segments {}\n"
				"positive_ack {} retransmission_timer {}\nretransmit {}\n"
				"partial_reliability {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "different deadlines"));
}
