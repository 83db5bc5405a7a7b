/* SPDX-License-Identifier: MIT */
/* Messages down (settled) and up (put together, delivered, kept). */
#include <errno.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/turn.h"
#include "support/fakes.h"
#include "support/kept.h"
#include "support/test.h"

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\n";
static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char HELD[] = "transport_driver {}\nfixed_size {}\nm_order {}\n";

/* Holds what arrives until the test says so, or has it delivered all the same. */
static struct nopal_message *in_order[3];
static unsigned arrived;
static enum nopal_verdict m_order_on_msg(struct nopal_at at, struct nopal_message *message)
{
	in_order[arrived++] = message;
	if (arrived == 2)
		nopal_message_deliver(at.session, message);
	return NOPAL_CONTINUE;
}
FAKE(m_order, .holds = FAKE_HOLDS({ "the test", NOPAL_DELIVER, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_NET, m_order_on_msg)));

/* Finds that some of what is to be delivered makes no sense. */
static enum nopal_verdict m_judge_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	if (message->one.bytes[0] != 'b')
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}
FAKE(m_judge, .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_TO_USER, m_judge_on_to_user)));
static const char JUDGED[] = "transport_driver {}\nfixed_size {}\nm_order {}\n"
			     "m_judge {}\na_tap {}\n";

static void open_with(const char *config)
{
	rig_add(&m_order);
	rig_add(&m_judge);
	kept_open(config);
}

static int setup(void **state)
{
	(void)state;
	open_with(KEPT);
	return 0;
}

/* -------------------------------------------------------------------- down */

TEST_WITH(setup, own_rig_close, test_each_outcome_is_told_once)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	settle(4, NOPAL_OUTCOME_LOST);
	settle(6, NOPAL_OUTCOME_UNKNOWN);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	assert_int_equal(nopal_session_counters(session)->messages_arrived, 1);
	assert_int_equal(nopal_session_counters(session)->messages_missing, 1);
	assert_int_equal(nopal__composite(session)->awake->unfinished_bytes, 0);
}

TEST(test_one_missing_segment_is_a_missing_message)
{
	open_with("transport_driver {}\nresize {}\nsequenced_segments {}\n"
		  "m_keeper {}\n");
	assert_int_equal(rig_send_bytes(&rig, 2000), 0);
	assert_int_equal(rig_send_bytes(&rig, 2000), 0);
	settle(2, NOPAL_OUTCOME_LOST);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 0);
	settle(3, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	settle(5, NOPAL_OUTCOME_DELIVERED);
	settle(6, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	rig_close(&rig);
}

TEST(test_one_unknown_segment_is_an_unknown_message)
{
	open_with("transport_driver {}\nresize {}\nsequenced_segments {}\n"
		  "m_keeper {}\n");
	assert_int_equal(rig_send_bytes(&rig, 2000), 0);
	assert_int_equal(rig_send_bytes(&rig, 2000), 0);
	settle(2, NOPAL_OUTCOME_UNKNOWN);
	settle(3, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	settle(5, NOPAL_OUTCOME_UNKNOWN);
	settle(6, NOPAL_OUTCOME_LOST);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 0);
	rig_close(&rig);
}

/* ---------------------------------------------------------------------- up */

static struct nopal_message *arriving(void)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_segment *first = nopal__segment_make(composite, NOPAL_KIND_DATA);
	struct nopal_message *message = nopal_message_arriving(session, first);

	nopal__segment_free(composite, first);
	return message;
}

static bool put(struct nopal_message *message, uint32_t index, const char *text)
{
	struct nopal_buffer *buffer = nopal_buffer_new(RIG_TEXT);
	uint32_t length = (uint32_t)strlen(text);
	bool taken;

	memcpy(nopal_buffer_bytes(buffer), text, length);
	taken = nopal_message_put(
		session, message, index,
		(struct nopal_body){ buffer, nopal_buffer_bytes(buffer), length });
	nopal_buffer_free(buffer);
	return taken;
}

TEST_WITH(setup, own_rig_close, test_fragments_come_in_any_order)
{
	struct nopal_message *message = arriving();
	char text[RIG_TEXT] = "";
	uint64_t held;

	assert_true(put(message, 2, "third"));
	assert_true(put(message, 0, "first"));
	assert_false(put(message, 0, "again"));
	assert_true(put(message, 1, ""));
	held = nopal__composite(session)->awake->bytes_held;
	assert_false(put(message, 1, "again"));
	assert_int_equal(nopal__composite(session)->awake->bytes_held, held);
	assert_int_equal(nopal_message_pieces(message), 3);
	assert_int_equal(nopal_message_length(message), 10);
	assert_int_equal(nopal_message_copy(message, 0, text, RIG_TEXT), 10);
	assert_string_equal(text, "firstthird");
	assert_int_equal(nopal_message_copy(message, 3, text, 4), 4);
	assert_memory_equal(text, "stth", 4);
	assert_int_equal(nopal_message_copy(message, 10, text, 4), 0);
	nopal_message_discard(session, message);
}

TEST_WITH(setup, own_rig_close, test_many_fragments_and_the_next_message_after_them)
{
	for (int round = 0; round < 3; round++) {
		struct nopal_message *message = arriving();

		for (uint32_t i = 100; i-- > 0;)
			assert_true(put(message, i, i % 2 ? "b" : "a"));
		assert_int_equal(nopal_message_pieces(message), 100);
		assert_int_equal(nopal_message_length(message), 100);
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t length;

			assert_int_equal(*nopal_message_piece(message, i, &length),
					 i % 2 ? 'b' : 'a');
			assert_int_equal(length, 1);
		}
		nopal_message_discard(session, message);
	}
	assert_int_equal(rig_awake(session)->messages.alive, 0);
	assert_int_equal(nopal_session_counters(session)->messages_discarded, 3);
}

TEST_WITH(setup, own_rig_close, test_over_budget_changes_nothing)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message = arriving();
	uint64_t held;

	assert_true(put(message, 0, "first"));
	held = composite->awake->bytes_held;
	nopal_session_set_budget(session, &(struct nopal_budget){ .bytes = held + 3 });
	assert_false(put(message, 0, "long"));
	assert_false(put(message, 40, "x"));
	assert_int_equal(composite->awake->counters.rx_over_budget, 2);
	assert_int_equal(composite->awake->bytes_held, held);
	assert_int_equal(nopal_message_length(message), 5);
	nopal_session_set_budget(session, &(struct nopal_budget){ .objects = 2 });
	assert_null(arriving());
	assert_int_equal(composite->awake->counters.rx_over_budget, 3);
	nopal_message_discard(session, message);
	assert_int_equal(composite->awake->bytes_held, held - 5);
}

/* ------------------------------------------------- delivered out of its order */

static void send_in_order(const char *const *texts)
{
	arrived = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_send(&rig, texts[i]), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(arrived, 3);
}

static int setup_order(void **state)
{
	static const char *const texts[] = { "later", "now", "later" };

	(void)state;
	open_with(HELD);
	send_in_order(texts);
	return 0;
}

static void in_its_turn(unsigned which)
{
	struct nopal_composite *composite = nopal__composite(rig.acceptor.session);
	bool outermost = nopal__turn_begin(composite->world);

	nopal__touch(composite);
	nopal_message_release(rig_at(rig.acceptor.session, "m_order"), in_order[which]);
	nopal__turn_end(composite->world, outermost);
}

TEST_WITH(setup_order, own_rig_close, test_delivered_at_once_and_only_once)
{
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_string_equal(rig.acceptor.text[0], "now");
	assert_true(rig_awake(rig.acceptor.session)->messages.alive == 3);
	for (unsigned i = 0; i < 3; i++)
		in_its_turn(i);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_string_equal(rig.acceptor.text[1], "later");
	assert_string_equal(rig.acceptor.text[2], "later");
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
}

TEST_WITH(setup_order, own_rig_close, test_discarded_in_its_turn_it_stays_delivered)
{
	nopal_message_discard(rig.acceptor.session, in_order[1]);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->messages_discarded, 0);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 2);
}

/* One out of its order and one in it: neither is given to the application, and the places of both
 * are free when their turn came. */
TEST_WITH(NULL, own_rig_close, test_discarded_as_it_is_delivered_nobody_sees_it)
{
	static const char *const texts[] = { "bad", "bad", "good" };
	const struct nopal_counters *counters;

	open_with(JUDGED);
	send_in_order(texts);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 3);
	for (unsigned i = 0; i < 3; i++)
		in_its_turn(i);
	counters = nopal_session_counters(rig.acceptor.session);
	assert_int_equal(counters->messages_discarded, 2);
	assert_int_equal(counters->messages_delivered, 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_string_equal(rig.acceptor.text[0], "good");
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_MSG_CONSUMED), 3);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
}

/* ---------------------------------------------------------- other bytes for it */

TEST_WITH(setup, own_rig_close, test_replaced_bytes_are_charged_in_place_of_the_old)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message = arriving();
	struct nopal_buffer *other = nopal_buffer_new(2);
	uint64_t held = composite->awake->bytes_held;

	memcpy(nopal_buffer_bytes(other), "hi", 2);
	assert_true(put(message, 0, "first"));
	assert_true(nopal_message_replace(session, message,
					  (struct nopal_body){ other, other->bytes, 2 }));
	assert_int_equal(composite->awake->bytes_held - held, 2);
	assert_int_equal(nopal_message_length(message), 2);
	assert_int_equal(nopal_message_pieces(message), 1);
	nopal_session_set_budget(session, &(struct nopal_budget){ .bytes = 3 });
	assert_false(nopal_message_replace(
		session, message, (struct nopal_body){ nopal_buffer_ref(other), other->bytes, 2 }));
	assert_int_equal(nopal_message_length(message), 2);
	nopal_message_discard(session, message);
}

/* ------------------------------------------------------------ kept messages */

static struct keep {
	struct nopal_session *session;
	struct nopal_message *message[3];
	unsigned count;
	bool give_back_at_end;
	unsigned ended;
} keep;

static void *keep_accepted(struct nopal_session *accepted, void *user)
{
	keep.session = accepted;
	return user;
}

static void keep_received(struct nopal_session *receiver, struct nopal_message *message, void *user)
{
	(void)receiver, (void)user;
	nopal_message_keep(message);
	keep.message[keep.count++] = message;
}

static void keep_ended(struct nopal_session *ended, enum nopal_end end, const char *text,
		       void *user)
{
	(void)end, (void)text, (void)user;
	for (unsigned i = 0; keep.give_back_at_end && i < keep.count; i++)
		nopal_message_give_back(ended, keep.message[i]);
	keep.session = NULL;
	keep.ended++;
}

/* Three messages cross, and the application keeps them all. */
static int setup_keep(void **state)
{
	static const struct nopal_callbacks callbacks = {
		.accepted = keep_accepted,
		.received = keep_received,
		.ended = keep_ended,
	};

	(void)state;
	memset(&keep, 0, sizeof(keep));
	rig_open(&rig, PLAIN, &(struct rig_options){ .stay_closed = true });
	rig.acceptor.endpoint = nopal_sim_endpoint(rig.world, 1, 0);
	assert_int_equal(nopal_endpoint_allow(rig.acceptor.endpoint, rig.plan,
					      NOPAL_ALLOW_CONNECTIONLESS, &callbacks, NULL),
			 0);
	return 0;
}

static void send_three(void)
{
	struct nopal_address peer;

	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	session = nopal_open(rig.opener.endpoint, rig.plan, &peer, NULL, NULL);
	for (char c = 'a'; c <= 'c'; c++)
		assert_int_equal(nopal_send(session, &c, 1, 0), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(keep.count, 3);
}

TEST_WITH(setup_keep, own_rig_close, test_kept_messages_live_until_they_are_given_back)
{
	struct nopal_composite *composite;
	char byte;

	send_three();
	composite = nopal__composite(keep.session);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(composite->awake->messages.alive, 3);
	assert_int_equal(nopal_message_copy(keep.message[1], 0, &byte, 1), 1);
	assert_int_equal(byte, 'b');
	nopal_message_give_back(keep.session, keep.message[2]);
	nopal_message_give_back(keep.session, keep.message[0]);
	assert_int_equal(composite->awake->messages.alive, 1);
	nopal_message_give_back(keep.session, keep.message[1]);
	assert_int_equal(composite->awake->messages.alive, 0);
}

TEST_WITH(setup_keep, own_rig_close, test_kept_messages_are_given_back_in_ended)
{
	send_three();
	keep.give_back_at_end = true;
	nopal_session_abort(keep.session, "test");
	assert_int_equal(keep.ended, 1);
}

/* Which a leak checker sees. */
TEST_WITH(setup_keep, own_rig_close, test_what_is_never_given_back_is_freed)
{
	send_three();
	nopal_session_abort(keep.session, "test");
	assert_int_equal(keep.ended, 1);
}
