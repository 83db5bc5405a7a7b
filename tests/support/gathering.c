/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/gathering.h"
#include "support/many.h"
#include "support/test.h"

/* ------------------------------------------------------------------- messages */

static void gathering_write(uint8_t *bytes, size_t length, uint32_t who, uint32_t number)
{
	bytes[0] = (uint8_t)who;
	bytes[1] = (uint8_t)(number >> 8);
	bytes[2] = (uint8_t)number;
	for (size_t i = 3; i < length; i++)
		bytes[i] = (uint8_t)(who * 31 + number * 131 + i * 7 + i / 251);
}

static bool gathering_is_whole(const struct gathering *all, const struct nopal_message *message,
			       uint32_t *ret_who, uint32_t *ret_number)
{
	static uint8_t came[GATHERING_LONGEST], sent[GATHERING_LONGEST];

	if (nopal_message_length(message) != all->length)
		return false;
	nopal_message_copy(message, 0, came, all->length);
	*ret_who = came[0];
	*ret_number = (uint32_t)came[1] << 8 | came[2];
	gathering_write(sent, all->length, *ret_who, *ret_number);
	return memcmp(sent, came, all->length) == 0 && *ret_who <= all->count;
}

static struct gathering_entry *gathering_entry(struct gathering_one *one, uint32_t who,
					       uint32_t number)
{
	struct gathering_entry *entry = &one->log[one->entries++];

	assert_true(one->entries <= GATHERING_LOG);
	*entry = (struct gathering_entry){ .who = who, .number = number };
	return entry;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct gathering_one *one = user;
	const struct gathering *all = one->all;
	struct gathering_entry *entry;
	uint32_t who, number;

	(void)session;
	if (!gathering_is_whole(all, message, &who, &number)) {
		one->wrong++;
		return;
	}
	if (!nopal_message_property(message, all->place)) {
		one->privately++;
		return;
	}
	entry = gathering_entry(one, who, number);
	entry->place = nopal_message_property(message, all->place);
	entry->sender = nopal_message_property(message, all->sender);
	if (all->view)
		entry->view = nopal_message_property(message, all->view);
	if (all->on_delivery)
		all->on_delivery(one, who);
}

static void on_view(struct nopal_session *session, uint32_t number, const uint32_t *members,
		    size_t count, void *user)
{
	struct gathering_one *one = user;
	struct gathering_view *view = &one->view[one->views++];

	(void)session;
	assert_true(one->views <= GATHERING_VIEWS);
	*view = (struct gathering_view){
		.number = number,
		.entries = one->entries,
		.privately = one->privately,
	};
	for (size_t i = 0; i < count; i++) {
		assert_true(members[i] < 64 && (!i || members[i] > members[i - 1]));
		view->members |= UINT64_C(1) << members[i];
	}
}

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	struct gathering_one *one = user;

	(void)session;
	(void)cookie;
	one->outcomes[outcome]++;
	one->outcome_entries = one->entries;
}

static void gathering_ended(struct gathering_one *one, enum nopal_end end, const char *text)
{
	one->ended = true;
	one->end = (int)end;
	snprintf(one->end_text, sizeof(one->end_text), "%s", text);
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	(void)session;
	((struct gathering_one *)user)->session = NULL;
	gathering_ended(user, end, text);
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct gathering_one *one = user;

	one->session = session;
	one->lives++;
	one->entries = one->views = 0;
	return one;
}

/* ------------------------------------------------------------------ the world */

void gathering_add(struct gathering *all, uint32_t index)
{
	struct gathering_one *one = &all->one[index];

	one->id = nopal_destination_add(all->one[0].session, &one->address);
	assert_true(one->id > 0 && one->id < 64);
}

void gathering_down(struct gathering *all, uint32_t index, const char *link)
{
	struct nopal_link forward, reverse;

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_change(all->world, 0, (int)index, &forward), 0);
}

void gathering_up(struct gathering *all, uint32_t index, const char *link)
{
	struct nopal_link forward, reverse;

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_change(all->world, (int)index, 0, &reverse), 0);
}

void gathering_link(struct gathering *all, uint32_t index, const char *link)
{
	gathering_down(all, index, link);
	gathering_up(all, index, link);
}

void gathering_leave(struct gathering *all, uint32_t index, enum gathering_leaving how)
{
	if (how == GATHERING_CUT)
		gathering_link(all, index, "loss 100%");
	else
		nopal_destination_remove(all->one[0].session, (uint32_t)all->one[index].id,
					 how == GATHERING_AT_ONCE);
}

void gathering_run(struct gathering *all, int64_t for_ns)
{
	nopal_sim_run(all->world, nopal_world_now(all->world) + for_ns);
}

static void gathering_listen(struct gathering *all, uint32_t index)
{
	static const struct nopal_callbacks callbacks = {
		.accepted = on_accepted,
		.received = on_received,
		.sent = on_sent,
		.view = on_view,
		.ended = on_ended,
	};
	struct gathering_one *one = &all->one[index];

	one->endpoint = nopal_sim_endpoint(all->world, (int)index, GATHERING_PORT);
	nopal_sim_address((int)index, GATHERING_PORT, &one->address);
	assert_int_equal(nopal_endpoint_allow(one->endpoint, all->plan, 0, &callbacks, one), 0);
}

static void gathering_hub(struct gathering *all)
{
	static const struct nopal_callbacks callbacks = {
		.received = on_received,
		.sent = on_sent,
		.view = on_view,
		.ended = on_ended,
	};
	struct gathering_one *hub = &all->one[0];

	hub->endpoint = nopal_sim_endpoint(all->world, 0, GATHERING_PORT);
	hub->session = nopal_session_open(&(struct nopal_open){ .endpoint = hub->endpoint,
								.plan = all->plan,
								.callbacks = &callbacks,
								.user = hub });
	assert_non_null(hub->session);
}

void gathering_close(struct gathering *all)
{
	if (!all->world)
		return;
	nopal_world_free(all->world);
	nopal_plan_unref(all->plan);
	all->world = NULL;
}

void gathering_prepare(struct gathering *all, const char *config, uint32_t count, const char *link,
		       uint64_t seed)
{
	struct nopal_link forward, reverse;

	assert_true(count <= GATHERING_HOSTS);
	gathering_close(all);
	memset(all, 0,
	       offsetof(struct gathering, one) + (1 + count) * sizeof(struct gathering_one));
	all->count = count;
	all->length = GATHERING_BYTES;
	all->plan = many_plan(config);
	assert_non_null(all->plan);
	all->to_all = nopal_property(all->plan, "to_all");
	all->place = nopal_property(all->plan, "place");
	all->sender = nopal_property(all->plan, "sender");
	all->view = nopal_property(all->plan, "view");
	all->destination = nopal_property(all->plan, "destination");
	all->world = nopal_sim_new(seed);
	many_parse(link, &forward, &reverse);
	assert_true(nopal_sim_star(all->world, (int)count, &forward, &reverse) >= 0);
	for (uint32_t i = 0; i <= count; i++) {
		all->one[i].all = all;
		all->one[i].index = i;
		if (i)
			gathering_listen(all, i);
	}
	gathering_hub(all);
}

void gathering_open(struct gathering *all, const char *config, uint32_t count, const char *link,
		    uint64_t seed)
{
	gathering_prepare(all, config, count, link, seed);
	for (uint32_t i = 1; i <= count; i++)
		gathering_add(all, i);
	gathering_run(all, NOPAL_SECOND);
	for (uint32_t i = 1; i <= count; i++)
		assert_non_null(all->one[i].session);
}

/* -------------------------------------------------------------------- talking */

static int gathering_send(const struct gathering *all, const struct gathering_one *one,
			  uint32_t number, const struct nopal_property *properties, size_t count)
{
	static uint8_t bytes[GATHERING_LONGEST];

	gathering_write(bytes, all->length, one->index, number);
	return nopal_send_message(one->session,
				  &(struct nopal_outgoing){ .bytes = bytes,
							    .length = all->length,
							    .properties = properties,
							    .property_count = count });
}

/* The hub's has its place where it is sent. */
int gathering_say(struct gathering *all, uint32_t index)
{
	const struct nopal_property said[] = {
		{ all->to_all, 1 },
		{ nopal_property(all->plan, "deadline"), (uint64_t)all->deadline_ns },
	};
	struct gathering_one *one = &all->one[index];
	int64_t place = 0;
	int result = gathering_send(all, one, ++one->said, said,
				    index ? 1 + (all->deadline_ns != 0) : 0);

	one->refused += result != 0;
	if (index || result)
		return result;
	gathering_entry(one, 0, one->said);
	if (nopal_session_shared(one->session, "last_place", &place))
		one->log[one->entries - 1].place = (uint64_t)place;
	return 0;
}

int gathering_whisper(struct gathering *all, uint32_t index, uint32_t to)
{
	const struct nopal_property destination = { all->destination, (uint64_t)all->one[to].id };

	return gathering_send(all, &all->one[index], 0, &destination, index ? 0 : 1);
}

/* --------------------------------------------------------------------- judging */

void gathering_agrees_from(const struct gathering *all, uint32_t index, uint32_t from)
{
	const struct gathering_one *hub = &all->one[0], *one = &all->one[index];

	assert_int_equal(one->wrong, 0);
	assert_int_equal(one->entries, hub->entries - from);
	for (uint32_t i = 0; i < one->entries; i++) {
		const struct gathering_entry *here = &one->log[i], *there = &hub->log[from + i];

		assert_int_equal(here->place, there->place);
		assert_int_equal(here->who, there->who);
		assert_int_equal(here->number, there->number);
		assert_int_equal(here->sender, here->who ? all->one[here->who].id : 0);
		assert_true(!i || here->place > one->log[i - 1].place);
	}
}

void gathering_agrees(const struct gathering *all)
{
	for (uint32_t i = 1; i <= all->count; i++)
		gathering_agrees_from(all, i, 0);
}

void gathering_settles(struct gathering *all, int64_t after_ns, uint32_t entries)
{
	gathering_run(all, after_ns);
	assert_int_equal(all->one[0].entries, entries);
	gathering_agrees(all);
}
