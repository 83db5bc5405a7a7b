/* SPDX-License-Identifier: MIT */
/* Segments between two layers where something goes wrong: pieces, no memory on either side,
 * and outcomes that were told before. */
#include <string.h>

#include "engine/message.h"
#include "engine/turn.h"
#include "session/stack.h"
#include "support/failing.h"
#include "support/fakes.h"
#include "support/records.h"
#include "support/own_rig.h"
#include "support/test.h"

FAKE(m_keeper, .holds = FAKE_HOLDS({ "the test", NOPAL_DONE, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

FAKE(m_gate, .holds = FAKE_HOLDS({ "the test", NOPAL_SEND, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

/* A role path_limit that the test speaks for. */
FAKE(m_path, .provides = FAKE_ROLES({ "path_limit", true }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

#define UPPER "layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n}\n"
#define LOWER "layer \"lower\" {\n  transport_driver {}\n"
#define RELIABLE                                                                                   \
	"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n"

static const char CUTS[] = UPPER LOWER "  resize {}\n  sequenced_messages {}\n "
				       " lossy_fifo {}\n  m_path {}\n}\n";
static const char RISES[] = UPPER LOWER "  fixed_size {}\n" RELIABLE "}\n";
/* The tap looks at messages, so that they are made. */
static const char RELIES[] = UPPER LOWER "  fixed_size {}\n" RELIABLE "  a_tap {}\n}\n";
static const char HOPES[] = UPPER LOWER "  fixed_size {}\n  checksum {}\n  a_tap {}\n}\n";
static const char KEEPS[] = UPPER LOWER "  fixed_size {}\n  m_keeper {}\n  a_tap {}\n}\n";

static const char SINKS[] = "layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
			    "  m_gate {}\n}\n" LOWER "  fixed_size {}\n  m_keeper {}\n}\n";

static struct nopal_composite *below(const struct rig_side *side)
{
	struct nopal_composite *composite = nopal__composite(side->session)->below;

	nopal__be_awake(composite);
	return composite;
}

EACH_TEST(NULL, own_rig_close);

/* ------------------------------------------------------------------ arriving */

/* A segment of the upper layer that its path has become too narrow for. */
TEST(test_pieces_rise_as_one_body)
{
	enum { BYTES = 1400 };

	rig_add(&m_path);
	rig_begin(&rig, CUTS);
	nopal_path_limit_set(&below(&rig.opener)->session, 0);
	rig.cookie = 'a';
	assert_int_equal(rig_send_bytes(&rig, BYTES), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(below(&rig.acceptor)->awake->counters.datagrams_in, 3);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.acceptor.length[1], BYTES);
	for (int i = 0; i < RIG_TEXT - 1; i++)
		assert_int_equal((uint8_t)rig.acceptor.text[1][i], 'a' + i);
	assert_int_equal(below(&rig.acceptor)->awake->segments.alive, 0);
	assert_int_equal(rig_awake(rig.acceptor.session)->segments.alive, 0);
}

/* Whichever allocation fails as they arrive: all of them are there, or nothing is. */
TEST(test_pieces_without_memory_are_a_loss)
{
	enum { BYTES = 1400 };
	uint64_t nth = 1, failed;

	rig_add(&m_path);
	do {
		uint32_t ended;

		rig_begin(&rig, CUTS);
		nopal_path_limit_set(&below(&rig.opener)->session, 0);
		below(&rig.acceptor);
		assert_int_equal(rig_send_bytes(&rig, BYTES), 0);
		failing_from(nth++, false);
		rig_run(&rig, 20 * NOPAL_MILLISECOND);
		failed = failing_stop();
		ended = rig.acceptor.ended;
		assert_true(failed || rig.acceptor.delivered == 2);
		assert_true(rig.acceptor.delivered < 2 || rig.acceptor.length[1] == BYTES);
		if (!ended) {
			assert_int_equal(rig_awake(rig.acceptor.session)->segments.alive, 0);
			assert_int_equal(below(&rig.acceptor)->awake->segments.alive, 0);
		}
		if (failed)
			rig_close(&rig);
	} while (failed);
	assert_true(nth > 2);
}

static uint64_t number_seen;

static enum nopal_verdict sees(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	number_seen = segment->packet_number;
	return NOPAL_CONTINUE;
}

/* Above, where nobody numbers packets. */
TEST(test_the_number_of_a_packet_stays_below)
{
	static const struct nopal_binding look = NOPAL_ON(SEGMENT_FROM_NET, sees);
	struct nopal_session *upper;

	rig_begin(&rig, RISES);
	upper = rig.acceptor.session;
	assert_int_equal(nopal_bind(rig_at(upper, "fixed_size"), &look), 0);
	rig_send(&rig, "x");
	rig_send(&rig, "y");
	number_seen = 99;
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(number_seen, 0);
}

TEST(test_what_rises_is_counted_and_recorded)
{
	const struct record *delivered;
	struct nopal_composite *lower;
	uint32_t numbered, count = 0;

	rig_begin(&rig, RISES);
	lower = below(&rig.acceptor);
	numbered = rig_awake(rig.acceptor.session)->numbered;
	records_start(rig.world);
	rig_send(&rig, "seven b");
	rig_run(&rig, NOPAL_SECOND);
	records_stop(rig.world);
	delivered = record_of(NOPAL_TRACED_DELIVER, 0);
	assert_int_equal(delivered->session, lower->local_id);
	assert_int_equal(delivered->b, 7);
	for (unsigned i = 0; i < record_count; i++)
		count += records[i].what == NOPAL_TRACED_DELIVER && records[i].number == 0;
	assert_int_equal(count, 2); /* below, and above */
	assert_int_equal(rig_awake(rig.acceptor.session)->numbered,
			 numbered + 2); /* a segment and its message */
}

TEST(test_no_room_above_ends_who_relies_on_it)
{
	rig_begin(&rig, RELIES);
	rig_awake(rig.acceptor.session)->budget.objects = 0;
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_RESOURCE);
}

TEST(test_no_room_above_is_a_loss_among_others)
{
	struct nopal_awake *awake;

	rig_begin(&rig, HOPES);
	awake = rig_awake(rig.acceptor.session);
	awake->budget.objects = 0;
	rig_send(&rig, "x");
	rig_send(&rig, "y");
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.ended, 0);
	assert_int_equal(awake->counters.rx_over_budget, 2);
}

/* ------------------------------------------------------------------- leaving */

TEST(test_reliability_is_known_above)
{
	rig_begin(&rig, RELIES);
	assert_true(nopal__is_reliable(below(&rig.opener)));
	assert_true(nopal__is_reliable(nopal__composite(rig.opener.session)));
	rig_close(&rig);
	rig_begin(&rig, HOPES);
	assert_false(nopal__is_reliable(below(&rig.opener)));
}

TEST(test_no_room_below_ends_who_relies_on_it)
{
	rig_begin(&rig, RELIES);
	below(&rig.opener)->awake->budget.objects = 0;
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_non_null(strstr(rig.opener.end_text, "in the layer below"));
}

TEST(test_no_room_below_is_a_missing_message)
{
	rig_begin(&rig, HOPES);
	below(&rig.opener)->awake->budget.objects = 0;
	rig_send(&rig, "x");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
}

/* As a gate lets it go, outside of the call that sends it. */
static void send_and_let_go(const char *text)
{
	struct nopal_session *upper = rig.opener.session;

	rig_send(&rig, text);
	nopal_release(rig_at(upper, "m_gate"), nopal__pool_oldest(&rig_awake(upper)->segments),
		      NOPAL_SEND);
}

/* Messages and segments of the layer below are objects of one budget. */
TEST(test_a_segment_that_sinks_needs_room_below)
{
	struct nopal_message *message;
	struct nopal_composite *lower;
	const struct nopal_objects *above;

	rig_add(&m_gate);
	rig_add(&m_keeper);
	rig_open(&rig, SINKS, NULL);
	lower = below(&rig.opener);
	above = &rig_awake(rig.opener.session)->segments;
	send_and_let_go("x");
	assert_int_equal(lower->awake->segments.alive, 1);
	assert_int_equal(above->alive, 0);
	message = nopal__message_make(lower, 1);
	lower->awake->budget.objects = 2;
	send_and_let_go("y");
	assert_int_equal(lower->awake->segments.alive, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	lower->awake->budget.objects = 3;
	send_and_let_go("z");
	assert_int_equal(lower->awake->segments.alive, 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(above->alive, 0);
	nopal__message_free(lower, message);
}

/* -------------------------------------------------------------------- outcomes */

/* Which outcome of a message has one, and only one; -1: none has. */
static int outcome_told(void)
{
	int told = -1;

	for (int outcome = 0; outcome < 3; outcome++)
		if (rig.opener.outcomes[outcome]) {
			assert_int_equal(rig.opener.outcomes[outcome], 1);
			assert_int_equal(told, -1);
			told = outcome;
		}
	return told;
}

/* The segment above has an outcome, and then the one below comes to its own. */
static int outcome_of(enum nopal_outcome above, enum nopal_outcome outcome)
{
	struct nopal_composite *lower;
	struct nopal_segment *one;
	bool outermost;

	rig_add(&m_keeper);
	rig_open(&rig, KEEPS, NULL);
	rig_send(&rig, "x");
	assert_int_equal(outcome_told(), -1);
	lower = below(&rig.opener);
	rig_segment(rig.opener.session, 2)->outcome = (uint8_t)above;
	one = nopal__pool_oldest(&lower->awake->segments);
	outermost = nopal__turn_begin(rig.world);
	nopal__touch(lower);
	one->outcome = (uint8_t)outcome;
	nopal_release(rig_at(&lower->session, "m_keeper"), one, NOPAL_DONE);
	nopal__turn_end(rig.world, outermost);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	return outcome_told();
}

TEST(test_the_outcome_below_is_the_one_above)
{
	assert_int_equal(outcome_of(NOPAL_OUTCOME_UNKNOWN, NOPAL_OUTCOME_DELIVERED),
			 NOPAL_OUTCOME_DELIVERED);
	rig_close(&rig);
	assert_int_equal(outcome_of(NOPAL_OUTCOME_UNKNOWN, NOPAL_OUTCOME_UNKNOWN),
			 NOPAL_OUTCOME_UNKNOWN);
	rig_close(&rig);
	assert_int_equal(outcome_of(NOPAL_OUTCOME_UNKNOWN, NOPAL_OUTCOME_LOST), NOPAL_OUTCOME_LOST);
}

TEST(test_who_knows_better_above_is_not_told)
{
	assert_int_equal(outcome_of(NOPAL_OUTCOME_LOST, NOPAL_OUTCOME_UNKNOWN), NOPAL_OUTCOME_LOST);
	rig_close(&rig);
	assert_int_equal(outcome_of(NOPAL_OUTCOME_DELIVERED, NOPAL_OUTCOME_LOST),
			 NOPAL_OUTCOME_DELIVERED);
	rig_close(&rig);
	assert_int_equal(outcome_of(NOPAL_OUTCOME_LOST, NOPAL_OUTCOME_DELIVERED),
			 NOPAL_OUTCOME_DELIVERED);
}
