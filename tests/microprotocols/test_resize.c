/* SPDX-License-Identifier: MIT */
#include "engine/composite.h"
#include "support/segments.h"
#include "support/test.h"

#define OTHERS "transport_driver {}\nsequenced_segments {}\na_tap {}\n"
static const char BY_SEGMENT[] = OTHERS "resize {}\n";
static const char BY_MESSAGE[] = OTHERS "resize {}\nsequenced_messages {}\n";
static const char RELIABLE[] =
	OTHERS "resize { partial = 2 }\npositive_ack {} retransmission_timer {}\nretransmit {}\n";
static const char UNRELIABLE[] = OTHERS "resize { partial = 2  reassembly_timeout = 1s }\n";

/* attributes of resize */
enum { FRAGMENT, MESSAGE, SEGMENT, FIRST, NEXT };
enum { LAST = 1 << 15 };

static struct nopal_composite *acceptor(struct rig *rig)
{
	rig_awake(rig->acceptor.session);
	return nopal__composite(rig->acceptor.session);
}

/* A fragment at the acceptor; returns how many messages it made whole. */
static uint32_t fragment(struct rig *rig, uint64_t number, uint64_t value, const char *text)
{
	struct rig_side *side = &rig->acceptor;
	struct nopal_at at = rig_at(side->session, "resize");
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, text, strlen(text));
	uint32_t before = side->delivered;

	nopal_set(at, one.segment, SEGMENT, number);
	nopal_set(at, one.segment, FRAGMENT, value);
	arriving_end(&one);
	return side->delivered - before;
}

static void lengths(const char *config)
{
	static const int64_t around[] = { -1, 0, 1 };
	uint64_t limit;
	struct rig rig;
	uint32_t sent = 1;

	rig_begin(&rig, config);
	limit = nopal_body_limit(rig.opener.session);
	assert_int_equal(rig_send_bytes(&rig, 0), 0);
	for (uint64_t fragments = 1; fragments <= 20; fragments += 19)
		for (int i = 0; i < 3; i++)
			assert_int_equal(
				rig_send_bytes(&rig, fragments * limit + (uint64_t)around[i]), 0);
	rig_run(&rig, NOPAL_SECOND);
	sent += 7;
	assert_int_equal(rig.acceptor.delivered, sent);
	assert_int_equal(rig.acceptor.length[1], 0);
	assert_int_equal(rig.acceptor.length[2], limit - 1);
	assert_int_equal(rig.acceptor.length[4], limit + 1);
	assert_int_equal(rig.acceptor.length[7], 20 * limit + 1);
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_lengths_at_the_bounds)
{
	lengths(BY_SEGMENT);
	lengths(BY_MESSAGE);
}

TEST(test_limit_is_what_fragments_can_count)
{
	struct nopal_plan *plan = rig_plan(BY_SEGMENT);

	assert_true(nopal_plan_info(plan)->message_limit <=
		    (uint64_t)nopal_plan_info(plan)->body_bytes * LAST);
	assert_true(nopal_plan_info(plan)->message_limit > nopal_plan_info(plan)->body_bytes);
	nopal_plan_unref(plan);
}

/* All orders of the fragments of one message, and of two that mix. */
TEST(test_any_order_makes_the_message)
{
	static const char *const text[] = { "ab", "cd", "ef", "gh" };

	for (unsigned turn = 0; turn < 24; turn++) {
		unsigned order[4] = { 0, 1, 2, 3 }, rest = turn;
		struct rig rig;
		uint32_t made = 0;

		rig_begin(&rig, BY_SEGMENT);
		for (unsigned i = 4; i > 1; i--) {
			unsigned kept = order[i - 1];

			order[i - 1] = order[rest % i];
			order[rest % i] = kept;
			rest /= i;
		}
		for (unsigned i = 0; i < 4; i++) {
			unsigned at = order[i];

			assert_int_equal(made, 0);
			fragment(&rig, 10 + at, at | (at == 1 ? LAST : 0),
				 "noise"); /* of another message: 10 to 11 */
			made = fragment(&rig, 20 + at, at | (at == 3 ? LAST : 0), text[at]);
		}
		assert_int_equal(made, 1);
		assert_string_equal(rig.acceptor.text[rig.acceptor.delivered - 1], "abcdefgh");
		rig_close(&rig);
	}
}

TEST(test_loss_and_disorder_are_put_right)
{
	struct rig rig;

	rig_open(&rig,
		 OTHERS "resize {}\npositive_ack { selective = on } retransmission_timer {}\n"
			"retransmit { attempts = 100 }\n",
		 &(struct rig_options){ .link = "delay 10ms 5ms loss 10% duplicate 5%" });
	for (int i = 0; i < 30; i++)
		assert_int_equal(rig_send_bytes(&rig, 20000), 0);
	rig_run(&rig, 50 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 30);
	for (int i = 0; i < 30; i++)
		assert_int_equal(rig.acceptor.length[i], 20000);
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_fragments_that_contradict_are_dropped)
{
	struct rig rig;

	rig_begin(&rig, BY_SEGMENT);
	assert_int_equal(fragment(&rig, 12, 2, "c"), 0);
	assert_int_equal(fragment(&rig, 11, 1 | LAST, "B"), 0); /* before 2 */
	assert_int_equal(fragment(&rig, 13, 3 | LAST, "d"), 0);
	assert_int_equal(fragment(&rig, 14, 4, "E"), 0);	/* behind it */
	assert_int_equal(fragment(&rig, 15, 5 | LAST, "F"), 0); /* two ends */
	assert_int_equal(fragment(&rig, 10, 0, ""), 0);		/* empty */
	assert_int_equal(fragment(&rig, 5, 7, "G"), 0);		/* before number 0 */
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 1);
	rig_close(&rig);
}

TEST(test_stale_partials_expire_where_nobody_resends)
{
	struct rig rig;

	rig_begin(&rig, UNRELIABLE);
	fragment(&rig, 10, 0, "a");
	rig_run(&rig, NOPAL_SECOND / 2);
	fragment(&rig, 20, 0, "a");
	rig_run(&rig, NOPAL_SECOND * 3 / 4);
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 1);
	rig_run(&rig, NOPAL_SECOND / 2);
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 0);
	assert_int_equal(fragment(&rig, 21, 1 | LAST, "b"), 0);
	rig_close(&rig);
}

TEST(test_the_oldest_makes_room_where_nobody_resends)
{
	struct rig rig;

	rig_begin(&rig, UNRELIABLE);
	fragment(&rig, 10, 0, "a");
	fragment(&rig, 20, 0, "a");
	fragment(&rig, 30, 0, "a");
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 2);
	assert_int_equal(fragment(&rig, 21, 1 | LAST, "b"), 1);
	assert_int_equal(fragment(&rig, 31, 1 | LAST, "b"), 1);
	assert_int_equal(fragment(&rig, 11, 1 | LAST, "b"), 0);
	rig_close(&rig);
}

/* An acknowledged segment cannot be dropped: the session ends, in the open. */
TEST(test_too_many_partials_break_a_reliable_session)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	fragment(&rig, 10, 0, "a");
	fragment(&rig, 20, 0, "a");
	rig_run(&rig, 50 * NOPAL_SECOND);
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 2);
	fragment(&rig, 30, 0, "a");
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_RESOURCE);
	rig_close(&rig);
}

TEST(test_close_with_partials_leaves_nothing)
{
	struct rig rig;

	rig_begin(&rig, BY_SEGMENT);
	fragment(&rig, 10, 0, "a");
	fragment(&rig, 20, 5, "a");
	assert_int_equal(acceptor(&rig)->awake->messages.alive, 2);
	nopal_session_abort(rig.acceptor.session, "enough");
	assert_int_equal(rig.acceptor.ended, 1);
	rig_close(&rig); /* a leak checker sees what is left */
}
