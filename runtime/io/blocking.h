/* SPDX-License-Identifier: MIT */
/*
 * blocking.h -- private to the blocking calls: hubs, connections and rings.
 *
 * blocking_hub.c holds what the loop's thread does, blocking.c the calls that
 * other threads make.  All fields are under the hub's lock, except those marked
 * as the loop's own.
 */
#ifndef NOPAL_BLOCKING_H
#define NOPAL_BLOCKING_H

#include <pthread.h>
#include <time.h>

#include "live.h"

enum {
	BLOCKING_OUT_BYTES = 4 << 20, /* as the core's send buffer */
	BLOCKING_OUT_MESSAGES = 4096,
};

/* Something on its way: a buffer out, or a message (or a copy of one) in. */
struct blocking_item {
	struct nopal_buffer *buffer;
	struct nopal_message *message;
	uint8_t *copy;
	uint64_t length;
};

struct blocking_ring {
	struct blocking_item *items;
	uint32_t head, count, room;
	uint64_t bytes;
};

enum blocking_life { BLOCKING_OPENING, BLOCKING_OPEN, BLOCKING_ENDED };

struct blocking_hub {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct nopal__live_loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_address local;
	struct nopal_connection *connections; /* of the loop's thread */
	struct blocking_ring accepted;	      /* `message` is a connection */
	uint32_t users; /* a listener and its connections */
	bool listening;
};

struct nopal_connection {
	struct blocking_hub *hub;
	struct nopal_connection *next;
	struct nopal_session *session; /* of the loop's thread */
	enum blocking_life life;
	enum nopal_end end;
	char *end_text;
	struct blocking_ring out, in, back; /* back: to be given back */
	bool close_asked, abort_asked, abandoned, closing;
};

struct nopal_listener {
	struct blocking_hub *hub;
};

extern const struct nopal_callbacks nopal__blocking_dialled;
extern const struct nopal_callbacks nopal__blocking_accepted;

/* False: out of memory. */
bool nopal__blocking_push(struct blocking_ring *ring,
			  struct blocking_item item);
struct blocking_item nopal__blocking_pop(struct blocking_ring *ring);

struct timespec nopal__blocking_deadline(int64_t timeout_ns);
/* Waits for any change; false: the deadline has passed. */
bool nopal__blocking_wait(struct blocking_hub *hub, int64_t timeout_ns,
			  const struct timespec *deadline);

/* Everything up to the thread; takes over the plan. */
struct blocking_hub *nopal__blocking_hub_new(struct nopal_plan *plan,
					     const struct nopal_address *local,
					     struct nopal_problems *problems);
bool nopal__blocking_hub_start(struct blocking_hub *hub,
			       struct nopal_problems *problems);
/* Without its thread. */
void nopal__blocking_hub_free(struct blocking_hub *hub);
/* A caller is done with its connection or listener. */
void nopal__blocking_hub_leave(struct blocking_hub *hub);
struct nopal_connection *
nopal__blocking_connection_new(struct blocking_hub *hub);

#endif
