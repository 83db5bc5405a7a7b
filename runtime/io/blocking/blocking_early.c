/* SPDX-License-Identifier: MIT */
/*
 * blocking_early.c -- early data of connections: a message before the session is open, and tickets.
 *
 * Each connection that is dialled has a world of its own, which ends with it.  The tickets that
 * listeners gave outlive it here, for all later connections of the process: their worlds have one
 * clock.
 */
#include <errno.h>
#include <string.h>

#include "io/blocking/blocking.h"
#include "wire/wire.h"

static pthread_mutex_t tickets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nopal_tickets *tickets;

static bool has_early_data(const struct blocking_hub *hub)
{
	return nopal_plan_provides(hub->plan, "early_data");
}

void nopal__blocking_recall_tickets(struct blocking_hub *hub)
{
	if (!has_early_data(hub))
		return;
	pthread_mutex_lock(&tickets_lock);
	nopal__tickets_merge(&nopal__live_loop_world(hub->loop)->tickets, tickets);
	pthread_mutex_unlock(&tickets_lock);
}

void nopal__blocking_keep_tickets(struct blocking_hub *hub)
{
	if (!has_early_data(hub))
		return;
	pthread_mutex_lock(&tickets_lock);
	nopal__tickets_merge(&tickets, nopal__live_loop_world(hub->loop)->tickets);
	pthread_mutex_unlock(&tickets_lock);
}

/* The hub has no thread yet, so that the session is the caller's. */
bool nopal__blocking_say_early(struct nopal_connection *connection, const void *bytes,
			       size_t length, struct nopal_problems *problems)
{
	const struct nopal_property early = { nopal_property(connection->hub->plan, "early"), 1 };
	int error = !connection->session
			    ? -EPIPE
			    : nopal_send_message(connection->session,
						 &(struct nopal_outgoing){
							 .bytes = bytes,
							 .length = length,
							 .properties = &early,
							 .property_count = early.which != 0,
						 });

	if (error)
		nopal_problems_add(problems, NULL, 0, NULL, "the first message is not sent: %s",
				   strerror(-error));
	connection->outcomes.open += !error;
	return !error;
}
