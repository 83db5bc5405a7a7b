/* SPDX-License-Identifier: MIT */
/*
 * composite.h -- one composite of a session: a layer of its stack, and what each packet needs of
 * it.
 *
 * A session of the API is a stack of composites, one a layer; each is a `struct nopal_composite`,
 * which begins with the part of it that microprotocols see.  The top one is the application's
 * handle, the bottom one stands on the endpoint.
 *
 *   OPENING --opened--> OPEN --close--> DRAINING --outcomes known--> CLOSING
 *      |                  |                 |                        |
 *      +------------------+----- break -----+------------------------+--> ENDED
 */
#ifndef NOPAL_COMPOSITE_H
#define NOPAL_COMPOSITE_H

#include <stdlib.h>

#include "base/wheel.h"
#include "engine/pool.h"
#include "plan/fused.h"
#include "plan/plan.h"
#include "ports/port.h"
#include "ports/world.h"
#include "trace/trace.h"

enum nopal_life {
	NOPAL_LIFE_OPENING,
	NOPAL_LIFE_OPEN,
	NOPAL_LIFE_DRAINING, /* closed by the application; outcomes are open */
	NOPAL_LIFE_CLOSING,  /* CLOSE_SESSION was raised */
	NOPAL_LIFE_ENDED,
};

/* Where there is no handshake, a peer that is silent for so long is gone, and an opener introduces
 * itself again after half of it: its peer may be a new one. */
#define NOPAL_SILENCE_NS (60 * NOPAL_SECOND)

/* The runtime's own timers, behind the layer's. */
enum { NOPAL_TIMER_WATCHDOG, NOPAL_TIMER_SILENCE, NOPAL_TIMERS_OWN };

/* A raise that waits: in the session's queue, or for its time. */
enum nopal_subject { NOPAL_SUBJECT_OTHER, NOPAL_SUBJECT_SEGMENT, NOPAL_SUBJECT_MESSAGE };
struct nopal_deferred {
	enum nopal_event event;
	enum nopal_subject subject_is;
	struct nopal_handle handle;
	void *subject;
	int64_t deadline_ns;
	nopal_token token; /* also the order */
};
struct nopal_deferred_list {
	struct nopal_deferred *entries;
	uint32_t head, count, room;
};

struct nopal_timer_state {
	int64_t deadline_ns; /* NOPAL_NEVER: stopped */
	uint64_t order;
};

struct nopal_transmissions {
	struct nopal_transmission *ring;
	uint32_t room;
	uint64_t oldest, next;
};

struct nopal_memory {
	struct nopal_memory *next, *previous;
	size_t bytes;
};

/* Calls that a session has of its own once it binds or creates events. */
struct nopal_own_calls {
	struct nopal_calls calls[NOPAL_EVENT_COUNT][NOPAL_KIND_ROOM];
	struct nopal_calls custom[NOPAL_CUSTOM_ROOM];
	const char *custom_name[NOPAL_CUSTOM_ROOM];
	uint32_t custom_age[NOPAL_CUSTOM_ROOM]; /* events that were deleted from the place */
};

/* Of a silence: doubt.c. */
struct nopal_doubt {
	uint64_t nonce;	    /* 0: nobody was asked */
	int64_t since_ns;   /* the first ask */
	int64_t asked_ns;   /* the last one */
	int64_t refused_ns; /* the first refusal */
	uint64_t refusals;
};

/* The state that a session has only while it is not idle (idle.c): this struct, and behind it the
 * states of its parts, its shared variables, the serials and timers. */
struct nopal_awake {
	const struct nopal_calls (*calls)[NOPAL_KIND_ROOM];
	const struct nopal_fused *fused; /* NULL: interpreted */
	struct nopal_objects segments, messages;
	struct nopal_transmissions transmissions;
	struct nopal_deferred_list queue, delayed;
	uint64_t *serial;		  /* last values seen of serial attributes */
	struct nopal_timer_state *timers; /* the layer's, then our own */
	struct nopal_counters counters;
	uint64_t bytes_held;
	struct nopal_budget budget;
	uint32_t numbered;    /* segments and messages made */
	uint32_t unfinished;  /* outgoing messages whose outcome is open */
	uint32_t undelivered; /* those of the application that did not arrive */
	uint64_t unfinished_bytes;
	uint32_t unsent; /* of these, not all on the network yet */
	uint64_t unsent_bytes;
	uint64_t send_limit;		    /* of these: budget.send_bytes, or fewer */
	uint64_t send_wanted, send_refused; /* send.c */
	int64_t heard_ns;		    /* the last datagram that arrived; at first: made */
	int64_t introduced_ns;		    /* connectionless: the last opening that left */
	uint64_t reset_proof[2];	    /* of the peer: reset.c */
	struct nopal_doubt doubt;
	int64_t bark_ns;    /* timer.c: the next look for long holds */
	uint32_t path_hint; /* 1 + what the network said passes; 0: nothing */
	uint64_t timer_order;
	nopal_token tokens;
	uint64_t random;
	struct nopal_body *spare_fragments; /* message.c: a list */
	uint32_t spare_count;
	uint16_t path_short; /* datagrams are by so much below the plan's most */
	uint8_t path_ecn;    /* enum nopal_ecn of what leaves */
	uint32_t waiting_open_count, waiting_open_room;
	struct nopal_handle *waiting_open; /* messages sent before SESSION_OPENED */
	struct nopal_paths *paths;	   /* NULL: the first one alone */
	struct nopal_own_calls *own;
	char *end_text;
	/* The call or timer that runs, by its first member (whereabouts.c); NULL:
	 * none does, or it is a fused unit's. */
	const struct nopal_part *const *running;
};

/* The part of a session that always is there, and that every packet needs. */
struct nopal_composite {
	union {
		struct nopal_session session; /* what microprotocols see */
		struct {
			int64_t now_ns; /* of its last turn */
			int64_t *shared;
			struct nopal_awake *awake; /* NULL: idle */
		};
	};
	const struct nopal_layer *layer;
	struct nopal_endpoint *endpoint;
	struct nopal_world *world;
	struct nopal_composite *above, *below;
	const struct nopal_up *up;
	const struct nopal_down *down;
	union {
		struct nopal_composite *next_touched;
		uint8_t *packed; /* idle: the awake state, frozen */
	};
	enum nopal_life life : 8;
	enum nopal_end end : 8;
	uint8_t depth;
	bool touched, draining_queue;
	bool opener : 1, peer_known : 1, peer_closed : 1, buried : 1;
	bool send_blocked : 1; /* nopal_send said EAGAIN and `writable` is owed */
	bool close_asked : 1;
	bool rendezvous : 1; /* its peer opens, too: rendezvous.c */
	bool half_open : 1;  /* bottom: a peer began it, and it is not open yet */
	bool by_ipv6 : 1;    /* its peer, or one of a group's, is reached by it */
	bool tells : 1;	     /* bottom: its peer is told why it ended */
	bool waits : 1;	     /* a stream, for its turn */
	uint32_t local_id, peer_id;
	uint32_t path_record; /* path_cache.c; 0: none */
	struct nopal_address peer;
	union {
		struct nopal_group *group;
		struct nopal_channel *channel; /* where a listener's fans out */
		uint32_t stream;	       /* lowest layer of one: its id in the flow */
	};
	union { /* of its place above */
		struct nopal_streams *streams;
		struct nopal_destination *destination; /* top of a destination's stack */
	};
	struct nopal_composite *next_ended;
	struct nopal_composite *next, **at; /* in a list of the endpoint: bottom only */
	struct nopal_wheel_entry wake;
	const struct nopal_callbacks *callbacks;
	void *user;
	struct nopal_memory *memory;
	uint64_t opening_key;
};

/* Budget or limit were set anew. */
void nopal__send_limit(struct nopal_awake *awake);

static inline struct nopal_composite *nopal__composite(const struct nopal_session *session)
{
	return (struct nopal_composite *)(uintptr_t)session;
}

/* Its plan and layer, on the packet path: in a fused unit they are constants. */
static inline const struct nopal_plan *nopal__plan(const struct nopal_composite *composite)
{
#ifdef NOPAL_FUSED_LAYERS
	(void)composite;
	return &fused_plan;
#else
	return composite->layer->plan;
#endif
}

static inline const struct nopal_layer *nopal__layer(const struct nopal_composite *composite)
{
#if !defined(NOPAL_FUSED_LAYERS)
	return composite->layer;
#elif NOPAL_FUSED_LAYERS == 1
	(void)composite;
	return fused_layer;
#else
	return &fused_layer[composite->layer->index];
#endif
}

/* Its neighbours, on the packet path: a fused unit knows those of one stack by their layers. */
static inline const struct nopal_down *nopal__down(const struct nopal_composite *composite)
{
#ifdef NOPAL_FUSED_LAYERS
	unsigned next = nopal__layer(composite)->index + 1u;

	if (next == NOPAL_FUSED_LAYERS)
		return &nopal__endpoint_down;
	if (next != fused_plan.destinations && next != fused_plan.flow)
		return &nopal__layer_down;
#endif
	return composite->down;
}

static inline const struct nopal_up *nopal__up(const struct nopal_composite *composite)
{
#ifdef NOPAL_FUSED_LAYERS
	unsigned index = nopal__layer(composite)->index;

	if (index && index != fused_plan.destinations && index != fused_plan.flow)
		return &nopal__layer_up;
#endif
	return composite->up;
}

/* Do its datagrams leave by an endpoint? */
static inline bool nopal__is_lowest(const struct nopal_composite *composite)
{
	return nopal__layer(composite)->index + 1u == nopal__plan(composite)->layer_count;
}

/* A trace record of this session, where its world is traced. */
static inline void nopal__record(struct nopal_composite *composite, enum nopal_trace_what what,
				 uint8_t part, uint16_t number, uint64_t a, uint64_t b)
{
	if (composite->world->tracer)
		nopal__trace(composite->world->tracer, composite->session.now_ns,
			     composite->local_id, what, part, number, a, b);
}

/* The next layer of the same stack: a destination's ends below its group. */
static inline struct nopal_composite *nopal__over(const struct nopal_composite *composite)
{
	return composite->up->same_stack ? composite->above : NULL;
}
static inline struct nopal_composite *nopal__top(struct nopal_composite *composite)
{
	while (nopal__over(composite))
		composite = composite->above;
	return composite;
}
/* The one below of the same stack: a stream's ends above its flow. */
static inline struct nopal_composite *nopal__under(const struct nopal_composite *composite)
{
	return composite->down->same_stack ? composite->below : NULL;
}
static inline struct nopal_composite *nopal__stack_bottom(struct nopal_composite *composite)
{
	while (nopal__under(composite))
		composite = composite->below;
	return composite;
}
static inline struct nopal_composite *nopal__bottom(struct nopal_composite *composite)
{
	while (composite->below)
		composite = composite->below;
	return composite;
}

static inline bool nopal__be_awake(struct nopal_composite *composite)
{
	return composite->awake || nopal__session_ops.resume(composite);
}
/* The session breaks, and its peer is told. */
static inline void nopal__break(struct nopal_composite *composite, enum nopal_end end,
				const char *text)
{
	nopal__session_ops.break_off(&composite->session, end, text);
}

#endif
