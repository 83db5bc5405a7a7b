/* SPDX-License-Identifier: MIT */
/*
 * blocking.h -- private to the blocking calls: hubs, connections and rings.
 *
 * blocking_hub.c is the work of the loop's thread, blocking.c the calls that other threads make,
 * blocking_many.c both for connections to many, blocking_early.c early data, blocking_look.c
 * descriptors and counters, blocking_set.c sets of connections, blocking_file.c files.  All fields
 * are under the hub's lock, except fields marked as the loop's own or the set's.
 */
#ifndef NOPAL_BLOCKING_H
#define NOPAL_BLOCKING_H

#include <pthread.h>

#include "io/live/live.h"
#include "plan/plan.h"

enum {
	BLOCKING_OUT_BYTES = 4 << 20, /* as the core's send buffer */
	BLOCKING_OUT_MESSAGES = 4096,
	BLOCKING_PROPERTIES = NOPAL_SLOT_ROOM, /* of one message */
	BLOCKING_OUTCOME_OPEN = UINT8_MAX,     /* among the outcomes of tickets */
};

/* An item on its way: a buffer out, or a message (or a copy of one) in.  Neither: from here on a
 * destination joins, or `destination` leaves.  A buffer begins with the message's properties, a
 * copy with its attributes. */
struct blocking_item {
	struct nopal_buffer *buffer;
	size_t properties; /* in `buffer`, before the bytes */
	struct nopal_message *message;
	uint64_t *copy;
	uint64_t length;
	uint64_t ticket;      /* out; 0: no caller asks for its outcome */
	uint32_t destination; /* out: to this one, 0: to all */
	struct blocking_destination *joins;
};

struct blocking_ring {
	struct blocking_item *items;
	uint32_t head, count, room;
	uint64_t bytes;
};

/* A descriptor that is readable while there is an item to take. */
struct blocking_sign {
	int fd;
	bool made, shown;
};

/* A connection or listener in a set, or in none. */
struct blocking_member {
	struct nopal_connections *set; /* NULL: none */
	struct blocking_member *next,
		*before;		     /* among those that are ready: under the set's lock */
	unsigned asked;			     /* events that the set asks for */
	struct nopal_connection_ready ready; /* its events: written under both locks */
};

enum blocking_life { BLOCKING_OPENING, BLOCKING_OPEN, BLOCKING_ENDED };

/* Outcomes of messages that were sent. */
struct blocking_outcomes {
	uint64_t open;		   /* messages whose outcome is not known */
	uint64_t unknown, missing; /* since a caller waited for all */
	uint64_t unsent;	   /* of these, messages that no session took */
	uint64_t tickets;	   /* given so far */
	uint8_t *of_ticket;	   /* NOPAL_TICKETS of them; NULL: none yet */
};

struct blocking_destination {
	struct blocking_destination *next;
	struct nopal_destination_info info; /* id 0: it is none yet */
	char *text;			    /* of info.text */
	int refused;			    /* why it could not be added */
	bool waits;			    /* in the out ring, to be added */
	bool leaves;			    /* now: the loop's thread removes it */
	bool held;			    /* by the caller that adds it: none yet for others */
	bool removed;			    /* by the application: goes when it has ended */
};

struct blocking_hub {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct nopal__live_loop *loop;
	struct nopal_plan *plan;
	unsigned destination; /* property of its messages; 0: one to one */
	struct nopal_endpoint *endpoint;
	struct nopal_address local;
	struct nopal_connection *connections; /* of the loop's thread */
	struct nopal_connection *asked; /* of these, those that the loop's thread has to pump */
	struct blocking_ring accepted;	/* `message` is a connection */
	struct blocking_sign sign;	/* of `accepted` */
	struct blocking_member member;	/* the listener */
	uint32_t users;			/* a listener and its connections */
	bool listening;
};

struct nopal_connection {
	struct blocking_hub *hub;
	struct nopal_connection *next, *before; /* of the loop's thread */
	struct nopal_connection *next_asked;
	struct nopal_session *session; /* of the loop's thread */
	enum blocking_life life;
	enum nopal_end end;
	char *end_text;
	struct blocking_ring out, in, back; /* back: to be given back */
	struct blocking_sign sign;	    /* of `in` and the end */
	struct blocking_member member;
	struct nopal_connection_info info; /* as of the last copy */
	bool info_asked;		   /* a caller waits for another copy */
	struct blocking_outcomes outcomes;
	struct blocking_destination *destinations; /* by their age */
	struct blocking_destination *adding;	   /* of the loop's thread */
	bool many;				   /* there may be others */
	bool leaving;				   /* some destination leaves */
	bool lent; /* a caller reads the first of `in` where it is */
	bool pump_asked, close_asked, abandoned, closing;
};

struct nopal_listener {
	struct blocking_hub *hub;
};

extern const struct nopal_callbacks nopal__blocking_accepted;

/* False: out of memory. */
bool nopal__blocking_push(struct blocking_ring *ring, struct blocking_item item);
struct blocking_item nopal__blocking_pop(struct blocking_ring *ring);

/* Takes over the buffer where it returns 0: as nopal_connection_send_to(). */
int nopal__blocking_put(struct nopal_connection *connection, struct blocking_item item,
			int64_t timeout_ns, uint64_t *ret_ticket);
/* A message that was read is given back; the lock is held.  As nopal__blocking_ask(). */
bool nopal__blocking_give_back(struct nopal_connection *connection, struct blocking_item *item);

/* The outcome of one message is known. */
void nopal__blocking_tell(struct nopal_connection *connection, uint64_t ticket,
			  enum nopal_outcome outcome);

/* Of the monotonic clock; NOPAL_NEVER where the timeout is negative or beyond it. */
int64_t nopal__blocking_deadline(int64_t timeout_ns);
/* Waits for any change; false: the deadline has passed. */
bool nopal__blocking_wait(struct blocking_hub *hub, int64_t deadline_ns);
/* The same for any lock that is held, and its condition, which has to be made here. */
bool nopal__blocking_wait_for(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t deadline_ns);
void nopal__blocking_condition_init(pthread_cond_t *changed);

/* Everything up to the thread; takes over the plan. */
struct blocking_hub *nopal__blocking_hub_new(struct nopal_plan *plan,
					     const struct nopal_address *local,
					     struct nopal_problems *problems);
bool nopal__blocking_hub_start(struct blocking_hub *hub, struct nopal_problems *problems);
/* Without its thread. */
void nopal__blocking_hub_free(struct blocking_hub *hub);
/* A caller is done with its connection or listener. */
void nopal__blocking_hub_leave(struct blocking_hub *hub);
/* A hub without its thread yet, and its connection, whose session opens: to the peer, or (NULL) to
 * destinations that are yet to be added.  Takes over the plan. */
struct nopal_connection *nopal__blocking_dial(struct nopal_plan *plan,
					      const struct nopal_address *local,
					      const struct nopal_address *peer, bool rendezvous,
					      struct nopal_problems *problems);
void nopal__blocking_abandon(struct nopal_connection *connection);
/* The loop's thread is to look after this connection; the lock is held.  True: the caller calls the
 * loop as soon as it has given up the lock. */
bool nopal__blocking_ask(struct nopal_connection *connection);
/* The same where the lock is not held. */
void nopal__blocking_call(struct nopal_connection *connection);

/* blocking_look.c; the lock is held. */
bool nopal__blocking_has_room(const struct nopal_connection *connection); /* to send */
void nopal__blocking_show(struct blocking_sign *sign, bool ready);
void nopal__blocking_show_connection(struct nopal_connection *connection);
void nopal__blocking_show_listener(struct blocking_hub *hub);
int nopal__blocking_sign_fd(struct blocking_sign *sign, bool ready);
void nopal__blocking_sign_close(struct blocking_sign *sign);
/* In the loop's thread, while there is a session. */
void nopal__blocking_copy_info(struct nopal_connection *connection);

/* blocking_early.c: tickets of earlier connections, before the session opens, and for later ones,
 * when it has. */
void nopal__blocking_recall_tickets(struct blocking_hub *hub);
void nopal__blocking_keep_tickets(struct blocking_hub *hub);
/* A message that may travel early, before the hub has its thread; false: a problem was added. */
bool nopal__blocking_say_early(struct nopal_connection *connection, const void *bytes,
			       size_t length, struct nopal_problems *problems);

/* blocking_set.c; the lock is held. */
void nopal__blocking_show_member(struct blocking_member *member, unsigned events);
void nopal__blocking_member_leave(struct blocking_member *member);

/* blocking_many.c */
/* NULL: there is none of this id. */
struct blocking_destination *nopal__blocking_destination(const struct nopal_connection *connection,
							 uint32_t id);
void nopal__blocking_on_destination(struct nopal_session *session,
				    const struct nopal_destination_info *info, void *user);
/* Destinations that leave now; and an item that is no message. */
void nopal__blocking_pump_leaves(struct nopal_connection *connection);
void nopal__blocking_give_other(struct nopal_connection *connection,
				const struct blocking_item *item);
void nopal__blocking_destinations_free(struct nopal_connection *connection);

#endif
