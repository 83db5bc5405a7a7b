/* SPDX-License-Identifier: MIT */
/*
 * sim_multicast.c -- multicast in the simulated network: a packet to an address of
 * 224.0.0.0/4 or ff00::/8 goes to every port that was opened there, over each link of
 * the tree of shortest paths once.
 *
 * There is no IGMP: routers know at once which hosts have joined.  The sender's own host does not
 * receive its packets.
 */
#include <errno.h>
#include <stdlib.h>

#include "io/sim/sim.h"
#include "session/endpoint_sessions.h"

int nopal__sim_multicast_open(struct sim *sim, struct nopal_endpoint *endpoint)
{
	struct nopal_port *face = nopal__endpoint_port(endpoint);
	const struct nopal_hearing *hearing = face->hearing;
	const struct nopal_port *beside;
	struct sim_port *port, **at = &sim->multicasts;

	if (!hearing)
		return -EADDRNOTAVAIL;
	beside = nopal__endpoint_port((struct nopal_endpoint *)(uintptr_t)hearing->beside);
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->endpoint = endpoint;
	port->host = ((const struct sim_port *)beside->handle)->host;
	port->number = face->local.port;
	while (*at)
		at = &(*at)->next;
	*at = port;
	face->handle = port;
	return 0;
}

static bool joined(const struct sim_port *port, const struct nopal_address *group)
{
	struct nopal_address local = nopal__endpoint_port(port->endpoint)->local;

	local.interface = group->interface; /* there is one interface */
	return nopal_address_equal(&local, group);
}

struct sim_port *nopal__sim_multicast_port(struct sim *sim, const struct sim_packet *packet)
{
	struct sim_port *port = sim->multicasts;

	while (port && !(port->host == packet->to_host && joined(port, &packet->multicast)))
		port = port->next;
	return port;
}

/* Does the shortest path from one node to a host go through another? */
static bool is_on_way(struct sim *sim, uint32_t from, uint32_t through, uint32_t host)
{
	while (from != through && from != sim->hosts[host]) {
		uint32_t link = nopal__sim_route(sim, from, host);

		if (link == SIM_NONE)
			return false;
		from = sim->links[link].to;
	}
	return from == through;
}

/* Towards each port that has joined, from a node that the packet has come to. */
void nopal__sim_multicast_at(struct sim *sim, uint32_t node, struct sim_packet *packet)
{
	uint32_t source = nopal__sim_host_of(sim, &packet->from);

	sim->casting++;
	for (struct sim_port *port = sim->multicasts; port; port = port->next) {
		struct sim_packet *copy;
		uint32_t link = SIM_NONE;

		if (port->host == source || !joined(port, &packet->multicast) ||
		    !is_on_way(sim, sim->hosts[source], node, port->host))
			continue;
		if (node != sim->hosts[port->host]) {
			link = nopal__sim_route(sim, node, port->host);
			if (link == SIM_NONE || sim->links[link].multicast == sim->casting ||
			    sim->links[link].deaf)
				continue; /* no route, or the packet went there */
			sim->links[link].multicast = sim->casting;
		}
		copy = nopal__sim_packet_copy(sim->pool, packet);
		if (copy && link == SIM_NONE)
			nopal__sim_port_put(sim, port, copy);
		else if (copy)
			nopal__sim_pass(sim, link, copy);
	}
	nopal__sim_packet_drop(packet);
}
