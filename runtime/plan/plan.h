/* SPDX-License-Identifier: MIT */
/*
 * plan.h -- a built composition: what a checked config becomes, once, before any session of it
 * runs.  Immutable but for its references, and so shared by all its sessions, in whatever thread
 * they live.
 *
 * A layer holds per (event, kind) a flat array of calls, the masks of its barriers, its shared
 * variables and its timers.  Attributes and the header are the stack's: slots are numbered through
 * all layers, so a layer costs no header of its own.
 */
#ifndef NOPAL_PLAN_H
#define NOPAL_PLAN_H

#include <stdatomic.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

/* Wire codes of segment kinds: five bits. */
enum {
	NOPAL_KIND_DATA,	 /* a segment of a message */
	NOPAL_KIND_DATA_OPENING, /* the same, from a peer whose session id for us is not known */
	NOPAL_KIND_CONNECT,	 /* an opening request */
	NOPAL_KIND_REPLY,	 /* stateless, from a listener */
	NOPAL_KIND_ABORT,	 /* the peer ended its session */
	NOPAL_KIND_FIRST_OWN,	 /* microprotocols' kinds from here to before OWN_END */
	NOPAL_KIND_OWN_END = 27,
	NOPAL_KIND_ASK = 27,		 /* stateless: is there such a session? */
	NOPAL_KIND_RESET = 28,		 /* stateless: there is no such session */
	NOPAL_KIND_MULTICAST = 29,	 /* through a channel: of the layer above destinations */
	NOPAL_KIND_RENDEZVOUS = 30,	 /* an opening request to who asks the same of us */
	NOPAL_KIND_CONTROL_OPENING = 31, /* one of them, from a peer that does not know our id */
	NOPAL_KIND_ROOM = 32,
};

enum {
	NOPAL_EVENT_COUNT = NOPAL_CUSTOM,
	NOPAL_CUSTOM_ROOM = 16,		/* events that one session may create */
	NOPAL_SLOT_ROOM = 64,		/* attributes of a stack */
	NOPAL_URGENT = NOPAL_SLOT_ROOM, /* the property that needs no slot */
	NOPAL_HOLD_ROOM = 31,		/* bits of one barrier; the last is the runtime's */
	NOPAL_ID_BYTES = 4,
	NOPAL_FINGERPRINT_BYTES = 8,
	NOPAL_CHECK_BYTES = 8,
	NOPAL_UDP_BYTES = 28,	 /* IPv4 and UDP headers, part of the MTU */
	NOPAL_IPV6_MORE = 20,	 /* what the header of IPv6 is longer by */
	NOPAL_PATH_FLOOR = 1200, /* RFC 8899, BASE_PLPMTU: IP bytes */
};

/* The layer below reports a segment done by this bit of the done barrier; where there is none, the
 * runtime holds it while the segment leaves. */
#define NOPAL_HOLD_BELOW (UINT32_C(1) << 31)

/* How an endpoint finds a datagram's session. */
enum nopal_demux {
	NOPAL_DEMUX_ID,	     /* by the session id in it */
	NOPAL_DEMUX_ADDRESS, /* by its sender's address: no id in data */
	NOPAL_DEMUX_INTEROP, /* the same, and all is data */
};

struct nopal_arena;
struct nopal_composition;
struct nopal_fused;
struct watched_tables;

/* A handler, or below a timer; the part comes first in both (whereabouts.c). */
struct nopal_call {
	const struct nopal_part *part;
	union nopal_handler run;
};

struct nopal_calls {
	uint32_t count;
	struct nopal_call *call;
};

struct nopal_header {
	uint8_t count;
	uint32_t bytes; /* of the fields */
	struct nopal_field fields[NOPAL_SLOT_ROOM];
};

struct nopal_kind_plan {
	const char *name; /* NULL: no such kind */
	enum nopal_kind_class class;
	const struct nopal_part *part; /* whose kind; NULL: the runtime's */
	uint16_t around;
	/* 0: fields of fixed widths; 1: data in the format's own header; 2 + i: its i-th kind,
	 * likewise */
	uint8_t formatted;
	struct nopal_header header;
};

struct nopal_timer_plan {
	const struct nopal_part *part;
	const struct nopal_timer *timer;
};

struct nopal_shared_plan {
	const char *name;
	int64_t initial;
	bool written; /* false: only read, and so it stays */
};

struct nopal_layer {
	const char *name;
	const struct nopal_plan *plan;
	uint8_t index;			/* 0 is the top */
	uint8_t first_part, part_count; /* in plan->parts */
	struct nopal_calls calls[NOPAL_EVENT_COUNT][NOPAL_KIND_ROOM];
	struct nopal_call *call_store;
	uint32_t hold[3][NOPAL_KIND_ROOM]; /* bits held when a segment is made */
	uint32_t rearm[NOPAL_KIND_ROOM];   /* send bits held again after a transmission */
	uint32_t deliver;		   /* bits held when a message arrives */
	bool tracks;			   /* somebody waits for the status of what leaves */
	/* Above it is a layer, and nobody here looks at messages on their way up; down, where each
	 * is one segment. */
	bool rises, sinks;
	/* Below it is a layer, and nobody here waits for data that has left. */
	bool lets_go;
	const char *hold_why[NOPAL_BARRIERS][NOPAL_HOLD_ROOM + 1];
	const struct nopal_part *hold_part[NOPAL_BARRIERS][NOPAL_HOLD_ROOM + 1];
	uint32_t shared_count;
	struct nopal_shared_plan *shared;
	uint32_t timer_count;
	struct nopal_timer_plan *timers;
	/* of one instance: struct nopal_awake, states, shared variables, serials, timers */
	uint32_t awake_bytes;
	uint32_t shared_at, serial_at, timers_at;
	uint64_t *fresh;	    /* it, as it begins */
	uint8_t packet_number_slot; /* 0: nobody in the layer reads it */
	/* A message here is a segment of the layer above: its kind there.  0: the application is
	 * above. */
	uint8_t above_kind_slot;
	uint32_t kinds; /* a bit each: data, and its microprotocols' own */
	/* Of a data segment of the layer, at most, on the widest path; and of any segment of it,
	 * where a layer is below it. */
	uint32_t body_bytes, below_takes;
	struct nopal_header coded;	     /* of data, for redundancy to code over */
	const struct nopal_part *connection; /* role; NULL: nobody */
};

struct nopal_plan {
	atomic_uint references;	   /* of sessions in any thread */
	struct nopal_arena *arena; /* of all here, until it is built */
	struct nopal_plan_info info;
	uint32_t layer_count, part_count;
	struct nopal_layer *layers;
	struct nopal_part *parts; /* top layer's first, in the config's order */
	/* Copies of parts, each with the argument of a binding. */
	struct nopal_part **argued;
	size_t argued_count;
	uint32_t slot_count; /* attributes; slot 0 is the absent one */
	const char *slot_name[NOPAL_SLOT_ROOM];
	uint64_t properties;		    /* slots that applications set, a bit each */
	uint8_t serial_of[NOPAL_SLOT_ROOM]; /* reference index + 1, or 0 */
	uint32_t serial_count;
	uint8_t destination_slot; /* whom a segment is for, or came from */
	uint8_t destinations;	  /* index of the layer of them; 0: there is none */
	bool channel;		  /* and the one above it may speak to all at once */
	bool host_streams;	  /* and an address may stand there several times */
	bool delivers;		  /* what the application sends arrives, or the end says so */
	uint8_t stream_slot;	  /* which stream of the flow below it is */
	uint8_t flow;		  /* index of the layer that many stand on; 0: none is */
	bool flow_shared;	  /* by sessions that are opened apart */
	uint32_t flow_idle;	  /* 1 + its shared variable app_limited; 0: none */
	struct nopal_kind_plan kinds[NOPAL_KIND_ROOM];
	struct nopal_header serials;		 /* of data, those of upper layers */
	const struct nopal_part *seal;		 /* NULL: none */
	const struct nopal_part *format;	 /* of data headers; NULL: ours */
	uint8_t format_code[NOPAL_FORMAT_KINDS]; /* wire codes of its kinds */
	const struct nopal_part *admission;	 /* NULL: connectionless */
	enum nopal_demux demux;
	bool many_paths;		 /* role parallel_paths, or path_change */
	bool follows_peer;		 /* role path_change */
	uint32_t head_bytes;		 /* before the fields: first byte, session id */
	struct nopal_plan_field *fields; /* of a data datagram, for people */
	uint32_t field_count;
	uint32_t header_bytes, trailer_bytes; /* of a data datagram */
	uint32_t data_field_bytes;	      /* most that the fields of data take */
	uint32_t datagram_bytes;	      /* longest UDP payload */
	/* The least that a path takes; longest where nobody asks the path. */
	uint32_t path_floor;
	struct nopal_budget budget;
	struct nopal_composition *composition; /* owns all of this */
	/* Set once, when the first session is about to be made (fused.c). */
	atomic_bool fused_settled;
	const struct nopal_fused *fused; /* NULL: interpreted */
	uint64_t fused_shape;		 /* that the unit must have */
	const char *fused_file;		 /* that is to be loaded; NULL: none */
	const char *fused_text;		 /* for people: which unit, or why none */
	/* The same, where loading it fails; and where it failed, or was not wanted. */
	const char *fused_unloadable, *fused_failed;
	struct watched_tables *watched; /* watch.c; NULL: it is not */
	void (*watched_free)(struct watched_tables *watched);
};

/* Those fields that `wanted` gives; 0: as it was. */
static inline void nopal__budget_set(struct nopal_budget *budget, const struct nopal_budget *wanted)
{
	if (wanted->bytes)
		budget->bytes = wanted->bytes;
	if (wanted->objects)
		budget->objects = wanted->objects;
	if (wanted->send_bytes)
		budget->send_bytes = wanted->send_bytes;
	if (wanted->unsent_bytes)
		budget->unsent_bytes = wanted->unsent_bytes;
	if (wanted->unsent_messages)
		budget->unsent_messages = wanted->unsent_messages;
	if (wanted->hold_ns)
		budget->hold_ns = wanted->hold_ns;
}

/* The layer's first part that provides the role; NULL: none does. */
const struct nopal_part *nopal__provider(const struct nopal_layer *layer, const char *role);

/* The composite that is made of a layer: engine/composite.c. */
struct nopal_instance {
	uint32_t head_bytes;  /* before the states of its parts */
	uint32_t timer_bytes; /* of each timer's state */
	uint32_t own_timers;  /* the runtime's, behind the layer's */
	/* Fills the head and the timers of the image of a fresh one. */
	void (*begin)(const struct nopal_layer *layer, void *fresh);
};
extern const struct nopal_instance nopal__instance;

#endif
