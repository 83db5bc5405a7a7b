/* SPDX-License-Identifier: MIT */
/*
 * blocking_many.c -- one connection to many destinations, for the blocking calls: how they come and
 * go.
 *
 *   caller  --a record, and a request of it---->  loop  --add, remove-->  core
 *   caller  <--its state----------------------------------<-- destination --
 *
 * A record is made when a destination is wanted.  The loop's thread frees it once the destination
 * was removed and has ended, or the application does by removing one that has ended by itself: so
 * there are as many as the application has use for.  To be added, and to be removed gently, is an
 * item in the out ring, behind all messages that were sent before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/blocking/blocking.h"
#include "plan/plan.h"

struct blocking_destination *nopal__blocking_destination(const struct nopal_connection *connection,
							 uint32_t id)
{
	struct blocking_destination *one = connection->destinations;

	while (one && (!id || one->info.id != id))
		one = one->next;
	return one;
}

/* NULL: out of memory. */
static struct blocking_destination *destination_new(struct nopal_connection *connection,
						    const struct nopal_address *address)
{
	struct blocking_destination **at = &connection->destinations;
	struct blocking_destination *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	one->info.address = *address;
	one->info.text = "";
	while (*at)
		at = &(*at)->next;
	*at = one;
	return one;
}

static void destination_free(struct nopal_connection *connection, struct blocking_destination *one)
{
	struct blocking_destination **at = &connection->destinations;

	while (*at != one)
		at = &(*at)->next;
	*at = one->next;
	free(one->text);
	free(one);
}

void nopal__blocking_destinations_free(struct nopal_connection *connection)
{
	while (connection->destinations)
		destination_free(connection, connection->destinations);
}

/* -------------------------------------------------------- in the loop's thread */

void nopal__blocking_on_destination(struct nopal_session *session,
				    const struct nopal_destination_info *info, void *user)
{
	struct nopal_connection *connection = user;
	struct blocking_destination *one;

	(void)session;
	if (!connection)
		return;
	pthread_mutex_lock(&connection->hub->lock);
	one = nopal__blocking_destination(connection, info->id);
	if (!one) /* a destination that is being added has no id yet */
		one = connection->adding;
	if (!one && !info->ended) /* of an accepted session, or of nopal_dial() */
		one = destination_new(connection, &info->address);
	if (one) {
		one->info = *info;
		one->info.session = NULL;
		one->info.open &= !info->ended;
		free(one->text);
		one->text = info->text ? strdup(info->text) : NULL;
		one->info.text = one->text ? one->text : "";
	}
	if (one && one->removed && info->ended && one != connection->adding)
		destination_free(connection, one);
	pthread_cond_broadcast(&connection->hub->changed);
	pthread_mutex_unlock(&connection->hub->lock);
}

static void leave(struct nopal_connection *connection, struct blocking_destination *one)
{
	one->leaves = connection->leaving = true;
}

/* The lock is not held while the core, which calls back, is at work. */
void nopal__blocking_give_other(struct nopal_connection *connection,
				const struct blocking_item *item)
{
	struct blocking_destination *one = item->joins;
	struct nopal_address address;
	int64_t id;

	if (!one) {
		nopal_destination_remove(connection->session, item->destination, false);
		return;
	}
	pthread_mutex_lock(&connection->hub->lock);
	one->waits = false;
	if (one->removed) {
		destination_free(connection, one);
	} else {
		address = one->info.address;
		connection->adding = one;
		pthread_mutex_unlock(&connection->hub->lock);
		id = nopal_destination_add(connection->session, &address);
		pthread_mutex_lock(&connection->hub->lock);
		connection->adding = NULL;
		if (id < 0)
			one->refused = (int)id;
		else
			one->info.id = (uint32_t)id;
		if (one->removed) /* meanwhile */
			leave(connection, one);
	}
	pthread_mutex_unlock(&connection->hub->lock);
}

void nopal__blocking_pump_leaves(struct nopal_connection *connection)
{
	pthread_mutex_lock(&connection->hub->lock);
	while (connection->leaving && connection->session) {
		struct blocking_destination *one = connection->destinations;
		uint32_t id;

		while (one && !one->leaves)
			one = one->next;
		connection->leaving = one != NULL;
		if (!one)
			break;
		one->leaves = false;
		id = one->info.id;
		if (!id || one->info.ended) {
			destination_free(connection, one);
		} else { /* the core calls back */
			pthread_mutex_unlock(&connection->hub->lock);
			nopal_destination_remove(connection->session, id, true);
			pthread_mutex_lock(&connection->hub->lock);
		}
		pthread_cond_broadcast(&connection->hub->changed);
	}
	pthread_mutex_unlock(&connection->hub->lock);
}

/* ------------------------------------------------------------------ dial many */

/* Takes over nothing; NULL: a problem was added, or out of memory. */
static struct nopal_address *addresses_parse(const char *const *addresses, size_t count,
					     struct nopal_address *ret_local,
					     struct nopal_problems *problems)
{
	struct nopal_address *peers = calloc(count + 1, sizeof(*peers));
	bool v4 = true;

	*ret_local = (struct nopal_address){ .port = 0 };
	for (size_t i = 0; peers && i < count; i++) {
		if (nopal_address_parse(addresses[i], &peers[i], problems)) {
			free(peers);
			return NULL;
		}
		v4 &= nopal_address_is_v4(&peers[i]);
	}
	if (v4)
		nopal_address_parse("0.0.0.0:0", ret_local, problems);
	return peers;
}

/* Before there is a thread; false: a problem was added. */
static bool dial_all(struct nopal_connection *connection, const struct nopal_address *peers,
		     size_t count, const char *const *addresses, struct nopal_problems *problems)
{
	int64_t id = 0;

	for (size_t i = 0; id >= 0 && i < count; i++) {
		connection->adding = destination_new(connection, &peers[i]);
		id = connection->adding ? nopal_destination_add(connection->session, &peers[i])
					: -ENOMEM;
		if (id >= 0)
			connection->adding->info.id = (uint32_t)id;
		else
			nopal_problems_add(problems, NULL, 0, NULL, "%s: %s", addresses[i],
					   id == -EEXIST ? "is named twice, and has one stream in "
							   "this config"
							 : "out of memory");
		connection->adding = NULL;
	}
	return id >= 0;
}

/* All peers that answer in time are destinations; the problems name the others. */
static struct nopal_connection *dial_many_wait(struct nopal_connection *connection,
					       int64_t timeout_ns, struct nopal_problems *problems)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	const struct blocking_destination *one;
	char text[NOPAL_ADDRESS_TEXT];
	bool any = false;

	pthread_mutex_lock(&hub->lock);
	do
		for (one = connection->destinations; one && (one->info.open || one->info.ended);)
			one = one->next;
	while (one && connection->life != BLOCKING_ENDED && nopal__blocking_wait(hub, deadline_ns));
	for (one = connection->destinations; one; one = one->next)
		any |= one->info.open;
	for (one = connection->destinations; one; one = one->next)
		if (!one->info.open)
			(any ? nopal_problems_warn : nopal_problems_add)(
				problems, NULL, 0, "check that the peer listens there", "%s: %s",
				nopal_address_format(&one->info.address, text),
				one->info.ended ? one->text : "the peer did not answer in time");
	pthread_mutex_unlock(&hub->lock);
	if (any)
		return connection;
	nopal__blocking_abandon(connection);
	return NULL;
}

struct nopal_connection *nopal_dial_many(const char *config, const char *const *addresses,
					 size_t count, int64_t timeout_ns,
					 struct nopal_problems *problems)
{
	struct nopal_connection *connection;
	struct nopal_address *peers, local;
	struct nopal_plan *plan;
	bool good;

	if (!count) {
		nopal_problems_add(problems, NULL, 0, NULL, "there is no address to connect to");
		return NULL;
	}
	plan = nopal_plan_load(config, NULL, problems);
	if (plan && !nopal_property(plan, "destination")) {
		nopal_problems_add(problems, NULL, 0,
				   "take a config with a layer per_destination, such as "
				   "one_to_many_all",
				   "%s is one to one, not one to many", config);
		nopal_plan_unref(plan);
		plan = NULL;
	}
	peers = plan ? addresses_parse(addresses, count, &local, problems) : NULL;
	if (plan && !peers)
		nopal_plan_unref(plan);
	connection = peers ? nopal__blocking_dial(plan, &local, NULL, false, problems) : NULL;
	good = connection && dial_all(connection, peers, count, addresses, problems);
	free(peers);
	if (connection && !good)
		nopal__blocking_hub_free(connection->hub);
	if (!good || !nopal__blocking_hub_start(connection->hub, problems))
		return NULL;
	return dial_many_wait(connection, timeout_ns, problems);
}

/* ------------------------------------------------------- add, remove, look at */

/* The lock is held.  A record that the loop's thread has not done with is the loop's to free. */
static int64_t add_wait(struct nopal_connection *connection, struct blocking_destination *one,
			int64_t timeout_ns, struct nopal_problems *problems)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	bool waiting = true;
	int64_t result;

	while (waiting && connection->life != BLOCKING_ENDED && !one->refused && !one->info.open &&
	       !one->info.ended)
		waiting = nopal__blocking_wait(connection->hub, deadline_ns);
	one->held = false;
	result = connection->life == BLOCKING_ENDED ? -EPIPE : -ETIMEDOUT;
	if (one->refused)
		result = one->refused;
	else if (one->info.ended)
		result = -ECONNREFUSED;
	else if (one->info.open)
		result = one->info.id;
	if (result == -ECONNREFUSED)
		nopal_problems_add(problems, NULL, 0, NULL, "%s",
				   one->text ? one->text : "it ended");
	if (result > 0)
		return result;
	one->removed = true;
	if (!one->waits && one != connection->adding)
		leave(connection, one);
	return result;
}

static void add_why(int64_t result, const char *address, struct nopal_problems *problems)
{
	static const struct {
		int result;
		const char *cause;
	} causes[] = {
		{ -EEXIST, "it is a destination already, and has one stream in this config" },
		{ -ETIMEDOUT, "the peer did not answer in time" },
		{ -EPIPE, "the connection has ended" },
		{ -EINVAL, "the connection is one to one" },
		{ -ENOMEM, "out of memory" },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].result == result)
			nopal_problems_add(problems, NULL, 0, NULL, "%s: %s", address,
					   causes[i].cause);
}

int64_t nopal_connection_add(struct nopal_connection *connection, const char *address,
			     int64_t timeout_ns, struct nopal_problems *problems)
{
	struct blocking_hub *hub = connection->hub;
	struct blocking_item item = { 0 };
	struct blocking_destination *one;
	struct nopal_address peer;
	int64_t result = -EINVAL;

	if (nopal_address_parse(address, &peer, problems))
		return -EINVAL;
	if (!connection->many) {
		add_why(result, address, problems);
		return result;
	}
	pthread_mutex_lock(&hub->lock);
	item.joins = one = destination_new(connection, &peer);
	if (one && nopal__blocking_push(&connection->out, item)) {
		one->held = one->waits = true;
	} else if (one) {
		destination_free(connection, one);
		one = NULL;
	}
	if (nopal__blocking_ask(connection))
		nopal__live_loop_call(hub->loop);
	result = one ? add_wait(connection, one, timeout_ns, problems) : -ENOMEM;
	pthread_mutex_unlock(&hub->lock);
	if (result < 0)
		nopal__blocking_call(connection);
	add_why(result, address, problems);
	return result;
}

int nopal_connection_remove(struct nopal_connection *connection, uint32_t id, bool at_once)
{
	struct blocking_hub *hub = connection->hub;
	const struct blocking_item item = { .destination = id };
	struct blocking_destination *one;
	int result = 0;

	if (!connection->many)
		return -EINVAL;
	pthread_mutex_lock(&hub->lock);
	one = nopal__blocking_destination(connection, id);
	if (!one || one->held || (one->removed && !at_once)) {
		result = -ENOENT;
	} else if (one->info.ended && one != connection->adding) {
		destination_free(connection, one);
	} else if (at_once) {
		one->removed = true;
		leave(connection, one);
	} else if (nopal__blocking_push(&connection->out, item)) {
		one->removed = true;
	} else {
		result = -ENOMEM;
	}
	pthread_mutex_unlock(&hub->lock);
	nopal__blocking_call(connection);
	return result;
}

int nopal_connection_remove_host(struct nopal_connection *connection, const char *address,
				 bool at_once, struct nopal_problems *problems)
{
	const struct blocking_destination *one;
	struct nopal_address host;
	uint32_t id = 0;
	int count = 0;

	if (nopal_address_parse(address, &host, problems) || !connection->many)
		return -EINVAL;
	do {
		pthread_mutex_lock(&connection->hub->lock);
		for (one = connection->destinations; one; one = one->next)
			if (one->info.id > id && !one->held && (!one->removed || at_once) &&
			    nopal_address_equal(&one->info.address, &host))
				break;
		id = one ? one->info.id : 0;
		pthread_mutex_unlock(&connection->hub->lock);
		if (id && nopal_connection_remove(connection, id, at_once) == 0)
			count++;
	} while (id);
	return count ? 0 : -ENOENT;
}

size_t nopal_connection_destinations(struct nopal_connection *connection,
				     struct nopal_destination_info *ret_infos, size_t room)
{
	size_t count = 0;

	pthread_mutex_lock(&connection->hub->lock);
	for (const struct blocking_destination *one = connection->destinations; one;
	     one = one->next) {
		if (one->held || !one->info.id)
			continue;
		if (count < room)
			ret_infos[count] = one->info;
		count++;
	}
	pthread_mutex_unlock(&connection->hub->lock);
	return count;
}
