/* SPDX-License-Identifier: MIT */
/*
 * blocking_hub.c -- the loop's thread at work for the blocking calls: rings, callbacks, hubs.
 * blocking.c has the whole picture.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ring.h"
#include "io/blocking/blocking.h"
#include "plan/plan.h"

enum {
	BLOCKING_IN_BYTES = 64 << 20, /* where flow control sets no limit */
	BLOCKING_IN_MESSAGES = 65536,
	BLOCKING_BACKLOG = 128, /* sessions that wait for nopal_accept */
};

/* ------------------------------------------------------------------- rings */

static struct blocking_item *ring_at(const struct blocking_ring *ring, uint32_t index)
{
	return &ring->items[(ring->head + index) % ring->room];
}

bool nopal__blocking_push(struct blocking_ring *ring, struct blocking_item item)
{
	if (ring->count == ring->room &&
	    !nopal__ring_grow(NULL, &ring->items, &ring->head, &ring->room, sizeof(*ring->items)))
		return false;
	ring->count++;
	*ring_at(ring, ring->count - 1) = item;
	ring->bytes += item.length;
	return true;
}

struct blocking_item nopal__blocking_pop(struct blocking_ring *ring)
{
	struct blocking_item item = *ring_at(ring, 0);

	ring->head = (ring->head + 1) % ring->room;
	ring->count--;
	ring->bytes -= item.length;
	return item;
}

static void ring_free(struct blocking_ring *ring)
{
	while (ring->count) {
		struct blocking_item item = nopal__blocking_pop(ring);

		if (item.buffer)
			nopal_buffer_free(item.buffer);
		free(item.copy);
	}
	nopal_free(NULL, ring->items);
}

/* ----------------------------------------------------------------- waiting */

int64_t nopal__blocking_deadline(int64_t timeout_ns)
{
	int64_t now_ns = nopal__live_now_ns();

	return timeout_ns < 0 || timeout_ns > NOPAL_NEVER - now_ns ? NOPAL_NEVER
								   : now_ns + timeout_ns;
}

bool nopal__blocking_wait_for(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t deadline_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(deadline_ns / NOPAL_SECOND),
				     .tv_nsec = (long)(deadline_ns % NOPAL_SECOND) };

	if (deadline_ns == NOPAL_NEVER)
		return pthread_cond_wait(changed, lock) == 0;
	return pthread_cond_timedwait(changed, lock, &at) == 0;
}

bool nopal__blocking_wait(struct blocking_hub *hub, int64_t deadline_ns)
{
	return nopal__blocking_wait_for(&hub->changed, &hub->lock, deadline_ns);
}

void nopal__blocking_condition_init(pthread_cond_t *changed)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

bool nopal__blocking_ask(struct nopal_connection *connection)
{
	struct blocking_hub *hub = connection->hub;
	bool first = !hub->asked;

	if (connection->pump_asked)
		return false;
	connection->pump_asked = true;
	connection->next_asked = hub->asked;
	hub->asked = connection;
	return first;
}

void nopal__blocking_call(struct nopal_connection *connection)
{
	struct blocking_hub *hub = connection->hub;
	bool call;

	pthread_mutex_lock(&hub->lock);
	call = nopal__blocking_ask(connection);
	pthread_mutex_unlock(&hub->lock);
	if (call)
		nopal__live_loop_call(hub->loop);
}

/* ----------------------------------------- callbacks, in the loop's thread */

static struct nopal_connection *connection_new(struct blocking_hub *hub)
{
	struct nopal_connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->hub = hub;
	connection->next = hub->connections;
	if (connection->next)
		connection->next->before = connection;
	hub->connections = connection;
	return connection;
}

/* Members of sets have left them before. */
static void connection_free(struct nopal_connection *connection)
{
	struct nopal_connection *next = connection->next, *before = connection->before;

	if (next)
		next->before = before;
	*(before ? &before->next : &connection->hub->connections) = next;
	ring_free(&connection->out);
	ring_free(&connection->in);
	ring_free(&connection->back);
	nopal__blocking_destinations_free(connection);
	nopal__blocking_sign_close(&connection->sign);
	free(connection->outcomes.of_ticket);
	free(connection->end_text);
	free(connection);
}

static void *blocking_on_accepted(struct nopal_session *session, void *user)
{
	struct nopal_connection *connection = connection_new(user);

	if (connection)
		connection->session = session;
	return connection;
}

static void blocking_on_accepted_opened(struct nopal_session *session, void *user)
{
	struct nopal_connection *connection = user;
	const struct blocking_item item = { .message = user };
	bool taken = false;

	if (connection) {
		struct blocking_hub *hub = connection->hub;

		pthread_mutex_lock(&hub->lock);
		connection->life = BLOCKING_OPEN;
		taken = hub->listening && hub->accepted.count < BLOCKING_BACKLOG &&
			nopal__blocking_push(&hub->accepted, item);
		nopal__blocking_show_listener(hub);
		connection->abandoned |= !taken;
		pthread_cond_broadcast(&hub->changed);
		pthread_mutex_unlock(&hub->lock);
	}
	if (!taken)
		nopal_session_abort(session, "the listener takes no more sessions");
}

/* The destination that was dialled is on the list when the dial returns. */
static void blocking_on_opened(struct nopal_session *session, void *user)
{
	struct nopal_connection *connection = user;
	struct nopal_destination_info info;

	if (connection->many && nopal_destinations(session, &info, 1) == 1)
		nopal__blocking_on_destination(session, &info, connection);
	nopal__blocking_keep_tickets(connection->hub);
	pthread_mutex_lock(&connection->hub->lock);
	connection->life = BLOCKING_OPEN;
	pthread_cond_broadcast(&connection->hub->changed);
	pthread_mutex_unlock(&connection->hub->lock);
}

static void blocking_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	struct nopal_connection *connection = user;
	struct blocking_item item = { .message = message, .length = nopal_message_length(message) };
	struct blocking_hub *hub;
	bool kept;

	if (!connection)
		return;
	hub = connection->hub;
	nopal_message_keep(message);
	pthread_mutex_lock(&hub->lock);
	kept = (nopal_plan_provides(hub->plan, "flow_control") ||
		(connection->in.count < BLOCKING_IN_MESSAGES &&
		 connection->in.bytes < BLOCKING_IN_BYTES)) &&
	       nopal__blocking_push(&connection->in, item);
	nopal__blocking_show_connection(connection);
	pthread_cond_broadcast(&hub->changed);
	pthread_mutex_unlock(&hub->lock);
	if (kept)
		return;
	nopal_message_give_back(session, message);
	if (nopal_plan_provides(hub->plan, "reliability"))
		nopal_session_abort(session, "the reader is too slow");
}

/* Kept messages die with the session: unread ones become copies, of attributes by their slots,
 * `urgent` behind them, and the bytes.  False: for one there is no memory, and neither it nor later
 * ones can be read. */
static bool connection_rescue(struct nopal_connection *connection)
{
	struct blocking_ring *in = &connection->in;
	size_t slots = connection->hub->plan->slot_count;
	uint32_t whole = 0;

	for (; whole < in->count; whole++) {
		struct blocking_item *item = ring_at(in, whole);

		item->copy = malloc((slots + 1) * sizeof(*item->copy) + item->length);
		if (!item->copy)
			break;
		memcpy(item->copy, item->message->attribute, slots * sizeof(*item->copy));
		item->copy[slots] = item->message->urgent;
		nopal_message_copy(item->message, 0, item->copy + slots + 1, item->length);
		item->message = NULL;
	}
	if (whole == in->count)
		return true;
	for (; in->count > whole; in->count--)
		in->bytes -= ring_at(in, in->count - 1)->length;
	return false;
}

static void connection_give_back(struct nopal_connection *connection)
{
	for (;;) {
		struct blocking_item item = { 0 };

		pthread_mutex_lock(&connection->hub->lock);
		if (connection->back.count)
			item = nopal__blocking_pop(&connection->back);
		pthread_mutex_unlock(&connection->hub->lock);
		if (!item.message)
			return;
		nopal_message_give_back(connection->session, item.message);
	}
}

static void blocking_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			      void *user)
{
	struct nopal_connection *connection = user;

	if (!connection)
		return;
	connection->session = session;
	pthread_mutex_lock(&connection->hub->lock);
	while (connection->lent)
		nopal__blocking_wait(connection->hub, NOPAL_NEVER);
	if (!connection_rescue(connection)) {
		end = NOPAL_RESOURCE;
		text = "no memory for messages that were not yet read";
	}
	pthread_mutex_unlock(&connection->hub->lock);
	connection_give_back(connection);
	pthread_mutex_lock(&connection->hub->lock);
	if (connection->life == BLOCKING_OPENING)
		connection->abandoned |= connection->hub->listening;
	connection->life = BLOCKING_ENDED;
	connection->end = (enum nopal_end)end;
	connection->end_text = text ? strdup(text) : NULL;
	nopal__blocking_copy_info(connection);
	connection->session = NULL;
	nopal__blocking_show_connection(connection);
	pthread_cond_broadcast(&connection->hub->changed);
	pthread_mutex_unlock(&connection->hub->lock);
	nopal__blocking_call(connection); /* which frees one that was abandoned */
}

/* ---------------------------------------------------- the loop's own thread */

static void blocking_on_sent(struct nopal_session *session, uint64_t ticket,
			     enum nopal_outcome outcome, void *user)
{
	struct nopal_connection *connection = user;

	(void)session;
	if (!connection)
		return;
	pthread_mutex_lock(&connection->hub->lock);
	nopal__blocking_tell(connection, ticket, outcome);
	pthread_cond_broadcast(&connection->hub->changed);
	pthread_mutex_unlock(&connection->hub->lock);
}

static void connection_pump_out(struct nopal_connection *connection)
{
	struct blocking_hub *hub = connection->hub;

	for (;;) {
		struct blocking_item item = { 0 };
		int refusal = 0;
		bool there;

		pthread_mutex_lock(&hub->lock);
		there = connection->out.count > 0;
		if (there)
			item = *ring_at(&connection->out, 0);
		pthread_mutex_unlock(&hub->lock);
		if (!there || !connection->session)
			return;
		if (item.buffer)
			refusal = nopal_send_message(
				connection->session,
				&(struct nopal_outgoing){
					.buffer = item.buffer,
					.from = (uint32_t)(item.properties *
							   sizeof(struct nopal_property)),
					.length = (uint32_t)item.length,
					.cookie = item.ticket,
					.properties = (void *)nopal_buffer_bytes(item.buffer),
					.property_count = item.properties,
				});
		else
			nopal__blocking_give_other(connection, &item);
		if (refusal == -EAGAIN)
			return;
		pthread_mutex_lock(&hub->lock);
		nopal__blocking_pop(&connection->out);
		nopal__blocking_show_connection(connection);
		if (refusal) {
			connection->outcomes.unsent++;
			nopal__blocking_tell(connection, item.ticket, NOPAL_OUTCOME_LOST);
		}
		pthread_cond_broadcast(&hub->changed);
		pthread_mutex_unlock(&hub->lock);
		if (item.buffer)
			nopal_buffer_free(item.buffer);
	}
}

static void connection_pump(struct nopal_connection *connection)
{
	bool close_now, abort_now;

	if (!connection->session)
		return;
	connection_give_back(connection);
	nopal__blocking_pump_leaves(connection);
	connection_pump_out(connection);
	pthread_mutex_lock(&connection->hub->lock);
	abort_now = connection->abandoned;
	close_now = connection->close_asked && connection->out.count == 0 && !connection->closing;
	connection->closing |= close_now;
	if (connection->info_asked && connection->session) {
		nopal__blocking_copy_info(connection);
		pthread_cond_broadcast(&connection->hub->changed);
	}
	pthread_mutex_unlock(&connection->hub->lock);
	if (abort_now && connection->session)
		nopal_session_abort(connection->session, "closed by the application");
	else if (close_now && connection->session)
		nopal_session_close(connection->session);
}

static void blocking_on_writable(struct nopal_session *session, void *user)
{
	struct nopal_connection *connection = user;

	(void)session;
	if (connection) /* goes on in a call of its own */
		nopal__blocking_call(connection);
}

/* An abandoned connection goes when its session has ended; not while it is asked for anew. */
static void hub_pump(void *user)
{
	struct blocking_hub *hub = user;
	struct nopal_connection *asked;
	bool over;

	pthread_mutex_lock(&hub->lock);
	asked = hub->asked;
	hub->asked = NULL;
	while (asked) {
		struct nopal_connection *connection = asked;

		asked = connection->next_asked;
		connection->pump_asked = false;
		pthread_mutex_unlock(&hub->lock);
		connection_pump(connection);
		pthread_mutex_lock(&hub->lock);
		if (connection->abandoned && connection->life == BLOCKING_ENDED &&
		    !connection->pump_asked)
			connection_free(connection);
	}
	over = hub->users == 0;
	pthread_mutex_unlock(&hub->lock);
	if (over)
		nopal__live_loop_stop(hub->loop);
}

static void *hub_thread(void *user)
{
	struct blocking_hub *hub = user;

	nopal__live_loop_run(hub->loop);
	return NULL;
}

static const struct nopal_callbacks blocking_dialled = {
	.opened = blocking_on_opened,
	.received = blocking_on_received,
	.sent = blocking_on_sent,
	.writable = blocking_on_writable,
	.destination = nopal__blocking_on_destination,
	.ended = blocking_on_ended,
};

const struct nopal_callbacks nopal__blocking_accepted = {
	.accepted = blocking_on_accepted,
	.opened = blocking_on_accepted_opened,
	.received = blocking_on_received,
	.sent = blocking_on_sent,
	.writable = blocking_on_writable,
	.destination = nopal__blocking_on_destination,
	.ended = blocking_on_ended,
};

/* -------------------------------------------------------------------- hubs */

void nopal__blocking_hub_free(struct blocking_hub *hub)
{
	if (hub->loop)
		nopal__live_loop_free(hub->loop); /* `ended` of all that is left */
	while (hub->connections)
		connection_free(hub->connections);
	nopal_free(NULL, hub->accepted.items);
	nopal__blocking_sign_close(&hub->sign);
	nopal_plan_unref(hub->plan);
	pthread_cond_destroy(&hub->changed);
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

struct blocking_hub *nopal__blocking_hub_new(struct nopal_plan *plan,
					     const struct nopal_address *local,
					     struct nopal_problems *problems)
{
	struct blocking_hub *hub = calloc(1, sizeof(*hub));

	if (!hub) {
		nopal_plan_unref(plan);
		return NULL;
	}
	pthread_mutex_init(&hub->lock, NULL);
	nopal__blocking_condition_init(&hub->changed);
	hub->plan = plan;
	hub->destination = nopal_property(plan, "destination");
	hub->users = 1;
	hub->loop = nopal__live_loop_new(hub_pump, hub);
	if (!hub->loop) {
		nopal_problems_add(problems, NULL, 0, NULL, "no event loop: %s", strerror(errno));
		nopal__blocking_hub_free(hub);
		return NULL;
	}
	hub->endpoint = nopal_endpoint_open(nopal__live_loop_world(hub->loop), local, problems);
	if (!hub->endpoint) {
		nopal__blocking_hub_free(hub);
		return NULL;
	}
	nopal_endpoint_local(hub->endpoint, &hub->local);
	return hub;
}

struct nopal_connection *nopal__blocking_dial(struct nopal_plan *plan,
					      const struct nopal_address *local,
					      const struct nopal_address *peer, bool rendezvous,
					      struct nopal_problems *problems)
{
	struct blocking_hub *hub = nopal__blocking_hub_new(plan, local, problems);
	struct nopal_connection *connection = hub ? connection_new(hub) : NULL;
	struct nopal_session *session = NULL;

	if (!hub)
		return NULL;
	if (connection) {
		connection->many = hub->destination != 0;
		nopal__blocking_recall_tickets(hub);
		session = nopal_session_open(&(struct nopal_open){ .endpoint = hub->endpoint,
								   .plan = plan,
								   .peer = peer,
								   .rendezvous = rendezvous,
								   .callbacks = &blocking_dialled,
								   .user = connection });
	}
	if (!session) {
		nopal_problems_add(problems, NULL, 0, NULL, "no session: out of memory");
		nopal__blocking_hub_free(hub);
		return NULL;
	}
	if (connection->life != BLOCKING_ENDED)
		connection->session = session;
	return connection;
}

bool nopal__blocking_hub_start(struct blocking_hub *hub, struct nopal_problems *problems)
{
	int error = pthread_create(&hub->thread, NULL, hub_thread, hub);

	if (error == 0)
		return true;
	nopal_problems_add(problems, NULL, 0, NULL, "no thread: %s", strerror(error));
	nopal__blocking_hub_free(hub);
	return false;
}

void nopal__blocking_hub_leave(struct blocking_hub *hub)
{
	bool last;

	pthread_mutex_lock(&hub->lock);
	last = --hub->users == 0;
	nopal__live_loop_call(hub->loop); /* while the hub is there: another may be the last */
	pthread_mutex_unlock(&hub->lock);
	if (!last)
		return;
	pthread_join(hub->thread, NULL);
	nopal__blocking_hub_free(hub);
}
