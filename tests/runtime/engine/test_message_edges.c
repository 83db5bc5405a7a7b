/* SPDX-License-Identifier: MIT */
/* Of messages: each place to copy from, rooms that are used again, and what a trace says. */
#include <string.h>

#include "engine/message.h"
#include "engine/segment.h"
#include "support/fakes.h"
#include "support/records.h"
#include "support/rig.h"
#include "support/test.h"

enum { SPARES = 64, FRAGMENTS = 64 };

FAKE(m_order, .holds = FAKE_HOLDS({ "the test", NOPAL_DELIVER, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_NET, fake_on_message)));

static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char HELD[] = "transport_driver {}\nfixed_size {}\nm_order {}\n";

static struct rig rig;
static struct nopal_session *session; /* the acceptor's */
static struct nopal_awake *awake;

static void begin(const char *config)
{
	rig_add(&m_order);
	rig_open(&rig, config, NULL);
	rig_send(&rig, "hello");
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	session = rig.acceptor.session;
	awake = rig_awake(session);
}

static int teardown(void **state)
{
	(void)state;
	if (rig.acceptor.session)
		awake->counters.misuses = 0;
	rig_close(&rig);
	return 0;
}

EACH_TEST(NULL, teardown);

static struct nopal_message *arriving(void)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_segment *first = nopal__segment_make(composite, NOPAL_KIND_DATA);
	struct nopal_message *message = nopal_message_arriving(session, first);

	nopal__segment_free(composite, first);
	return message;
}

static void put(struct nopal_message *message, uint32_t index, const char *bytes, uint32_t length)
{
	struct nopal_body body = { .bytes = (const uint8_t *)bytes, .length = length };

	assert_true(nopal_message_put(session, message, index, body));
}

TEST(test_a_copy_begins_and_ends_anywhere)
{
	static const char text[] = "abcdefghijkl";
	enum { LENGTH = sizeof(text) - 1 };
	struct nopal_message *message;
	uint32_t length;

	begin(PLAIN);
	message = arriving();
	put(message, 0, text, 4);
	put(message, 1, text + 4, 3);
	put(message, 2, text + 7, 5);
	for (size_t from = 0; from <= LENGTH + 1; from++)
		for (size_t room = 0; room <= LENGTH + 1; room++) {
			size_t left = from < LENGTH ? LENGTH - from : 0;
			size_t max = left < room ? left : room;
			char copy[LENGTH + 2] = { 0 };

			assert_int_equal(nopal_message_copy(message, from, copy, room), max);
			if (max)
				assert_memory_equal(copy, text + from, max);
			assert_int_equal(copy[max], 0);
		}
	assert_int_equal(nopal_message_pieces(message), 3);
	assert_memory_equal(nopal_message_piece(message, 1, &length), "efg", 3);
	assert_int_equal(length, 3);
	nopal_message_discard(session, message);
}

/* All of its bytes are given back but the room, which the next one has; and so many rooms are kept
 * and no more. */
TEST(test_rooms_for_fragments_are_used_again)
{
	struct nopal_message *message[SPARES + 2];
	uint64_t before, room;

	begin(PLAIN);
	before = awake->bytes_held;
	message[0] = arriving();
	put(message[0], FRAGMENTS - 1, "x", 1);
	room = awake->bytes_held - before - 1;
	assert_int_equal(room, FRAGMENTS * sizeof(struct nopal_body));
	nopal_message_discard(session, message[0]);
	assert_int_equal(awake->bytes_held, before + room);
	for (unsigned i = 0; i < SPARES + 2; i++) {
		message[i] = arriving();
		put(message[i], 1, "x", 1);
		assert_null(message[i]->fragment[0].bytes);
		assert_int_equal(awake->bytes_held, before + (i + 1) * (room + 1));
	}
	for (unsigned i = 0; i < SPARES + 2; i++)
		nopal_message_discard(session, message[i]);
	assert_int_equal(awake->spare_count, SPARES);
	assert_int_equal(awake->bytes_held, before + SPARES * room);
	nopal__fragments_give_back(nopal__composite(session));
	assert_int_equal(awake->bytes_held, before);
	assert_int_equal(awake->spare_count, 0);
}

/* A message that is too short for it is left where it is. */
TEST(test_a_longer_message_has_a_room_of_its_own)
{
	struct nopal_message *message;

	begin(PLAIN);
	message = arriving();
	put(message, 1, "x", 1);
	assert_int_equal(message->fragments_room, FRAGMENTS);
	nopal_message_discard(session, message);
	message = arriving();
	put(message, FRAGMENTS, "x", 1);
	assert_int_equal(message->fragments_room, 2 * FRAGMENTS);
	put(message, 0, "y", 1);
	put(message, 2 * FRAGMENTS, "z", 1);
	assert_int_equal(message->fragments_room, 4 * FRAGMENTS);
	assert_int_equal(*message->fragment[FRAGMENTS].bytes, 'x');
	assert_int_equal(*message->fragment[0].bytes, 'y');
	nopal_message_discard(session, message);
	assert_int_equal(awake->spare_count, 3);
}

TEST(test_replaced_bytes_leave_no_room_behind)
{
	struct nopal_message *message;
	uint64_t before;

	begin(PLAIN);
	before = awake->bytes_held;
	message = arriving();
	put(message, 0, "one", 3);
	put(message, 1, "two", 3);
	assert_true(nopal_message_replace(
		session, message, (struct nopal_body){ NULL, (const uint8_t *)"three", 5 }));
	assert_int_equal(awake->spare_count, 1);
	assert_int_equal(nopal_message_length(message), 5);
	assert_int_equal(awake->unfinished_bytes, 0);
	nopal_message_discard(session, message);
	nopal__fragments_give_back(nopal__composite(session));
	assert_int_equal(awake->bytes_held, before);
}

TEST(test_over_its_objects_nothing_arrives)
{
	uint64_t lost;

	begin(PLAIN);
	lost = awake->counters.rx_over_budget;
	awake->budget.objects = awake->messages.alive + 1;
	assert_null(arriving()); /* the segment is one */
	assert_int_equal(awake->counters.rx_over_budget, lost + 1);
	awake->budget.objects++;
	nopal_message_discard(session, arriving());
}

TEST(test_a_message_is_like_those_that_say_the_same)
{
	struct nopal_message *one, *other;

	begin(PLAIN);
	one = arriving();
	other = arriving();
	assert_true(nopal_message_is_like(session, one, other));
	other->urgent = true;
	assert_false(nopal_message_is_like(session, one, other));
	one->urgent = true;
	assert_true(nopal_message_is_like(session, one, other));
	nopal_message_discard(session, one);
	nopal_message_discard(session, other);
}

/* A message that arrived and waits has no outcome, and is none of those that were sent. */
TEST(test_the_end_has_outcomes_for_what_was_sent_alone)
{
	begin(HELD);
	assert_int_equal(rig.acceptor.delivered, 0);
	nopal_session_abort(session, "test");
	for (int outcome = 0; outcome < 3; outcome++)
		assert_int_equal(rig.acceptor.outcomes[outcome], 0);
}

TEST(test_a_message_leaves_its_story)
{
	const struct record *held, *released, *delivered, *misused;
	struct nopal_at at;
	struct nopal_message *message;

	begin(HELD);
	records_start(rig.world);
	rig_send(&rig, "hello");
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	at = rig_at(session, "m_order");
	message = nopal__pool_newer(nopal__pool_oldest(&awake->messages));
	held = record_of(NOPAL_TRACED_HOLD, NOPAL_DELIVER);
	assert_int_equal(held->session, nopal_session_id(session));
	assert_int_equal(held->a, message->number);
	assert_int_equal(held->b, nopal_hold_bit(at, NOPAL_DELIVER));
	message->pins++; /* to be looked at after its end */
	nopal_message_release(at, message);
	nopal_message_release(at, message);
	released = record_of(NOPAL_TRACED_RELEASE, NOPAL_DELIVER);
	delivered = record_of(NOPAL_TRACED_DELIVER, 0);
	misused = record_of(NOPAL_TRACED_NOTE, NOPAL_NOTE_MISUSE);
	assert_int_equal(released->a, message->number);
	assert_int_equal(released->b, 0);
	assert_int_equal(released->part, at.part->index);
	assert_int_equal(delivered->a, message->number);
	assert_int_equal(delivered->b, 5);
	assert_int_equal(misused->a, message->number);
	assert_int_equal(misused->b, nopal_hold_bit(at, NOPAL_DELIVER));
	assert_int_equal(awake->counters.misuses, 1);
	assert_int_equal(awake->counters.messages_delivered, 1);
	assert_int_equal(awake->counters.bytes_delivered, 5);
	nopal__message_unpin(nopal__composite(session), message);
	records_stop(rig.world);
}
