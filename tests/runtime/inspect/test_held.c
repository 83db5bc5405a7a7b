/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/composite.h"
#include "support/fakes.h"
#include "support/kept.h"
#include "support/test.h"

FAKE(m_jailer, .holds = FAKE_HOLDS({ "the jailer", NOPAL_DELIVER, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_NET, fake_on_message)));

enum { HELD_ROOM = 16 };

static struct nopal_held seen[HELD_ROOM];
static size_t seen_count;

static void note(const struct nopal_held *held, void *user)
{
	(void)user;
	assert_in_range(seen_count, 0, HELD_ROOM - 1);
	seen[seen_count++] = *held;
}

static size_t look(const struct nopal_session *at)
{
	size_t count;

	seen_count = 0;
	count = nopal_session_held(at, note, NULL);
	assert_int_equal(count, seen_count);
	return count;
}

TEST_WITH(NULL, own_rig_close, test_held_segments_are_counted_by_holder)
{
	kept_open("transport_driver {}\nfixed_size {}\nm_keeper {}\n");
	assert_int_equal(look(session), 0);
	for (int i = 0; i < 3; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(look(session), 1);
	assert_string_equal(seen->microprotocol, "m_keeper");
	assert_string_equal(seen->why, "the test");
	assert_int_equal(seen->barrier, NOPAL_DONE);
	assert_int_equal(seen->items, 3);
	assert_int_equal(seen->alone, 3);
	assert_int_equal(seen->oldest, 2); /* 1 is its message */
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(look(session), 1);
	assert_int_equal(seen->items, 2);
	assert_int_equal(nopal_session_held(session, NULL, NULL), 1);
}

static uint64_t held_at_end;

static void on_ended(struct nopal_session *at, enum nopal_end end, const char *text, void *user)
{
	(void)end;
	(void)text;
	(void)user;
	held_at_end = look(at) ? seen->items : 0;
}

static const struct nopal_callbacks ending = { .ended = on_ended };

/* In the callback `ended` all is there that was never delivered. */
TEST_WITH(NULL, own_rig_close, test_held_messages_are_there_when_the_session_has_ended)
{
	struct nopal_address peer;

	rig_add(&m_jailer);
	rig_open(&rig, "transport_driver {}\nfixed_size {}\nm_jailer {}\n",
		 &(struct rig_options){ .stay_closed = true });
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	nopal_endpoint_allow(rig.acceptor.endpoint, rig.plan, NOPAL_ALLOW_CONNECTIONLESS, &ending,
			     NULL);
	session = nopal_open(rig.opener.endpoint, rig.plan, &peer, &(struct nopal_callbacks){ 0 },
			     NULL);
	for (int i = 0; i < 5; i++)
		nopal_send(session, "x", 1, 0);
	held_at_end = 0;
	rig_pass(&rig, 2 * NOPAL_SILENCE_NS);
	assert_int_equal(held_at_end, 5);
	assert_string_equal(seen->microprotocol, "m_jailer");
	assert_int_equal(seen->barrier, NOPAL_DELIVER);
}
