/* SPDX-License-Identifier: MIT */
/*
 * live.h -- private to the files of the live world, which the README lists.
 *
 * Only live.c, live_wait.c, live_loop.c, live_carrier.c, live_relay.c and live_tun.c know libevent;
 * only live_socket.c, live_multicast.c, live_shard.c and live_inbox.c call the socket.
 */
#ifndef NOPAL_LIVE_H
#define NOPAL_LIVE_H

#include <event2/event.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/emulator/heap.h"
#include "io/emulator/link_engine.h"
#include "ports/world.h"

enum {
	LIVE_BLOCK_BYTES = 256 << 10,  /* four of the longest receives */
	LIVE_RECEIVE_BYTES = 64 << 10, /* longest that one receive may bring */
	LIVE_POOL_BLOCKS = 16,	       /* free blocks kept of a socket */
};

/* --------------------------------------------------------------- addresses */

union live_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* For a socket of this family; returns its length. */
socklen_t nopal__live_address_to(const struct nopal_address *address, int family,
				 union live_sockaddr *ret_to);
void nopal__live_address_from(const union live_sockaddr *from, struct nopal_address *ret_address);

/* ----------------------------------------------------------------- sockets */

enum {
	LIVE_BATCH_RECEIVES = 64, /* system calls, or slots of one, for a batch */
	LIVE_TEXT_BYTES = 160,
	LIVE_HINTS = 8, /* of the network, until the core takes them */
};

struct live_inbox;

struct live_socket {
	int fd, family;
	uint8_t ecn, rest_ecn; /* enum nopal_ecn: of datagrams out, of `rest` */
	bool gso, gro;
	int gso_errno, gro_errno;      /* why not */
	int send_bytes, receive_bytes; /* buffers, as granted */
	struct live_inbox *inbox;
	uint8_t *rest; /* of a train that went half: allocated when it happens */
	uint32_t rest_length, rest_stride;
	struct nopal_address rest_to;
	/* source of multicast of IPv6; interface 0: the socket sends none */
	struct in6_pktinfo multicast_from;
	uint32_t truncated, empty; /* dropped by the last gathering */
	bool dry;		   /* the last gathering emptied the socket */
	bool no_memory;		   /* the last NOPAL_BUSY was ENOBUFS */
	uint32_t soft_errors;	   /* of the last transmit */
	int send_errno;		   /* of the last soft error in sending */
	unsigned hint_count;
	struct nopal_hint hints[LIVE_HINTS];
	char text[LIVE_TEXT_BYTES];
};

/* Reads the error queue; true: a call that failed may have failed by these hints alone. */
bool nopal__live_hints_gather(struct live_socket *sock);
int nopal__live_inbox_init(struct live_socket *sock);
void nopal__live_inbox_fini(struct live_socket *sock);
/* A bound socket; sets *ret_local.  `shared`: others may join its port.  Negative: errno value. */
int nopal__live_socket_bind(const struct nopal_address *local, bool shared,
			    struct nopal_address *ret_local);
/* Takes over a bound one, and tunes it.  Negative: errno value. */
int nopal__live_socket_take(struct live_socket *sock, int fd, const struct nopal_address *local);
/* Both in one. */
int nopal__live_socket_open(struct live_socket *sock, const struct nopal_address *local,
			    struct nopal_address *ret_local);
void nopal__live_socket_close(struct live_socket *sock);
/* Joins a multicast address by the interface towards `from`; and sends to such addresses.
 * Negative: errno value. */
int nopal__live_socket_hear(struct live_socket *sock, const struct nopal_address *group,
			    const struct nopal_address *from);
int nopal__live_socket_multicast(struct live_socket *sock, const struct nopal_casting *casting);
/* Up to LIVE_BATCH_RECEIVES receives; returns the number of arrivals, and their buffers hold a
 * reference each until nopal__live_socket_gave. */
size_t nopal__live_socket_gather(struct live_socket *sock, struct nopal_arrival *arrivals);
void nopal__live_socket_gave(struct live_socket *sock, const struct nopal_arrival *arrivals,
			     size_t count);
enum nopal_transmitted nopal__live_socket_send(struct live_socket *sock,
					       const struct nopal_train *train);
/* The rest of a half-sent train; false: the kernel still takes none. */
bool nopal__live_socket_flush(struct live_socket *sock);
const char *nopal__live_socket_text(struct live_socket *sock);

/* -------------------------------------------------------------------- shards */

/* Says why a port cannot be opened; returns `error`, which is negative. */
int nopal__live_port_refused(int error, const struct nopal_address *local,
			     struct nopal_problems *problems);
/* A descriptor of the shard's own for its socket; negative: errno value. */
int nopal__live_shard_socket(const struct nopal_shard *shard);

/* -------------------------------------------------------- clock and alarms */

int64_t nopal__live_now_ns(void); /* the monotonic clock */

/* `fd` is readable from `at_ns` on, until the next set. */
struct live_alarm {
	int fd;
	int64_t at_ns; /* of the monotonic clock; NOPAL_NEVER: quiet */
};
int nopal__live_alarm_open(struct live_alarm *alarm);
void nopal__live_alarm_close(struct live_alarm *alarm);
void nopal__live_alarm_set(struct live_alarm *alarm, int64_t at_ns);

/* ----------------------------------------------------------------- waiting */

/* Of a world. */
struct live_waiter {
	struct event_base *base; /* NULL: a loop that is not libevent's polls `fd` */
	struct event *alarm;
	int fd; /* of epoll; -1: there is a base */
};
/* Of a socket; the events are NULL where there is no base. */
struct live_wait {
	struct live_waiter *waiter;
	int fd;
	struct event *readable, *writable, *retry;
	bool for_room;	     /* without a base: EPOLLOUT is asked for */
	int64_t retry_at_ns; /* without a base; NOPAL_NEVER: no back-off */
};
/* Negative: errno value; to be closed in any case. */
int nopal__live_waiter_open(struct live_waiter *waiter, struct event_base *base, int alarm_fd,
			    event_callback_fn on_alarm, void *user);
void nopal__live_waiter_close(struct live_waiter *waiter);
/* The alarm is on the loop from `begin` to `end`: a loop of which nothing else is asked then
 * ends. */
int nopal__live_waiter_begin(struct live_waiter *waiter);
void nopal__live_waiter_end(struct live_waiter *waiter);
int nopal__live_wait_open(struct live_wait *wait, struct live_waiter *waiter, int fd,
			  event_callback_fn on_readable, event_callback_fn on_writable, void *user);
void nopal__live_wait_stop(struct live_wait *wait); /* for arrivals */
void nopal__live_wait_close(struct live_wait *wait);
/* `on_writable` follows once, or nopal__live_wait_is_over() where there is no base. */
void nopal__live_wait_for_room(struct live_wait *wait);
/* The same after a time; false: one is running already. */
bool nopal__live_wait_a_while(struct live_wait *wait, int64_t now_ns, int64_t delay_ns);
/* Without a base: has one of these two come?  Says so once. */
bool nopal__live_wait_is_over(struct live_wait *wait, int64_t now_ns);

/* ------------------------------------------- a loop for a thread of its own */

struct nopal__live_loop;
/* `called` runs in the loop's thread after each nopal__live_loop_call. */
struct nopal__live_loop *nopal__live_loop_new(void (*called)(void *user), void *user);
struct nopal_world *nopal__live_loop_world(struct nopal__live_loop *loop);
/* Runs until nopal__live_loop_stop, which only the loop's thread may call. */
void nopal__live_loop_run(struct nopal__live_loop *loop);
void nopal__live_loop_stop(struct nopal__live_loop *loop);
void nopal__live_loop_call(struct nopal__live_loop *loop); /* from any thread */
void nopal__live_loop_free(struct nopal__live_loop *loop); /* and its world */

/* ------------------------------------------------------------------- random */

/* False: the kernel gives none, as where a filter of system calls forbids it. */
bool nopal__live_random_fill(void *bytes, size_t length);
struct live_random {
	uint64_t key[2]; /* of the kernel */
	uint64_t used;	 /* words made with the key, where the kernel gave none */
};
void nopal__live_random_bytes(struct live_random *random, void *bytes, size_t length);

/* -------------------------------------------------------- a link in real time */

/* Both directions, and the packets on their way.
 *
 *   enter --> engine of the direction --> copies wait by time --> deliver
 *
 * The UDP relay and the link between TUN devices are two ways to fetch packets and to give them
 * back; the link between is here.  A timerfd wakes the caller's loop at the nanosecond at which
 * the next packet comes out.
 *
 * The link's time begins with 0 when it is opened, so that `down 5s 6s` means the same as in the
 * simulator.
 */
enum live_direction { LIVE_FORWARD, LIVE_REVERSE, LIVE_DIRECTIONS };

/* A packet that comes out of a link. */
struct live_packet {
	void *path; /* as it entered */
	enum live_direction direction;
	uint8_t ecn; /* enum nopal_ecn */
	uint32_t length;
	uint8_t bytes[];
};

/* False: the kernel does not take it now; it is lost, as on any busy host. */
typedef bool live_deliver(void *user, struct live_packet *packet);

struct live_carrier {
	struct nopal__link_engine engine[LIVE_DIRECTIONS];
	live_deliver *deliver;
	void *user;
	int64_t began_ns;
	struct live_alarm alarm;
	struct event *due;
	struct nopal__heap heap; /* transmissions by their time */
	uint64_t order;		 /* of the next */
};

/* `words` has one link a direction; `header_bytes` as for the engine. */
int nopal__live_carrier_open(struct live_carrier *carrier, struct event_base *base,
			     const struct nopal_link *const words[], uint32_t header_bytes,
			     uint64_t seed, live_deliver *deliver, void *user);
/* Forgets the packets on their way. */
void nopal__live_carrier_close(struct live_carrier *carrier);
int64_t nopal__live_carrier_now(const struct live_carrier *carrier);
/* A packet enters; one clock reading serves a batch of them. */
void nopal__live_carrier_enter(struct live_carrier *carrier, enum live_direction direction,
			       void *path, const uint8_t *bytes, uint32_t length, uint8_t ecn,
			       int64_t now_ns);
/* After a batch: delivers the packets that are due, and arms the alarm for the rest. */
void nopal__live_carrier_turn(struct live_carrier *carrier);

#endif
