/* SPDX-License-Identifier: MIT */
/*
 * many.h -- one sender and its destinations in the simulated world: a star, of which each ray can
 * be cut, or a dumbbell, whose one bottleneck all share.
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

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/session.h"
#include "io/sim.h"
#include "support/test.h"

enum {
	MANY_MOST = 1024,
	MANY_MESSAGES = 4096,
	MANY_LONGEST = 1 << 20,
	MANY_DIGITS = 16,
	MANY_PORT = 9000
};

/* A config: what is in the layer of the group, above sessions that lose nothing. */
#define MANY_RELIABLE(group)                                                                       \
	"layer \"group\" { transport_driver {} whole_messages {} " group                           \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} virtual_circuit {} keep_alive {} resize {}\n"                        \
	" sequenced_segments {} positive_ack { selective = on }\n"                                 \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit { attempts = 6 } reliable_fifo {} checksum {}\n}\n"

/* The same above datagrams that nobody acknowledges. */
#define MANY_PLAIN(group)                                                                          \
	"layer \"group\" { transport_driver {} whole_messages {} " group                           \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} fixed_size {}\n}\n"

/* The same with a channel: the keys of multicast and channel_repair, and what is above them
 * beside. */
#define MANY_CHANNEL(cast, repair, more)                                                           \
	"layer \"group\" { transport_driver {} resize {} "                                         \
	"sequenced_messages {} multicast { " cast " } channel_repair { " repair                    \
	" } reliable_fifo {} " more                                                                \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} virtual_circuit {} keep_alive { interval = 1s "                      \
	" timeout = 5s } resize {}\n"                                                              \
	" sequenced_segments {} positive_ack { selective = on }\n"                                 \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit {} windowed_cc {} tcp_congestion {} reliable_fifo {} "                        \
	"checksum {}\n}\n"

/* By which family the destinations are spoken to, in order; and is the channel's address of IPv6?
 * A test may set it before it opens anything. */
enum many_family { MANY_V4, MANY_V6, MANY_MIXED /* V4 V6 V4 V6 ... */ };
static enum many_family many_family;
static bool many_cast6;

/* Sets a group of tests up: all of it is by IPv6. */
static inline int many_of_ipv6(void **state)
{
	(void)state;
	many_family = MANY_V6;
	many_cast6 = true;
	return 0;
}
#define MANY_GROUP6 "[ff15::4d:1]:9077"

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
	uint32_t wrong; /* not the bytes that were sent, or no such message */
	uint32_t late;	/* messages that came after a newer one */
	int64_t came_ns[MANY_MESSAGES];
	/* what the sender's application was told of it */
	uint32_t opened, ended;
	int end;
};

struct many {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *group; /* NULL after its life */
	uint32_t count;
	uint32_t sent;
	uint32_t opened, ended;
	int end_code;
	char end_text[256];
	int64_t sent_ns[MANY_MESSAGES];
	size_t length[MANY_MESSAGES];
	uint32_t fates[3];
	uint8_t fate_count[MANY_MESSAGES]; /* how often, by message */
	int64_t fate_ns[MANY_MESSAGES];
	int fate[MANY_MESSAGES];
	uint32_t answers;	/* messages that came back */
	uint64_t answer_from;	/* the last one: whose */
	uint32_t answers_wrong; /* that were no message of ours */
	bool echo;		/* destinations send back what they get */
	bool dumbbell;		/* else a star */
	uint64_t casts;		/* datagrams to multicast addresses, see many_watch() */
	/* (optional) a fate was told */
	void (*on_fate)(struct many *many, uint32_t message);
	struct many_end end[MANY_MOST]; /* last: only those in use are cleared */
};

/* ------------------------------------------------------------- destinations */

static inline void *many_on_accepted(struct nopal_session *session, void *user)
{
	((struct many_end *)user)->session = session;
	return user;
}

/* The bytes of a message: its number, and what no other message has there. */
static inline void many_write(uint32_t number, char *bytes, size_t length)
{
	int written = snprintf(bytes, MANY_DIGITS, "%u ", number);

	for (size_t i = (size_t)written; i < length; i++)
		bytes[i] = (char)(number * 131 + i * 7 + i / 251);
}

static inline bool many_is_whole(const struct many *many, uint32_t number,
				 const struct nopal_message *message)
{
	static char sent[MANY_LONGEST], came[MANY_LONGEST];
	size_t length = many->length[number];

	if (nopal_message_length(message) != length)
		return false;
	many_write(number, sent, length);
	nopal_message_copy(message, 0, came, length);
	return memcmp(sent, came, length) == 0;
}

static inline void many_note(struct many_end *end, uint32_t number,
			     const struct nopal_message *message)
{
	end->wrong += !many_is_whole(end->many, number, message);
	end->late += end->delivered && number <= end->newest;
	end->delivered++;
	end->seen[number]++;
	end->newest = number;
	end->came_ns[number] = nopal_world_now(end->many->world);
}

/* False: it begins with no number of a message. */
static inline bool many_number(const struct nopal_message *message, uint32_t *ret_number)
{
	char text[MANY_DIGITS] = "";

	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	return sscanf(text, "%u", ret_number) == 1 && *ret_number < MANY_MESSAGES;
}

static inline void many_send_back(struct nopal_session *session,
				  const struct nopal_message *message)
{
	static char bytes[MANY_LONGEST];

	nopal_send(session, bytes, nopal_message_copy(message, 0, bytes, sizeof(bytes)), 0);
}

static inline void many_on_received(struct nopal_session *session, struct nopal_message *message,
				    void *user)
{
	struct many_end *end = user;
	uint32_t number;

	if (many_number(message, &number))
		many_note(end, number, message);
	else
		end->wrong++;
	if (end->many->echo)
		many_send_back(session, message);
}

static inline void many_on_gone(struct nopal_session *session, int code, const char *text,
				void *user)
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

static inline void many_on_answer(struct nopal_session *session, struct nopal_message *message,
				  void *user)
{
	struct many *many = user;
	uint32_t number;

	(void)session;
	many->answers++;
	many->answers_wrong +=
		!many_number(message, &number) || !many_is_whole(many, number, message);
	many->answer_from =
		nopal_message_property(message, nopal_property(many->plan, "destination"));
}

static inline void many_on_sent(struct nopal_session *session, uint64_t cookie, int fate,
				void *user)
{
	struct many *many = user;

	(void)session;
	many->fates[fate]++;
	many->fate_count[cookie]++;
	many->fate[cookie] = fate;
	many->fate_ns[cookie] = nopal_world_now(many->world);
	if (many->on_fate)
		many->on_fate(many, (uint32_t)cookie);
}

static inline struct many_end *many_of(struct many *many, uint32_t id)
{
	for (uint32_t i = 0; i < many->count; i++)
		if (many->end[i].id == id)
			return &many->end[i];
	return NULL;
}

static inline void many_on_destination(struct nopal_session *session,
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

static inline void many_on_ended(struct nopal_session *session, int code, const char *text,
				 void *user)
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
	assert_int_equal(nopal_link_parse(link, ret_forward, ret_reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

static inline int many_host(const struct many *many, uint32_t index)
{
	return many->dumbbell ? 2 * (int)index + 1 : (int)index + 1;
}

static inline void many_link(struct many *many, uint32_t index, const char *link)
{
	struct nopal_link forward, reverse;
	int host = many_host(many, index);

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_change(many->world, 0, host, &forward), 0);
	assert_int_equal(nopal_sim_change(many->world, host, 0, &reverse), 0);
}

/* No multicast passes its ray, or it does again. */
static inline void many_deafen(struct many *many, uint32_t index, bool deaf)
{
	nopal__sim_deafen(many->world, 0, many_host(many, index), deaf);
}

/* Its ray is cut: nothing passes from now on. */
static inline void many_cut(struct many *many, uint32_t index)
{
	many_link(many, index, "loss 100%");
}

/* The same with an address of IPv6 for its channel. */
static inline const char *many_config6(const char *config)
{
	static const char channel[] = "multicast {";
	static char text[4096];
	const char *at = strstr(config, channel);

	if (!many_cast6 || !at)
		return config;
	at += strlen(channel);
	snprintf(text, sizeof(text), "%.*s group = \"%s\" %s", (int)(at - config), config,
		 MANY_GROUP6, at);
	return text;
}

static inline struct nopal_plan *many_plan(const char *config)
{
	struct nopal_problems problems;
	struct nopal_plan *plan;

	nopal_problems_init(&problems);
	plan = nopal_plan_parse(many_config6(config), "many.conf", NULL, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return plan;
}

static inline bool many_is_v6(uint32_t index)
{
	return many_family == MANY_V6 || (many_family == MANY_MIXED && index % 2);
}

/* Where somebody is for the one who speaks to it. */
static inline void many_address(int host, uint16_t port, bool v6, struct nopal_address *ret_address)
{
	(v6 ? nopal__sim_address6 : nopal_sim_address)(host, port, ret_address);
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
	end->endpoint = nopal_sim_endpoint(many->world, many_host(many, index), MANY_PORT);
	many_address(many_host(many, index), MANY_PORT, many_is_v6(index), &end->address);
	assert_int_equal(nopal_endpoint_allow(end->endpoint, many->plan, NOPAL_ALLOW_CONNECTIONLESS,
					      &callbacks, end),
			 0);
}

/* A world without hosts; takes over the plan. */
static inline void many_clear(struct many *many, struct nopal_plan *plan, uint32_t count,
			      uint64_t seed)
{
	assert_true(count <= MANY_MOST);
	memset(many, 0, offsetof(struct many, end));
	memset(many->end, 0, count * sizeof(many->end[0]));
	many->count = count;
	many->plan = plan;
	assert_non_null(many->plan);
	many->world = nopal_sim_new(seed);
}

/* Listeners and a group without any destination. */
static inline void many_people(struct many *many)
{
	static const struct nopal_callbacks callbacks = {
		.opened = many_on_opened,
		.received = many_on_answer,
		.sent = many_on_sent,
		.destination = many_on_destination,
		.ended = many_on_ended,
	};

	for (uint32_t i = 0; i < many->count; i++)
		many_listen(many, i);
	many->endpoint = nopal_sim_endpoint(many->world, 0, MANY_PORT);
	many->group = nopal_group_open(many->endpoint, many->plan, &callbacks, many);
	assert_non_null(many->group);
}

static inline void many_prepare_plan(struct many *many, struct nopal_plan *plan, uint32_t count,
				     const char *link, uint64_t seed)
{
	struct nopal_link forward, reverse;

	many_clear(many, plan, count, seed);
	many_parse(link, &forward, &reverse);
	assert_true(nopal_sim_star(many->world, (int)count, &forward, &reverse) >= 0);
	many_people(many);
}

static inline void many_prepare(struct many *many, const char *config, uint32_t count,
				const char *link, uint64_t seed)
{
	many_prepare_plan(many, many_plan(config), count, link, seed);
}

static inline void many_run(struct many *many, int64_t for_ns)
{
	nopal_sim_run(many->world, nopal_world_now(many->world) + for_ns);
}

/* All added, behind one bottleneck; each edge is like the others. */
static inline void many_open_dumbbell(struct many *many, const char *config, uint32_t count,
				      const char *edge, const char *bottleneck, uint64_t seed)
{
	struct nopal_link side, forward, reverse;

	many_clear(many, many_plan(config), count, seed);
	many->dumbbell = true;
	many_parse(edge, &side, &reverse);
	many_parse(bottleneck, &forward, &reverse);
	assert_true(nopal_sim_dumbbell(many->world, (int)count, &side, &forward, &reverse) >= 0);
	many_people(many);
	for (uint32_t i = 0; i < count; i++)
		assert_true(many_add(many, i) > 0);
}

static inline void many_open(struct many *many, const char *config, uint32_t count,
			     const char *link, uint64_t seed)
{
	many_prepare(many, config, count, link, seed);
	for (uint32_t i = 0; i < count; i++)
		assert_true(many_add(many, i) > 0);
}

/* Message `many->sent`, of so many bytes at least; its text begins with its number. */
static inline int many_send_bytes(struct many *many, size_t length, uint64_t destination)
{
	static char bytes[MANY_LONGEST];
	const struct nopal_property to = { nopal_property(many->plan, "destination"), destination };
	uint32_t number = many->sent++;
	size_t least = (size_t)snprintf(bytes, MANY_DIGITS, "%u ", number);

	if (length < least)
		length = least;
	many_write(number, bytes, length);
	many->length[number] = length;
	many->sent_ns[number] = nopal_world_now(many->world);
	return nopal_send_with(many->group, bytes, length, number, &to, 1);
}

static inline int many_send(struct many *many)
{
	return many_send_bytes(many, 0, 0);
}

static inline void many_tap(void *user, int64_t now_ns, const struct nopal_address *from,
			    const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)now_ns, (void)from, (void)bytes, (void)length;
	((struct many *)user)->casts += nopal_address_is_multicast(to);
}

/* From now on: what leaves for multicast addresses is counted. */
static inline void many_watch(struct many *many)
{
	many->casts = 0;
	nopal_sim_tap(many->world, many_tap, many);
}

/* How many are spoken to by the channel. */
static inline uint32_t many_hearing(const struct many *many)
{
	const struct nopal_session *bottom = &nopal__bottom(nopal__core(many->group))->session;
	uint32_t hearing = 0;

	for (uint32_t i = 0; i < nopal_destination_count(bottom); i++)
		hearing += nopal_destination_at(bottom, i)->hears;
	return hearing;
}

/* Of a destination: a shared variable; and of all that live, their sum. */
static inline int64_t many_shared(const struct many *many, uint32_t index, const char *name)
{
	int64_t value = 0;

	if (many->end[index].session)
		assert_true(nopal_session_shared(many->end[index].session, name, &value));
	return value;
}

static inline int64_t many_sum(const struct many *many, const char *name)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < many->count; i++)
		sum += many_shared(many, i, name);
	return sum;
}

/* Has it each message of [from, end) once, whole, in order, and nothing else? */
static inline bool many_has(const struct many *many, uint32_t index, uint32_t from, uint32_t end)
{
	const struct many_end *one = &many->end[index];

	for (uint32_t m = from; m < end; m++)
		if (one->seen[m] != 1)
			return false;
	return one->delivered == end - from && !one->wrong && !one->late;
}

static inline void many_close(struct many *many)
{
	nopal_world_free(many->world);
	nopal_plan_unref(many->plan);
}

#endif
