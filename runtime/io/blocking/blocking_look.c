/* SPDX-License-Identifier: MIT */
/*
 * blocking_look.c -- a connection from outside: descriptors for poll(2), and its counters.
 *
 * A descriptor is an eventfd, made when a caller first asks for it: until then it costs nothing.
 * An eventfd is readable as long as a call would return at once.  Counters are the loop's thread's
 * own, so that thread copies them, between two of its tasks; the last copy is made when the session
 * ends.
 */
#include <errno.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "io/blocking/blocking.h"

void nopal__blocking_show(struct blocking_sign *sign, bool ready)
{
	eventfd_t ignored;

	if (!sign->made || sign->shown == ready)
		return;
	if (ready)
		eventfd_write(sign->fd, 1);
	else
		eventfd_read(sign->fd, &ignored);
	sign->shown = ready;
}

void nopal__blocking_sign_close(struct blocking_sign *sign)
{
	if (sign->made)
		close(sign->fd);
	sign->made = false;
}

int nopal__blocking_sign_fd(struct blocking_sign *sign, bool ready)
{
	if (!sign->made) {
		sign->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (sign->fd < 0)
			return -errno;
		sign->made = true;
		nopal__blocking_show(sign, ready);
	}
	return sign->fd;
}

static bool connection_is_readable(const struct nopal_connection *connection)
{
	return connection->in.count > 0 || connection->life == BLOCKING_ENDED;
}

bool nopal__blocking_has_room(const struct nopal_connection *connection)
{
	return connection->out.bytes < BLOCKING_OUT_BYTES &&
	       connection->out.count < BLOCKING_OUT_MESSAGES;
}

void nopal__blocking_show_connection(struct nopal_connection *connection)
{
	unsigned events = connection->in.count > 0 ? NOPAL_READABLE : 0;

	if (connection->life == BLOCKING_ENDED)
		events |= NOPAL_ENDED;
	else if (nopal__blocking_has_room(connection))
		events |= NOPAL_WRITABLE;
	nopal__blocking_show(&connection->sign, connection_is_readable(connection));
	nopal__blocking_show_member(&connection->member, events);
}

void nopal__blocking_show_listener(struct blocking_hub *hub)
{
	bool ready = hub->accepted.count > 0;

	nopal__blocking_show(&hub->sign, ready);
	nopal__blocking_show_member(&hub->member, ready ? NOPAL_READABLE : 0);
}

int nopal_connection_fd(struct nopal_connection *connection)
{
	int fd;

	pthread_mutex_lock(&connection->hub->lock);
	fd = nopal__blocking_sign_fd(&connection->sign, connection_is_readable(connection));
	pthread_mutex_unlock(&connection->hub->lock);
	return fd;
}

int nopal_listener_fd(struct nopal_listener *listener)
{
	struct blocking_hub *hub = listener->hub;
	int fd;

	pthread_mutex_lock(&hub->lock);
	fd = nopal__blocking_sign_fd(&hub->sign, hub->accepted.count > 0);
	pthread_mutex_unlock(&hub->lock);
	return fd;
}

/* ---------------------------------------------------------------------- info */

void nopal__blocking_copy_info(struct nopal_connection *connection)
{
	struct nopal_connection_info *info = &connection->info;

	nopal_session_peer(connection->session, &info->peer);
	info->counters = *nopal_session_counters(connection->session);
	connection->info_asked = false;
}

void nopal_connection_look(struct nopal_connection *connection,
			   struct nopal_connection_info *ret_info)
{
	struct blocking_hub *hub = connection->hub;

	pthread_mutex_lock(&hub->lock);
	connection->info_asked = connection->life != BLOCKING_ENDED;
	if (nopal__blocking_ask(connection))
		nopal__live_loop_call(hub->loop);
	while (connection->info_asked)
		nopal__blocking_wait(hub, NOPAL_NEVER);
	*ret_info = connection->info;
	ret_info->local = hub->local;
	ret_info->ended = connection->life == BLOCKING_ENDED;
	ret_info->end = connection->end;
	pthread_mutex_unlock(&hub->lock);
}

unsigned nopal_connection_property(const struct nopal_connection *connection, const char *name)
{
	return nopal_property(connection->hub->plan, name);
}
