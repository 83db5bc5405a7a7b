/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/segments.h"
#include "support/test.h"

#define OTHERS                                                                                     \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"positive_ack {} retransmission_timer {}\na_tap {}\n"
static const char RELIABLE[] = OTHERS "retransmit {}\nnegative_ack {}\n";
static const char UNRELIABLE[] = OTHERS "negative_ack { reorder = 0 }\n";

enum { NUMBER = 0, NAK = 0 };

static void send_many(struct rig *rig, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		rig_send(rig, "x");
}

TEST(test_a_hole_is_asked_for_and_mended)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	rig_change(&rig, "delay 10ms loss mask 0x52");
	send_many(&rig, 12);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 3);
	assert_int_equal(rig.acceptor.delivered, 13);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 13);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	rig_close(&rig);
}

TEST(test_a_hole_is_asked_for_again)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	rig_change(&rig, "delay 10ms loss mask 0x1001"); /* the resend is 13th */
	send_many(&rig, 12);
	rig_run(&rig, 400 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	assert_int_equal(rig.acceptor.delivered, 13);
	rig_close(&rig);
}

TEST(test_where_nobody_resends_it_is_told_once)
{
	struct rig rig;

	rig_begin(&rig, UNRELIABLE);
	rig_change(&rig, "delay 10ms loss mask 0x1");
	send_many(&rig, 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST) +
				 rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED),
			 4);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}

/* -------------------------------------------- what the receiver remembers */

static void arrive_number(struct rig *rig, uint64_t number)
{
	struct rig_side *side = &rig->acceptor;
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, "x", 1);

	nopal_set(rig_at(side->session, "sequenced_segments"), one.segment, NUMBER, number);
	arriving_end(&one);
}

static uint64_t naks(struct rig *rig)
{
	struct nopal_at at = rig_at(rig->acceptor.session, "negative_ack");
	uint64_t count = 0;

	for (uint32_t i = 0; i < rig->opener.events; i++)
		count += rig->opener.event[i].event == NOPAL_SEGMENT_FROM_NET &&
			 rig->opener.event[i].kind == nopal_kind(at, NAK);
	return count;
}

TEST(test_reordering_is_waited_for)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	arrive_number(&rig, 3);
	arrive_number(&rig, 4);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(naks(&rig), 0);
	arrive_number(&rig, 2);
	arrive_number(&rig, 5);
	arrive_number(&rig, 6);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(naks(&rig), 0);
	rig_close(&rig);
}

TEST(test_asking_ends_after_the_attempts)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	arrive_number(&rig, 9);
	arrive_number(&rig, 10);
	arrive_number(&rig, 11);
	rig_run(&rig, 10 * NOPAL_SECOND);
	/* asked three times; the opener never sent them, and takes no notice */
	assert_int_equal(naks(&rig), 3);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_close(&rig);
}

/* Holes split, shrink and fill, more of them than can be remembered. */
TEST(test_holes_are_bounded)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	for (uint64_t number = 4; number < 1000; number += 5)
		arrive_number(&rig, number);
	for (uint64_t number = 2; number < 1000; number++)
		if (number % 5 != 4)
			arrive_number(&rig, number);
	assert_int_equal(rig.acceptor.delivered, 999);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	rig_close(&rig);
}

/* ------------------------------------------------------------ hostile naks */

static void nak(struct rig *rig, const void *bytes, size_t length)
{
	arrive_control(rig->opener.session, "negative_ack", NAK, bytes, length);
}

static size_t nak_body(uint8_t *bytes, uint64_t largest, uint64_t first, const uint8_t *ranges,
		       size_t length)
{
	struct nopal_writer writer = nopal_writer_over(bytes, 64);

	nopal_write(&writer, largest, 4);
	nopal_write(&writer, first, 4);
	nopal_write_bytes(&writer, ranges, length);
	return nopal_written(&writer);
}

/* Numbers 2 to 6 are away as packets 1 to 5. */
TEST(test_untrue_naks_change_nothing)
{
	static const uint8_t good[] = { 1, 1, 1 }; /* 2, and 4 */
	static const struct {
		uint64_t largest, first;
		size_t length;
		uint8_t ranges[12];
	} bad[] = {
		{ 6, 2, 1, { 1 } },	     /* packet never sent */
		{ 5, 7, 1, { 1 } },	     /* number never sent */
		{ 5, 2, 1, { 6 } },	     /* and one too many */
		{ 5, 2, 1, { 0 } },	     /* of no length */
		{ 5, 2, 3, { 1, 0, 1 } },    /* no gap */
		{ 5, 2, 3, { 1, 1, 0 } },    /* of no length */
		{ 5, 2, 3, { 1, 4, 1 } },    /* beyond */
		{ 5, 2, 2, { 1, 1 } },	     /* truncated */
		{ 5, 2, 2, { 0x80, 0x00 } }, /* not the shortest form */
		{ 5, 2, 0, { 0 } },	     /* no range */
		{ 5, 2, 11, { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 } },
	};
	uint8_t bytes[64];
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	rig_change(&rig, "delay 10ms loss 100%");
	send_many(&rig, 5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		nak(&rig, bytes,
		    nak_body(bytes, bad[i].largest, bad[i].first, bad[i].ranges, bad[i].length));
	nak_body(bytes, 5, 2, good, sizeof(good));
	for (size_t cut = 0; cut < 9; cut++)
		nak(&rig, bytes, cut);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	nak(&rig, bytes, nak_body(bytes, 5, 2, good, sizeof(good)));
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	/* the resends are packets 6 and 7: not yet seen, not lost */
	nak(&rig, bytes, nak_body(bytes, 5, 2, good, sizeof(good)));
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	nak(&rig, bytes, nak_body(bytes, 6, 2, good, sizeof(good)));
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 3);
	rig_close(&rig);
}

TEST(test_close_in_the_middle)
{
	struct rig rig;

	rig_begin(&rig, RELIABLE);
	rig_change(&rig, "delay 10ms loss 20%");
	send_many(&rig, 50);
	nopal_session_close(rig.opener.session);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 51);
	rig_close(&rig);
}
