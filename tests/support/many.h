/* SPDX-License-Identifier: MIT */
/*
 * many.h -- one sender and its destinations in the simulated world: a star, of which
 * each ray can be cut.
 *
 *     static struct many many;
 *     many_open(&many, MANY_RELIABLE("fan_out { acks = 2 }"), 3, "delay 10ms", 1);
 *     many_send(&many, "hello");
 *     many_run(&many, NOPAL_SECOND);
 *     assert_int_equal(many.fates[NOPAL_ARRIVED], 1);
 *     many_close(&many);
 */
#ifndef NOPAL_TEST_MANY_H
#define NOPAL_TEST_MANY_H

#include <stdio.h>
#include <string.h>

#include "microprotocol.h"
#include "nopal.h"
#include "session.h"

enum { MANY_MOST = 1024, MANY_MESSAGES = 4096, MANY_PORT = 9000 };

/* A config: what is in the layer of the group, above sessions that lose nothing. */
#define MANY_RELIABLE(group)                                                   \
	"layer \"group\" { transport_driver {} whole_messages {} " group       \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"       \
	" transport_driver {} virtual_circuit {} keep_alive {} resize {}\n"    \
	" sequenced_segments {} positive_ack { selective = on }\n"             \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"            \
	" retransmit { attempts = 6 } reliable_fifo {} checksum {}\n}\n"

struct many;
struct many_end { /* one of the destinations */
	struct many *many;
	struct nopal_endpoint *endpoint;
	struct nopal_session *session; /* NULL before and after its life */
	struct nopal_address address;
	int64_t id;
	uint32_t delivered;
	uint8_t seen[MANY_MESSAGES]; /* how often, by message */
	uint32_t newest;
	/* what the sender's application was told of it */
	uint32_t opened, ended;
	int end;
};

struct many {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *group; /* NULL after its life */
	struct many_end end[MANY_MOST];
	uint32_t count;
	uint32_t sent;
	uint32_t opened, ended;
	int end_code;
	char end_text[256];
	uint32_t fates[3];
	uint8_t fate_count[MANY_MESSAGES]; /* how often, by message */
	int64_t fate_ns[MANY_MESSAGES];
	int fate[MANY_MESSAGES];
	uint32_t answers;     /* messages that came back */
	uint64_t answer_from; /* the last one: whose */
	bool echo;	      /* destinations send back what they get */
};

/* ------------------------------------------------------------- destinations */

static inline void *many_on_accepted(struct nopal_session *session, void *user)
{
	((struct many_end *)user)->session = session;
	return user;
}

static inline void many_on_received(struct nopal_session *session,
				    struct nopal_message *message, void *user)
{
	struct many_end *end = user;
	char text[32] = "";
	size_t length = nopal_message_copy(message, 0, text, sizeof(text) - 1);
	unsigned number = 0;

	end->delivered++;
	if (sscanf(text, "%u", &number) == 1 && number < MANY_MESSAGES) {
		end->seen[number]++;
		end->newest = number;
	}
	if (end->many->echo)
		nopal_send(session, text, length, 0);
}

static inline void many_on_gone(struct nopal_session *session, int code,
				const char *text, void *user)
{
	(void)session, (void)code, (void)text;
	((struct many_end *)user)->session = NULL;
}

/* ------------------------------------------------------------------- sender */

static inline void many_on_opened(struct nopal_session *session, void *user)
{
	(void)session;
	((struct many *)user)->opened++;
}

static inline void many_on_answer(struct nopal_session *session,
				  struct nopal_message *message, void *user)
{
	struct many *many = user;

	(void)session;
	many->answers++;
	many->answer_from = nopal_message_property(
		message, nopal_property(many->plan, "destination"));
}

static inline void many_on_sent(struct nopal_session *session, uint64_t cookie,
				int fate, void *user)
{
	struct many *many = user;

	(void)session;
	many->fates[fate]++;
	many->fate_count[cookie]++;
	many->fate[cookie] = fate;
	many->fate_ns[cookie] = nopal_world_now(many->world);
}

static inline struct many_end *many_of(struct many *many, uint32_t id)
{
	for (uint32_t i = 0; i < many->count; i++)
		if (many->end[i].id == id)
			return &many->end[i];
	return NULL;
}

static inline void
many_on_destination(struct nopal_session *session,
		    const struct nopal_destination_info *info, void *user)
{
	struct many_end *end = many_of(user, info->id);

	(void)session;
	if (!end)
		return;
	end->opened += info->open && !info->ended;
	end->ended += info->ended;
	end->end = info->end;
}

static inline void many_on_ended(struct nopal_session *session, int code,
				 const char *text, void *user)
{
	struct many *many = user;

	(void)session;
	many->group = NULL;
	many->ended++;
	many->end_code = code;
	snprintf(many->end_text, sizeof(many->end_text), "%s", text);
}

static inline int64_t many_add(struct many *many, uint32_t index)
{
	struct many_end *end = &many->end[index];

	end->id = nopal_destination_add(many->group, &end->address);
	return end->id;
}

/* ---------------------------------------------------------------- the world */

static inline void many_parse(const char *link, struct nopal_link *ret_forward,
			      struct nopal_link *ret_reverse)
{
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	assert_int_equal(
		nopal_link_parse(link, ret_forward, ret_reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

static inline void many_link(struct many *many, uint32_t index,
			     const char *link)
{
	struct nopal_link forward, reverse;
	int host = (int)index + 1;

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_change(many->world, 0, host, &forward), 0);
	assert_int_equal(nopal_sim_change(many->world, host, 0, &reverse), 0);
}

/* Its ray is cut: nothing passes from now on. */
static inline void many_cut(struct many *many, uint32_t index)
{
	many_link(many, index, "loss 100%");
}

static inline struct nopal_plan *many_plan(const char *config)
{
	struct nopal_problems problems;
	struct nopal_plan *plan;

	nopal_problems_init(&problems);
	plan = nopal_plan_parse(config, "many.conf", NULL, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return plan;
}

static inline void many_listen(struct many *many, uint32_t index)
{
	static const struct nopal_callbacks callbacks = {
		.accepted = many_on_accepted,
		.received = many_on_received,
		.ended = many_on_gone,
	};
	struct many_end *end = &many->end[index];

	end->many = many;
	end->endpoint =
		nopal_sim_endpoint(many->world, (int)index + 1, MANY_PORT);
	nopal_sim_address((int)index + 1, MANY_PORT, &end->address);
	assert_int_equal(nopal_endpoint_allow(end->endpoint, many->plan,
					      NOPAL_ALLOW_CONNECTIONLESS,
					      &callbacks, end),
			 0);
}

/* Listeners and a group without any destination. */
static inline void many_prepare(struct many *many, const char *config,
				uint32_t count, const char *link, uint64_t seed)
{
	static const struct nopal_callbacks callbacks = {
		.opened = many_on_opened,
		.received = many_on_answer,
		.sent = many_on_sent,
		.destination = many_on_destination,
		.ended = many_on_ended,
	};
	struct nopal_link forward, reverse;

	memset(many, 0, sizeof(*many));
	assert_true(count <= MANY_MOST);
	many->count = count;
	many->plan = many_plan(config);
	assert_non_null(many->plan);
	many->world = nopal_sim_new(seed);
	many_parse(link, &forward, &reverse);
	assert_true(nopal_sim_star(many->world, (int)count, &forward,
				   &reverse) >= 0);
	for (uint32_t i = 0; i < count; i++)
		many_listen(many, i);
	many->endpoint = nopal_sim_endpoint(many->world, 0, MANY_PORT);
	many->group =
		nopal_group_open(many->endpoint, many->plan, &callbacks, many);
	assert_non_null(many->group);
}

static inline void many_run(struct many *many, int64_t for_ns)
{
	nopal_sim_run(many->world, nopal_world_now(many->world) + for_ns);
}

static inline void many_open(struct many *many, const char *config,
			     uint32_t count, const char *link, uint64_t seed)
{
	many_prepare(many, config, count, link, seed);
	for (uint32_t i = 0; i < count; i++)
		assert_true(many_add(many, i) > 0);
}

/* Message `many->sent`, of so many bytes at least; its text begins with its number. */
static inline int many_send_bytes(struct many *many, size_t length,
				  uint64_t destination)
{
	static char bytes[1 << 20];
	const struct nopal_property to = {
		nopal_property(many->plan, "destination"), destination
	};
	int written = snprintf(bytes, sizeof(bytes), "%u ", many->sent);

	if (length < (size_t)written)
		length = (size_t)written;
	return nopal_send_with(many->group, bytes, length, many->sent++, &to,
			       1);
}

static inline int many_send(struct many *many)
{
	return many_send_bytes(many, 0, 0);
}

static inline void many_close(struct many *many)
{
	nopal_world_free(many->world);
	nopal_plan_unref(many->plan);
}

#endif
