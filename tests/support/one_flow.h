/* SPDX-License-Identifier: MIT */
/*
 * one_flow.h -- two hosts, a flow between them, and streams that the first one opens:
 * `pair.here[i]` there, `pair.there[i]` in the order in which the second accepted.
 *
 *     pair_open(STREAMED, "delay 10ms");
 *     open_stream(0);
 *     say(0, "hello");
 *     pair_run(NOPAL_SECOND);
 *     pair_close();
 *
 * FLOW and STREAM are what the two layers of a config have.
 */
#ifndef NOPAL_TEST_ONE_FLOW_H
#define NOPAL_TEST_ONE_FLOW_H

#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/session.h"
#include "support/test.h"

enum { STREAMS = 100, PORT = 9000, TEXT = 64 };

#define FLOW                                                                                       \
	" transport_driver {} virtual_circuit {} keep_alive {} fixed_size "                        \
	"{}\n"                                                                                     \
	" sequenced_segments {} positive_ack { selective = on }\n"                                 \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit {} windowed_cc {} tcp_congestion {} checksum {}\n"
#define STREAM                                                                                     \
	" transport_driver {} stream_end {} resize {} sequenced_messages {}\n"                     \
	" reliable_fifo {}\n"
struct end {
	struct nopal_session *session; /* NULL before and after its life */
	uint32_t opened, delivered, ended, peer_closed;
	uint64_t bytes;
	char text[TEXT];
	int64_t first_ns, last_ns;
	int code;
	uint32_t arrived; /* fates of what it sent */
};

static struct pair {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint[2];
	struct nopal_address peer;
	struct end here[STREAMS], there[STREAMS];
	uint32_t accepted;
	bool answers; /* what is accepted sends back what it gets */
} pair;

static inline void *on_accepted(struct nopal_session *session, void *user)
{
	struct end *end = &pair.there[pair.accepted++];

	(void)user;
	assert_true(pair.accepted <= STREAMS);
	end->session = session;
	return end;
}

static inline void on_opened(struct nopal_session *session, void *user)
{
	(void)session;
	((struct end *)user)->opened++;
}

static inline void on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct end *end = user;
	size_t length = nopal_message_copy(message, 0, end->text, TEXT - 1);

	end->text[length] = '\0';
	if (!end->delivered++)
		end->first_ns = nopal_world_now(pair.world);
	end->last_ns = nopal_world_now(pair.world);
	end->bytes += nopal_message_length(message);
	if (pair.answers && end >= pair.there && end < pair.there + STREAMS)
		nopal_send(session, end->text, length, 0);
}

static inline void on_sent(struct nopal_session *session, uint64_t cookie, int fate, void *user)
{
	(void)session, (void)cookie;
	((struct end *)user)->arrived += fate == NOPAL_ARRIVED;
}

static inline void on_ended(struct nopal_session *session, int code, const char *text, void *user)
{
	struct end *end = user;

	(void)session, (void)text;
	end->session = NULL;
	end->ended++;
	end->code = code;
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.ended = on_ended,
};
static const struct nopal_callbacks opens_only = {
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.ended = on_ended,
};

static inline void pair_prepare(const char *config, const char *words,
				const struct nopal_callbacks *accepts)
{
	struct nopal_link link;
	struct nopal_problems problems;

	memset(&pair, 0, sizeof(pair));
	nopal_problems_init(&problems);
	pair.plan = nopal_plan_parse(config, "streams.conf", NULL, &problems);
	if (!pair.plan)
		nopal_problems_print(&problems, stderr);
	assert_non_null(pair.plan);
	assert_true(nopal_link_parse(words, &link, &link, &problems) >= 0);
	nopal_problems_fini(&problems);
	pair.world = nopal_sim_new(1);
	for (int i = 0; i < 2; i++)
		nopal_sim_host(pair.world);
	nopal_sim_connect(pair.world, 0, 1, &link, &link);
	for (int i = 0; i < 2; i++)
		pair.endpoint[i] = nopal_sim_endpoint(pair.world, i, PORT);
	nopal_sim_address(1, PORT, &pair.peer);
	assert_int_equal(nopal_endpoint_allow(pair.endpoint[1], pair.plan, 0, accepts, NULL), 0);
}

static inline void pair_open(const char *config, const char *words)
{
	pair_prepare(config, words, &callbacks);
}

static inline void pair_run(int64_t for_ns)
{
	nopal_sim_run(pair.world, nopal_world_now(pair.world) + for_ns);
}

/* The link of the first host to the second. */
static inline void pair_change(const char *words)
{
	struct nopal_link link;
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	assert_true(nopal_link_parse(words, &link, &link, &problems) >= 0);
	nopal_problems_fini(&problems);
	nopal_sim_change(pair.world, 0, 1, &link);
}

static inline void pair_close(void)
{
	nopal_world_free(pair.world);
	nopal_plan_unref(pair.plan);
}

static inline void open_stream(uint32_t index)
{
	struct end *end = &pair.here[index];

	end->session = index == 0 ? nopal_session_open(pair.endpoint[0], pair.plan, &pair.peer,
						       &opens_only, end)
				  : nopal_stream_open(pair.here[0].session, &opens_only, end);
	assert_non_null(end->session);
}

static inline void say(uint32_t index, const char *text)
{
	assert_int_equal(nopal_send(pair.here[index].session, text, strlen(text), 0), 0);
}

static inline uint32_t flows_among(struct nopal_core *core)
{
	uint32_t count = 0;

	for (; core; core = core->next)
		count += nopal__is_flow(nopal__top(core));
	return count;
}

/* Awake or at rest. */
static inline uint32_t flows(int side)
{
	return flows_among(pair.endpoint[side]->sessions) +
	       flows_among(pair.endpoint[side]->resting);
}

#endif
