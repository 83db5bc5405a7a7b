/* SPDX-License-Identifier: MIT */
/*
 * A message of no bytes is a message: through every shipped config, and through whatever else makes
 * segments of messages, it arrives as any, in its place, and its outcome is told; or it is refused
 * when it is sent.
 */
#include <errno.h>

#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "plan/plan.h"
#include "ports/world.h"
#include "support/rig.h"
#include "support/suite.h"
#include "support/test.h"

enum { MESSAGES = 7, EMPTY = 4, PORT = 9000 };
#define LONG_NS (120 * NOPAL_SECOND)

/* Between others, in a row, and at both ends. */
static const size_t lengths[MESSAGES] = { 0, 3, 0, 0, 5, 900, 0 };

struct crossing {
	size_t arrived[MESSAGES];
	uint32_t count, outcomes[3], refused, ended;
	int end;
};

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct crossing *crossing = user;

	(void)session;
	if (crossing->count < MESSAGES)
		crossing->arrived[crossing->count] = nopal_message_length(message);
	crossing->count++;
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

/* Where nothing stands around a message, an empty datagram would leave. */
static bool may_go(const struct nopal_session *session, size_t length)
{
	return length > 0 || strcmp(nopal_session_plan_name(session), "plain_udp") != 0;
}

static void on_opened(struct nopal_session *session, void *user)
{
	static const uint8_t bytes[1000] = { 1, 2, 3 };
	struct crossing *crossing = user;

	for (unsigned i = 0; i < MESSAGES; i++) {
		int error = nopal_send(session, bytes, lengths[i], i);

		assert_int_equal(error, may_go(session, lengths[i]) ? 0 : -EINVAL);
		crossing->refused += error != 0;
	}
	nopal_session_close(session);
}

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	struct crossing *crossing = user;

	(void)session, (void)cookie;
	crossing->outcomes[outcome]++;
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct crossing *crossing = user;

	(void)session, (void)text;
	crossing->ended++;
	crossing->end = (int)end;
}

static void cross(struct nopal_plan *plan, struct crossing *crossing)
{
	static const struct nopal_callbacks opener = { .opened = on_opened,
						       .sent = on_sent,
						       .ended = on_ended };
	static const struct nopal_callbacks listener = { .accepted = on_accepted,
							 .received = on_received };
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_problems problems = { 0 };
	struct nopal_link link, back;
	struct nopal_address to;

	nopal_link_parse("rate 10mbit delay 10ms", &link, &back, &problems);
	nopal_sim_host(world);
	nopal_sim_host(world);
	nopal_sim_connect(world, 0, 1, &link, &back);
	nopal_sim_address(1, PORT, &to);
	assert_int_equal(nopal_endpoint_allow(nopal_sim_endpoint(world, 1, PORT), plan,
					      NOPAL_ALLOW_CONNECTIONLESS, &listener, crossing),
			 0);
	assert_non_null(
		nopal_open(nopal_sim_endpoint(world, 0, PORT), plan, &to, &opener, crossing));
	nopal_sim_run(world, LONG_NS);
	nopal_world_free(world);
	nopal_problems_fini(&problems);
}

/* All that were not refused came, each in its place, and each outcome was told. */
static void crosses(struct nopal_plan *plan, uint32_t refused)
{
	struct crossing crossing = { 0 };
	uint32_t at = 0;

	cross(plan, &crossing);
	assert_int_equal(crossing.refused, refused);
	assert_int_equal(crossing.count, MESSAGES - refused);
	for (unsigned i = 0; i < MESSAGES; i++)
		if (!refused || lengths[i])
			assert_int_equal(crossing.arrived[at++], lengths[i]);
	assert_int_equal(crossing.outcomes[0] + crossing.outcomes[1] + crossing.outcomes[2],
			 MESSAGES - refused);
	assert_int_equal(crossing.ended, 1);
	/* where two must have them, one who has them is not enough */
	assert_int_equal(crossing.end, crossing.outcomes[NOPAL_OUTCOME_LOST] ? NOPAL_UNDELIVERED
									     : NOPAL_ENDED_WELL);
}

TEST(test_through_what_is_shipped)
{
	char *names[SUITE_CONFIGS];
	size_t count = suite_configs(names);

	for (size_t i = 0; i < count; i++) {
		struct nopal_plan *plan = suite_plan(names[i]);
		bool bare = strcmp(names[i], "plain_udp") == 0;

		assert_int_equal(nopal_plan_info(plan)->message_min, bare);
		crosses(plan, bare ? EMPTY : 0);
		nopal_plan_unref(plan);
		free(names[i]);
	}
}

/* Every other way in which messages become segments. */
#define OPENED "transport_driver {}\nvirtual_circuit {}\n"
#define SURE                                                                                       \
	OPENED "positive_ack {} retransmission_timer {}\nrtt_estimation {}\nretransmit {}\n"       \
	       "sequenced_segments {}\n"
#define LOWER "layer \"lower\" {\n" SURE "fixed_size {}\n}\n"
static const char *const composed[] = {
	OPENED "fixed_size {}\n",
	SURE "fixed_size {}\nreliable_fifo {}\n",
	OPENED "resize {}\nsequenced_messages {}\nlossy_fifo {}\n",
	SURE "resize {}\nreliable_fifo {}\ncompression {}\n",
	OPENED "coalesce {}\nsequenced_messages {}\n",
	OPENED "coalesce { delay = 20ms }\nsequenced_messages {}\n",
	SURE "coalesce {}\nsequenced_messages {}\nreliable_fifo {}\n",
	"layer \"upper\" {\ntransport_driver {}\nwhole_messages {}\n}\n" LOWER,
	"layer \"upper\" {\ntransport_driver {}\nfixed_size {}\n}\n" LOWER,
	"layer \"upper\" {\ntransport_driver {}\nresize {}\n"
	"sequenced_segments {}\nreliable_fifo {}\n}\n" LOWER,
};

TEST(test_through_what_is_composed)
{
	for (size_t i = 0; i < sizeof(composed) / sizeof(*composed); i++) {
		struct nopal_plan *plan = rig_plan(composed[i]);

		crosses(plan, 0);
		nopal_plan_unref(plan);
	}
}
