/* SPDX-License-Identifier: MIT */
/*
 * sim_socket.c -- bare UDP sockets of the simulated network: datagrams as links bring them, for
 * whoever is not a session.
 */
#include <errno.h>
#include <stdlib.h>

#include "io/sim/sim.h"

struct nopal_sim_socket {
	struct nopal_sim_socket *next; /* of the world's */
	struct sim *sim;
	struct sim_port *port;
	struct nopal_address local;
	void (*arrived)(void *user, const struct nopal_address *from, const uint8_t *bytes,
			size_t length);
	void *user;
};

struct nopal_sim_socket *nopal_sim_socket_open(struct nopal_world *world, int host, uint16_t port,
					       void (*arrived)(void *user,
							       const struct nopal_address *from,
							       const uint8_t *bytes, size_t length),
					       void *user)
{
	struct sim *sim = sim_of(world);
	struct nopal_sim_socket *socket;

	if (host < 0 || (uint32_t)host >= sim->host_count || port == 0 ||
	    nopal__sim_port_is_taken(sim, (uint32_t)host, port))
		return NULL;
	socket = calloc(1, sizeof(*socket));
	if (!socket)
		return NULL;
	*socket = (struct nopal_sim_socket){ .sim = sim, .arrived = arrived, .user = user };
	nopal_sim_address(host, port, &socket->local);
	socket->port = nopal__sim_port_new(sim, (uint32_t)host, port);
	if (!socket->port) {
		free(socket);
		return NULL;
	}
	socket->port->socket = socket;
	socket->next = sim->sockets;
	sim->sockets = socket;
	return socket;
}

int nopal_sim_socket_send(struct nopal_sim_socket *socket, const struct nopal_address *to,
			  const void *bytes, size_t length)
{
	const struct nopal_train train = { .to = to, .bytes = bytes, .length = (uint32_t)length };

	if (length > UINT16_MAX)
		return -EMSGSIZE;
	switch (nopal__sim_leave(socket->sim, socket->port, &socket->local, &train)) {
	case NOPAL_TRANSMITTED:
		return 0;
	case NOPAL_TOO_BIG:
		return -EMSGSIZE;
	case NOPAL_UNSENT:
	case NOPAL_BUSY:
		break;
	}
	return -EHOSTUNREACH;
}

/* The callback may close the socket. */
void nopal__sim_socket_receive(struct sim *sim, const struct sim_port *port)
{
	(void)sim;
	for (uint32_t i = 0; i < port->count && port->socket; i++)
		port->socket->arrived(port->socket->user, &port->arrivals[i].from,
				      port->arrivals[i].bytes, port->arrivals[i].length);
}

void nopal_sim_socket_close(struct nopal_sim_socket *socket)
{
	struct nopal_sim_socket **at;

	if (!socket)
		return;
	for (at = &socket->sim->sockets; *at != socket;)
		at = &(*at)->next;
	*at = socket->next;
	nopal__sim_port_close(socket->sim, socket->port);
	free(socket);
}
