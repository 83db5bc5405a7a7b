/* SPDX-License-Identifier: MIT */
#include "engine/turn.h"
#include "support/segments.h"
#include "support/test.h"

#define OTHERS                                                                                     \
	"transport_driver {}\nsequenced_segments {}\nsequenced_messages {}\n"                      \
	"a_tap {}\n"
static const char PACKED[] = OTHERS "coalesce {}\n";
static const char PATIENT[] = OTHERS "coalesce { delay = 20ms }\n";
static const char RELIABLE[] = OTHERS
	"coalesce {}\npositive_ack {} retransmission_timer {}\nretransmit {}\nreliable_fifo {}\n";

/* All of it in one turn, as an application does in one callback. */
static void send_in_one_turn(struct rig *rig, unsigned count, size_t length)
{
	bool outermost = nopal__turn_begin(rig->world);

	nopal__touch(nopal__composite(rig->opener.session));
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(rig_send_bytes(rig, length), 0);
	nopal__turn_end(rig->world, outermost);
}

TEST(test_a_turn_is_one_segment)
{
	struct rig rig;

	rig_open(&rig, PACKED, NULL);
	send_in_one_turn(&rig, 10, 20);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 10);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 10);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(rig.acceptor.length[i], 20);
		assert_int_equal(rig.acceptor.text[i][0], i);
	}
	rig_close(&rig);
}

/* Messages 1 and 2 are urgent: what is with them would overtake the first. */
TEST(test_urgent_messages_share_no_segment_with_others)
{
	struct nopal_property urgent = { .value = 1 };
	bool outermost;
	struct rig rig;

	rig_open(&rig, PACKED, NULL);
	urgent.which = nopal_property(rig.plan, "urgent");
	outermost = nopal__turn_begin(rig.world);
	nopal__touch(nopal__composite(rig.opener.session));
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(nopal_send_message(rig.opener.session,
						    &(struct nopal_outgoing){
							    .bytes = "x",
							    .length = 1,
							    .cookie = i,
							    .properties = &urgent,
							    .property_count = i == 1 || i == 2 }),
				 0);
	nopal__turn_end(rig.world, outermost);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 5);
	rig_close(&rig);
}

TEST(test_a_full_segment_leaves_before_the_end)
{
	struct rig rig;

	rig_open(&rig, PACKED, NULL);
	send_in_one_turn(&rig, 40, 100);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 3);
	send_in_one_turn(&rig, 600, 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 3 + 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 640);
	assert_int_equal(rig.acceptor.length[39], 100);
	assert_int_equal(rig.acceptor.length[639], 0);
	rig_close(&rig);
}

TEST(test_longest_message_fills_a_segment)
{
	struct rig rig;
	uint64_t limit;

	rig_open(&rig, PACKED, NULL);
	limit = nopal_plan_info(rig.plan)->message_limit;
	assert_int_equal(limit, nopal_body_limit(rig.opener.session) - 2);
	assert_int_equal(rig_send_bytes(&rig, limit), 0);
	assert_true(rig_send_bytes(&rig, limit + 1) < 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.length[0], limit);
	rig_close(&rig);
}

/* A segment of a layer above is cut for the best path, and leaves by one that is known to take
 * less. */
TEST(test_a_message_longer_than_the_path_goes_alone)
{
	static const char config[] =
		"layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n}\n"
		"layer \"lower\" {\n  transport_driver {}\n"
		"  sequenced_messages {}\n  coalesce {}\n"
		"  mtu_discovery {}\n}\n";
	struct rig rig;
	uint64_t limit;

	rig_open(&rig, config, NULL);
	limit = nopal_plan_info(rig.plan)->message_limit;
	rig_send(&rig, "before");
	assert_int_equal(rig_send_bytes(&rig, limit), 0);
	rig_send(&rig, "behind");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(rig.acceptor.length[1], limit);
	rig_close(&rig);
}

TEST(test_a_message_waits_for_company)
{
	struct rig rig;

	rig_open(&rig, PATIENT, NULL);
	rig_send(&rig, "a");
	rig_run(&rig, 19 * NOPAL_MILLISECOND);
	rig_send(&rig, "b");
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 0);
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[1], "b");
	rig_close(&rig);
}

TEST(test_close_sends_what_waits)
{
	struct rig rig;

	rig_open(&rig, PATIENT, NULL);
	rig_send(&rig, "a");
	nopal_session_close(rig.opener.session);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
	rig_open(&rig, PATIENT, NULL);
	rig_send(&rig, "a");
	nopal_session_abort(rig.opener.session, "enough");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_close(&rig);
}

TEST(test_all_messages_share_the_outcome_of_their_segment)
{
	struct rig rig;

	rig_open(&rig, RELIABLE, &(struct rig_options){ .link = "delay 10ms loss 20%" });
	for (int i = 0; i < 20; i++)
		send_in_one_turn(&rig, 5, 10);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 0);
	rig_run(&rig, 100 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 100);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(rig.acceptor.text[i][0], i);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- hostile */

static uint32_t given(struct rig *rig, const char *bytes, size_t length)
{
	struct rig_side *side = &rig->acceptor;
	struct nopal_composite *composite = nopal__composite(side->session);
	struct nopal_at at = rig_at(side->session, "coalesce");
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, bytes, length);
	uint32_t before = side->delivered;
	static uint64_t number = 100;

	nopal_set(at, one.segment, 0, number);
	nopal_set(rig_at(side->session, "sequenced_segments"), one.segment, 0, number++);
	arriving_end(&one);
	assert_int_equal(composite->awake->messages.alive, 0);
	return side->delivered - before;
}

TEST(test_a_body_is_read_whole_or_not_at_all)
{
	static const char good[] = "\x03"
				   "abc\x00\x02xy";
	struct rig rig;

	rig_open(&rig, PACKED, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(given(&rig, good, 8), 3);
	for (size_t cut = 0; cut < 8; cut++)
		assert_int_equal(given(&rig, good, cut), cut == 4 ? 1 : cut == 5 ? 2 : 0);
	assert_int_equal(given(&rig, "\x80\x00", 2), 0); /* not shortest */
	assert_int_equal(given(&rig, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10), 0);
	assert_int_equal(given(&rig, "\x00\x00\x00", 3), 3);
	rig_close(&rig);
}

TEST(test_it_needs_numbers)
{
	char text[2048];

	assert_true(rig_refused("transport_driver {}\ncoalesce {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "sequenced_messages"));
}
