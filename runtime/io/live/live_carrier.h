/* SPDX-License-Identifier: MIT */
/*
 * live_carrier.h -- a link in real time: both directions, and the packets on their way.
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
#ifndef NOPAL_LIVE_CARRIER_H
#define NOPAL_LIVE_CARRIER_H

#include "io/emulator/heap.h"
#include "io/emulator/link_engine.h"
#include "io/live/live.h"

struct event;
struct event_base;

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
