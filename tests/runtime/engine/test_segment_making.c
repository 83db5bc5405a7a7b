/* SPDX-License-Identifier: MIT */
/* A new segment: its fields, how its transmissions are numbered, and control. */
#include <string.h>

#include "engine/message.h"
#include "engine/segment.h"
#include "support/fakes.h"
#include "support/failing.h"
#include "support/kept.h"
#include "support/records.h"
#include "support/test.h"

EACH_TEST(NULL, own_rig_close);

enum { RING_AT_FIRST = 64 };

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\n";
static const char UNTRACKED[] = "transport_driver {}\nfixed_size {}\n";
static const char ACKED[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
			    "positive_ack {} retransmission_timer {}\nretransmit {}\n";

/* Old contents are not to be seen. */
TEST(test_a_segment_is_made_of_nothing_old)
{
	struct nopal_segment *one;
	struct nopal_composite *composite;
	uint32_t slots, number;
	void *was;

	kept_open(KEPT);
	composite = nopal__composite(session);
	slots = composite->layer->plan->slot_count;
	was = one = nopal__segment_make(composite, NOPAL_KIND_DATA);
	number = one->number;
	memset(one, 0xff, offsetof(struct nopal_segment, body));
	memset(one->attribute, 0xff, slots * sizeof(uint64_t));
	one->message = (void *)&rig;
	nopal__segment_free(composite, one);
	one = nopal__segment_make(composite, NOPAL_KIND_ABORT);
	assert_ptr_equal(one, was);
	assert_int_equal(one->number, number + 1);
	assert_int_equal(one->kind, NOPAL_KIND_ABORT);
	assert_int_equal(one->transmitted_ns, -1);
	assert_int_equal(one->created_ns, session->now_ns);
	assert_null(one->message);
	assert_int_equal(one->above.generation, 0);
	assert_int_equal(one->pins + one->transmissions + one->outcome, 0);
	for (int barrier = 0; barrier < 3; barrier++)
		assert_int_equal(one->waiting[barrier], 0);
	assert_false(one->done || one->wanted || one->last || one->below || one->incoming ||
		     one->urgent);
	for (uint32_t i = 0; i < slots; i++)
		assert_int_equal(one->attribute[i], 0);
	nopal__segment_free(composite, one);
}

TEST(test_objects_end_at_the_budget)
{
	struct nopal_segment *segment;
	struct nopal_awake *awake;

	kept_open(KEPT);
	awake = rig_awake(session);
	rig_send(&rig, "x");
	awake->budget.objects = awake->segments.alive + awake->messages.alive;
	assert_null(nopal__segment_make(nopal__composite(session), NOPAL_KIND_DATA));
	awake->budget.objects++;
	segment = nopal__segment_make(nopal__composite(session), NOPAL_KIND_DATA);
	assert_non_null(segment);
	nopal__segment_free(nopal__composite(session), segment);
}

TEST(test_a_message_waits_for_each_segment_it_rides_in)
{
	struct nopal_message *first, *second;
	struct nopal_composite *composite;

	kept_open(KEPT);
	composite = nopal__composite(session);
	rig_send(&rig, "x");
	first = rig_segment(session, 2)->message;
	assert_int_equal(first->segments_open, 1);
	second = nopal__message_make(composite, 1);
	nopal_segment_also(session, rig_segment(session, 2), second);
	assert_int_equal(second->segments_open, 1);
	assert_ptr_equal(first->also, second);
	assert_null(second->also);
	first->also = NULL;
	second->segments_open = 0;
	nopal__message_free(composite, second);
}

TEST(test_a_piece_is_some_of_its_message)
{
	struct nopal_message *message;
	struct nopal_segment *piece;
	struct nopal_buffer *buffer;
	struct nopal_awake *awake;

	kept_open(KEPT);
	awake = rig_awake(session);
	rig_send(&rig, "abcdef");
	message = rig_segment(session, 2)->message;
	message->urgent = true;
	message->attribute[1] = 5;
	buffer = message->one.buffer;
	piece = nopal_segment_cut(session, message, 2, 3);
	assert_int_equal(piece->body.length, 3);
	assert_memory_equal(piece->body.bytes, "cde", 3);
	assert_ptr_equal(piece->message, message);
	assert_true(piece->urgent);
	assert_int_equal(piece->attribute[1], 5);
	assert_int_equal(message->segments_open, 2);
	assert_int_equal(buffer->references, 3);
	awake->budget.objects = 0;
	assert_null(nopal_segment_cut(session, message, 2, 3));
	assert_int_equal(buffer->references, 3);
	assert_int_equal(message->segments_open, 2);
	message->segments_open--;
	nopal__segment_free(nopal__composite(session), piece);
}

/* ----------------------------------------------------------------- transmissions */

TEST(test_untracked_transmissions_are_numbered_alone)
{
	kept_open(UNTRACKED);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(nopal_next_packet_number(session), i);
		assert_int_equal(nopal_oldest_transmission(session), i);
		rig_send(&rig, "x");
	}
	assert_int_equal(nopal_session_counters(session)->transmissions, 3);
	assert_int_equal(nopal_session_counters(session)->resends, 0);
	assert_int_equal(rig_awake(session)->transmissions.room, 0);
}

static void send_many(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
}

/* The ring grows by what is open, and those that are settled out of turn are passed over when the
 * oldest is. */
TEST(test_transmissions_are_found_while_there_is_room)
{
	enum { MANY = 3 * RING_AT_FIRST };
	uint64_t first, next, held;

	kept_open(ACKED);
	rig_change(&rig, "delay 10ms loss 100%");
	first = nopal_next_packet_number(session);
	held = rig_awake(session)->bytes_held;
	assert_true(nopal__composite(session)->layer->tracks);
	send_many(RING_AT_FIRST);
	assert_int_equal(rig_awake(session)->transmissions.room, RING_AT_FIRST);
	send_many(MANY - RING_AT_FIRST);
	next = nopal_next_packet_number(session);
	assert_int_equal(next - first, MANY);
	assert_int_equal(rig_awake(session)->transmissions.room, 4 * RING_AT_FIRST);
	assert_in_range(rig_awake(session)->bytes_held - held,
			3 * RING_AT_FIRST * sizeof(struct nopal_transmission),
			6 * RING_AT_FIRST * sizeof(struct nopal_transmission));
	for (uint64_t i = first; i < next; i++) {
		struct nopal_transmission *one = nopal_transmission_find(session, i);

		assert_true(one->open);
		assert_int_equal(nopal_segment_find(session, one->segment)->packet_number, i);
	}
	assert_null(nopal_transmission_find(session, next));
	nopal_transmission_settle(session, first + 1);
	nopal_transmission_settle(session, first + 2);
	nopal_transmission_settle(session, next);
	assert_int_equal(nopal_oldest_transmission(session), first);
	nopal_transmission_settle(session, first);
	assert_int_equal(nopal_oldest_transmission(session), first + 3);
	nopal_transmission_settle(session, first);
	assert_int_equal(nopal_oldest_transmission(session), first + 3);
	assert_false(nopal_transmission_find(session, first)->open);
	assert_true(nopal_transmission_find(session, first + 3)->open);
	send_many(RING_AT_FIRST);
	assert_non_null(nopal_transmission_find(session, first));
	send_many(1);
	assert_null(nopal_transmission_find(session, first));
	assert_non_null(nopal_transmission_find(session, first + 1));
}

TEST(test_no_room_for_transmissions_ends_the_session)
{
	struct nopal_awake *awake;

	kept_open(ACKED);
	rig_change(&rig, "delay 10ms loss 100%");
	send_many(RING_AT_FIRST);
	awake = rig_awake(session);
	awake->budget.bytes = awake->bytes_held + RING_AT_FIRST * sizeof(struct nopal_transmission);
	rig_send(&rig, "x");
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_non_null(strstr(rig.opener.end_text, "note a transmission"));
}

/* -------------------------------------------------------------------- control */

TEST(test_control_buffers_are_used_again)
{
	struct nopal_buffer *one, *two;

	kept_open(KEPT);
	one = nopal_body_buffer(session, NOPAL_SPARE_BYTES);
	two = nopal_body_buffer(session, 1);
	assert_true(one != two);
	assert_int_equal(one->capacity, NOPAL_SPARE_BYTES);
	assert_int_equal(two->capacity, NOPAL_SPARE_BYTES);
	assert_int_equal(one->references, 1);
	nopal_buffer_unref(one);
	assert_ptr_equal(nopal_body_buffer(session, 1), one);
	assert_int_equal(one->references, 1);
	nopal_buffer_unref(one);
	nopal_buffer_unref(two);
	assert_ptr_equal(nopal_body_buffer(session, 9), two);
	assert_ptr_equal(nopal_body_buffer(session, 9), one);
	nopal_buffer_unref(one);
	nopal_buffer_unref(two);
	one = nopal_body_buffer(session, NOPAL_SPARE_BYTES + 1);
	assert_int_equal(one->capacity, NOPAL_SPARE_BYTES + 1);
	nopal_buffer_unref(one);
	assert_ptr_equal(nopal__composite(session)->world->spare, two);
}

TEST(test_no_memory_for_control_is_no_segment)
{
	struct nopal_segment *segment;
	struct nopal_buffer *buffer;
	uint8_t *bytes;

	kept_open(ACKED);
	failing_from(1, true);
	buffer = nopal_body_buffer(session, 1);
	segment = nopal_control_new(rig_at(session, "positive_ack"), 0, 8, &bytes);
	assert_int_equal(failing_stop(), 2);
	assert_null(buffer);
	assert_null(segment);
	rig_awake(session)->budget.objects = 0;
	segment = nopal_control_new(rig_at(session, "positive_ack"), 0, 8, &bytes);
	assert_null(segment);
	assert_non_null(nopal__composite(session)->world->spare);
}

TEST(test_control_leaves_at_once_and_is_counted)
{
	struct nopal_at at;
	struct nopal_segment *segment;
	const struct record *transmitted;
	uint64_t sent, arrived;
	uint8_t *bytes;
	uint32_t number;

	rig_add(&m_keeper);
	rig_begin(&rig, ACKED);
	session = rig.opener.session;
	at = rig_at(session, "positive_ack");
	sent = rig_awake(session)->counters.control_out;
	arrived = nopal_session_counters(rig.acceptor.session)->datagrams_in;
	records_start(rig.world);
	segment = nopal_control_new(at, 0, 8, &bytes);
	number = segment->number;
	assert_int_equal(segment->kind, nopal_kind(at, 0));
	assert_int_equal(segment->body.length, 8);
	assert_ptr_equal(segment->body.bytes, bytes);
	assert_int_equal(segment->waiting[NOPAL_DONE], 0);
	assert_false(segment->wanted);
	memset(bytes, 0, 8);
	nopal_control_send(session, segment, 5);
	transmitted = record_of(NOPAL_TRACED_TRANSMIT, nopal_kind(at, 0));
	assert_int_equal(transmitted->a, number);
	assert_int_equal(transmitted->b, 0);
	assert_int_equal(record_of(NOPAL_TRACED_FREE, 0)->a, number);
	records_stop(rig.world);
	assert_int_equal(rig_awake(session)->counters.control_out, sent + 1);
	assert_int_equal(rig_awake(session)->segments.alive, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->datagrams_in, arrived + 1);
}

/* -------------------------------------------------------------------- records */

TEST(test_a_segment_leaves_its_story)
{
	const struct record *held, *transmitted, *released, *freed;
	uint32_t bit;

	kept_open(KEPT);
	bit = rig_part(session, "m_keeper")->hold[NOPAL_DONE];
	records_start(rig.world);
	rig_send(&rig, "x");
	held = record_of(NOPAL_TRACED_HOLD, NOPAL_DONE);
	transmitted = record_of(NOPAL_TRACED_TRANSMIT, NOPAL_KIND_DATA);
	assert_int_equal(held->a, 2);
	assert_int_equal(held->b, bit);
	assert_int_equal(transmitted->a, 2);
	assert_int_equal(transmitted->b, 0);
	assert_null(record_of(NOPAL_TRACED_HOLD, NOPAL_DEALLOCATE));
	settle(2, NOPAL_OUTCOME_DELIVERED);
	released = record_of(NOPAL_TRACED_RELEASE, NOPAL_DONE);
	freed = record_of(NOPAL_TRACED_FREE, 0);
	assert_int_equal(released->a, 2);
	assert_int_equal(released->b, 0);
	assert_int_equal(released->part, rig_part(session, "m_keeper")->index);
	assert_int_equal(freed->a, 2);
	records_stop(rig.world);
}

/* Requests that are refused, or come too late. */
TEST(test_mistakes_are_counted_and_noted)
{
	const struct nopal_handle gone = { 5, 7 };
	struct nopal_at at;
	const struct record *misused;
	struct nopal_segment *segment;
	struct nopal_awake *awake;
	uint64_t misuses;

	kept_open(KEPT);
	awake = rig_awake(session);
	at = rig_at(session, "m_keeper");
	rig_send(&rig, "x");
	segment = rig_segment(session, 2);
	segment->pins++;
	settle(2, NOPAL_OUTCOME_DELIVERED);
	records_start(rig.world);
	misuses = awake->counters.misuses;
	nopal_release(at, segment, NOPAL_DONE);
	misused = record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_MISUSE);
	assert_int_equal(misused->a, 2);
	assert_int_equal(misused->b, nopal_hold_bit(at, NOPAL_DONE));
	assert_int_equal(misused->part, at.part->index);
	assert_int_equal(awake->counters.misuses, misuses + 1);
	awake->counters.misuses = 0;
	assert_false(nopal_segment_resend(at, segment));
	nopal__depart(nopal__composite(session), segment);
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_REFUSED_SEND)->a, 2);
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_REFUSED_SEND)->b, 0);
	assert_int_equal(awake->counters.refused_sends, 2);
	awake->counters.refused_sends = 0;
	assert_null(nopal_segment_find(session, gone));
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_STALE)->a, 5);
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_STALE)->b, 7);
	assert_int_equal(awake->counters.stale_handles, 1);
	records_stop(rig.world);
	segment->pins--;
	nopal__segment_settle(nopal__composite(session), segment);
}

FAKE(m_gate, .holds = FAKE_HOLDS({ "the test", NOPAL_SEND, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));
static const char GATED[] = "transport_driver {}\nfixed_size {}\nm_gate {}\nm_keeper {}\n";

TEST(test_a_gate_holds_again_what_has_left)
{
	struct nopal_at at;
	struct nopal_segment *segment;

	rig_add(&m_gate);
	kept_open(GATED);
	at = rig_at(session, "m_gate");
	rig_send(&rig, "x");
	segment = rig_segment(session, 2);
	records_start(rig.world);
	nopal_release(at, segment, NOPAL_SEND);
	records_stop(rig.world);
	assert_int_equal(record_of(NOPAL_TRACED_HOLD, NOPAL_SEND)->a, 2);
	assert_int_equal(record_of(NOPAL_TRACED_HOLD, NOPAL_SEND)->b,
			 nopal_hold_bit(at, NOPAL_SEND));
	assert_int_equal(segment->waiting[NOPAL_SEND], nopal_hold_bit(at, NOPAL_SEND));
	settle(2, NOPAL_OUTCOME_DELIVERED);
}

FAKE(m_second,
     .holds = FAKE_HOLDS({ "the test", NOPAL_DONE, NOPAL_DATA, false },
			 { "the test", NOPAL_DEALLOCATE, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));
static const char TWICE[] = "transport_driver {}\nfixed_size {}\nm_second {}\nm_keeper {}\n";

/* Each of two says its part, and neither speaks for both. */
TEST(test_each_release_is_recorded_with_what_is_left)
{
	struct nopal_at first, second;
	const struct record *released;
	struct nopal_segment *segment;

	rig_add(&m_second);
	kept_open(TWICE);
	first = rig_at(session, "m_keeper");
	second = rig_at(session, "m_second");
	records_start(rig.world);
	rig_send(&rig, "x");
	assert_int_equal(record_of(NOPAL_TRACED_HOLD, NOPAL_DONE)->b,
			 first.part->hold[NOPAL_DONE] | second.part->hold[NOPAL_DONE]);
	assert_int_equal(record_of(NOPAL_TRACED_HOLD, NOPAL_DEALLOCATE)->b,
			 second.part->hold[NOPAL_DEALLOCATE]);
	segment = rig_segment(session, 2);
	nopal_release(first, segment, NOPAL_DONE);
	released = record_of(NOPAL_TRACED_RELEASE, NOPAL_DONE);
	assert_int_equal(released->part, first.part->index);
	assert_int_equal(released->a, 2);
	assert_int_equal(released->b, second.part->hold[NOPAL_DONE]);
	assert_false(segment->done);
	nopal_release(second, segment, NOPAL_DONE);
	assert_true(segment->done);
	assert_null(record_of(NOPAL_TRACED_FREE, 0));
	nopal_release(second, segment, NOPAL_DEALLOCATE);
	records_stop(rig.world);
	released = record_of(NOPAL_TRACED_RELEASE, NOPAL_DEALLOCATE);
	assert_int_equal(released->part, second.part->index);
	assert_int_equal(released->b, 0);
	assert_int_equal(rig_awake(session)->segments.alive, 0);
}

TEST(test_control_says_nothing_old)
{
	struct nopal_segment *segment;
	struct nopal_composite *composite;
	uint8_t *bytes;
	void *was;

	kept_open(ACKED);
	composite = nopal__composite(session);
	was = segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	memset(segment->attribute, 0xff, composite->layer->plan->slot_count * sizeof(uint64_t));
	nopal__segment_free(composite, segment);
	segment = nopal_control_new(rig_at(session, "positive_ack"), 0, 8, &bytes);
	assert_ptr_equal(segment, was);
	for (uint32_t i = 0; i < composite->layer->plan->slot_count; i++)
		assert_int_equal(segment->attribute[i], 0);
	nopal__segment_free(composite, segment);
}
