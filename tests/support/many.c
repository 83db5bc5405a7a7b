/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "engine/composite.h"
#include "io/sim/sim.h"
#include "support/many.h"
#include "support/test.h"

enum many_family many_family;
bool many_cast6;

int many_of_ipv6(void **state)
{
	(void)state;
	many_family = MANY_V6;
	many_cast6 = true;
	return 0;
}

/* ------------------------------------------------------------- destinations */

static void *many_on_accepted(struct nopal_session *session, void *user)
{
	((struct many_end *)user)->session = session;
	return user;
}

void many_write(uint32_t number, char *bytes, size_t length)
{
	int written = snprintf(bytes, MANY_DIGITS, "%u ", number);

	for (size_t i = (size_t)written; i < length; i++)
		bytes[i] = (char)(number * 131 + i * 7 + i / 251);
}

static bool many_is_whole(const struct many *many, uint32_t number,
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

static void many_note(struct many_end *end, uint32_t number, const struct nopal_message *message)
{
	end->wrong += !many_is_whole(end->many, number, message);
	end->late += end->delivered && number <= end->newest;
	end->delivered++;
	end->seen[number]++;
	end->newest = number;
	end->came_ns[number] = nopal_world_now(end->many->world);
}

/* False: it begins with no number of a message. */
static bool many_number(const struct nopal_message *message, uint32_t *ret_number)
{
	char text[MANY_DIGITS] = "";

	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	return sscanf(text, "%u", ret_number) == 1 && *ret_number < MANY_MESSAGES;
}

static void many_send_back(struct nopal_session *session, const struct nopal_message *message)
{
	static char bytes[MANY_LONGEST];

	nopal_send(session, bytes, nopal_message_copy(message, 0, bytes, sizeof(bytes)), 0);
}

static void many_on_received(struct nopal_session *session, struct nopal_message *message,
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

static void many_on_gone(struct nopal_session *session, enum nopal_end code, const char *text,
			 void *user)
{
	(void)session, (void)code, (void)text;
	((struct many_end *)user)->session = NULL;
}

/* ------------------------------------------------------------------- sender */

static void many_on_opened(struct nopal_session *session, void *user)
{
	(void)session;
	((struct many *)user)->opened++;
}

static void many_on_answer(struct nopal_session *session, struct nopal_message *message, void *user)
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

static void many_on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
			 void *user)
{
	struct many *many = user;

	(void)session;
	many->outcomes[outcome]++;
	many->outcome_count[cookie]++;
	many->outcome[cookie] = (int)outcome;
	many->outcome_ns[cookie] = nopal_world_now(many->world);
	if (many->on_outcome)
		many->on_outcome(many, (uint32_t)cookie);
}

struct many_end *many_of(struct many *many, uint32_t id)
{
	for (uint32_t i = 0; i < many->count; i++)
		if (many->end[i].id == id)
			return &many->end[i];
	return NULL;
}

static void many_on_destination(struct nopal_session *session,
				const struct nopal_destination_info *info, void *user)
{
	struct many_end *end = many_of(user, info->id);

	(void)session;
	if (!end)
		return;
	end->opened += info->open && !info->ended;
	end->ended += info->ended;
	end->end = (int)info->end;
}

static void many_on_ended(struct nopal_session *session, enum nopal_end code, const char *text,
			  void *user)
{
	struct many *many = user;

	(void)session;
	many->group = NULL;
	many->ended++;
	many->end_code = (int)code;
	snprintf(many->end_text, sizeof(many->end_text), "%s", text);
}

int64_t many_add(struct many *many, uint32_t index)
{
	struct many_end *end = &many->end[index];

	end->id = nopal_destination_add(many->group, &end->address);
	return end->id;
}

/* ---------------------------------------------------------------- the world */

void many_parse(const char *link, struct nopal_link *ret_forward, struct nopal_link *ret_reverse)
{
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(link, ret_forward, ret_reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

static int many_host(const struct many *many, uint32_t index)
{
	return many->dumbbell ? 2 * (int)index + 1 : (int)index + 1;
}

void many_link(struct many *many, uint32_t index, const char *link)
{
	struct nopal_link forward, reverse;
	int host = many_host(many, index);

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_change(many->world, 0, host, &forward), 0);
	assert_int_equal(nopal_sim_change(many->world, host, 0, &reverse), 0);
}

void many_deafen(struct many *many, uint32_t index, bool deaf)
{
	struct sim *sim = sim_of(many->world);
	uint32_t from = many->dumbbell ? sim->routers[0] : sim->hosts[0];
	uint32_t to = many->dumbbell ? sim->routers[1] : sim->hosts[many_host(many, index)];
	uint32_t link = sim->nodes[from].out;

	while (sim->links[link].to != to)
		link = sim->links[link].next_out;
	sim->links[link].deaf = deaf;
}

void many_cut(struct many *many, uint32_t index)
{
	many_link(many, index, "loss 100%");
}

/* The same with an address of IPv6 for its channel. */
static const char *many_config6(const char *config)
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

struct nopal_plan *many_plan(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(many_config6(config), "many.conf", NULL, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return plan;
}

bool many_is_v6(uint32_t index)
{
	return many_family == MANY_V6 || (many_family == MANY_MIXED && index % 2);
}

void many_address(int host, uint16_t port, bool v6, struct nopal_address *ret_address)
{
	(v6 ? nopal__sim_address6 : nopal_sim_address)(host, port, ret_address);
}

static void many_listen(struct many *many, uint32_t index)
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
static void many_clear(struct many *many, struct nopal_plan *plan, uint32_t count, uint64_t seed)
{
	assert_true(count <= MANY_MAX);
	memset(many, 0, offsetof(struct many, end));
	memset(many->end, 0, count * sizeof(many->end[0]));
	many->count = count;
	many->plan = plan;
	assert_non_null(many->plan);
	many->world = nopal_sim_new(seed);
}

/* Listeners and a group without any destination. */
static void many_people(struct many *many)
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
	many->group = nopal_session_open(&(struct nopal_open){ .endpoint = many->endpoint,
							       .plan = many->plan,
							       .callbacks = &callbacks,
							       .user = many });
	assert_non_null(many->group);
}

void many_prepare_plan(struct many *many, struct nopal_plan *plan, uint32_t count, const char *link,
		       uint64_t seed)
{
	struct nopal_link forward, reverse;

	many_clear(many, plan, count, seed);
	many_parse(link, &forward, &reverse);
	assert_true(nopal_sim_star(many->world, (int)count, &forward, &reverse) >= 0);
	many_people(many);
}

void many_prepare(struct many *many, const char *config, uint32_t count, const char *link,
		  uint64_t seed)
{
	many_prepare_plan(many, many_plan(config), count, link, seed);
}

void many_run(struct many *many, int64_t for_ns)
{
	nopal_sim_run(many->world, nopal_world_now(many->world) + for_ns);
}

void many_open_dumbbell(struct many *many, const char *config, uint32_t count, const char *edge,
			const char *bottleneck, uint64_t seed)
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

void many_open(struct many *many, const char *config, uint32_t count, const char *link,
	       uint64_t seed)
{
	many_prepare(many, config, count, link, seed);
	for (uint32_t i = 0; i < count; i++)
		assert_true(many_add(many, i) > 0);
}

int many_send_bytes(struct many *many, size_t length, uint64_t destination)
{
	static char bytes[MANY_LONGEST];
	const struct nopal_property to = { nopal_property(many->plan, "destination"), destination };
	uint32_t number = many->sent++;
	size_t min = (size_t)snprintf(bytes, MANY_DIGITS, "%u ", number);

	if (length < min)
		length = min;
	many_write(number, bytes, length);
	many->length[number] = length;
	many->sent_ns[number] = nopal_world_now(many->world);
	return nopal_send_message(many->group, &(struct nopal_outgoing){ .bytes = bytes,
									 .length = length,
									 .cookie = number,
									 .properties = &to,
									 .property_count = 1 });
}

int many_send(struct many *many)
{
	return many_send_bytes(many, 0, 0);
}

static void many_tap(void *user, int64_t now_ns, const struct nopal_address *from,
		     const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)now_ns, (void)from, (void)bytes, (void)length;
	((struct many *)user)->multicasts += nopal_address_is_multicast(to);
}

void many_watch(struct many *many)
{
	many->multicasts = 0;
	nopal_sim_tap(many->world, many_tap, many);
}

uint32_t many_hearing(const struct many *many)
{
	const struct nopal_session *bottom = &nopal__bottom(nopal__composite(many->group))->session;
	uint32_t hearing = 0;

	for (uint32_t i = 0; i < nopal_destination_count(bottom); i++)
		hearing += nopal_destination_at(bottom, i)->joined;
	return hearing;
}

int64_t many_shared(const struct many *many, uint32_t index, const char *name)
{
	int64_t value = 0;

	if (many->end[index].session)
		assert_true(nopal_session_shared(many->end[index].session, name, &value));
	return value;
}

int64_t many_sum(const struct many *many, const char *name)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < many->count; i++)
		sum += many_shared(many, i, name);
	return sum;
}

bool many_has(const struct many *many, uint32_t index, uint32_t from, uint32_t end)
{
	const struct many_end *one = &many->end[index];

	for (uint32_t m = from; m < end; m++)
		if (one->seen[m] != 1)
			return false;
	return one->delivered == end - from && !one->wrong && !one->late;
}

void many_close(struct many *many)
{
	nopal_world_free(many->world);
	nopal_plan_unref(many->plan);
}

void many_send_some(struct many *many, uint32_t count, size_t length, int64_t apart_ns)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(many_send_bytes(many, length, 0), 0);
		if (apart_ns)
			many_run(many, apart_ns);
	}
}

void many_hear(struct many *many, const char *config, uint32_t count, const char *link,
	       const char *then)
{
	many_open(many, config, count, link, 1);
	many_run(many, NOPAL_SECOND);
	assert_int_equal(many_hearing(many), count);
	for (uint32_t i = 0; then && i < count; i++)
		many_link(many, i, then);
}

void many_all_have_all(const struct many *many)
{
	for (uint32_t i = 0; i < many->count; i++)
		assert_true(many_has(many, i, 0, many->sent));
}
