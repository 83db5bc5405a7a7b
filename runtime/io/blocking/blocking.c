/* SPDX-License-Identifier: MIT */
/*
 * blocking.c -- the calls that wait: a world in a thread of its own.
 *
 * A hub is a loop, its thread, and the connections that live there: one for a dialled connection,
 * all accepted ones for a listener.  The callers' threads and the loop's meet in two rings a
 * connection and one lock a hub; all calls into the core are made by the loop's thread, and without
 * the lock, since the core calls back.
 *
 *   caller  --send-->  out ring  --nopal_send_message-->  core     (one copy)
 *   caller  <--copy--  in ring   <--keep-- received  <-- core     (one copy)
 *
 * A message stays kept, and so unread for flow control, until the caller has copied it.  Where
 * nothing limits the peer, the in ring does: beyond its limit messages are dropped, or, where the
 * composition promised them, the session ends.  Messages without a byte are not given out: 0 says
 * the end.
 *
 * Connections are made and freed by the loop's thread; a caller only abandons.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/blocking/blocking.h"
#include "plan/plan.h"
#include "session/endpoint_sessions.h"

void nopal__blocking_abandon(struct nopal_connection *connection)
{
	struct blocking_hub *hub = connection->hub;

	pthread_mutex_lock(&hub->lock);
	nopal__blocking_member_leave(&connection->member);
	connection->abandoned = true;
	nopal__blocking_ask(connection);
	pthread_mutex_unlock(&hub->lock);
	nopal__blocking_hub_leave(hub); /* which calls the loop */
}

static void why_it_ended(const struct nopal_connection *connection, struct nopal_problems *problems)
{
	nopal_problems_add(problems, NULL, 0, NULL, "%s",
			   connection->end_text ? connection->end_text : "the session ended");
}

/* Starts the hub, and waits until the session is open; NULL: it is not, and the connection is
 * gone. */
static struct nopal_connection *wait_until_open(struct nopal_connection *connection,
						int64_t timeout_ns, struct nopal_problems *problems)
{
	enum blocking_life life;
	int64_t deadline_ns;

	if (!nopal__blocking_hub_start(connection->hub, problems))
		return NULL;
	deadline_ns = nopal__blocking_deadline(timeout_ns);
	pthread_mutex_lock(&connection->hub->lock);
	while (connection->life == BLOCKING_OPENING &&
	       nopal__blocking_wait(connection->hub, deadline_ns))
		;
	life = connection->life;
	pthread_mutex_unlock(&connection->hub->lock);
	if (life == BLOCKING_OPEN)
		return connection;
	if (life == BLOCKING_ENDED)
		why_it_ended(connection, problems);
	else
		nopal_problems_add(problems, NULL, 0, "check that the peer listens there",
				   "the peer did not answer in time");
	nopal__blocking_abandon(connection);
	return NULL;
}

static struct nopal_connection *dial(const char *config, const struct nopal_address *local,
				     const struct nopal_address *peer, bool rendezvous,
				     int64_t timeout_ns, struct nopal_problems *problems)
{
	struct nopal_plan *plan = nopal_plan_load(config, NULL, problems);
	struct nopal_connection *connection;

	if (plan && rendezvous && !nopal_plan_can_rendezvous(plan)) {
		nopal_problems_add(problems, nopal_plan_info(plan)->name, 0,
				   "take one with virtual_circuit and one destination",
				   "peers cannot meet with this composition");
		nopal_plan_unref(plan);
		return NULL;
	}
	connection = plan ? nopal__blocking_dial(plan, local, peer, rendezvous, problems) : NULL;
	return connection ? wait_until_open(connection, timeout_ns, problems) : NULL;
}

struct nopal_connection *nopal_dial(const char *config, const char *address, int64_t timeout_ns,
				    struct nopal_problems *problems)
{
	struct nopal_address peer, local = { .port = 0 };

	if (nopal_address_parse(address, &peer, problems))
		return NULL;
	nopal_address_set_any(&local, &peer);
	return dial(config, &local, &peer, false, timeout_ns, problems);
}

struct nopal_connection *nopal_dial_early(const char *config, const char *address,
					  const void *bytes, size_t length, int64_t timeout_ns,
					  struct nopal_problems *problems)
{
	struct nopal_address peer, local = { .port = 0 };
	struct nopal_connection *connection;
	struct nopal_plan *plan;

	if (nopal_address_parse(address, &peer, problems))
		return NULL;
	nopal_address_set_any(&local, &peer);
	plan = nopal_plan_load(config, NULL, problems);
	connection = plan ? nopal__blocking_dial(plan, &local, &peer, false, problems) : NULL;
	if (connection && !nopal__blocking_say_early(connection, bytes, length, problems)) {
		nopal__blocking_hub_free(connection->hub);
		return NULL;
	}
	return connection ? wait_until_open(connection, timeout_ns, problems) : NULL;
}

struct nopal_connection *nopal_rendezvous(const char *config, const char *local, const char *peer,
					  int64_t timeout_ns, struct nopal_problems *problems)
{
	struct nopal_address here, there;

	if (nopal_address_parse(local, &here, problems) ||
	    nopal_address_parse(peer, &there, problems))
		return NULL;
	return dial(config, &here, &there, true, timeout_ns, problems);
}

struct nopal_listener *nopal_listen(const char *config, const char *address,
				    struct nopal_problems *problems)
{
	return nopal_listen_keyed(config, address, NULL, problems);
}

struct nopal_listener *nopal_listen_keyed(const char *config, const char *address,
					  const uint8_t *reset_key, struct nopal_problems *problems)
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
	if (reset_key)
		nopal_endpoint_set_reset_key(hub->endpoint, reset_key);
	listener = calloc(1, sizeof(*listener));
	if (!listener || nopal_endpoint_allow(hub->endpoint, plan, NOPAL_ALLOW_CONNECTIONLESS,
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

struct nopal_connection *nopal_accept(struct nopal_listener *listener, int64_t timeout_ns,
				      struct nopal_problems *problems)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = listener->hub;
	struct nopal_connection *connection = NULL;

	pthread_mutex_lock(&hub->lock);
	while (hub->accepted.count == 0 && nopal__blocking_wait(hub, deadline_ns))
		;
	if (hub->accepted.count > 0) {
		connection = (void *)nopal__blocking_pop(&hub->accepted).message;
		nopal__blocking_show_listener(hub);
		hub->users++;
	}
	pthread_mutex_unlock(&hub->lock);
	if (!connection)
		nopal_problems_add(problems, NULL, 0, NULL, "no peer came in time");
	return connection;
}

/* Why a message cannot be sent: a negative error, or 0. */
static int out_refusal(const struct nopal_connection *connection, uint32_t destination)
{
	const struct blocking_destination *one =
		nopal__blocking_destination(connection, destination);

	if (connection->life == BLOCKING_ENDED)
		return -EPIPE;
	if (destination && (!one || one->removed || one->info.ended))
		return -ENOENT;
	return 0;
}

static bool out_is_full(const struct nopal_connection *connection, bool with_ticket)
{
	const struct blocking_outcomes *outcomes = &connection->outcomes;

	return !nopal__blocking_has_room(connection) ||
	       (with_ticket && outcomes->of_ticket &&
		outcomes->of_ticket[(outcomes->tickets + 1) % NOPAL_TICKETS] ==
			BLOCKING_OUTCOME_OPEN);
}

int nopal__blocking_put(struct nopal_connection *connection, struct blocking_item item,
			int64_t timeout_ns, uint64_t *ret_ticket)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_outcomes *outcomes = &connection->outcomes;
	struct blocking_hub *hub = connection->hub;
	int error;
	bool wake;

	pthread_mutex_lock(&hub->lock);
	error = out_refusal(connection, item.destination);
	while (!error && out_is_full(connection, ret_ticket != NULL)) {
		if (!nopal__blocking_wait(hub, deadline_ns))
			error = -ETIMEDOUT;
		else
			error = out_refusal(connection, item.destination);
	}
	wake = connection->out.count == 0;
	if (!error && ret_ticket) {
		item.ticket = outcomes->tickets + 1;
		if (!outcomes->of_ticket)
			outcomes->of_ticket = calloc(NOPAL_TICKETS, 1);
		if (!outcomes->of_ticket)
			error = -ENOMEM;
	}
	if (!error && !nopal__blocking_push(&connection->out, item))
		error = -ENOMEM;
	outcomes->open += !error;
	if (!error && ret_ticket) {
		outcomes->of_ticket[item.ticket % NOPAL_TICKETS] = BLOCKING_OUTCOME_OPEN;
		*ret_ticket = outcomes->tickets = item.ticket;
	}
	nopal__blocking_show_connection(connection);
	wake = !error && wake && nopal__blocking_ask(connection);
	pthread_mutex_unlock(&hub->lock);
	if (wake)
		nopal__live_loop_call(hub->loop);
	return error;
}

/* Properties and bytes go in one buffer. */
static int connection_send(struct nopal_connection *connection, uint32_t destination,
			   const struct nopal_outgoing *outgoing, int64_t timeout_ns,
			   uint64_t *ret_ticket)
{
	size_t head = outgoing->property_count * sizeof(*outgoing->properties);
	struct blocking_item item = { .length = outgoing->length,
				      .properties = outgoing->property_count,
				      .destination = destination };
	int error;

	if (outgoing->length > nopal_plan_info(connection->hub->plan)->message_limit ||
	    outgoing->length >= UINT32_MAX - BLOCKING_PROPERTIES * sizeof(*outgoing->properties))
		return -EMSGSIZE;
	if (outgoing->length < nopal_plan_info(connection->hub->plan)->message_min ||
	    outgoing->buffer || outgoing->property_count > BLOCKING_PROPERTIES)
		return -EINVAL;
	item.buffer = nopal_buffer_new((uint32_t)(head + outgoing->length + 1));
	if (!item.buffer)
		return -ENOMEM;
	if (head)
		memcpy(nopal_buffer_bytes(item.buffer), outgoing->properties, head);
	if (outgoing->length)
		memcpy(nopal_buffer_bytes(item.buffer) + head, outgoing->bytes, outgoing->length);
	error = nopal__blocking_put(connection, item, timeout_ns, ret_ticket);
	if (error)
		nopal_buffer_free(item.buffer);
	return error;
}

int nopal_connection_send_message(struct nopal_connection *connection,
				  const struct nopal_outgoing *outgoing, int64_t timeout_ns,
				  uint64_t *ret_ticket)
{
	unsigned which = connection->hub->destination;
	uint32_t destination = 0;

	for (size_t i = 0; which && i < outgoing->property_count; i++)
		if (outgoing->properties[i].which == which)
			destination = (uint32_t)outgoing->properties[i].value;
	return connection_send(connection, destination, outgoing, timeout_ns, ret_ticket);
}

int nopal_connection_send_to(struct nopal_connection *connection, uint32_t destination,
			     const void *bytes, size_t length, int64_t timeout_ns,
			     uint64_t *ret_ticket)
{
	const struct nopal_property property = { connection->hub->destination, destination };
	const struct nopal_outgoing outgoing = {
		.bytes = bytes,
		.length = length,
		.properties = &property,
		.property_count = destination != 0,
	};

	return connection_send(connection, destination, &outgoing, timeout_ns, ret_ticket);
}

int nopal_connection_send(struct nopal_connection *connection, const void *bytes, size_t length,
			  int64_t timeout_ns)
{
	return nopal_connection_send_to(connection, 0, bytes, length, timeout_ns, NULL);
}

/* ----------------------------------------------------------- wait for a send */

void nopal__blocking_tell(struct nopal_connection *connection, uint64_t ticket,
			  enum nopal_outcome outcome)
{
	struct blocking_outcomes *outcomes = &connection->outcomes;

	outcomes->open--;
	outcomes->missing += outcome == NOPAL_OUTCOME_LOST;
	outcomes->unknown += outcome == NOPAL_OUTCOME_UNKNOWN;
	if (ticket)
		outcomes->of_ticket[ticket % NOPAL_TICKETS] = (uint8_t)outcome;
}

static bool ticket_is_known(const struct blocking_outcomes *outcomes, uint64_t ticket)
{
	return ticket <= outcomes->tickets && outcomes->tickets - ticket < NOPAL_TICKETS;
}

static bool outcome_is_open(const struct blocking_outcomes *outcomes, uint64_t ticket)
{
	return ticket ? outcomes->of_ticket[ticket % NOPAL_TICKETS] == BLOCKING_OUTCOME_OPEN
		      : outcomes->open > 0;
}

/* A message without an outcome when the session has ended is lost.  A ticket may be forgotten while
 * a caller waits for it.  Without a ticket it is the worst of all outcomes, from now on anew. */
int nopal_connection_wait(struct nopal_connection *connection, uint64_t ticket, int64_t timeout_ns)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	struct blocking_outcomes *outcomes = &connection->outcomes;
	bool waiting = true;
	int outcome = -ENOENT;

	pthread_mutex_lock(&hub->lock);
	while (waiting && (!ticket || ticket_is_known(outcomes, ticket)) &&
	       outcome_is_open(outcomes, ticket) && connection->life != BLOCKING_ENDED)
		waiting = nopal__blocking_wait(hub, deadline_ns);
	if (!waiting) {
		outcome = -ETIMEDOUT;
	} else if (!ticket) {
		outcome = outcomes->missing || outcomes->open ? NOPAL_OUTCOME_LOST
			  : outcomes->unknown		      ? NOPAL_OUTCOME_UNKNOWN
							      : NOPAL_OUTCOME_DELIVERED;
		outcomes->unknown = outcomes->missing = outcomes->open = 0;
	} else if (ticket_is_known(outcomes, ticket)) {
		outcome = outcome_is_open(outcomes, ticket)
				  ? NOPAL_OUTCOME_LOST
				  : outcomes->of_ticket[ticket % NOPAL_TICKETS];
	}
	pthread_mutex_unlock(&hub->lock);
	return outcome;
}

/* ------------------------------------------------------------------- receive */

bool nopal__blocking_give_back(struct nopal_connection *connection, struct blocking_item *item)
{
	bool first = connection->back.count == 0;

	free(item->copy);
	item->copy = NULL;
	if (item->message)
		nopal__blocking_push(&connection->back, *item);
	return item->message && first && nopal__blocking_ask(connection);
}

/* Copies the first message out; the lock is held, so that it stays. */
static int64_t connection_take(struct nopal_connection *connection,
			       const struct nopal_incoming *incoming, bool *ret_call)
{
	struct blocking_item item = nopal__blocking_pop(&connection->in);
	const struct nopal_plan *plan = connection->hub->plan;
	size_t length = item.length < incoming->room ? item.length : incoming->room;

	nopal__blocking_show_connection(connection);
	if (!item.message && !item.copy)
		return -ENOMEM;
	for (size_t i = 0; i < incoming->property_count; i++) {
		struct nopal_property *property = &incoming->properties[i];

		property->value = 0;
		if (property->which == 0 ||
		    (property->which != NOPAL_URGENT && property->which >= plan->slot_count))
			continue;
		if (item.message)
			property->value = nopal_message_property(item.message, property->which);
		else
			property->value =
				item.copy[property->which == NOPAL_URGENT ? plan->slot_count
									  : property->which];
	}
	if (item.copy && length)
		memcpy(incoming->bytes, item.copy + plan->slot_count + 1, length);
	if (item.message)
		nopal_message_copy(item.message, 0, incoming->bytes, length);
	*ret_call = nopal__blocking_give_back(connection, &item);
	return (int64_t)item.length;
}

int64_t nopal_connection_receive_message(struct nopal_connection *connection,
					 const struct nopal_incoming *incoming, int64_t timeout_ns)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	bool waiting = true, call = false;
	int64_t length = -ETIMEDOUT;

	pthread_mutex_lock(&hub->lock);
	while (waiting && connection->in.count == 0 && connection->life != BLOCKING_ENDED)
		waiting = nopal__blocking_wait(hub, deadline_ns);
	if (connection->in.count > 0)
		length = connection_take(connection, incoming, &call);
	else if (connection->life == BLOCKING_ENDED)
		length = connection->end == NOPAL_ENDED_WELL ? -EPIPE : -ECONNRESET;
	pthread_mutex_unlock(&hub->lock);
	if (call)
		nopal__live_loop_call(hub->loop);
	return length;
}

int64_t nopal_connection_receive_from(struct nopal_connection *connection, void *bytes, size_t room,
				      int64_t timeout_ns, uint32_t *ret_from)
{
	struct nopal_property from = { .which = connection->hub->destination };
	const struct nopal_incoming incoming = {
		.bytes = bytes,
		.room = room,
		.properties = &from,
		.property_count = 1,
	};
	int64_t length = nopal_connection_receive_message(connection, &incoming, timeout_ns);

	if (length >= 0)
		*ret_from = (uint32_t)from.value;
	return length;
}

int64_t nopal_connection_receive(struct nopal_connection *connection, void *bytes, size_t room,
				 int64_t timeout_ns)
{
	const struct nopal_incoming incoming = { .bytes = bytes, .room = room };

	return nopal_connection_receive_message(connection, &incoming, timeout_ns);
}

/* Messages were not sent that were refused when their turn came, or that still wait for it. */
int nopal_connection_close(struct nopal_connection *connection, int64_t timeout_ns,
			   struct nopal_problems *problems)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	struct blocking_hub *hub = connection->hub;
	const struct blocking_ring *out = &connection->out;
	uint64_t unsent;
	bool ended;
	int result = -ETIMEDOUT;

	pthread_mutex_lock(&hub->lock);
	connection->close_asked = true;
	if (nopal__blocking_ask(connection))
		nopal__live_loop_call(hub->loop);
	while (connection->life != BLOCKING_ENDED && nopal__blocking_wait(hub, deadline_ns))
		;
	ended = connection->life == BLOCKING_ENDED;
	unsent = connection->outcomes.unsent;
	for (uint32_t i = 0; i < out->count; i++)
		unsent += out->items[(out->head + i) % out->room].buffer != NULL;
	if (ended)
		result = connection->end == NOPAL_ENDED_WELL && !unsent ? 0 : -ECONNRESET;
	if (ended && connection->end != NOPAL_ENDED_WELL)
		why_it_ended(connection, problems);
	if (ended && unsent)
		nopal_problems_add(problems, NULL, 0, NULL, "%llu message%s not sent any more",
				   (unsigned long long)unsent, unsent > 1 ? "s were" : " was");
	pthread_mutex_unlock(&hub->lock);
	nopal__blocking_abandon(connection);
	return result;
}

void nopal_listener_close(struct nopal_listener *listener)
{
	struct blocking_hub *hub = listener->hub;

	pthread_mutex_lock(&hub->lock);
	hub->listening = false;
	nopal__blocking_member_leave(&hub->member);
	while (hub->accepted.count > 0) {
		struct nopal_connection *connection =
			(void *)nopal__blocking_pop(&hub->accepted).message;

		connection->abandoned = true;
		nopal__blocking_ask(connection);
	}
	nopal__blocking_show_listener(hub);
	pthread_mutex_unlock(&hub->lock);
	free(listener);
	nopal__blocking_hub_leave(hub);
}

void nopal_listener_address(const struct nopal_listener *listener,
			    struct nopal_address *ret_address)
{
	*ret_address = listener->hub->local;
}
