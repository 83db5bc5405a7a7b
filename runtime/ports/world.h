/* SPDX-License-Identifier: MIT */
/*
 * world.h -- the contract between the runtime core and a world.
 *
 * The core does no I/O.  A world gives it (datagrams, now) and timers' time; the core gives back
 * trains of datagrams and the next wake-up.  `now_ns` of the world is set once per batch, before it
 * calls the core.
 *
 *   world                               core
 *     nopal__endpoint_receive  ------>    demux, sessions, acks, transmissions
 *     nopal__world_wake        ------>    timers that are due
 *     nopal__endpoint_writable ------>    transmissions that waited
 *     nopal__endpoint_hint     ------>    what the network says of one
 *     ops->transmit            <------    one train: equal datagrams, last may be shorter
 *     ops->wake_at             <------    the next wake-up moved earlier
 */
#ifndef NOPAL_WORLD_H
#define NOPAL_WORLD_H

#include <nopal/nopal.h>
#include <nopal/microprotocol.h>
#include "base/wheel.h"

struct nopal_tracer;
struct nopal_composite;
struct nopal_path_cache;
struct nopal_tickets;

/* Datagrams that arrived together from one address. */
struct nopal_arrival {
	struct nopal_address from;
	struct nopal_buffer *buffer; /* the world's reference; the core takes its own */
	uint8_t *bytes;		     /* in `buffer`; the core may change them */
	uint32_t length;
	uint32_t stride; /* each datagram's bytes, the last may be shorter; 0: one */
	uint8_t ecn;	 /* enum nopal_ecn of each */
};

/* Datagrams that leave together to one address. */
struct nopal_train {
	const struct nopal_address *to;
	const uint8_t *bytes;
	uint32_t length;
	uint32_t stride; /* as above; length when there is one */
	/* Longer than the path takes: may leave in fragments of IP, which nothing else ever
	 * does. */
	bool fragments;
	uint8_t ecn; /* enum nopal_ecn of each */
};

enum nopal_transmitted {
	NOPAL_TRANSMITTED,
	NOPAL_BUSY,    /* took nothing; nopal__endpoint_writable follows */
	NOPAL_TOO_BIG, /* a datagram exceeds the path: dropped */
	NOPAL_UNSENT,  /* a soft error: dropped and counted */
};

/* Datagrams to a multicast address leave by the interface that `group` names, or else the way that
 * leads to `toward`; from the address by which we send to `toward`, of the same family; and for
 * `hops` hops at most. */
struct nopal_casting {
	const struct nopal_address *group, *toward;
	unsigned hops;
};

struct nopal_world_ops {
	const char *name;
	int64_t (*clock)(struct nopal_world *world); /* for calls from outside a batch */
	uint64_t (*random)(struct nopal_world *world);
	/* For keys: nobody else can know them, and nothing keeps a copy. */
	void (*random_bytes)(struct nopal_world *world, void *bytes, size_t length);
	/* Opens the port and sets endpoint->port and endpoint->local. */
	int (*port_open)(struct nopal_world *world, struct nopal_endpoint *endpoint,
			 struct nopal_problems *problems);
	void (*port_close)(struct nopal_world *world, struct nopal_endpoint *endpoint);
	enum nopal_transmitted (*transmit)(struct nopal_world *world,
					   struct nopal_endpoint *endpoint,
					   const struct nopal_train *train);
	/* From now on the port sends to a multicast address.  NULL: nothing is to be done for
	 * that. */
	int (*multicast_from)(struct nopal_world *world, struct nopal_endpoint *endpoint,
			      const struct nopal_casting *casting);
	void (*wake_at)(struct nopal_world *world, int64_t time_ns);
	const char *(*transport)(struct nopal_endpoint *endpoint);
	void (*free)(struct nopal_world *world);
};

enum { NOPAL_SPARE_BYTES = 2048 }; /* of a buffer of control, which is used again */

/* The part that every world begins with. */
struct nopal_world {
	const struct nopal_world_ops *ops;
	int64_t now_ns;
	struct nopal_wheel wheel;      /* wake-ups of all sessions */
	struct nopal_wheel_entry idle; /* and of the walk that freezes idle ones */
	struct nopal_endpoint *endpoints;
	struct nopal_tracer *tracer;
	bool in_core;	      /* between entering and leaving the core */
	uint32_t batches;     /* that the application has started */
	bool batch_outermost; /* the first of them is a turn */
	bool counts_unsent;   /* some session has a limit for what has not left */
	struct nopal_composite *touched, **touched_end; /* see TURN_END before the turn ends */
	struct nopal_composite *ended;			/* are freed after it */
	struct nopal_endpoint *unflushed;		/* have a train to send */
	struct nopal_buffer *spare;			/* of NOPAL_SPARE_BYTES, linked by owner */
	struct nopal_path_cache *path_cache;		/* NULL: nobody asked for it yet */
	struct nopal_tickets *tickets;			/* of listeners; NULL: none yet */
};

/* The world whose turn it is in this thread; NULL: none is. */
extern _Thread_local struct nopal_world *nopal__turn_of __attribute__((tls_model("initial-exec")));
static inline void nopal__turn_enter(struct nopal_world *world)
{
	world->in_core = true;
	nopal__turn_of = world;
}

/* One of several endpoints behind one address, each in a world of its own.  All make the same
 * cookies, and each gives its sessions ids of its own share. */
struct nopal_shard {
	uint32_t index, count;
	uint64_t secret[2];
};
enum { NOPAL_SHARD_ID_SHIFT = 16 };
/* The shard whose session has this id: by the id's upper half, since the lower bits are the
 * session's place in a table. */
static inline uint32_t nopal__shard_of(uint32_t id, uint32_t count)
{
	return (id >> NOPAL_SHARD_ID_SHIFT) * count >> NOPAL_SHARD_ID_SHIFT;
}

/* Where datagrams to a multicast address are received: a port is opened for them beside that of an
 * endpoint, at the interface that the address names or else on the way to `from`, which is of the
 * same family. */
struct nopal_hearing {
	const struct nopal_endpoint *beside;
	const struct nopal_address *from;
};
/* The world-facing part of an endpoint: first member of the core's struct. */
struct nopal_port {
	struct nopal_world *world;
	struct nopal_address local;
	const struct nopal_shard *shard; /* NULL: alone at its address */
	/* at a multicast address, while it is opened; else NULL */
	const struct nopal_hearing *hearing;
	void *handle; /* the world's: socket, host */
	/* The last errno value of a datagram that our own host did not let leave, and when; 0:
	 * there is none. */
	int send_error;
	int64_t send_error_ns;
	struct nopal_endpoint_counters counters;
};
/* A report of the network about a datagram that left: anybody can forge it. */
enum nopal_hint_is {
	NOPAL_HINT_REFUSED,  /* nobody has that port */
	NOPAL_HINT_TOO_LONG, /* it was longer than the path takes */
};
struct nopal_hint {
	enum nopal_hint_is what;
	struct nopal_address to;
	uint8_t head[5]; /* as the datagram began: so many bytes were told */
	uint32_t head_bytes;
	uint32_t datagram_bytes; /* the longest that passes; 0: not known */
};
struct nopal_port *nopal__endpoint_port(struct nopal_endpoint *endpoint);
/* With the port's world, address, and shard, which outlives the endpoint, or hearing.  NULL: a
 * problem was added. */
struct nopal_endpoint *nopal__endpoint_open(const struct nopal_port *port,
					    struct nopal_problems *problems);

void nopal__world_init(struct nopal_world *world, const struct nopal_world_ops *ops);
void nopal__world_fini(struct nopal_world *world); /* closes all endpoints */

/* Entry points of the core.  The world has set world->now_ns. */
void nopal__endpoint_receive(struct nopal_endpoint *endpoint, const struct nopal_arrival *arrivals,
			     size_t count);
void nopal__endpoint_writable(struct nopal_endpoint *endpoint);
void nopal__endpoint_hint(struct nopal_endpoint *endpoint, const struct nopal_hint *hint);
void nopal__world_wake(struct nopal_world *world);
/* NOPAL_NEVER when nothing is armed. */
int64_t nopal__world_next(const struct nopal_world *world);

/* Longest train that the core builds, in bytes and datagrams; a world that can do less lowers them
 * on the port's endpoint. */
enum { NOPAL_TRAIN_BYTES = 65000, NOPAL_TRAIN_DATAGRAMS = 64 };

#endif
