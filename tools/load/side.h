/* SPDX-License-Identifier: MIT */
/*
 * side.h -- the two sides of a workload: in two processes, by plain UDP, the kernel's TCP or a
 * config, or by a config in the simulator.
 *
 * A side is a struct of the workload's own that begins with a struct side; `on` is told of every
 * event of its sessions:
 *
 *     static void probe_on(void *user, const struct side_event *event)
 *     {
 *             struct probe *probe = user;
 *
 *             if (event->kind == SIDE_RECEIVED)
 *                     side_over(&probe->side);
 *     }
 *
 * A side notes progress by side_heard(); an opener without progress for `patience_ns` is over.
 */
#ifndef NOPAL_SIDE_H
#define NOPAL_SIDE_H

#include "load/pair.h"

enum side_protocol { SIDE_UDP, SIDE_TCP, SIDE_CONFIG };
/* A blocking receive, for a config its loop; receives that do not block, for a config
 * nopal_live_poll; its loop, that polls for a while after each arrival. */
enum side_way { SIDE_SLEEP, SIDE_SPIN, SIDE_LINGER, SIDE_WAYS };

/* The kinds of events: as the callbacks of a session, which see. */
enum { SIDE_OPENED, SIDE_RECEIVED, SIDE_SENT, SIDE_WRITABLE, SIDE_DESTINATION, SIDE_ENDED };
struct side_event {
	int kind;
	struct nopal_session *session;
	struct nopal_message *message;			  /* SIDE_RECEIVED */
	enum nopal_outcome outcome;			  /* SIDE_SENT */
	const struct nopal_destination_info *destination; /* SIDE_DESTINATION */
	enum nopal_end end;				  /* SIDE_ENDED */
	const char *text;				  /* SIDE_ENDED */
};
typedef void side_call(void *user, const struct side_event *event);
/* Of sessions whose `user` begins with a side_call *, which they tell; an accepted session has the
 * `user` of its listener. */
extern const struct nopal_callbacks side_callbacks;

struct side {
	side_call *on;
	enum side_way way;
	int64_t patience_ns; /* of a side that opens; 0: it waits for ever */
	pid_t partner;	     /* the process of the other side; 0: it is simulated */
	struct loop *loop;   /* NULL: the side is simulated */
	struct loop_event *tick;
	struct nopal_world *world;
	struct nopal_session *session;
	/* when the other side was ready; when it made progress; when it was over by itself */
	int64_t begun_ns, heard_ns, ended_ns;
	bool over;
};

int64_t side_now(const struct side *side);
void side_heard(struct side *side);
void side_over(struct side *side);

/* A listener's `user` that counts what arrives. */
struct side_sink {
	side_call *on; /* side_on_sink */
	uint64_t messages, bytes;
};
void side_on_sink(void *user, const struct side_event *event);

/* Where the two sides are. */
struct side_place {
	bool live;
	struct bench_place pair;	    /* live */
	struct nopal_link forward, reverse; /* simulated */
	uint64_t seed;
};

struct side_work {
	enum side_protocol protocol; /* live; simulated it is SIDE_CONFIG */
	struct nopal_plan *plan;     /* of SIDE_CONFIG */
	struct side *opener, *listener;
	/* Plain sockets: the opener's part of the work, connected, and the listener's. */
	void (*ask)(void *opener, int fd);
	void (*answer)(void *listener, int fd);
	/* By a config: its part, live, where that is more than one session until the opener is
	 * over; NULL: it is not. */
	void (*drive)(void *opener, struct nopal_endpoint *endpoint,
		      const struct nopal_address *peer);
};
/* Until the opener is over; live, the listener is a partner of this process.  False: the machine
 * refused, or out of memory. */
bool side_work(struct side_work *work, const struct side_place *place);

/* Runs a loop for so long, or until something stops it. */
void side_wait(struct loop *loop, int64_t duration_ns);

/* Two hosts of a simulated world, over the place's link. */
void side_hosts(struct nopal_world *world, const struct side_place *place);
/* A session of the plan from host to host, by side_callbacks.  NULL: out of memory. */
struct nopal_session *side_connect(struct nopal_world *world, int from, int to,
				   struct nopal_plan *plan, void *opener, void *listener);

#endif
