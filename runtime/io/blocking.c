/* SPDX-License-Identifier: MIT */
/*
 * blocking.c -- the calls that wait: a world in a thread of its own.
 *
 * A hub is a loop, its thread, and the connections that live there: one for a
 * dialled connection, all accepted ones for a listener.  The callers' threads
 * and the loop's meet in two rings a connection and one lock a hub; all calls
 * into the core are made by the loop's thread, and without the lock, since the
 * core calls back.
 *
 *   caller  --send-->  out ring  --nopal_send_buffer-->  core     (one copy)
 *   caller  <--copy--  in ring   <--keep-- received  <-- core     (one copy)
 *
 * A message stays kept, and so unread for flow control, until the caller has
 * copied it.  Where nothing limits the peer, the in ring does: beyond its limit
 * messages are dropped, or, where the composition promised them, the session
 * ends.  Messages without a byte are not given out: 0 says the end.
 *
 * Connections are made and freed by the loop's thread; a caller only abandons.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blocking.h"

static void connection_abandon(struct nopal_connection *connection)
{
	struct blocking_hub *hub = connection->hub;

	pthread_mutex_lock(&hub->lock);
	connection->abandoned = true;
	pthread_mutex_unlock(&hub->lock);
	nopal__blocking_hub_leave(hub);
}

static void connection_why(const struct nopal_connection *connection,
			   struct nopal_problems *problems)
{
	nopal_problems_add(problems, NULL, 0, NULL, "%s",
			   connection->end_text ? connection->end_text
						: "the session ended");
}

static struct nopal_connection *dial_open(struct blocking_hub *hub,
					  const struct nopal_address *peer,
					  struct nopal_problems *problems)
{
	struct nopal_connection *connection =
		nopal__blocking_connection_new(hub);
	struct nopal_session *session = NULL;

	if (connection)
		session = nopal_session_open(hub->endpoint, hub->plan, peer,
					     &nopal__blocking_dialled,
					     connection);
	if (!session) {
		nopal_problems_add(problems, NULL, 0, NULL,
				   "no session: out of memory");
		nopal__blocking_hub_free(hub);
		return NULL;
	}
	if (connection->life != BLOCKING_ENDED)
		connection->session = session;
	return nopal__blocking_hub_start(hub, problems) ? connection : NULL;
}

static struct nopal_connection *dial_wait(struct nopal_connection *connection,
					  int64_t timeout_ns,
					  struct nopal_problems *problems)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	enum blocking_life life;

	pthread_mutex_lock(&hub->lock);
	while (connection->life == BLOCKING_OPENING &&
	       nopal__blocking_wait(hub, timeout_ns, &deadline))
		;
	life = connection->life;
	pthread_mutex_unlock(&hub->lock);
	if (life == BLOCKING_OPEN)
		return connection;
	if (life == BLOCKING_ENDED)
		connection_why(connection, problems);
	else
		nopal_problems_add(problems, NULL, 0,
				   "check that the peer listens there",
				   "the peer did not answer in time");
	connection_abandon(connection);
	return NULL;
}

struct nopal_connection *nopal_dial(const char *config, const char *address,
				    int64_t timeout_ns,
				    struct nopal_problems *problems)
{
	struct nopal_address peer, local = { .port = 0 };
	struct nopal_connection *connection;
	struct nopal_plan *plan;
	struct blocking_hub *hub;

	if (nopal_address_parse(address, &peer, problems))
		return NULL;
	plan = nopal_plan_load(config, NULL, problems);
	if (!plan)
		return NULL;
	if (nopal__live_address_is_v4(&peer))
		nopal_address_parse("0.0.0.0:0", &local, problems);
	hub = nopal__blocking_hub_new(plan, &local, problems);
	if (!hub)
		return NULL;
	connection = dial_open(hub, &peer, problems);
	return connection ? dial_wait(connection, timeout_ns, problems) : NULL;
}

struct nopal_listener *nopal_listen(const char *config, const char *address,
				    struct nopal_problems *problems)
{
	struct nopal_listener *listener;
	struct nopal_address local;
	struct nopal_plan *plan;
	struct blocking_hub *hub;

	if (nopal_address_parse(address, &local, problems))
		return NULL;
	plan = nopal_plan_load(config, NULL, problems);
	hub = plan ? nopal__blocking_hub_new(plan, &local, problems) : NULL;
	if (!hub)
		return NULL;
	hub->listening = true;
	listener = calloc(1, sizeof(*listener));
	if (!listener || nopal_endpoint_allow(hub->endpoint, plan,
					      NOPAL_ALLOW_CONNECTIONLESS,
					      &nopal__blocking_accepted, hub)) {
		free(listener);
		nopal__blocking_hub_free(hub);
		return NULL;
	}
	listener->hub = hub;
	if (nopal__blocking_hub_start(hub, problems))
		return listener;
	free(listener);
	return NULL;
}

struct nopal_connection *nopal_accept(struct nopal_listener *listener,
				      int64_t timeout_ns,
				      struct nopal_problems *problems)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = listener->hub;
	struct nopal_connection *connection = NULL;

	pthread_mutex_lock(&hub->lock);
	while (hub->accepted.count == 0 &&
	       nopal__blocking_wait(hub, timeout_ns, &deadline))
		;
	if (hub->accepted.count > 0) {
		connection =
			(void *)nopal__blocking_pop(&hub->accepted).message;
		hub->users++;
	}
	pthread_mutex_unlock(&hub->lock);
	if (!connection)
		nopal_problems_add(problems, NULL, 0, NULL,
				   "nobody came in time");
	return connection;
}

static bool out_is_full(const struct nopal_connection *connection)
{
	return connection->out.bytes >= BLOCKING_OUT_BYTES ||
	       connection->out.count >= BLOCKING_OUT_MESSAGES;
}

int nopal_connection_send(struct nopal_connection *connection,
			  const void *bytes, size_t length, int64_t timeout_ns)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	struct blocking_item item = { .length = length };
	int error = 0;
	bool wake;

	if (length > nopal_plan_message_limit(hub->plan) ||
	    length >= UINT32_MAX)
		return -EMSGSIZE;
	item.buffer = nopal_buffer_new((uint32_t)length + 1);
	if (!item.buffer)
		return -ENOMEM;
	memcpy(nopal_buffer_bytes(item.buffer), bytes, length);
	pthread_mutex_lock(&hub->lock);
	while (!error && connection->life != BLOCKING_ENDED &&
	       out_is_full(connection))
		error = nopal__blocking_wait(hub, timeout_ns, &deadline)
				? 0
				: -ETIMEDOUT;
	if (connection->life == BLOCKING_ENDED)
		error = -EPIPE;
	wake = connection->out.count == 0;
	if (!error && !nopal__blocking_push(&connection->out, item))
		error = -ENOMEM;
	pthread_mutex_unlock(&hub->lock);
	if (error)
		nopal_buffer_free(item.buffer);
	else if (wake)
		nopal__live_loop_call(hub->loop);
	return error;
}

/* Copies the first message out; the lock is held, so that it stays. */
static int64_t connection_take(struct nopal_connection *connection, void *bytes,
			       size_t room, bool *ret_wake)
{
	struct blocking_item item = nopal__blocking_pop(&connection->in);
	int64_t length = (int64_t)item.length;

	if (item.copy)
		memcpy(bytes, item.copy,
		       room < item.length ? room : item.length);
	else if (item.message)
		nopal_message_copy(item.message, 0, bytes, room);
	else
		length = -ENOMEM;
	free(item.copy);
	item.copy = NULL;
	if (item.message) {
		*ret_wake = connection->back.count == 0;
		nopal__blocking_push(&connection->back, item);
	}
	return length;
}

int64_t nopal_connection_receive(struct nopal_connection *connection,
				 void *bytes, size_t room, int64_t timeout_ns)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	bool waiting = true, wake = false;
	int64_t length = -ETIMEDOUT;

	pthread_mutex_lock(&hub->lock);
	while (waiting && connection->in.count == 0 &&
	       connection->life != BLOCKING_ENDED)
		waiting = nopal__blocking_wait(hub, timeout_ns, &deadline);
	if (connection->in.count > 0)
		length = connection_take(connection, bytes, room, &wake);
	else if (connection->life == BLOCKING_ENDED)
		length = connection->end == NOPAL_ENDED_WELL ? 0 : -ECONNRESET;
	pthread_mutex_unlock(&hub->lock);
	if (wake)
		nopal__live_loop_call(hub->loop);
	return length;
}

int nopal_connection_close(struct nopal_connection *connection,
			   int64_t timeout_ns, struct nopal_problems *problems)
{
	struct timespec deadline = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	int result = 0;

	pthread_mutex_lock(&hub->lock);
	connection->close_asked = true;
	pthread_mutex_unlock(&hub->lock);
	nopal__live_loop_call(hub->loop);
	pthread_mutex_lock(&hub->lock);
	while (!result && connection->life != BLOCKING_ENDED)
		result = nopal__blocking_wait(hub, timeout_ns, &deadline)
				 ? 0
				 : -ETIMEDOUT;
	if (connection->life == BLOCKING_ENDED)
		result = connection->end == NOPAL_ENDED_WELL ? 0 : -ECONNRESET;
	pthread_mutex_unlock(&hub->lock);
	if (result == -ECONNRESET)
		connection_why(connection, problems);
	connection_abandon(connection);
	return result;
}

void nopal_listener_close(struct nopal_listener *listener)
{
	struct blocking_hub *hub = listener->hub;

	pthread_mutex_lock(&hub->lock);
	hub->listening = false;
	while (hub->accepted.count > 0)
		((struct nopal_connection *)(void *)nopal__blocking_pop(
			 &hub->accepted)
			 .message)
			->abandoned = true;
	pthread_mutex_unlock(&hub->lock);
	free(listener);
	nopal__blocking_hub_leave(hub);
}

void nopal_listener_address(const struct nopal_listener *listener,
			    struct nopal_address *ret_address)
{
	*ret_address = listener->hub->local;
}
