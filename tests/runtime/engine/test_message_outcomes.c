/* SPDX-License-Identifier: MIT */
/* Outcomes of sent messages: callbacks and counters. */
#include <string.h>

#include "engine/message.h"
#include "engine/segment.h"
#include "support/fakes.h"
#include "support/failing.h"
#include "support/kept.h"
#include "support/test.h"

FAKE(m_lucky,
     .attributes = FAKE_ATTRIBUTES({ "luck", NOPAL_PROPERTY, "of it", .wire_bytes = 1 },
				   { "skill", NOPAL_PROPERTY, "of it, too", .wire_bytes = 1 }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_DONE, fake_on_message)));

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\na_tap {}\n";
static const char LUCKY[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\nm_lucky {}\n";

static int setup(void **state)
{
	(void)state;
	kept_open(KEPT);
	return 0;
}

EACH_TEST(setup, own_rig_close);

/* ------------------------------------------------------------------ of one */

struct told {
	enum nopal_outcome outcome, plain;
	unsigned arrived, missing, undelivered;
};

TEST(test_each_outcome_is_counted_and_told)
{
	static const struct told all[] = {
		{ NOPAL_OUTCOME_DELIVERED, NOPAL_OUTCOME_DELIVERED, 1, 0, 0 },
		{ NOPAL_OUTCOME_LOST, NOPAL_OUTCOME_LOST, 0, 1, 1 },
		{ NOPAL_OUTCOME_UNKNOWN, NOPAL_OUTCOME_UNKNOWN, 0, 0, 1 },
		{ NOPAL_OUTCOME_EXPIRED, NOPAL_OUTCOME_LOST, 0, 1, 0 },
		{ NOPAL_OUTCOME_WAIVED, NOPAL_OUTCOME_UNKNOWN, 0, 0, 0 },
	};
	struct nopal_awake *awake = rig_awake(session);
	uint64_t held;

	rig_send(&rig, "x"); /* what the first one makes stays */
	settle(2, NOPAL_OUTCOME_DELIVERED);
	held = awake->bytes_held;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint32_t done = rig_count(&rig.opener, NOPAL_MSG_DONE);

		memset(&awake->counters, 0, sizeof(awake->counters));
		memset(rig.opener.outcomes, 0, sizeof(rig.opener.outcomes));
		awake->undelivered = 0;
		assert_int_equal(rig_send_bytes(&rig, 10), 0);
		assert_int_equal(awake->unfinished, 1);
		assert_int_equal(awake->unfinished_bytes, 10);
		settle(awake->numbered, all[i].outcome);
		assert_int_equal(awake->unfinished, 0);
		assert_int_equal(awake->unfinished_bytes, 0);
		assert_int_equal(awake->messages.alive, 0);
		assert_int_equal(awake->bytes_held, held);
		assert_int_equal(awake->counters.messages_arrived, all[i].arrived);
		assert_int_equal(awake->counters.messages_missing, all[i].missing);
		assert_int_equal(awake->undelivered, all[i].undelivered);
		assert_int_equal(rig.opener.outcomes[all[i].plain], 1);
		assert_int_equal(rig_count(&rig.opener, NOPAL_MSG_DONE), done + 1);
	}
}

TEST(test_a_session_closes_with_its_last_outcome)
{
	rig_send(&rig, "x");
	rig_send(&rig, "y");
	nopal_session_close(session);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.ended, 0);
	settle(4, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
}

/* The end has one for those that have none, and no second one. */
TEST(test_the_end_is_a_outcome)
{
	rig_send(&rig, "x");
	rig_send(&rig, "y");
	settle(2, NOPAL_OUTCOME_DELIVERED);
	nopal_session_abort(session, "test");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
}

/* ----------------------------------------------------------------- of several */

TEST(test_a_message_has_the_worst_outcome_of_its_segments)
{
	static const struct {
		uint16_t arrived, missing, unknown;
		bool expired, uncertain;
		enum nopal_outcome outcome;
	} all[] = {
		{ 0, 0, 0, false, false, NOPAL_OUTCOME_UNKNOWN },
		{ 1, 0, 0, false, false, NOPAL_OUTCOME_DELIVERED },
		{ 5, 1, 0, false, false, NOPAL_OUTCOME_LOST },
		{ 5, 1, 1, true, true, NOPAL_OUTCOME_EXPIRED },
		{ 5, 0, 1, false, true, NOPAL_OUTCOME_UNKNOWN },
		{ 5, 0, 1, false, false, NOPAL_OUTCOME_WAIVED },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct nopal_message message = {
			.segments_arrived = all[i].arrived,
			.segments_missing = all[i].missing,
			.segments_unknown = all[i].unknown,
			.expired = all[i].expired,
			.uncertain = all[i].uncertain,
		};

		assert_int_equal(nopal__message_outcome(&message), all[i].outcome);
	}
}

/* One of which nothing was cut is settled when that is said. */
TEST(test_a_message_of_no_segments_is_settled_at_once)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message = nopal__message_make(composite, 0);
	struct nopal_handle handle = message->handle;

	composite->awake->unfinished++;
	nopal_message_is_cut(session, message);
	assert_int_equal(composite->awake->unfinished, 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	assert_null(nopal_message_find(session, handle));
}

/* --------------------------------------------------------------- made and found */

TEST(test_a_message_is_found_while_it_lives)
{
	struct nopal_composite *composite = nopal__composite(session);
	uint64_t stale = composite->awake->counters.stale_handles;
	struct nopal_message *message = nopal__message_make(composite, 3);
	struct nopal_handle handle = message->handle;

	assert_ptr_equal(nopal_message_find(session, handle), message);
	assert_int_equal(composite->awake->counters.stale_handles, stale);
	nopal__message_free(composite, message);
	assert_null(nopal_message_find(session, handle));
	assert_int_equal(composite->awake->counters.stale_handles, stale + 1);
}

TEST(test_a_message_is_made_of_nothing_old)
{
	struct nopal_composite *composite = nopal__composite(session);
	size_t bytes = composite->layer->plan->slot_count * sizeof(*(uint64_t *)NULL);
	struct nopal_message *message = nopal__message_make(composite, 3);
	struct nopal_message *was = message;

	memset(message->attribute, 0xff, bytes);
	nopal__message_free(composite, message);
	message = nopal__message_make(composite, 3);
	assert_ptr_equal(message, was);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(((uint8_t *)message->attribute)[i], 0);
	nopal__message_free(composite, message);
}

/* Else each failure would take some of the budget away for good. */
TEST(test_a_message_without_memory_charges_nothing)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message[64], *one;
	unsigned count = 0;

	failing_from(1, true); /* all that the pool has at first */
	while ((one = nopal__message_make(composite, 3)) != NULL)
		message[count++] = one;
	failing_stop();
	assert_true(count < 64);
	assert_int_equal(composite->awake->bytes_held, 3 * count);
	while (count)
		nopal__message_free(composite, message[--count]);
}

TEST(test_replaced_bytes_are_those_that_wait)
{
	struct nopal_awake *awake = rig_awake(session);
	struct nopal_message *message;
	uint64_t held;

	rig_send_bytes(&rig, 10);
	held = awake->bytes_held - 10;
	message = nopal__pool_oldest(&awake->messages);
	assert_true(nopal_message_replace(session, message,
					  (struct nopal_body){ NULL, (const uint8_t *)"abc", 3 }));
	assert_int_equal(awake->unfinished_bytes, 3);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(awake->unfinished_bytes, 0);
	assert_int_equal(awake->bytes_held, held);
}

TEST_WITH(NULL, own_rig_close, test_properties_tell_messages_apart)
{
	struct nopal_message *one, *other;
	unsigned slot[2];

	rig_add(&m_lucky);
	kept_open(LUCKY);
	slot[0] = nopal_property(rig.plan, "luck");
	slot[1] = nopal_property(rig.plan, "skill");
	one = nopal__message_make(nopal__composite(session), 0);
	other = nopal__message_make(nopal__composite(session), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(nopal_message_is_like(session, one, other));
		other->attribute[slot[i]] = 5;
		assert_false(nopal_message_is_like(session, one, other));
		one->attribute[slot[i]] = 5;
	}
	assert_true(nopal_message_is_like(session, one, other));
	nopal__message_free(nopal__composite(session), one);
	nopal__message_free(nopal__composite(session), other);
}

TEST_WITH(NULL, own_rig_close, test_what_arrives_has_its_segments_attributes)
{
	struct nopal_segment *first;
	struct nopal_message *message;

	rig_add(&m_lucky);
	kept_open(LUCKY);
	first = nopal__segment_make(nopal__composite(session), NOPAL_KIND_DATA);
	first->attribute[nopal_property(rig.plan, "skill")] = 9;
	message = nopal_message_arriving(session, first);
	assert_int_equal(nopal_message_property(message, nopal_property(rig.plan, "skill")), 9);
	nopal_message_discard(session, message);
	nopal__segment_free(nopal__composite(session), first);
}
