/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/segments.h"
#include "support/test.h"

static const char FIXED[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";
static const char BY_SEGMENT[] = "transport_driver {}\nfixed_size {}\n"
				 "sequenced_segments {}\na_tap {}\n";
static const char BY_MESSAGE[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
				 "sequenced_messages {}\na_tap {}\n";

enum { MESSAGE, SEGMENT, FIRST, NEXT };

static uint64_t first, next;

static enum nopal_verdict look(struct nopal_at at, struct nopal_message *message)
{
	const struct nopal_at fixed = rig_at(at.session, "fixed_size");

	first = nopal_get(fixed, message, FIRST);
	next = nopal_get(fixed, message, NEXT);
	return NOPAL_CONTINUE;
}

/* Messages that one with these numbers covers. */
static void cover(const char *config, uint64_t segment, uint64_t message)
{
	const struct nopal_binding binding = NOPAL_ON(MSG_FROM_NET, look);
	struct nopal_at at;
	struct arriving one;
	struct rig rig;

	rig_open(&rig, config, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	at = rig_at(rig.acceptor.session, "fixed_size");
	assert_int_equal(nopal_bind(at, &binding), 0);
	one = arriving_begin(rig.acceptor.session, NOPAL_KIND_DATA, "abc", 3);
	if (nopal_has(at, SEGMENT))
		nopal_set(at, one.segment, SEGMENT, segment);
	if (nopal_has(at, MESSAGE))
		nopal_set(at, one.segment, MESSAGE, message);
	arriving_end(&one);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[1], "abc");
	rig_close(&rig);
}

TEST(test_a_message_covers_its_number)
{
	cover(FIXED, 7, 9);
	assert_int_equal(first, 0);
	assert_int_equal(next, 0);
	cover(BY_SEGMENT, 7, 9);
	assert_int_equal(first, 7);
	assert_int_equal(next, 8);
	cover(BY_MESSAGE, 7, 9);
	assert_int_equal(first, 9);
	assert_int_equal(next, 10);
}

TEST(test_lengths_at_the_bounds)
{
	uint32_t limit;
	struct rig rig;

	rig_open(&rig, FIXED, NULL);
	limit = nopal_body_limit(rig.opener.session);
	assert_int_equal(rig_send_bytes(&rig, 0), 0);
	assert_int_equal(rig_send_bytes(&rig, 1), 0);
	assert_int_equal(rig_send_bytes(&rig, limit), 0);
	assert_true(rig_send_bytes(&rig, limit + 1) < 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(rig.acceptor.length[0], 0);
	assert_int_equal(rig.acceptor.length[2], limit);
	rig_close(&rig);
}

TEST(test_a_longer_path_takes_longer_messages)
{
	uint32_t limit;
	struct rig rig;

	rig_open(&rig, FIXED, NULL);
	limit = nopal_body_limit(rig.opener.session);
	rig_close(&rig);
	rig_open(&rig, "transport_driver {}\nfixed_size { mtu = 1000B }\na_tap {}\n", NULL);
	assert_int_equal(nopal_body_limit(rig.opener.session), limit - 500);
	rig_close(&rig);
}

TEST(test_over_budget_nothing_is_kept)
{
	const struct nopal_budget little = { .bytes = 1 };
	struct arriving one;
	struct rig rig;

	rig_open(&rig, FIXED, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	nopal_session_set_budget(rig.acceptor.session, &little);
	one = arriving_begin(rig.acceptor.session, NOPAL_KIND_DATA, "abc", 3);
	arriving_end(&one);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
}
