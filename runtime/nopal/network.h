/* SPDX-License-Identifier: MIT */
/*
 * network.h -- networks that are made: links with the words of netem(8), for live datagrams or
 * packets, or between the hosts of a world in virtual time.  Part of nopal.h, which includes it.
 */
#include "nopal.h" /* which includes this page in its place */

#ifndef NOPAL_NETWORK_H
#define NOPAL_NETWORK_H

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------- links */

enum nopal_loss_model { NOPAL_LOSS_NONE, NOPAL_LOSS_RANDOM, NOPAL_LOSS_GEMODEL, NOPAL_LOSS_MASK };
enum nopal_distribution { NOPAL_UNIFORM, NOPAL_NORMAL, NOPAL_PARETO, NOPAL_PARETONORMAL };

/* One direction of a link.  Probabilities are parts per million.  Order of work: MTU, queue limit
 * and rate, then loss, duplicate, corrupt, delay, reorder: what is lost has used the link. */
struct nopal_link {
	int64_t delay_ns, jitter_ns;
	enum nopal_distribution distribution;
	uint32_t delay_correlation;
	enum nopal_loss_model loss_model;
	uint32_t loss;					/* random */
	uint32_t ge_p, ge_r, ge_bad_loss, ge_good_loss; /* gemodel p r 1-h 1-k */
	uint64_t loss_mask;				/* bit i: the i-th datagram is lost */
	uint32_t duplicate, corrupt, reorder;
	uint32_t gap;			     /* reorder every gap-th */
	uint64_t rate_bps;		     /* 0: unlimited */
	uint32_t limit;			     /* packets in the queue: default 1000 */
	uint32_t mtu;			     /* IP bytes: default 1500 */
	int64_t down_from_ns, down_until_ns; /* partition: nothing passes */
	bool ecn;			     /* who understands it gets a mark in place of a loss */
	int64_t ce_threshold_ns;	     /* a longer wait is marked; 0: none is */
};
/* Words of tc-netem: "rate 100mbit delay 25ms 2ms distribution normal loss 5% limit 400"; `fwd:`
 * and `rev:` begin words for one direction.  Negative: a problem was added. */
int nopal_link_parse(const char *text, struct nopal_link *ret_forward,
		     struct nopal_link *ret_reverse, struct nopal_problems *problems);

/* A UDP relay of the live world that treats datagrams as a link does: what arrives at `listen`
 * leaves for `target` by `forward`, and what comes back returns by `reverse`.  Every sender has a
 * socket of its own towards the target.  Runs on the caller's libevent loop. */
struct nopal_relay;
struct nopal_link_counters;
struct nopal_relay *nopal_relay_open(struct event_base *base, const struct nopal_address *listen,
				     const struct nopal_address *target,
				     const struct nopal_link *forward,
				     const struct nopal_link *reverse, uint64_t seed,
				     struct nopal_problems *problems);
void nopal_relay_close(struct nopal_relay *relay);
void nopal_relay_local(const struct nopal_relay *relay, struct nopal_address *ret_address);
void nopal_relay_counters(const struct nopal_relay *relay, struct nopal_link_counters *ret_forward,
			  struct nopal_link_counters *ret_reverse);

/* A link between two TUN devices, for any program's packets: what the kernel routes into the first
 * comes out of the second by `forward`, and back by `reverse`.  Makes the devices and brings them
 * up; they go when it is closed.  Lengths are those of IP packets.  Linux; needs the right to make
 * devices. */
struct nopal_tun;
struct nopal_tun_side {
	const char *device;
	const char *netns; /* of ip-netns(8), or a path; NULL: the caller's */
};
struct nopal_tun *nopal_tun_open(struct event_base *base, const struct nopal_tun_side sides[2],
				 const struct nopal_link *forward, const struct nopal_link *reverse,
				 uint64_t seed, struct nopal_problems *problems);
void nopal_tun_close(struct nopal_tun *tun);
void nopal_tun_counters(const struct nopal_tun *tun, struct nopal_link_counters *ret_forward,
			struct nopal_link_counters *ret_reverse);

/* --------------------------------------------------------------- simulation */

/* A world in virtual time.  Same seed, same calls: same trace hash. */
struct nopal_world *nopal_sim_new(uint64_t seed);
/* Hosts are numbered from 0 in the order of adding; host i is 10.0.(i/256).(i%256). */
int nopal_sim_host(struct nopal_world *world);
/* Connects a host to another, each direction by its own link. */
int nopal_sim_connect(struct nopal_world *world, int from, int to, const struct nopal_link *forward,
		      const struct nopal_link *reverse);
/* `count` pairs (2i, 2i+1) through one bottleneck shared by all. */
int nopal_sim_dumbbell(struct nopal_world *world, int count, const struct nopal_link *edge,
		       const struct nopal_link *forward, const struct nopal_link *reverse);
/* Hosts 1..count each linked to host 0. */
int nopal_sim_star(struct nopal_world *world, int count, const struct nopal_link *forward,
		   const struct nopal_link *reverse);
struct nopal_endpoint *nopal_sim_endpoint(struct nopal_world *world, int host, uint16_t port);
void nopal_sim_address(int host, uint16_t port, struct nopal_address *ret_address);
/* Change a link's words from now on. */
int nopal_sim_change(struct nopal_world *world, int from, int to, const struct nopal_link *link);
/* Run until `until_ns`, or until nothing is left to happen (1 is returned). */
int nopal_sim_run(struct nopal_world *world, int64_t until_ns);
/* One step: the next instant at which something happens; false: nothing will. */
bool nopal_sim_step(struct nopal_world *world);
/* The time of that instant; NOPAL_NEVER: nothing will happen. */
int64_t nopal_sim_next(const struct nopal_world *world);
/* A datagram as if it came from that address (fuzzing, replay). */
void nopal_sim_inject(struct nopal_world *world, struct nopal_endpoint *endpoint,
		      const struct nopal_address *from, const void *bytes, size_t length);
/* A bare UDP socket on a host, for a peer that is not a session: a program of its own, or another
 * process.  `arrived` gets what links bring; the bytes are valid during the call.  NULL: no such
 * host, the port is in use, or out of memory.  It goes with the world, or when it is closed. */
struct nopal_sim_socket;
struct nopal_sim_socket *nopal_sim_socket_open(struct nopal_world *world, int host, uint16_t port,
					       void (*arrived)(void *user,
							       const struct nopal_address *from,
							       const uint8_t *bytes, size_t length),
					       void *user);
/* One datagram.  0; -EMSGSIZE: the first link does not take it; -EHOSTUNREACH: no such host, no
 * link to it, or out of memory. */
int nopal_sim_socket_send(struct nopal_sim_socket *socket, const struct nopal_address *to,
			  const void *bytes, size_t length);
void nopal_sim_socket_close(struct nopal_sim_socket *socket);
/* Every datagram as it enters the network; for golden packets and captures. */
void nopal_sim_tap(struct nopal_world *world,
		   void (*tap)(void *user, int64_t now_ns, const struct nopal_address *from,
			       const struct nopal_address *to, const uint8_t *bytes, size_t length),
		   void *user);
/* Call back at a virtual time.  -ENOMEM: it will not be called. */
int nopal_sim_at(struct nopal_world *world, int64_t time_ns, void (*call)(void *user), void *user);
/* Counters of a directed link. */
struct nopal_link_counters {
	uint64_t entered, delivered, lost, overflowed, too_big, duplicated, corrupted, reordered,
		marked;
	uint64_t delivered_bytes; /* UDP payload; TUN: IP packets */
	uint64_t queue_peak;	  /* packets */
	int64_t queue_delay_peak_ns, queue_delay_sum_ns;
	/* Live links alone.  How long after their time packets came out; packets that the kernel
	 * refused, and packets that it dropped before the link: where these are not small, the
	 * emulator's machine was the bottleneck. */
	int64_t late_peak_ns, late_sum_ns;
	uint64_t refused, missed;
};
bool nopal_sim_link_counters(const struct nopal_world *world, int from, int to,
			     struct nopal_link_counters *ret_counters);

#ifdef __cplusplus
}
#endif

#endif
