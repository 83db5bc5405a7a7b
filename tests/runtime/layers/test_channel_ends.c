/* SPDX-License-Identifier: MIT */
/* Sessions, endpoints and worlds end in every order while a channel is open. */
#include "session/endpoint_sessions.h"
#include "support/many.h"
#include "support/test.h"

static struct many many;

#define PLAIN MANY_CHANNEL("", "report = 1ms", "fan_out {}")

/* The alias goes with the last that hears there. */
TEST(test_aliases_are_closed)
{
	many_hear(&many, PLAIN, 2, "delay 1ms", NULL);
	assert_non_null(many.end[0].endpoint->aliases);
	nopal_destination_remove(many.group, (uint32_t)many.end[0].id, false);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_null(many.end[0].session);
	assert_null(many.end[0].endpoint->aliases);
	assert_non_null(many.end[1].endpoint->aliases);
	assert_true(many_add(&many, 0) > 0); /* and comes again */
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	assert_non_null(many.end[0].endpoint->aliases);
	many_close(&many);
}

enum closing {
	CLOSE_GROUP,
	ABORT_GROUP,
	CLOSE_SENDER,
	CLOSE_LISTENER,
	ABORT_RECEIVER,
	REMOVE_ONE,
	CLOSINGS
};

static void close_one(enum closing what)
{
	switch (what) {
	case CLOSE_GROUP:
		if (many.group)
			nopal_session_close(many.group);
		break;
	case ABORT_GROUP:
		if (many.group)
			nopal_session_abort(many.group, "enough");
		break;
	case CLOSE_SENDER:
		nopal_endpoint_close(many.endpoint);
		break;
	case CLOSE_LISTENER:
		nopal_endpoint_close(many.end[0].endpoint);
		break;
	case ABORT_RECEIVER:
		if (many.end[1].session)
			nopal_session_abort(many.end[1].session, "enough");
		break;
	case REMOVE_ONE:
	case CLOSINGS:
		if (many.group)
			nopal_destination_remove(many.group, (uint32_t)many.end[2].id, true);
	}
}

/* The order of three of them by its number, and time between. */
static void close_in(unsigned order, int64_t pause_ns)
{
	bool done[CLOSINGS] = { false };

	many_open(&many, MANY_CHANNEL("", "", "fan_out {}"), 3, "delay 3ms", 1);
	many_run(&many, order % 2 ? NOPAL_SECOND : 17 * NOPAL_MILLISECOND);
	many_send_some(&many, 5, 3000, 0);
	many_run(&many, 2 * NOPAL_MILLISECOND);
	for (int i = 0; i < 3; i++, order /= CLOSINGS) {
		enum closing what = (enum closing)(order % CLOSINGS);

		if (!done[what])
			close_one(what);
		done[what] = true;
		many_run(&many, pause_ns);
	}
	many_close(&many);
}

TEST(test_closed_in_every_order)
{
	for (unsigned order = 0; order < CLOSINGS * CLOSINGS * CLOSINGS; order++) {
		close_in(order, 0);
		close_in(order, NOPAL_MILLISECOND);
		close_in(order, 10 * NOPAL_SECOND);
	}
}

/* A datagram of the channel is the last deed of its session: the alias goes while it is read. */
static void close_on_outcome(struct many *all, uint32_t message)
{
	(void)message;
	if (all->group)
		nopal_session_abort(all->group, "enough");
}

static void *gone_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void gone_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)message, (void)user;
	nopal_session_abort(session, "enough");
}

TEST(test_closed_by_what_came)
{
	static const struct nopal_callbacks callbacks = { .accepted = gone_accepted,
							  .received = gone_received };

	many_prepare(&many, PLAIN, 3, "delay 1ms", 1);
	for (uint32_t i = 0; i < 3; i++) {
		nopal_endpoint_close(many.end[i].endpoint);
		many.end[i].endpoint = nopal_sim_endpoint(many.world, (int)i + 1, MANY_PORT);
		nopal_endpoint_allow(many.end[i].endpoint, many.plan, NOPAL_ALLOW_CONNECTIONLESS,
				     &callbacks, NULL);
		assert_true(many_add(&many, i) > 0);
	}
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	many_send_some(&many, 10, 100, 0);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.ended, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_null(many.end[i].endpoint->aliases);
	many_close(&many);

	many_hear(&many, PLAIN, 3, "delay 1ms", NULL);
	many.on_outcome = close_on_outcome;
	many_send_some(&many, 10, 100, 0);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.ended, 1);
	many_close(&many);
}
