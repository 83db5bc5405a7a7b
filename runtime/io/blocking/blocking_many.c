/* SPDX-License-Identifier: MIT */
/*
 * blocking_many.c -- one connection to many, for the blocking calls: who they are, and how they
 * come and go.
 *
 *   caller  --a record, and what is asked of it-->  loop  --add, remove-->  core
 *   caller  <--its state------------------------------------<-- destination --
 *
 * A record is made when a destination is wanted.  It is freed by the loop's thread once it was
 * removed and has ended, or by the application's removing one that has ended by itself: so there
 * are as many as the application has use for.  To be added, and to be removed gently, is an item in
 * the out ring, behind all that was sent before.
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

/* Whose record it is: one that is being added has no id yet; the one of an accepted session, or of
 * nopal_dial(), has no record. */
static struct blocking_destination *destination_of(struct nopal_connection *connection,
						   const struct nopal_destination_info *info)
{
	struct blocking_destination *one = nopal__blocking_destination(connection, info->id);

	if (!one && connection->adding)
		one = connection->adding;
	if (!one && !info->ended)
		one = destination_new(connection, &info->address);
	return one;
}

void nopal__blocking_on_destination(struct nopal_session *session,
				    const struct nopal_destination_info *info, void *user)
{
	struct nopal_connection *connection = user;
	struct blocking_destination *one;

	(void)session;
	if (!connection)
		return;
	pthread_mutex_lock(&connection->hub->lock);
	one = destination_of(connection, info);
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
	one->leaves = connection->asked = true;
}

/* The lock is held, but not while the core, which calls back, is at work. */
static void pump_join(struct nopal_connection *connection, struct blocking_destination *one)
{
	const struct nopal_address address = one->info.address;
	int64_t id;

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

void nopal__blocking_give_other(struct nopal_connection *connection,
				const struct blocking_item *item)
{
	struct blocking_destination *one = item->joins;

	if (!one) {
		nopal_destination_remove(connection->session, item->destination, false);
		return;
	}
	pthread_mutex_lock(&connection->hub->lock);
	one->waits = false;
	if (one->removed)
		destination_free(connection, one);
	else
		pump_join(connection, one);
	pthread_mutex_unlock(&connection->hub->lock);
}

static void pump_leave(struct nopal_connection *connection, struct blocking_destination *one)
{
	uint32_t id = one->info.id;

	one->leaves = false;
	if (!id || one->info.ended) {
		destination_free(connection, one);
		return;
	}
	pthread_mutex_unlock(&connection->hub->lock);
	nopal_destination_remove(connection->session, id, true);
	pthread_mutex_lock(&connection->hub->lock);
}

static struct blocking_destination *who_leaves(const struct nopal_connection *connection)
{
	struct blocking_destination *one = connection->destinations;

	while (one && !one->leaves)
		one = one->next;
	return one;
}

void nopal__blocking_pump_leaves(struct nopal_connection *connection)
{
	pthread_mutex_lock(&connection->hub->lock);
	while (connection->asked && connection->session) {
		struct blocking_destination *one = who_leaves(connection);

		connection->asked = one != NULL;
		if (one)
			pump_leave(connection, one);
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

/* Before there is a thread. */
static int dial_add(struct nopal_connection *connection, const struct nopal_address *peer)
{
	struct blocking_destination *one = destination_new(connection, peer);
	int64_t id;

	if (!one)
		return -ENOMEM;
	connection->adding = one;
	id = nopal_destination_add(connection->session, peer);
	connection->adding = NULL;
	if (id < 0)
		return (int)id;
	one->info.id = (uint32_t)id;
	return 0;
}

static int dial_all(struct nopal_connection *connection, const struct nopal_address *peers,
		    size_t count, const char *const *addresses, struct nopal_problems *problems)
{
	struct blocking_hub *hub = connection->hub;
	int error = 0;

	connection->many = true;
	connection->session =
		nopal_session_open(&(struct nopal_open){ .endpoint = hub->endpoint,
							 .plan = hub->plan,
							 .callbacks = &nopal__blocking_dialled,
							 .user = connection });
	if (!connection->session)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < count; i++) {
		error = dial_add(connection, &peers[i]);
		if (error)
			nopal_problems_add(problems, NULL, 0, NULL, "%s: %s", addresses[i],
					   error == -EEXIST ? "is named twice" : "out of memory");
	}
	return error;
}

static struct blocking_hub *dial_hub(const char *config, const struct nopal_address *local,
				     struct nopal_problems *problems)
{
	struct nopal_plan *plan = nopal_plan_load(config, NULL, problems);

	if (!plan)
		return NULL;
	if (nopal_property(plan, "destination"))
		return nopal__blocking_hub_new(plan, local, problems);
	nopal_problems_add(problems, NULL, 0,
			   "take a config with a layer per_destination, such as one_to_many_all",
			   "%s speaks to one, not to many", config);
	nopal_plan_unref(plan);
	return NULL;
}

static bool all_have_answered(const struct nopal_connection *connection)
{
	const struct blocking_destination *one = connection->destinations;

	while (one && (one->info.open || one->info.ended))
		one = one->next;
	return !one;
}

/* The lock is held.  Who is not there, and whether anybody is. */
static bool dial_tell(const struct nopal_connection *connection, struct nopal_problems *problems)
{
	char text[NOPAL_ADDRESS_TEXT];
	bool anybody = false;

	for (const struct blocking_destination *one = connection->destinations; one;
	     one = one->next)
		anybody |= one->info.open;
	for (const struct blocking_destination *one = connection->destinations; one;
	     one = one->next)
		if (!one->info.open)
			(anybody ? nopal_problems_warn : nopal_problems_add)(
				problems, NULL, 0, "check that the peer listens there", "%s: %s",
				nopal_address_format(&one->info.address, text),
				one->info.ended ? one->text : "the peer did not answer in time");
	return anybody;
}

static struct nopal_connection *dial_many_wait(struct nopal_connection *connection,
					       int64_t timeout_ns, struct nopal_problems *problems)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	bool anybody;

	pthread_mutex_lock(&hub->lock);
	while (connection->life != BLOCKING_ENDED && !all_have_answered(connection) &&
	       nopal__blocking_wait(hub, timeout_ns, &deadline))
		;
	anybody = dial_tell(connection, problems);
	pthread_mutex_unlock(&hub->lock);
	if (anybody)
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
	struct blocking_hub *hub;
	int error;

	if (!count) {
		nopal_problems_add(problems, NULL, 0, NULL, "there is nobody to connect to");
		return NULL;
	}
	peers = addresses_parse(addresses, count, &local, problems);
	hub = peers ? dial_hub(config, &local, problems) : NULL;
	connection = hub ? nopal__blocking_connection_new(hub) : NULL;
	error = connection ? dial_all(connection, peers, count, addresses, problems) : -ENOMEM;
	free(peers);
	if (hub && error)
		nopal__blocking_hub_free(hub);
	if (error || !nopal__blocking_hub_start(hub, problems))
		return NULL;
	return dial_many_wait(connection, timeout_ns, problems);
}

/* ------------------------------------------------------- add, remove, look at */

/* The lock is held.  Its id, or why it is none. */
static int64_t add_result(const struct nopal_connection *connection,
			  const struct blocking_destination *one)
{
	if (one->refused)
		return one->refused;
	if (one->info.ended)
		return -ECONNREFUSED;
	if (one->info.open)
		return one->info.id;
	return connection->life == BLOCKING_ENDED ? -EPIPE : -ETIMEDOUT;
}

/* The lock is held.  A record that the loop's thread has not done with is the loop's to free. */
static int64_t add_wait(struct nopal_connection *connection, struct blocking_destination *one,
			int64_t timeout_ns, struct nopal_problems *problems)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	bool waiting = true;
	int64_t result;

	while (waiting && connection->life != BLOCKING_ENDED && !one->refused && !one->info.open &&
	       !one->info.ended)
		waiting = nopal__blocking_wait(connection->hub, timeout_ns, &deadline);
	one->held = false;
	result = add_result(connection, one);
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

/* The lock is held.  Behind all that was sent before; NULL: out of memory. */
static struct blocking_destination *add_push(struct nopal_connection *connection,
					     const struct nopal_address *address)
{
	struct blocking_destination *one = destination_new(connection, address);
	const struct blocking_item item = { .joins = one };

	if (!one)
		return NULL;
	if (!nopal__blocking_push(&connection->out, item)) {
		destination_free(connection, one);
		return NULL;
	}
	one->held = one->waits = true;
	return one;
}

static void add_why(int64_t result, const char *address, struct nopal_problems *problems)
{
	const char *cause = NULL;

	if (result == -EEXIST)
		cause = "it is a destination already";
	else if (result == -ETIMEDOUT)
		cause = "the peer did not answer in time";
	else if (result == -EPIPE)
		cause = "the connection has ended";
	else if (result == -EINVAL)
		cause = "the connection is one to one";
	else if (result == -ENOMEM)
		cause = "out of memory";
	if (cause)
		nopal_problems_add(problems, NULL, 0, NULL, "%s: %s", address, cause);
}

int64_t nopal_connection_add(struct nopal_connection *connection, const char *address,
			     int64_t timeout_ns, struct nopal_problems *problems)
{
	struct blocking_hub *hub = connection->hub;
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
	one = add_push(connection, &peer);
	pthread_mutex_unlock(&hub->lock);
	nopal__live_loop_call(hub->loop);
	pthread_mutex_lock(&hub->lock);
	result = one ? add_wait(connection, one, timeout_ns, problems) : -ENOMEM;
	pthread_mutex_unlock(&hub->lock);
	if (result < 0)
		nopal__live_loop_call(hub->loop);
	add_why(result, address, problems);
	return result;
}

/* The lock is held. */
static int remove_one(struct nopal_connection *connection, struct blocking_destination *one,
		      bool at_once)
{
	const struct blocking_item item = { .destination = one->info.id };

	if (one->info.ended && one != connection->adding) {
		destination_free(connection, one);
		return 0;
	}
	if (at_once)
		leave(connection, one);
	else if (!nopal__blocking_push(&connection->out, item))
		return -ENOMEM;
	one->removed = true;
	return 0;
}

int nopal_connection_remove(struct nopal_connection *connection, uint32_t id, bool at_once)
{
	struct blocking_hub *hub = connection->hub;
	struct blocking_destination *one;
	int result = -ENOENT;

	if (!connection->many)
		return -EINVAL;
	pthread_mutex_lock(&hub->lock);
	one = nopal__blocking_destination(connection, id);
	if (one && !one->held && (at_once || !one->removed))
		result = remove_one(connection, one, at_once);
	pthread_mutex_unlock(&hub->lock);
	nopal__live_loop_call(hub->loop);
	return result;
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
