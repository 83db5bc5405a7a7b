/* SPDX-License-Identifier: MIT */
/*
 * sim.h -- private to the files of the simulated world.
 *
 *   sim.c           the world: time, steps, ports, arrivals
 *   sim_topology.c  hosts, routers, links and routes
 *   sim_multicast.c one packet to many hosts
 *   sim_socket.c    bare sockets
 *   sim_packet.c    datagrams, their pool, and the links' rings
 *
 *   transmit > packet > link (engine, ring) > ... > link > port > core
 *
 * Events are ordered by (time, order): the order counts everything that was ever scheduled, so
 * that equal times are told apart in one way only.  A link keeps its packets in a ring while they
 * come out in order, and only the first of them is in the heap; packets that overtake are in the
 * heap themselves.
 */
#ifndef NOPAL_SIM_H
#define NOPAL_SIM_H

#include "ports/world.h"
#include "io/emulator/heap.h"
#include "io/emulator/link_engine.h"

struct sim_port;

struct sim_packet {
	struct nopal_buffer buffer; /* as the core sees it; must be first */
	struct sim_packet *next;    /* in the pool */
	struct nopal_address from;
	uint32_t to_host; /* SIM_NONE: to all ports that joined `multicast` */
	uint16_t to_port;
	struct nopal_address multicast; /* the destination as it was written */
	uint32_t length;
	bool fragments; /* may go in several packets of IP */
	uint8_t ecn;	/* enum nopal_ecn */
	uint8_t bytes[];
};

/* Packets by capacity. */
enum sim_size { SIM_SMALL, SIM_LARGE, SIM_SIZES };

struct sim_pool {
	struct sim_packet *free[SIM_SIZES];
	uint64_t away; /* packets in use */
	bool closed;   /* the world is gone: the last packet frees it */
};

enum sim_event_kind {
	SIM_LINK,   /* the first packet of the ring of link `where` comes out */
	SIM_PACKET, /* `packet` comes out at node `where` */
	SIM_CALL,
};

/* A packet on its way through a link. */
struct sim_flight {
	int64_t time_ns;
	uint64_t order;
	struct sim_packet *packet;
};

enum { SIM_NONE = UINT32_MAX }; /* no link, no host */

struct sim_link {
	struct nopal__link_engine engine;
	uint32_t from, to;	    /* nodes */
	uint32_t next_out, next_in; /* links of the same node, or SIM_NONE */
	uint64_t multicast;	    /* sim->casting of the last packet that went here */
	bool deaf;		    /* no multicast passes: a router knows of no receiver */
	struct sim_flight *ring;
	uint32_t first, flying, room;
};

/* A host or a router. */
struct sim_node {
	bool is_router;
	uint32_t out, in; /* first links, or SIM_NONE */
	uint32_t number;  /* of the host or of the router */
	/* By node: the link that leads from there to this node.  NULL: not yet asked for since the
	 * topology changed. */
	uint32_t *towards;
};

/* A port on a host, of an endpoint or of a bare socket; of neither: closed. */
struct sim_port {
	struct nopal_endpoint *endpoint;
	struct nopal_sim_socket *socket;
	uint32_t host;
	uint16_t number;
	struct sim_port *next; /* of sim->multicasts */
	bool ready;	       /* in sim->ready: it outlives its close */
	struct nopal_arrival *arrivals;
	uint32_t count;
	size_t room;
};

struct sim {
	struct nopal_world world; /* must be first */
	uint64_t seed;
	uint64_t random; /* stream of world->ops->random */
	uint64_t order;	 /* of the next thing to schedule */
	struct nopal__heap heap;
	struct sim_pool *pool;

	struct sim_node *nodes;
	uint32_t node_count;
	size_t node_room;
	uint32_t *hosts, *routers; /* their nodes */
	uint32_t host_count, router_count;
	size_t host_room, router_room;
	bool routed; /* some node's `towards` is filled */
	struct sim_link *links;
	uint32_t link_count;
	size_t link_room;

	struct nopal_map ports; /* by host and number */
	struct nopal_sim_socket *sockets;
	struct sim_port *multicasts; /* at multicast addresses, oldest first */
	uint64_t casting;	     /* counts multicast packets at nodes */
	struct sim_port **ready;     /* with arrivals at this instant, in order */
	uint32_t ready_count;
	size_t ready_room;

	void (*tap)(void *user, int64_t now_ns, const struct nopal_address *from,
		    const struct nopal_address *to, const uint8_t *bytes, size_t length);
	void *tap_user;
};

static inline struct sim *sim_of(struct nopal_world *world)
{
	return (struct sim *)world;
}

/* sim.c */
/* A port on a host.  NULL: out of memory. */
struct sim_port *nopal__sim_port_new(struct sim *sim, uint32_t host, uint16_t number);
bool nopal__sim_port_is_taken(const struct sim *sim, uint32_t host, uint16_t number);
/* Nothing arrives from now on; what has arrived at this instant is given back first. */
void nopal__sim_port_close(struct sim *sim, struct sim_port *port);
/* Sends the datagrams of a train from a port whose address is `local`. */
enum nopal_transmitted nopal__sim_leave(struct sim *sim, const struct sim_port *port,
					const struct nopal_address *local,
					const struct nopal_train *train);
/* A packet is at its port: it waits until the instant's packets are all in. */
void nopal__sim_port_put(struct sim *sim, struct sim_port *port, struct sim_packet *packet);
/* Sends a packet through a link; takes it over. */
void nopal__sim_pass(struct sim *sim, uint32_t link, struct sim_packet *packet);

/* sim_multicast.c */
int nopal__sim_multicast_open(struct sim *sim, struct nopal_endpoint *endpoint);
/* The port that receives an injected packet at its host; NULL: none has joined. */
struct sim_port *nopal__sim_multicast_port(struct sim *sim, const struct sim_packet *packet);
/* A packet to a multicast address is at a node; takes it over. */
void nopal__sim_multicast_at(struct sim *sim, uint32_t node, struct sim_packet *packet);

/* sim_packet.c */
void nopal__sim_pool_close(struct sim_pool *pool);
/* A copy of the bytes, with one reference; NULL when out of memory. */
struct sim_packet *nopal__sim_packet_new(struct sim_pool *pool, const void *bytes, uint32_t length);
struct sim_packet *nopal__sim_packet_copy(struct sim_pool *pool, const struct sim_packet *packet);
static inline void nopal__sim_packet_drop(struct sim_packet *packet)
{
	nopal_buffer_unref(&packet->buffer);
}

/* Drops the packets of the rings and of the heap. */
void nopal__sim_drop_all(struct sim *sim);
/* Puts a packet behind the others of the link, to come out at `time_ns`; false when out of
 * memory. */
bool nopal__sim_link_put(struct sim *sim, uint32_t link, int64_t time_ns,
			 struct sim_packet *packet);
/* Takes the packet that comes out next: the link's event is the heap's first. */
struct sim_packet *nopal__sim_link_take(struct sim *sim, uint32_t link);

/* sim_socket.c */
/* Gives the arrivals of the instant to the socket of a port. */
void nopal__sim_socket_receive(struct sim *sim, const struct sim_port *port);

/* sim_topology.c */
/* The host's address of IPv6: sessions to it are answered from it, and a port is the same at
 * both. */
void nopal__sim_address6(int host, uint16_t port, struct nopal_address *ret_address);
/* The link from a node towards a host, or SIM_NONE. */
uint32_t nopal__sim_route(struct sim *sim, uint32_t node, uint32_t host);
void nopal__sim_topology_free(struct sim *sim);
/* The host of an address, or SIM_NONE. */
uint32_t nopal__sim_host_of(const struct sim *sim, const struct nopal_address *address);

#endif
