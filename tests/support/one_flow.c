/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "layers/streams.h"
#include "support/one_flow.h"
#include "support/test.h"

struct pair pair;

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct end *end = &pair.there[pair.accepted++];

	(void)user;
	assert_true(pair.accepted <= STREAMS);
	end->session = session;
	return end;
}

static void on_opened(struct nopal_session *session, void *user)
{
	(void)session;
	((struct end *)user)->opened++;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
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

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	(void)session, (void)cookie;
	((struct end *)user)->arrived += outcome == NOPAL_OUTCOME_DELIVERED;
}

static void on_ended(struct nopal_session *session, enum nopal_end code, const char *text,
		     void *user)
{
	struct end *end = user;

	(void)session, (void)text;
	end->session = NULL;
	end->ended++;
	end->code = (int)code;
}

const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.ended = on_ended,
};
const struct nopal_callbacks opens_only = {
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.ended = on_ended,
};

void pair_prepare(const char *config, const char *words, const struct nopal_callbacks *accepts)
{
	struct nopal_link link;
	struct nopal_problems problems = { 0 };

	memset(&pair, 0, sizeof(pair));
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

void pair_open(const char *config, const char *words)
{
	pair_prepare(config, words, &callbacks);
}

void flow_pair_run(int64_t for_ns)
{
	nopal_sim_run(pair.world, nopal_world_now(pair.world) + for_ns);
}

void pair_change(const char *words)
{
	struct nopal_link link;
	struct nopal_problems problems = { 0 };

	assert_true(nopal_link_parse(words, &link, &link, &problems) >= 0);
	nopal_problems_fini(&problems);
	nopal_sim_change(pair.world, 0, 1, &link);
}

void pair_close(void)
{
	nopal_world_free(pair.world);
	nopal_plan_unref(pair.plan);
}

void open_stream(uint32_t index)
{
	struct end *end = &pair.here[index];

	end->session =
		index == 0
			? nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, end)
			: nopal_session_open(&(struct nopal_open){ .beside = pair.here[0].session,
								   .callbacks = &opens_only,
								   .user = end });
	assert_non_null(end->session);
}

void say(uint32_t index, const char *text)
{
	assert_int_equal(nopal_send(pair.here[index].session, text, strlen(text), 0), 0);
}

static uint32_t flows_among(struct nopal_composite *composite)
{
	uint32_t count = 0;

	for (; composite; composite = composite->next)
		count += nopal__is_flow(nopal__top(composite));
	return count;
}

uint32_t flows(int side)
{
	return flows_among(pair.endpoint[side]->sessions) + flows_among(pair.endpoint[side]->idle);
}
