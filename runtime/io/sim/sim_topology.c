/* SPDX-License-Identifier: MIT */
/*
 * sim_topology.c -- hosts, routers, links and the routes between them.
 *
 * Nodes are hosts and routers; a link leads from a node to a node.  Packets take a path of fewest
 * links, and hosts forward packets for others, so that the leaves of a star reach each other.
 * Routes to a host are found when the first packet for it leaves, by a search backwards from it,
 * and kept: then each hop is one load.
 *
 * Where a link is named by two hosts that are not neighbours, the first link between two routers on
 * their path is meant: in a dumbbell, (0, 1) is the bottleneck and (1, 0) the way back.  Routers
 * are named -1, -2, ... in the order of their making (a dumbbell's left one first), for its edges.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/sim/random.h"
#include "io/sim/sim.h"
#include "base/vector.h"

enum {
	SIM_NET = 10,	 /* hosts live in 10.0.0.0/8 */
	SIM_NET6 = 0xfd, /* and in fd00::/104 */
	SIM_MAX_HOSTS = 1 << 24,
	SIM_BYTE = 0xff,
	SIM_STREAM_LINKS = 1, /* stream of link i: this and i */
};

/* -------------------------------------------------------------- addresses */

/* Each host has two addresses, ::ffff:10.A.B.C and fd00::A.B.C: its number is in the same three
 * bytes of both. */
enum { SIM_PREFIX = 13, SIM_IP_A = SIM_PREFIX, SIM_IP_B, SIM_IP_C };
static const uint8_t sim_net4[SIM_PREFIX] = { [10] = SIM_BYTE, [11] = SIM_BYTE, [12] = SIM_NET };
static const uint8_t sim_net6[SIM_PREFIX] = { [0] = SIM_NET6 };

static void sim_address(const uint8_t *net, int host, uint16_t port,
			struct nopal_address *ret_address)
{
	uint32_t number = (uint32_t)host;

	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address->ip, net, SIM_PREFIX);
	ret_address->ip[SIM_IP_A] = number >> 16 & SIM_BYTE;
	ret_address->ip[SIM_IP_B] = number >> 8 & SIM_BYTE;
	ret_address->ip[SIM_IP_C] = number & SIM_BYTE;
	ret_address->port = port;
}

void nopal_sim_address(int host, uint16_t port, struct nopal_address *ret_address)
{
	sim_address(sim_net4, host, port, ret_address);
}

void nopal__sim_address6(int host, uint16_t port, struct nopal_address *ret_address)
{
	sim_address(sim_net6, host, port, ret_address);
}

uint32_t nopal__sim_host_of(const struct sim *sim, const struct nopal_address *address)
{
	const uint8_t *ip = address->ip;
	uint32_t host = (uint32_t)ip[SIM_IP_A] << 16 | (uint32_t)ip[SIM_IP_B] << 8 | ip[SIM_IP_C];

	if (host >= sim->host_count ||
	    (memcmp(ip, sim_net4, SIM_PREFIX) != 0 && memcmp(ip, sim_net6, SIM_PREFIX) != 0))
		return SIM_NONE;
	return host;
}

/* ------------------------------------------------------------------ routes */

static void sim_forget_routes(struct sim *sim)
{
	if (!sim->routed)
		return;
	for (uint32_t i = 0; i < sim->node_count; i++) {
		free(sim->nodes[i].towards);
		sim->nodes[i].towards = NULL;
	}
	sim->routed = false;
}

/* Searches backwards, breadth first: each node finds its link once.  NULL: out of memory. */
static uint32_t *sim_routes_new(struct sim *sim, uint32_t target)
{
	size_t bytes = sim->node_count * sizeof(uint32_t);
	uint32_t *towards = malloc(bytes), *queue = malloc(bytes), found = 1;

	if (!towards || !queue) {
		free(towards);
		free(queue);
		return NULL;
	}
	memset(towards, UINT8_MAX, bytes); /* SIM_NONE */
	queue[0] = target;
	for (uint32_t next = 0; next < found; next++) {
		uint32_t link = sim->nodes[queue[next]].in;

		for (; link != SIM_NONE; link = sim->links[link].next_in) {
			uint32_t from = sim->links[link].from;

			if (from == target || towards[from] != SIM_NONE)
				continue;
			towards[from] = link;
			queue[found++] = from;
		}
	}
	free(queue);
	sim->routed = true;
	return towards;
}

uint32_t nopal__sim_route(struct sim *sim, uint32_t node, uint32_t host)
{
	uint32_t target = sim->hosts[host];

	if (!sim->nodes[target].towards)
		sim->nodes[target].towards = sim_routes_new(sim, target);
	if (!sim->nodes[target].towards)
		return SIM_NONE;
	return sim->nodes[target].towards[node];
}

/* ---------------------------------------------------------- nodes and links */

/* A node whose number is `*count` in `*list`; negative errors. */
static int sim_node_new(struct sim *sim, bool is_router, uint32_t **list, uint32_t *count,
			size_t *room)
{
	if (!nopal__vector_room(&sim->nodes, &sim->node_room, sim->node_count + 1,
				sizeof(*sim->nodes)) ||
	    !nopal__vector_room(list, room, *count + 1, sizeof(**list)))
		return -ENOMEM;
	sim_forget_routes(sim);
	sim->nodes[sim->node_count] = (struct sim_node){
		.is_router = is_router, .out = SIM_NONE, .in = SIM_NONE, .number = *count
	};
	(*list)[*count] = sim->node_count++;
	return (int)(*count)++;
}

int nopal_sim_host(struct nopal_world *world)
{
	struct sim *sim = sim_of(world);

	if (sim->host_count >= SIM_MAX_HOSTS)
		return -ENOSPC;
	return sim_node_new(sim, false, &sim->hosts, &sim->host_count, &sim->host_room);
}

static int sim_link_new(struct sim *sim, uint32_t from, uint32_t to, const struct nopal_link *words)
{
	static const struct nopal_link ideal;
	uint32_t index = sim->link_count;
	struct sim_link *links;
	uint64_t seed = nopal__random_seed(sim->seed, SIM_STREAM_LINKS + index);
	int error;

	if (!nopal__vector_room(&sim->links, &sim->link_room, index + 1, sizeof(*links)))
		return -ENOMEM;
	links = sim->links;
	links[index] = (struct sim_link){ .from = from,
					  .to = to,
					  .next_out = sim->nodes[from].out,
					  .next_in = sim->nodes[to].in };
	error = nopal__link_init(&links[index].engine, words ? words : &ideal,
				 NOPAL__UDP_HEADER_BYTES, seed);
	if (error)
		return error;
	sim_forget_routes(sim);
	sim->link_count++;
	sim->nodes[from].out = index;
	sim->nodes[to].in = index;
	return 0;
}

/* Both directions; where `reverse` is NULL it is like `forward`. */
static int sim_pair_new(struct sim *sim, uint32_t from, uint32_t to,
			const struct nopal_link *forward, const struct nopal_link *reverse)
{
	int error = sim_link_new(sim, from, to, forward);

	if (error)
		return error;
	return sim_link_new(sim, to, from, reverse ? reverse : forward);
}

static uint32_t sim_link_between(const struct sim *sim, uint32_t from, uint32_t to)
{
	uint32_t link = sim->nodes[from].out;

	while (link != SIM_NONE && sim->links[link].to != to)
		link = sim->links[link].next_out;
	return link;
}

/* The node that a caller names, or SIM_NONE. */
static uint32_t sim_named_node(const struct sim *sim, int name)
{
	uint32_t number = (uint32_t)(name < 0 ? -(name + 1) : name);

	if (name < 0)
		return number < sim->router_count ? sim->routers[number] : SIM_NONE;
	return number < sim->host_count ? sim->hosts[number] : SIM_NONE;
}

/* Without a link between the two: the first one between two routers on the path to a host. */
static struct sim_link *sim_named_link(struct sim *sim, int from, int to)
{
	uint32_t start = sim_named_node(sim, from);
	uint32_t end = sim_named_node(sim, to);
	uint32_t link;

	if (start == SIM_NONE || end == SIM_NONE)
		return NULL;
	link = sim_link_between(sim, start, end);
	if (link != SIM_NONE)
		return &sim->links[link];
	while (!sim->nodes[end].is_router && start != end) {
		link = nopal__sim_route(sim, start, sim->nodes[end].number);
		if (link == SIM_NONE)
			break;
		if (sim->nodes[start].is_router && sim->nodes[sim->links[link].to].is_router)
			return &sim->links[link];
		start = sim->links[link].to;
	}
	return NULL;
}

int nopal_sim_connect(struct nopal_world *world, int from, int to, const struct nopal_link *forward,
		      const struct nopal_link *reverse)
{
	struct sim *sim = sim_of(world);
	uint32_t start = sim_named_node(sim, from);
	uint32_t end = sim_named_node(sim, to);

	if (start == SIM_NONE || end == SIM_NONE || start == end)
		return -EINVAL;
	if (sim_link_between(sim, start, end) != SIM_NONE)
		return -EEXIST;
	return sim_pair_new(sim, start, end, forward, reverse);
}

int nopal_sim_change(struct nopal_world *world, int from, int to, const struct nopal_link *link)
{
	struct sim_link *named = sim_named_link(sim_of(world), from, to);

	return named ? nopal__link_change(&named->engine, link) : -EINVAL;
}

bool nopal_sim_link_counters(const struct nopal_world *world, int from, int to,
			     struct nopal_link_counters *ret_counters)
{
	/* Finding a route fills a cache; nothing that is seen changes. */
	struct sim *sim = (struct sim *)(uintptr_t)world;
	const struct sim_link *named = sim_named_link(sim, from, to);

	if (named)
		*ret_counters = named->engine.counters;
	return named != NULL;
}

/* -------------------------------------------------------------- topologies */

/* Returns the number of the first host, or a negative error. */
int nopal_sim_dumbbell(struct nopal_world *world, int count, const struct nopal_link *edge,
		       const struct nopal_link *forward, const struct nopal_link *reverse)
{
	struct sim *sim = sim_of(world);
	int first = (int)sim->host_count;
	int router[2], error;

	for (int side = 0; side < 2; side++) {
		router[side] = sim_node_new(sim, true, &sim->routers, &sim->router_count,
					    &sim->router_room);
		if (router[side] < 0)
			return router[side];
	}
	error = sim_pair_new(sim, sim->routers[router[0]], sim->routers[router[1]], forward,
			     reverse);
	for (int i = 0; i < 2 * count && !error; i++) { /* left, right, left, ... */
		int host = nopal_sim_host(world);

		error = host < 0 ? host
				 : sim_pair_new(sim, sim->hosts[host], sim->routers[router[i % 2]],
						edge, edge);
	}
	return error ? error : first;
}

int nopal_sim_star(struct nopal_world *world, int count, const struct nopal_link *forward,
		   const struct nopal_link *reverse)
{
	struct sim *sim = sim_of(world);
	int first = nopal_sim_host(world);
	int error = first < 0 ? first : 0;

	for (int i = 0; i < count && !error; i++) {
		int leaf = nopal_sim_host(world);

		error = leaf < 0 ? leaf
				 : sim_pair_new(sim, sim->hosts[first], sim->hosts[leaf], forward,
						reverse);
	}
	return error ? error : first;
}

void nopal__sim_topology_free(struct sim *sim)
{
	sim_forget_routes(sim);
	for (uint32_t i = 0; i < sim->link_count; i++) {
		struct sim_link *link = &sim->links[i];

		nopal__link_fini(&link->engine);
		nopal_free(NULL, link->ring);
	}
	free(sim->links);
	free(sim->nodes);
	free(sim->hosts);
	free(sim->routers);
}
