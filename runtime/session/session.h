/* SPDX-License-Identifier: MIT */
/*
 * session.h -- the core's own view of sessions and endpoints.
 *
 * A session of the API is a stack of composites, one a layer; each is a `struct nopal_core`, which
 * begins with what microprotocols see of it.  The top one is the application's handle, the bottom
 * one meets the endpoint.
 *
 *   OPENING --opened--> OPEN --close--> DRAINING --fates known--> CLOSING
 *      |                  |                 |                        |
 *      +------------------+----- break -----+------------------------+--> ENDED
 *
 * A turn is one entry into the core: a batch of datagrams, a wake-up or a call. At its outermost
 * end every touched session sees TURN_END, trains leave, and ended sessions are freed.
 */
#ifndef NOPAL_SESSION_H
#define NOPAL_SESSION_H

#include <stdlib.h>

#include "plan/fused.h"
#include "base/hash.h"
#include "ports/world.h"
#include "layers/multiplicity.h"
#include "plan/plan.h"
#include "engine/pool.h"
#include "session/stack.h"
#include "trace/trace.h"

enum nopal_life {
	NOPAL_LIFE_OPENING,
	NOPAL_LIFE_OPEN,
	NOPAL_LIFE_DRAINING, /* closed by the application; fates are open */
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

struct nopal_departures {
	struct nopal_departure *ring;
	uint32_t room;
	uint64_t oldest, next;
};

struct nopal_memory {
	struct nopal_memory *next, *previous;
	size_t bytes;
};

/* What a session has of its own once it binds or creates events. */
struct nopal_own_calls {
	struct nopal_calls calls[NOPAL_EVENT_COUNT][NOPAL_KIND_ROOM];
	struct nopal_calls custom[NOPAL_CUSTOM_ROOM];
	const char *custom_name[NOPAL_CUSTOM_ROOM];
};

/* Of a silence: doubt.c. */
struct nopal_doubt {
	uint64_t nonce;	    /* 0: nobody was asked */
	int64_t since_ns;   /* the first ask */
	int64_t asked_ns;   /* the last one */
	int64_t refused_ns; /* the first refusal */
	uint64_t refusals;
};

/* What a session has only while it does not rest (rest.c): all that is its own, and then the states
 * of its parts, its shared variables, the serials and timers. */
struct nopal_awake {
	const struct nopal_calls (*calls)[NOPAL_KIND_ROOM];
	const struct nopal_fused *fused; /* NULL: interpreted */
	struct nopal_objects segments, messages;
	struct nopal_departures departures;
	struct nopal_deferred_list queue, delayed;
	uint64_t *serial;		  /* last values seen of serial attributes */
	struct nopal_timer_state *timers; /* the layer's, then our own */
	struct nopal_counters counters;
	uint64_t bytes_held;
	struct nopal_budget budget;
	uint32_t numbered;    /* segments and messages made */
	uint32_t unfinished;  /* outgoing messages whose fate is open */
	uint32_t undelivered; /* those of the application that did not arrive */
	uint64_t unfinished_bytes;
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
};

/* What it always has, and what every packet needs. */
struct nopal_core {
	union {
		struct nopal_session session; /* what microprotocols see */
		struct {
			int64_t now_ns; /* of its last turn */
			int64_t *shared;
			struct nopal_awake *awake; /* NULL: it rests */
		};
	};
	const struct nopal_layer *layer;
	struct nopal_endpoint *endpoint;
	struct nopal_world *world;
	/* The call or timer that runs, by its first member (whereabouts.c); NULL:
	 * none does, or it is a fused unit's. */
	const struct nopal_part *const *running;
	struct nopal_core *above, *below;
	union {
		struct nopal_core *next_touched;
		uint8_t *packed; /* at rest: what it had awake */
	};
	enum nopal_life life : 8;
	enum nopal_end end : 8;
	uint8_t depth;
	bool touched, draining_queue;
	bool lowest; /* datagrams leave here */
	bool opener : 1, peer_known : 1, peer_closed : 1, buried : 1;
	bool send_blocked : 1; /* nopal_send said EAGAIN and `writable` is owed */
	bool close_asked : 1;
	bool meets : 1;	    /* its peer opens, too: rendezvous.c */
	bool half_open : 1; /* bottom: a peer began it, and it is not open yet */
	bool by_ipv6 : 1;   /* its peer, or one of a group's, is reached by it */
	bool tells : 1;	    /* bottom: its peer is told why it ended */
	bool fans_out : 1;  /* the layer below is one of destinations */
	bool is_group : 1;  /* there may be many of them: it has `group` */
	bool is_flow : 1;   /* many stand on it: it has `streams` */
	bool waits : 1;	    /* a stream, for its turn */
	uint32_t local_id, peer_id;
	uint32_t path_record; /* path_cache.c; 0: none */
	struct nopal_address peer;
	union {
		struct nopal_group *group;
		struct nopal_channel *channel; /* where a listener's fans out */
		struct nopal_streams *streams;
		uint32_t stream;		       /* lowest layer of one: its id in the flow */
		struct nopal_destination *destination; /* top of a destination's stack */
	};
	struct nopal_core *next_ended;
	struct nopal_core *next, **at; /* in a list of the endpoint: bottom only */
	struct nopal_wheel_entry wake;
	const struct nopal_callbacks *callbacks;
	void *user;
	struct nopal_memory *memory;
	uint64_t opening_key;
};

static inline struct nopal_core *nopal__core(const struct nopal_session *session)
{
	return (struct nopal_core *)(uintptr_t)session;
}

/* Its plan and layer, on the packet path: in a fused unit they are constants. */
static inline const struct nopal_plan *nopal__plan(const struct nopal_core *core)
{
#ifdef NOPAL_FUSED_LAYERS
	(void)core;
	return &fused_plan;
#else
	return core->layer->plan;
#endif
}

static inline const struct nopal_layer *nopal__layer(const struct nopal_core *core)
{
#if !defined(NOPAL_FUSED_LAYERS)
	return core->layer;
#elif NOPAL_FUSED_LAYERS == 1
	(void)core;
	return fused_layer;
#else
	return &fused_layer[core->layer->index];
#endif
}

struct nopal_id_table {
	struct nopal_core **slots;
	uint32_t room, used;
};

/* Callbacks that the openers of some sessions share. */
struct nopal_shared_callbacks {
	struct nopal_callbacks callbacks; /* first: what sessions point to */
	struct nopal_shared_callbacks *next;
	uint32_t sessions;
};

struct nopal_listener_entry {
	struct nopal_listener_entry *next;
	struct nopal_plan *plan;
	unsigned flags;
	struct nopal_callbacks callbacks;
	void *user;
};

enum { NOPAL_SPARE_BYTES = 2048, NOPAL_CACHE_LINE = 64 };

struct nopal_ready {
	struct nopal_core *core;
	struct nopal_handle segment;
};

struct nopal_endpoint {
	struct nopal_port port; /* first: the world's view */
	struct nopal_endpoint *next, *next_unflushed;
	struct nopal_listener_entry *listeners;
	struct nopal_shared_callbacks *callbacks;
	struct nopal_core *sessions, *resting; /* awake, and not */
	struct nopal_id_table by_id;
	/* keyed hash of (address, peer id); id 0: who is found by address */
	struct nopal_map by_opening;
	struct nopal_map meetings; /* rendezvous.c, by address */
	struct nopal_pool *pools;  /* one for each size of object */
	uint64_t secret[2];
	uint64_t reset_key[2]; /* reset.c */
	int64_t reset_ns;      /* when `resets_left` was counted */
	int32_t resets_left;
	uint32_t half_open; /* sessions that are */
	/* the train that is being built */
	struct nopal_address train_to;
	struct nopal_core *train_of;
	uint32_t train_length, train_stride, train_count;
	uint32_t unsealed; /* bytes of the last datagram, to be sealed yet */
	bool train_closed, train_fragments, busy, unflushed;
	bool demux_is_set; /* by the first plan that is allowed or opened here */
	enum nopal_demux demux;
	/* what arrives now, here or at a door: enum nopal_ecn, where, and whence */
	uint8_t arrived_ecn;
	struct nopal_endpoint *arrived_at;
	const struct nopal_address *arrived_from; /* NULL: nothing does */
	const struct nopal_core *arrived_of;	  /* whose path is `arrived_path` */
	uint8_t arrived_path;
	/* another address of the endpoint whose door it is */
	struct nopal_endpoint *door_of, *doors, *next_door;
	uint32_t channels;		   /* of sessions that hear one at this door */
	struct nopal_farewells *farewells; /* farewell.c; NULL: none yet */
	struct nopal_buffer *spare;	   /* of NOPAL_SPARE_BYTES, linked by owner */
	struct nopal_ready *ready;	   /* departures that wait for the kernel */
	uint32_t ready_head, ready_count, ready_room;
	uint8_t train[NOPAL_TRAIN_BYTES + 600];
};

/* A trace record of this session, where its world is traced. */
static inline void nopal__record(struct nopal_core *core, enum nopal_trace_what what, uint8_t part,
				 uint16_t number, uint64_t a, uint64_t b)
{
	if (core->world->tracer)
		nopal__trace(core->world->tracer, core->session.now_ns, core->local_id, what, part,
			     number, a, b);
}

/* memory.c */
void nopal__memory_release(struct nopal_core *core);
bool nopal__charge(struct nopal_core *core, uint64_t bytes);
void nopal__credit(struct nopal_core *core, uint64_t bytes);

/* bind.c */
const struct nopal_calls *nopal__custom_calls(struct nopal_core *core, int event);

/* event.c */
void nopal__run_deferred(struct nopal_core *core, const struct nopal_deferred *deferred);
void nopal__drain_queue(struct nopal_core *core);
void nopal__note(struct nopal_core *core, enum nopal_trace_note note, uint64_t a, uint64_t b);

/* timer.c */
/* Makes sure that the session wakes no later than this. */
void nopal__wake_by(struct nopal_core *core, int64_t deadline_ns);
void nopal__timers_run(struct nopal_core *core);
void nopal__watchdog_start(struct nopal_core *core);
/* Nothing is under way. */
void nopal__watchdog_stop(struct nopal_core *core);
/* For a session that anybody's datagram may open: it ends with its peer's silence. */
void nopal__silence_watch(struct nopal_core *core);

/* segment.c, message.c */
struct nopal_segment *nopal__segment_make(struct nopal_core *core, uint8_t kind);
/* An outgoing one that passes the barriers; but for its attributes. */
struct nopal_segment *nopal__segment_make_carried(struct nopal_core *core, uint8_t kind);
void nopal__segment_hold(struct nopal_core *core, struct nopal_segment *segment);
void nopal__segment_free(struct nopal_core *core, struct nopal_segment *segment);
/* Finish and free what the barriers and pins allow. */
void nopal__segment_settle_now(struct nopal_core *core, struct nopal_segment *segment);
static inline void nopal__segment_settle(struct nopal_core *core, struct nopal_segment *segment)
{
	bool due = segment->done ? !segment->waiting[NOPAL_DEALLOCATE] && !segment->pins
				 : (segment->departures || segment->last) &&
					   !segment->waiting[NOPAL_FINISH];

	if (due) /* what arrives never departs */
		nopal__segment_settle_now(core, segment);
}
void nopal__depart(struct nopal_core *core, struct nopal_segment *segment);
int nopal__departure_note(struct nopal_core *core, struct nopal_segment *segment);
/* NULL: over budget. */
struct nopal_message *nopal__message_make(struct nopal_core *core, uint64_t length);
void nopal__message_tell_fate(struct nopal_core *core, struct nopal_message *message,
			      enum nopal_fate fate);
enum nopal_fate nopal__message_fate(const struct nopal_message *message);
/* Of all that rode in a segment which is done. */
void nopal__messages_segment_done(struct nopal_core *core, struct nopal_message *message,
				  enum nopal_fate fate);
void nopal__message_free(struct nopal_core *core, struct nopal_message *message);
void nopal__message_unpin(struct nopal_core *core, struct nopal_message *message);
void nopal__messages_end(struct nopal_core *core);
/* Spare rooms for fragments go back to the session's memory. */
void nopal__fragments_give_back(struct nopal_core *core);
void nopal__messages_free(struct nopal_core *core);
void nopal__message_deliver(struct nopal_core *core, struct nopal_message *message);

/* send.c */
void nopal__send_limit(struct nopal_awake *awake);
/* Those that waited for the session to open. */
void nopal__messages_flush_opened(struct nopal_core *core);

/* session.c */
/* Sets the pointers of what is awake; false: no memory, but never a second time. */
bool nopal__awake_lay_out(struct nopal_core *core);
void nopal__awake_forget(struct nopal_core *core);
/* A peer's, from the flow on where there is one. */
struct nopal_core *nopal__session_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				       const struct nopal_address *peer);
void nopal__session_close(struct nopal_core *core);
/* Of which nobody has heard: not started, without callbacks. */
void nopal__session_unmake(struct nopal_core *bottom);
void nopal__session_start(struct nopal_core *bottom); /* raises OPEN_SESSION */
void nopal__session_drained(struct nopal_core *core); /* a fate was settled */
void nopal__session_free_stack(struct nopal_core *bottom);
void nopal__session_received(struct nopal_core *core, struct nopal_message *message);
/* The next layer of the same stack: a destination's ends below its group. */
static inline struct nopal_core *nopal__over(const struct nopal_core *core)
{
	return core->above && !core->above->is_group ? core->above : NULL;
}
static inline struct nopal_core *nopal__top(struct nopal_core *core)
{
	while (nopal__over(core))
		core = core->above;
	return core;
}
/* The one below of the same stack: a stream's ends above its flow. */
static inline struct nopal_core *nopal__under(const struct nopal_core *core)
{
	return core->below && !core->below->is_flow ? core->below : NULL;
}
static inline struct nopal_core *nopal__stack_bottom(struct nopal_core *core)
{
	while (nopal__under(core))
		core = core->below;
	return core;
}
static inline struct nopal_core *nopal__bottom(struct nopal_core *core)
{
	while (core->below)
		core = core->below;
	return core;
}

/* rest.c */

/* Nothing happened for so long: a session may rest. */
#define NOPAL_REST_NS (250 * NOPAL_MILLISECOND)

/* Makes a session at rest, or any layer of its stack, whole again; false: there is no memory, and
 * it has ended. */
bool nopal__rouse(struct nopal_core *core);
static inline bool nopal__be_awake(struct nopal_core *core)
{
	return core->awake || nopal__rouse(core);
}
/* Something happens: sees to it that a walk follows. */
void nopal__rest_watch(struct nopal_world *world);
void nopal__rest_walk(struct nopal_world *world);

/* turn.c */
bool nopal__turn_begin(struct nopal_world *world); /* true: outermost */
void nopal__turn_end(struct nopal_world *world, bool outermost);
/* Wakes it where it rests; it may have ended after that. */
void nopal__touch_first(struct nopal_core *core); /* in this turn */
static inline void nopal__touch(struct nopal_core *core)
{
	if (core->touched) /* and so awake */
		core->session.now_ns = core->world->now_ns;
	else
		nopal__touch_first(core);
}
/* The peer is told, unless that is a good end. */
void nopal__session_end(struct nopal_core *core, enum nopal_end end, const char *text);
/* The peer's has ended, and needs no word. */
void nopal__session_ended_there(struct nopal_core *core, enum nopal_end end, const char *text);
void nopal__bury(struct nopal_core *bottom); /* free at the end of the turn */

#include "wire/paths.h"

/* wire.c */
/* Of kinds whose id is that of their sender. */
static inline bool nopal__is_opening(uint8_t kind)
{
	const uint32_t kinds = UINT32_C(1) << NOPAL_KIND_DATA_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONTROL_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONNECT | UINT32_C(1) << NOPAL_KIND_MEET |
			       UINT32_C(1) << NOPAL_KIND_ASK;

	return kinds >> kind & 1;
}
uint8_t nopal__first_byte(uint8_t kind);
bool nopal__first_byte_parse(uint8_t byte, uint8_t *ret_kind);
/* Is there room for its datagram now, or is the kernel busy? */
bool nopal__may_leave(struct nopal_core *core, const struct nopal_segment *segment);
/* By all open paths, and by one. */
void nopal__pack_out(struct nopal_core *core, const struct nopal_segment *segment);
void nopal__pack_by(struct nopal_core *core, const struct nopal_segment *segment, unsigned path);
/* The kind of a datagram of a foreign format. */
uint8_t nopal__foreign_kind(const struct nopal_plan *plan, const uint8_t *bytes, uint32_t length);
/* Parses a datagram of an established kind; NULL: malformed, counted. */
struct nopal_segment *nopal__unpack(struct nopal_core *core, uint8_t kind,
				    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length,
				    uint32_t skip);
uint64_t nopal__serial_expand(uint64_t reference, uint64_t truncated, unsigned bytes);

/* arrive.c */
void nopal__session_receive(struct nopal_core *core, uint8_t kind, struct nopal_buffer *buffer,
			    uint8_t *bytes, uint32_t length);
void nopal__segment_enter(struct nopal_core *core, struct nopal_segment *segment);
/* The same, and that was all of it. */
void nopal__segment_arrive(struct nopal_core *core, struct nopal_segment *segment);

/* train.c */
void nopal__endpoint_flush(struct nopal_endpoint *endpoint);
/* Sends the train away where this datagram begins another; false: the kernel is busy. */
bool nopal__train_ready(struct nopal_core *core, uint32_t bytes);
/* Sends a train to another address away; false: the kernel is busy. */
bool nopal__train_turn(struct nopal_way way);
/* Room for a datagram in the session's train on its way; NULL: none. */
uint8_t *nopal__train_room(struct nopal_core *core, struct nopal_way way, uint32_t bytes);
void nopal__train_add(struct nopal_core *core, struct nopal_endpoint *endpoint, uint32_t bytes);
/* The same, to be sealed before it leaves. */
void nopal__train_add_open(struct nopal_core *core, struct nopal_endpoint *endpoint,
			   uint32_t bytes);
/* What was added is longer than its path is thought to take: nothing joins it. `fragments`: it may
 * leave in several packets. */
void nopal__train_end_long(struct nopal_endpoint *endpoint, bool fragments);
/* Seals what the session has in the train and is not sealed yet. */
void nopal__train_finish(struct nopal_core *core);
void nopal__endpoint_answer(struct nopal_endpoint *endpoint, const struct nopal_address *to,
			    const uint8_t *bytes, uint32_t length);

/* offers.c */
uint32_t nopal__offers_bytes(const struct nopal_layer *layer);

/* endpoint.c */
void nopal__ready_push(struct nopal_core *core, const struct nopal_segment *segment);
void nopal__endpoint_forget(struct nopal_core *bottom);
void nopal__endpoint_unlink(struct nopal_core *bottom);
int nopal__endpoint_enter(struct nopal_core *bottom);
/* A copy that all sessions with the same callbacks share; NULL: no memory. */
const struct nopal_callbacks *nopal__callbacks_share(struct nopal_endpoint *endpoint,
						     const struct nopal_callbacks *callbacks);
void nopal__callbacks_unshare(struct nopal_endpoint *endpoint,
			      const struct nopal_callbacks *callbacks);

/* handshake.c: what arrives for no session */
uint64_t nopal__opening_key(const struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t peer_id);
/* A session for what speaks another protocol; NULL: no listener takes it. */
struct nopal_core *nopal__foreign_accept(struct nopal_endpoint *endpoint,
					 const struct nopal_address *from, const uint8_t *bytes,
					 uint32_t length);
void nopal__opening_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
void nopal__reply_receive(struct nopal_core *core, struct nopal_buffer *buffer, uint8_t *bytes,
			  uint32_t length);
void nopal__opening_pack(struct nopal_core *core, const struct nopal_segment *segment);

/* farewell.c: the peer says why its session ended; takes the segment */
void nopal__farewell_receive(struct nopal_core *bottom, struct nopal_segment *segment);

#endif
