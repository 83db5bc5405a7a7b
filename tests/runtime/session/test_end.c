/* SPDX-License-Identifier: MIT */
/* A good end means that all arrived: in groups by their rule, on streams, and between two. */
#include <errno.h>

#include "engine/composite.h"
#include "support/many.h"
#include "support/one_flow.h"
#include "support/rig.h"
#include "support/test.h"

static struct many many;

/* ------------------------------------------------------------------ to many */

/* Of three destinations so many die with a message under way, and the group closes. */
static void lose(const char *group, uint32_t dying)
{
	many_open(&many, group, 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < dying; i++)
		many_cut(&many, i);
	assert_int_equal(many_send(&many), 0);
	assert_int_equal(many_send(&many), 0);
	nopal_session_close(many.group);
	many_run(&many, 100 * NOPAL_SECOND);
	assert_int_equal(many.ended, 1);
}

TEST(test_all_but_one_are_not_all)
{
	char address[NOPAL_ADDRESS_TEXT];

	lose(MANY_RELIABLE("fan_out {}"), 1);
	assert_int_equal(many.end_code, NOPAL_UNDELIVERED);
	assert_non_null(strstr(many.end_text, "2 messages are not known to have arrived"));
	nopal_address_format(&many.end[0].address, address);
	assert_non_null(strstr(many.end_text, address));
	assert_null(strstr(many.end_text, "more were lost"));
	for (uint32_t i = 1; i < 3; i++) /* who lives has all */
		assert_int_equal(many.end[i].delivered, 2);
	many_close(&many);
}

TEST(test_all_that_are_lost_are_counted)
{
	lose(MANY_RELIABLE("fan_out {}"), 3);
	assert_int_equal(many.end_code, NOPAL_UNDELIVERED);
	assert_non_null(strstr(many.end_text, "and 2 more were lost"));
	many_close(&many);
}

/* The group does not close: it breaks with its last destination, and its text says more than that
 * destination's. */
TEST(test_a_group_that_breaks_tells_what_it_lost)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_cut(&many, 0);
	many_cut(&many, 1);
	assert_int_equal(many_send(&many), 0);
	many_run(&many, 100 * NOPAL_SECOND);
	assert_int_equal(many.ended, 1);
	assert_true(many.end_code == NOPAL_GAVE_UP || many.end_code == NOPAL_PEER_LOST);
	assert_non_null(strstr(many.end_text, ":9000: "));
	assert_non_null(strstr(many.end_text, "and 1 more were lost; 1 message is not known"));
	many_close(&many);
}

TEST(test_enough_are_enough)
{
	lose(MANY_RELIABLE("fan_out { acks = 1 }"), 2);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
	lose(MANY_RELIABLE("fan_out { acks = 2 }"), 1);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
	lose(MANY_RELIABLE("fan_out { acks = 2 }"), 2);
	assert_int_equal(many.end_code, NOPAL_UNDELIVERED);
	many_close(&many);
}

/* Nobody has promised anything. */
TEST(test_what_nobody_acknowledges_is_no_loss)
{
	lose(MANY_PLAIN("fan_out {}"), 3);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
}

TEST(test_whom_the_application_removed_nobody_misses)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 1, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_cut(&many, 0);
	assert_int_equal(many_send(&many), 0);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_destination_remove(many.group, 1, true), 0);
	nopal_session_close(many.group);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
}

/* ----------------------------------------------------------------- deadlines */

#define FRESH                                                                                      \
	" transport_driver {} virtual_circuit {} resize {}\n"                                      \
	" sequenced_segments {} positive_ack {} retransmission_timer {} rtt_estimation {}\n"       \
	" retransmit {} partial_reliability { deadline = 50ms }\n"

static const char MANY_EXPIRING[] =
	"layer \"group\" { transport_driver {} whole_messages {} fan_out {} }\n"
	"layer \"destination\" {\n multiplicity = per_destination\n" FRESH "}\n";

TEST(test_a_deadline_is_no_loss)
{
	struct rig rig;

	rig_open(&rig, FRESH, NULL);
	rig_change(&rig, "loss 100%");
	rig_send(&rig, "late");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	rig_change(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_a_deadline_is_no_loss_of_a_groups)
{
	many_open(&many, MANY_EXPIRING, 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_cut(&many, 0);
	assert_int_equal(many_send(&many), 0);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	many_link(&many, 0, "delay 10ms");
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_LOST], 1);
	nopal_session_close(many.group);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
}

/* The layer below gives it up as it was told, before the one above does. */
TEST(test_what_expired_below_is_nobodys_loss)
{
	const struct rig_options options = { .link = "delay 10ms" };
	struct nopal_property attempts = { 0, 1 };
	struct rig rig;

	rig_open(&rig,
		 "layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
		 "  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n"
		 "  rtt_estimation { initial_timeout = 3s }\n}\n"
		 "layer \"lower\" {\n  transport_driver {}\n"
		 "  virtual_circuit {}\n  fixed_size {}\n"
		 "  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n"
		 "  retransmit {}\n  partial_reliability {}\n}\n",
		 &options);
	attempts.which = nopal_property(rig.plan, "attempts");
	rig_change(&rig, "loss 100%");
	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = "x",
								      .length = 1,
								      .properties = &attempts,
								      .property_count = 1 }),
			 0);
	rig_run(&rig, 5 * NOPAL_SECOND);
	rig_change(&rig, "delay 10ms");
	rig_finish(&rig);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

/* ------------------------------------------------------------------- streams */

static const char STREAMED[] =
	"layer \"stream\" { multiplicity = per_stream\n" STREAM "}\nlayer \"flow\" {\n" FLOW "}\n";

static struct end theirs;

/* The listener opens a stream in return. */
static void open_theirs(void)
{
	memset(&theirs, 0, sizeof(theirs));
	pair_open(STREAMED, "delay 10ms");
	open_stream(0);
	say(0, "hello");
	flow_pair_run(NOPAL_SECOND);
	theirs.session = nopal_session_open(&(struct nopal_open){
		.beside = pair.there[0].session, .callbacks = &opens_only, .user = &theirs });
	assert_non_null(theirs.session);
}

/* The flow acknowledges what came for it. */
TEST(test_a_stream_that_nobody_takes_is_refused)
{
	open_theirs();
	assert_int_equal(nopal_send(theirs.session, "x", 1, 0), 0);
	nopal_session_close(theirs.session);
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(theirs.ended, 1);
	assert_int_equal(theirs.code, NOPAL_RESOURCE);
	assert_int_equal(pair.here[0].ended + pair.there[0].ended, 0);
	pair_close();
}

static const struct nopal_composite *their_flow(void)
{
	return nopal__composite(pair.there[0].session ? pair.there[0].session : theirs.session)
		->below;
}

/* The opener closes its only stream, and with it the flow; and then the listener has something to
 * say on its own. */
TEST(test_what_a_flow_closes_over_is_lost)
{
	open_theirs();
	flow_pair_run(100 * NOPAL_MILLISECOND);
	nopal_session_close(pair.here[0].session);
	while (their_flow()->life != NOPAL_LIFE_CLOSING)
		flow_pair_run(NOPAL_MILLISECOND);
	assert_int_equal(nopal_send(theirs.session, "x", 1, 0), 0);
	flow_pair_run(60 * NOPAL_SECOND);
	assert_int_equal(pair.here[0].code, NOPAL_ENDED_WELL);
	assert_int_equal(pair.there[0].code, NOPAL_ENDED_WELL);
	assert_int_equal(theirs.ended, 1);
	assert_int_equal(theirs.arrived, 0);
	assert_int_equal(theirs.code, NOPAL_UNDELIVERED);
	pair_close();
}

/* --------------------------------------------------------------- between two */

/* Refuses messages that waited for the opening. */
static enum nopal_verdict refuser_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	nopal_message_refuse(at.session, message, -EINVAL);
	return NOPAL_STOP;
}

static const struct nopal_microprotocol refuser = {
	.abi = NOPAL_ABI,
	.name = "refuser",
	.family = "fake",
	.summary = "it refuses all messages",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_USER, refuser_on_from_user,
							     .before = "message_segments"),
						    { 0 } },
};

TEST(test_what_is_refused_late_is_missing_at_the_end)
{
	rig_add(&refuser);
	pair_open(" transport_driver {} virtual_circuit {} fixed_size {}\n"
		  " sequenced_segments {} positive_ack {} retransmission_timer {} retransmit {}\n"
		  " refuser {}\n",
		  "delay 10ms");
	open_stream(0); /* a session */
	say(0, "before it is open");
	nopal_session_close(pair.here[0].session);
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(pair.here[0].opened, 1);
	assert_int_equal(pair.here[0].ended, 1);
	assert_int_equal(pair.here[0].code, NOPAL_UNDELIVERED);
	pair_close();
}
