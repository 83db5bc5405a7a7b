/* SPDX-License-Identifier: MIT */
/* Sent messages: refused, waiting, on their way; and their attributes. */
#include <errno.h>
#include <string.h>

#include "engine/turn.h"
#include "support/fakes.h"
#include "support/kept.h"
#include "support/test.h"

/* Looks at what the application says of a message. */
static unsigned judged;
static enum nopal_verdict m_judge_on_msg(struct nopal_at at, struct nopal_message *message)
{
	if (nopal_get(at, message, 0) != 13)
		return NOPAL_CONTINUE;
	judged++;
	nopal_message_refuse(at.session, message, -EDOM);
	return NOPAL_STOP;
}
FAKE(m_judge, .attributes = FAKE_ATTRIBUTES({ "luck", NOPAL_PROPERTY, "of it", .wire_bytes = 1 }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_USER, m_judge_on_msg,
					.before = "message_segments")));

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\n"
			   "m_judge {}\n";

static void open_with(const char *config)
{
	rig_add(&m_judge);
	kept_open(config);
}

static int setup(void **state)
{
	(void)state;
	open_with(KEPT);
	return 0;
}

EACH_TEST(setup, own_rig_close);

TEST(test_a_full_send_buffer_says_when_there_is_room)
{
	nopal_session_set_budget(session, &(struct nopal_budget){ .send_bytes = 10 });
	assert_int_equal(rig_send_bytes(&rig, 8), 0);
	assert_int_equal(nopal_session_send_room(session), 2);
	assert_int_equal(rig_send_bytes(&rig, 3), -EAGAIN);
	assert_int_equal(rig_send_bytes(&rig, 2), 0);
	assert_int_equal(nopal_session_send_room(session), 0);
	assert_int_equal(rig.opener.writable, 0);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.writable, 1);
	settle(4, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.writable, 1);
}

/* Else it could never leave. */
TEST(test_one_message_may_exceed_the_send_buffer)
{
	nopal_session_set_budget(session, &(struct nopal_budget){ .send_bytes = 10 });
	assert_int_equal(rig_send_bytes(&rig, 100), 0);
	assert_int_equal(nopal_session_send_room(session), 0);
	assert_int_equal(rig_send_bytes(&rig, 0), -EAGAIN);
}

/* As a part does it, in a turn. */
static void limit(uint64_t bytes)
{
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(composite->world);

	nopal__touch(composite);
	nopal_send_limit_set(session, bytes);
	nopal__turn_end(composite->world, outermost);
}

TEST(test_a_limit_is_of_the_budget)
{
	nopal_session_set_budget(session, &(struct nopal_budget){ .send_bytes = 100 });
	assert_int_equal(nopal_session_send_room(session), 100);
	limit(10);
	assert_int_equal(nopal_session_send_room(session), 10);
	limit(101);
	assert_int_equal(nopal_session_send_room(session), 100);
	limit(10);
	nopal_session_set_budget(session, &(struct nopal_budget){ .send_bytes = 5 });
	assert_int_equal(nopal_session_send_room(session), 5);
	nopal_session_set_budget(session, &(struct nopal_budget){ .send_bytes = 200 });
	assert_int_equal(nopal_session_send_room(session), 10);
	limit(0);
	assert_int_equal(nopal_session_send_room(session), 200);
}

TEST(test_a_limit_that_grows_says_that_there_is_room)
{
	limit(10);
	assert_int_equal(rig_send_bytes(&rig, 8), 0);
	assert_int_equal(rig_send_bytes(&rig, 8), -EAGAIN);
	limit(15);
	assert_int_equal(rig.opener.writable, 0);
	limit(16);
	assert_int_equal(rig.opener.writable, 1);
	assert_int_equal(rig_send_bytes(&rig, 8), 0);
	limit(100);
	assert_int_equal(rig.opener.writable, 1); /* nobody was refused */
}

TEST(test_a_limit_that_shrinks_loses_nothing)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_send_bytes(&rig, 8), 0);
	limit(10);
	assert_int_equal(nopal_session_send_room(session), 0);
	assert_int_equal(rig_send_bytes(&rig, 3), -EAGAIN);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.writable, 0);
	settle(4, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.writable, 0);
	settle(6, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.writable, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
}

TEST(test_nothing_is_sent_after_close)
{
	rig_send(&rig, "x");
	nopal_session_close(session);
	assert_int_equal(rig_send(&rig, "y"), -EPIPE);
	assert_int_equal(rig.opener.ended, 0);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
}

TEST(test_over_its_objects_a_send_is_refused_whole)
{
	rig_send(&rig, "x");
	nopal_session_set_budget(session, &(struct nopal_budget){ .objects = 2 });
	assert_int_equal(rig_send(&rig, "y"), -ENOBUFS);
	assert_int_equal(nopal__composite(session)->awake->unfinished, 1);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(rig_send(&rig, "z"), 0);
}

TEST(test_a_buffer_is_looked_at_until_all_is_done)
{
	struct nopal_buffer *buffer = nopal_buffer_new(5);

	memcpy(nopal_buffer_bytes(buffer), "hello", 5);
	assert_int_equal(nopal_send_message(session, &(struct nopal_outgoing){ .buffer = buffer,
									       .from = 1,
									       .length = 3 }),
			 0);
	assert_true(buffer->references > 1);
	assert_ptr_equal(rig_segment(session, 2)->body.bytes, nopal_buffer_bytes(buffer) + 1);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(buffer->references, 1);
	nopal_buffer_free(buffer);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], "ell");
}

TEST_WITH(NULL, NULL, test_what_is_sent_while_opening_waits_in_order)
{
	static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";
	struct nopal_address peer;
	struct nopal_session *opening;

	rig_open(&rig, CIRCUIT, &(struct rig_options){ .stay_closed = true });
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	opening = nopal_open(rig.opener.endpoint, rig.plan, &peer, NULL, NULL);
	for (char c = 'a'; c < 'a' + 20; c++)
		assert_int_equal(nopal_send(opening, &c, 1, 0), 0);
	assert_int_equal(nopal_session_counters(opening)->transmissions, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig.acceptor.text[i][0], 'a' + i);
	rig_close(&rig);
}

/* -------------------------------------------------------------- properties */

static int send_lucky(struct nopal_session *sender, uint64_t luck)
{
	const struct nopal_property properties[] = {
		{ nopal_property(rig.plan, "luck"), luck },
		{ nopal_property(rig.plan, "nobody looks at it"), 7 },
	};

	return nopal_send_message(sender, &(struct nopal_outgoing){ .bytes = "x",
								    .length = 1,
								    .cookie = 5,
								    .properties = properties,
								    .property_count = 2 });
}

static uint64_t luck_arrived;

static void lucky_received(struct nopal_session *receiver, struct nopal_message *message,
			   void *user)
{
	(void)receiver, (void)user;
	luck_arrived = nopal_message_property(message, nopal_property(rig.plan, "luck"));
}

TEST(test_a_property_that_no_composition_has_is_refused)
{
	const struct nopal_property unknown = { UINT32_MAX, 1 };

	assert_int_equal(
		nopal_send_message(session, &(struct nopal_outgoing){ .bytes = "x",
								      .length = 1,
								      .properties = &unknown,
								      .property_count = 1 }),
		-EINVAL);
}

TEST(test_a_property_travels_with_its_message)
{
	static const struct nopal_callbacks callbacks = { .received = lucky_received };
	struct nopal_session *sender;
	struct nopal_address peer;

	rig_close(&rig);
	rig_open(&rig, KEPT, &(struct rig_options){ .stay_closed = true });
	nopal_endpoint_close(rig.acceptor.endpoint);
	rig.acceptor.endpoint = nopal_sim_endpoint(rig.world, 1, 9000);
	nopal_endpoint_allow(rig.acceptor.endpoint, rig.plan, NOPAL_ALLOW_CONNECTIONLESS,
			     &callbacks, NULL);
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	sender = nopal_open(rig.opener.endpoint, rig.plan, &peer, NULL, NULL);
	assert_int_equal(send_lucky(sender, 7), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(luck_arrived, 7);
}

TEST(test_a_refused_message_was_never_sent)
{
	struct nopal_awake *awake = rig_awake(session);

	assert_int_equal(send_lucky(session, 13), -EDOM);
	assert_int_equal(awake->messages.alive, 0);
	assert_int_equal(awake->unfinished + awake->unfinished_bytes, 0);
	assert_int_equal(nopal_session_counters(session)->messages_sent, 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 0);
	assert_int_equal(send_lucky(session, 12), 0);
	assert_int_equal(nopal_session_counters(session)->messages_sent, 1);
	settle(3, NOPAL_OUTCOME_DELIVERED);
}

static int late_outcome;
static void late_sent(struct nopal_session *sender, uint64_t cookie, enum nopal_outcome outcome,
		      void *user)
{
	(void)sender, (void)user;
	assert_int_equal(cookie, 5);
	late_outcome = (int)outcome;
}

TEST(test_refused_when_it_opens_it_is_missing)
{
	static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\n"
				      "virtual_circuit {}\nm_judge {}\n";
	static const struct nopal_callbacks callbacks = { .sent = late_sent };
	struct nopal_session *opening;
	struct nopal_address peer;

	rig_close(&rig);
	judged = 0;
	rig_open(&rig, CIRCUIT, &(struct rig_options){ .stay_closed = true });
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	opening = nopal_open(rig.opener.endpoint, rig.plan, &peer, &callbacks, NULL);
	assert_int_equal(send_lucky(opening, 13), 0);
	assert_int_equal(judged, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(judged, 1);
	assert_int_equal(late_outcome, NOPAL_OUTCOME_LOST);
	assert_int_equal(rig_awake(opening)->unfinished, 0);
}

TEST(test_urgent_is_known_everywhere)
{
	const struct nopal_property urgent = { nopal_property(rig.plan, "urgent"), 1 };

	assert_int_equal(nopal_property(rig.plan, "no such property"), 0);
	assert_int_equal(
		nopal_send_message(session, &(struct nopal_outgoing){ .bytes = "x",
								      .length = 1,
								      .properties = &urgent,
								      .property_count = 1 }),
		0);
	assert_true(rig_segment(session, 2)->urgent);
	settle(2, NOPAL_OUTCOME_DELIVERED);
}
