/* SPDX-License-Identifier: MIT */
/* The live world for who will not sleep: polls, and lingering after arrivals. */
#include <event2/event.h>

#include "session/endpoint_sessions.h"
#include "support/test.h"

struct awake {
	struct event_base *base;
	struct nopal_world *world;
	struct nopal_endpoint *endpoint;
	struct nopal_plan *plan;
	unsigned opened, received, ended;
};

static void awake_opened(struct nopal_session *session, void *user)
{
	struct awake *awake = user;

	awake->opened++;
	if (awake->opened == 1) /* the listener's side */
		assert_int_equal(nopal_send(session, "hello", 5, 0), 0);
}

static void *awake_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void awake_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct awake *awake = user;

	assert_int_equal(nopal_message_length(message), 5);
	awake->received++;
	nopal_session_close(session);
}

static void awake_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			void *user)
{
	struct awake *awake = user;

	(void)session;
	(void)end;
	(void)text;
	awake->ended++;
}

static const struct nopal_callbacks awake_callbacks = {
	.accepted = awake_accepted,
	.opened = awake_opened,
	.received = awake_received,
	.ended = awake_ended,
};

static void awake_open(struct awake *awake)
{
	struct nopal_problems problems = { 0 };
	struct nopal_address address;

	*awake = (struct awake){ .base = event_base_new() };
	awake->world = nopal_live_new(awake->base);
	awake->plan = nopal_plan_load("bulk", NULL, &problems);
	nopal_address_parse("127.0.0.1:0", &address, NULL);
	awake->endpoint = nopal_endpoint_open(awake->world, &address, &problems);
	assert_non_null(awake->endpoint);
	nopal_endpoint_local(awake->endpoint, &address);
	nopal_endpoint_allow(awake->endpoint, awake->plan, 0, &awake_callbacks, awake);
	assert_non_null(
		nopal_open(awake->endpoint, awake->plan, &address, &awake_callbacks, awake));
}

static void awake_close(struct awake *awake)
{
	nopal_world_free(awake->world);
	nopal_plan_unref(awake->plan);
	event_base_free(awake->base);
}

/* Arrivals and timers (a session's end waits for one) without the loop. */
TEST(test_polls_alone_carry_a_session)
{
	struct awake awake;
	int64_t begun_ns;

	awake_open(&awake);
	begun_ns = nopal_world_now(awake.world);
	while (awake.ended < 2 && nopal_world_now(awake.world) - begun_ns < 10 * NOPAL_SECOND)
		nopal_live_poll(awake.world);
	assert_int_equal(awake.opened, 2);
	assert_int_equal(awake.received, 1);
	assert_int_equal(awake.ended, 2);
	awake_close(&awake);
}

/* Whoever lingers finds the answers in the same wake-up of the loop. */
enum { LINGER_TRIES = 50 };

/* All of a handshake and a message in one turn of the loop. */
static bool lingers_once(void)
{
	struct awake awake;
	bool whole;

	awake_open(&awake);
	nopal_live_linger(awake.world, NOPAL_MILLISECOND);
	event_base_loop(awake.base, EVLOOP_ONCE);
	whole = awake.opened == 2 && awake.received == 1;
	awake_close(&awake);
	return whole;
}

/* A busy machine may take the processor away for longer than it lingers; who does not linger never
 * hears the answer in the same turn. */
TEST(test_who_lingers_joined_the_answer)
{
	bool heard = false;

	for (int i = 0; i < LINGER_TRIES && !heard; i++)
		heard = lingers_once();
	assert_true(heard);
}

TEST(test_a_simulated_world_is_not_polled)
{
	struct nopal_world *world = nopal_sim_new(1);

	assert_false(nopal_live_poll(world));
	nopal_live_linger(world, NOPAL_MILLISECOND);
	nopal_world_free(world);
}
