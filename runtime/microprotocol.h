/* SPDX-License-Identifier: MIT */
/*
 * microprotocol.h -- what an author of a microprotocol needs; nothing else.
 *
 * A microprotocol is one file: a head comment (its manual page), a state
 * struct, handlers, and a const descriptor `nopal_NAME` that declares all it
 * does.  A composition is checked, explained and drawn from descriptors alone;
 * handlers run only in a sealed one.  Start from docs/write-a-microprotocol.md.
 *
 * Time is int64_t nanoseconds.  A session is single threaded; a handler runs
 * to completion.  Nothing here blocks, reads a clock or does I/O.
 *
 *                      state of an outgoing segment
 *
 *   new -> waiting --send barrier--> away --done barrier--> done
 *             ^                       |                      |
 *             +---- resend (epoch+1) -+      deallocate barrier, then freed
 *
 * Four rules guard the barriers (docs/architecture.md):  a departure re-arms
 * every send bit that is not sticky (epoch); stale handles name nothing
 * (generation); no send after done; only its owner releases a bit, once an
 * epoch (owner).
 */
#ifndef NOPAL_MICROPROTOCOL_H
#define NOPAL_MICROPROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "structures.h"

#define NOPAL_ABI 4u /* a plugin built for another is refused */

#define NOPAL_MICROSECOND INT64_C(1000)
#define NOPAL_MILLISECOND INT64_C(1000000)
#define NOPAL_SECOND	  INT64_C(1000000000)
#define NOPAL_NEVER	  INT64_MAX

struct nopal_session;
struct nopal_part;
struct nopal_segment;
struct nopal_message;
struct nopal_problems;
struct nopal_awake;

/* ------------------------------------------------------------------ events */

enum nopal_event {
	NOPAL_NO_EVENT,
#define EVENT(name, type, doc) NOPAL_##name,
#include "events.def"
#undef EVENT
	NOPAL_CUSTOM, /* first of the events that a session creates itself */
};

enum nopal_verdict {
	NOPAL_CONTINUE,
	NOPAL_STOP, /* later handlers of this raise do not see the event */
};

/* Why a session ended.  NOPAL_ENDED_WELL is the only good end. */
enum nopal_end {
	NOPAL_ENDED_WELL,
	NOPAL_REFUSED, /* the peer has no such composition: text is the diff */
	NOPAL_UNREACHABLE,   /* no answer within the attempts or the timeout */
	NOPAL_PEER_LOST,     /* an open session's peer fell silent */
	NOPAL_GAVE_UP,	     /* a segment used up its attempts */
	NOPAL_ABORTED,	     /* nopal_session_abort(), here or at the peer */
	NOPAL_RESOURCE,	     /* over the session's budget */
	NOPAL_RUNTIME_LIMIT, /* handlers nested or stormed beyond the limit */
};

/* Argument of SESSION_BROKEN. */
struct nopal_failure {
	enum nopal_end end;
	const char *text; /* for people; valid during the raise */
};

/* One of those to whom a layer with `multiplicity = per_destination` speaks, as the
 * layer above it sees it: a session of its own. */
struct nopal_destination {
	uint32_t id;  /* counts from 1 in its group, and is not used again */
	bool open;    /* it was reached; what is sent before waits for that */
	bool removed; /* by the application: nobody waits for it any more */
	bool paused;  /* set by the role fan_out: it gets nothing meanwhile */
	bool ended;   /* nothing reaches it any more */
	bool hears;   /* data for all reaches it through the channel */
	enum nopal_end end; /* at DESTINATION_ENDED: why, and in words */
	const char *text;
	/* Bytes of bodies that left for it, once each, and of these, how many it is
	 * known to have. */
	uint64_t given_bytes, arrived_bytes;
	uint64_t note[4]; /* of the role destination_choice; 0 at first */
	/* Where the group has a channel: of the role channel_repair, and then of a
	 * congestion policy. */
	uint64_t channel[];
};
enum { NOPAL_REPAIR_WORDS = 6, NOPAL_PACE_WORDS = 4 };
static inline uint64_t *nopal_repair(struct nopal_destination *destination)
{
	return destination->channel;
}
static inline uint64_t *nopal_pace(struct nopal_destination *destination)
{
	return destination->channel + NOPAL_REPAIR_WORDS;
}
static inline bool
nopal_destination_takes(const struct nopal_destination *destination)
{
	return !destination->removed && !destination->paused &&
	       !destination->ended;
}
/* Argument of COPY_DONE.  `segment->copies` are those that are open after it. */
struct nopal_copy {
	struct nopal_segment *segment;
	struct nopal_destination *destination;
	int fate;	 /* enum nopal_fate: has it all of it? */
	int64_t took_ns; /* since the segment's last departure */
};

/* Argument of CHANNEL_REPORT: what came since the one before. */
struct nopal_channel_report {
	struct nopal_destination *destination;
	uint64_t arrived, missing; /* segments */
	int64_t rtt_ns;		   /* smoothed; 0: not known yet */
};

/* Argument of RATE_FROM_USER. */
struct nopal_rate {
	uint64_t bps; /* bits of bodies a second; 0: no limit */
};

/* A number that names a segment or message only while it lives. */
struct nopal_handle {
	uint32_t index;
	uint32_t generation; /* odd while alive */
};

/* Argument of ACK_FROM_NET and ACK_PROCESSED.  The two are one object: its
 * totals are complete at ACK_PROCESSED. */
struct nopal_ack {
	uint64_t largest;	 /* packet number that the peer saw last */
	int64_t largest_sent_ns; /* departure of `largest`; -1: not known */
	int64_t delay_ns;	 /* how long the peer sat on it */
	uint64_t floor;	     /* the peer needs no segment below this number */
	bool selective;	     /* what lies above the floor was reported too */
	bool largest_is_new; /* `largest` grew: its round trip is a sample */
	struct nopal_handle
		floor_segment; /* outstanding at the floor; generation 0: none */
	uint32_t newly_acked_segments;
	uint64_t newly_acked_bytes; /* bodies, this ack */
	/* `largest` follows from the floor: its segment is there, be it that
	 * redundancy made it. */
	bool inferred;
};

/* Argument of RECEIVE_POSTED: the application waits for a message. */
struct nopal_receive {
	uint64_t tag,
		mask; /* of messages whose tag is equal where the mask is set */
	uint64_t cookie; /* the application's own name for it */
	int refused;	 /* negative errno value: nobody waits for it */
};

#define EVENT(name, type, doc)                                                 \
	typedef enum nopal_verdict nopal_##name##_handler(                     \
		struct nopal_session *session, const struct nopal_part *part,  \
		type *subject);
#include "events.def"
#undef EVENT
typedef enum nopal_verdict nopal_custom_handler(struct nopal_session *session,
						const struct nopal_part *part,
						void *subject);

union nopal_handler {
#define EVENT(name, type, doc) nopal_##name##_handler *name;
#include "events.def"
#undef EVENT
	nopal_custom_handler *custom;
};

/* Raise synchronously: nested, depth first, returns when all have run. */
#define EVENT(name, type, doc)                                                 \
	void nopal_raise_##name(struct nopal_session *session, type *subject);
#include "events.def"
#undef EVENT

/* A delayed raise that can be cancelled; 0 names none. */
typedef uint64_t nopal_token;

/* Raise asynchronously: after the current event, first in first out.  A
 * segment or message that is gone by then is a counted no-op. */
#define EVENT(name, type, doc)                                                 \
	void nopal_queue_##name(struct nopal_session *session, type *subject);
#include "events.def"
#undef EVENT

/* Raise when `delay_ns` has passed. */
#define EVENT(name, type, doc)                                                 \
	nopal_token nopal_delay_##name(struct nopal_session *session,          \
				       type *subject, int64_t delay_ns);
#include "events.def"
#undef EVENT
void nopal_cancel(struct nopal_session *session, nopal_token token);

/* Events of a session's own.  Create returns the event's number, or a negative
 * error where the name exists or there are too many; delete forgets its
 * handlers.  `name` must outlive the session. */
int nopal_event_create(struct nopal_session *session, const char *name);
int nopal_event_find(struct nopal_session *session, const char *name);
void nopal_event_delete(struct nopal_session *session, int event);
void nopal_raise_custom(struct nopal_session *session, int event,
			void *subject);

/* Let others run before this handler goes on: the events that are queued, and
 * timers that are due.  Find segments and messages anew after it.  False: the
 * session ended meanwhile. */
bool nopal_yield(struct nopal_session *session);

/* ------------------------------------------------------- what is declared */

/* Which kinds of segment a binding, a hold or an attribute is about. */
enum nopal_kinds {
	NOPAL_DATA,	  /* segments of messages; the default */
	NOPAL_CARRIED,	  /* data, and every kind declared NOPAL_KIND_CARRIED */
	NOPAL_EVERY_KIND, /* control too */
	NOPAL_REPLIES,	  /* stateless replies of a listener, to the opener */
	NOPAL_OWN_KIND,	  /* NOPAL_OWN_KIND + i: the i-th kind declared here */
};

/* One handler of one event.  Order is by roles, never by number. */
struct nopal_binding {
	enum nopal_event event; /* NOPAL_NO_EVENT ends the table */
	union nopal_handler run;
	unsigned kinds; /* enum nopal_kinds; segment events only */
	const char
		*before; /* (optional) role or microprotocol that runs later */
	const char
		*after; /* (optional) role or microprotocol that ran already */
	const void *argument; /* (optional) static argument: part->argument */
};

#define NOPAL_ON(name, handler, ...)                                           \
	{                                                                      \
		.event = NOPAL_##name, .run.name = (handler), __VA_ARGS__      \
	}

enum nopal_barrier {
	NOPAL_SEND,   /* a segment leaves when all send bits are released */
	NOPAL_FINISH, /* the done bits: SEGMENT_DONE when all are released */
	NOPAL_DEALLOCATE, /* the segment is freed when all are released */
	NOPAL_DELIVER,	  /* the send bits of a message on its way up */
	NOPAL_BARRIERS,
};

/* One bit in a barrier of every segment (or arriving message) of the session. */
struct nopal_hold {
	const char *why; /* what is waited for; NULL ends the table */
	enum nopal_barrier barrier;
	unsigned kinds; /* enum nopal_kinds: NOPAL_DATA, NOPAL_CARRIED, own */
	bool sticky;	/* send bits: one release serves all departures */
};

enum nopal_access {
	NOPAL_WRITE, /* sets it: one writer in a composition */
	NOPAL_READ,  /* needs it: a composition without a writer is refused */
	NOPAL_READ_OPTIONAL, /* reads `initial` where nobody writes it */
	NOPAL_PROPERTY, /* of messages: the application sets it, see nopal_send_with */
};

/* A named 64-bit field of messages and segments.  A segment starts with the
 * attributes of its message, an arriving message with those of its first
 * segment.  With `wire_bytes` it travels. */
struct nopal_attribute {
	const char *name; /* NULL ends the table */
	enum nopal_access access;
	uint8_t wire_bytes; /* writer: 0 local, else 1..8 bytes of header */
	unsigned kinds;	    /* on which kinds it travels */
	bool serial; /* a counter, truncated on the wire; see nopal_serial_seen */
	const char *
		when; /* (optional) name of the on/off parameter that puts it on the wire */
	const char *doc;
};

/* A session-wide int64_t with one writer.  Names carry their unit. */
struct nopal_shared {
	const char *name; /* NULL ends the table */
	enum nopal_access access;
	int64_t initial; /* writer: start value; optional reader: value without writer */
	const char *doc;
};

enum nopal_kind_class {
	NOPAL_KIND_CONTROL, /* leaves at once, past all barriers */
	NOPAL_KIND_CARRIED, /* goes through SEGMENT_TO_NET and the send barrier */
	NOPAL_KIND_OPENING, /* may reach a listener that has no session yet */
	NOPAL_KIND_ANSWER, /* control; the listener's opens the opener, who can read nothing else yet */
};

/* A kind of segment besides data. */
struct nopal_kind {
	const char *name; /* NULL ends the table */
	enum nopal_kind_class class;
	const char *doc;
	uint16_t
		around; /* carried: its body is a packed data segment and this many bytes; 0: unrelated */
};

typedef void nopal_timer_handler(struct nopal_session *session,
				 const struct nopal_part *part);

struct nopal_timer {
	const char *name; /* NULL ends the table */
	nopal_timer_handler *expired;
};

enum nopal_unit {
	NOPAL_COUNT, /* a bare number */
	NOPAL_TIME,  /* ns us ms s min h -> nanoseconds */
	NOPAL_SIZE, /* B kB KiB MB MiB GB GiB, or seg: full segments -> bytes */
	NOPAL_RATE, /* bit kbit Mbit Gbit (per second) -> bits per second */
	NOPAL_PERCENT, /* % -> parts per million */
	NOPAL_SWITCH,  /* on | off -> 1 | 0 */
	NOPAL_WORD,    /* one of `choices` -> its index */
	NOPAL_FILE, /* path of a file, beside the config that names it -> 1; "" -> 0 */
	NOPAL_ADDRESS, /* 239.1.2.3:9000 -> the address, and below it 16 bits of port */
};

/* A key of the microprotocol's config section; the value is an int64_t at
 * `offset` in its parameters. */
struct nopal_parameter {
	const char *name; /* NULL ends the table */
	enum nopal_unit unit;
	size_t offset;
	const char *initial;	  /* as one would write it in a config */
	const char *least, *most; /* (optional) range, inclusive, as written */
	const char *choices;	  /* NOPAL_WORD: "reno|newreno|tahoe" */
	bool wire; /* both peers must have the same value: part of the fingerprint */
	const char *doc;
};

/* A role, or the name of a microprotocol; alternatives are joined by '|'. */
struct nopal_relation {
	const char *role;    /* NULL ends the table */
	const char *because; /* shown to the user where it does not hold */
	const char *
		unless; /* (optional) excludes: its on/off parameter that lifts it */
};

struct nopal_role {
	const char *name; /* NULL ends the table */
	bool exclusive;	  /* at most one provider in a layer */
};

/* A sealing stage: the last to touch a datagram that leaves, the first to
 * touch one that arrives.  `overhead` trailing bytes belong to it.  It may change
 * all bytes but the first NOPAL_CLEAR_BYTES, and must change nothing else of the
 * session before it knows that a datagram is the peer's. */
enum {
	NOPAL_CLEAR_BYTES = 5
}; /* version and kind, the receiver's session id */
struct nopal_seal {
	uint32_t overhead;
	/* Fill the `overhead` bytes behind `bytes[0..length)`.  Datagrams are
	 * closed in the order in which they leave, and some time after their
	 * SEND_SEGMENT. */
	void (*close)(struct nopal_session *session,
		      const struct nopal_part *part, uint8_t *bytes,
		      size_t length);
	/* Is the trailer behind bytes[0..length) good? */
	bool (*open)(struct nopal_session *session,
		     const struct nopal_part *part, uint8_t *bytes,
		     size_t length);
};

/* Codecs: one cursor, one sticky error.  Numbers are big endian. */
struct nopal_reader {
	const uint8_t *at, *end;
	bool bad; /* something was short or not canonical: all reads give 0 */
};
struct nopal_writer {
	uint8_t *start, *at, *end;
	bool full; /* something did not fit: nothing more is written */
};

uint64_t nopal_read(struct nopal_reader *reader, unsigned bytes); /* 1..8 */
uint64_t
nopal_read_varint(struct nopal_reader *reader); /* shortest form only */
const uint8_t *nopal_read_bytes(struct nopal_reader *reader, size_t length);
size_t nopal_read_left(const struct nopal_reader *reader);
/* All was there, all was used, all was canonical. */
bool nopal_read_complete(const struct nopal_reader *reader);
void nopal_write(struct nopal_writer *writer, uint64_t value, unsigned bytes);
void nopal_write_varint(struct nopal_writer *writer, uint64_t value);
void nopal_write_bytes(struct nopal_writer *writer, const void *bytes,
		       size_t length);

/* One field of a header. */
struct nopal_field {
	uint8_t slot; /* of the attribute: segment->attribute[slot] */
	uint8_t bytes;
	bool serial;
	uint8_t reference; /* index of a serial attribute's reference in a session */
	uint8_t layer;	   /* whose sessions have that reference */
};

/* A kind of segment, as its microprotocol named it. */
struct nopal_format_kind {
	const char *microprotocol, *kind;
};
enum { NOPAL_FORMAT_KINDS = 8 /* of one format, at most */ };

/* A wire format of one's own for the headers of data segments.  A foreign one is
 * that of another protocol: datagrams have neither our first byte nor a session
 * id, and belong to the session with their sender's address; nothing but data and
 * the kinds that it names travels, so a composition that sends others, or
 * attributes that it does not carry, is refused. */
struct nopal_format {
	bool foreign;
	/* Foreign: bytes of its longest header.  Else what its longest one has
	 * beyond all fields of the composition. */
	uint32_t bytes;
	/* (optional) Foreign: attributes that it carries, NULL-ended. */
	const char *const *carries;
	/* Writes the header of a segment that leaves. */
	void (*pack)(struct nopal_session *session,
		     const struct nopal_part *part,
		     const struct nopal_segment *segment,
		     struct nopal_writer *writer);
	/* Reads the header of one that arrived; the rest is its body.  False: it is
	 * not of this format, or not to be understood, and is dropped. */
	bool (*unpack)(struct nopal_session *session,
		       const struct nopal_part *part,
		       struct nopal_segment *segment,
		       struct nopal_reader *reader);
	/* (optional) Foreign: may this datagram open a session at a listener?
	 * Where the composition has an admission, only one of a kind of class
	 * NOPAL_KIND_OPENING may, and the request's body is the datagram; else
	 * only data may. */
	bool (*opens)(const struct nopal_part *part,
		      struct nopal_reader datagram);
	/* (optional) Foreign: kinds that have its header, too, NULL-ended. */
	const struct nopal_format_kind *kinds;
	/* (with kinds) Which of them a datagram seems to be, negative: data; unpack
	 * judges it as such. */
	int (*kind_of)(const struct nopal_part *part,
		       struct nopal_reader datagram);
};
/* For pack and unpack: which of its format's kinds it is; negative: data. */
int nopal_format_kind_of(const struct nopal_session *session,
			 const struct nopal_segment *segment);
/* The fields of a data segment, in order: what a format of one's own carries,
 * or leaves out because the peer knows. */
const struct nopal_field *nopal_data_fields(const struct nopal_session *session,
					    unsigned *ret_count);
/* The number that the low bytes of a serial field mean. */
uint64_t nopal_field_expand(const struct nopal_session *session,
			    const struct nopal_field *field,
			    uint64_t truncated);

/* A request to open, as a listener without a session sees it. */
struct nopal_request {
	uint32_t peer_id;     /* the session id that the opener chose */
	uint64_t fingerprint; /* of the composition, already matched */
	struct nopal_reader body;
	size_t datagram_bytes; /* a reply must be smaller */
	int64_t now_ns;
	uint32_t offer_bytes; /* of the composition's offers, in the body */
	const void *private;  /* of the runtime */
	uint32_t
		half_open; /* sessions of the endpoint that peers began and that are not open yet */
};

enum nopal_admission_verdict {
	NOPAL_ADMIT_DROP, /* say nothing; what a zeroed answer means */
	NOPAL_ADMIT_REPLY,
	NOPAL_ADMIT_ACCEPT, /* make a session; it sees the request as its first segment */
};

/* (optional) Decides on requests without keeping state. */
struct nopal_admission {
	enum nopal_admission_verdict (*admit)(const struct nopal_part *part,
					      struct nopal_request *request,
					      struct nopal_writer *reply);
	/* (optional) The peer of `session` asks for what the session asks of it:
	 * one of the two gives way.  ACCEPT: ours is a listener's from now on,
	 * and sees the request as one's first segment. */
	enum nopal_admission_verdict (*meet)(struct nopal_session *session,
					     const struct nopal_part *part,
					     struct nopal_request *request,
					     struct nopal_writer *reply);
};
/* Keyed hash over the opener's address and id, `epoch` and `extra`: only this
 * endpoint can make it. */
uint64_t nopal_request_mac(const struct nopal_request *request, uint64_t epoch,
			   uint64_t extra);

/* What a part says to its peer's while a session opens, before any segment: the
 * role connection carries the opener's bytes in its request and the listener's in
 * its answer, and does not know what they mean. */
struct nopal_opening { /* as both sides know it, proofs of address left out */
	const uint8_t *request, *answer;
	size_t request_length, answer_length;
};
struct nopal_offer {
	uint32_t bytes; /* of each: 1 to NOPAL_OFFER_MOST */
	/* Ours: the same however often. */
	void (*write)(struct nopal_session *session,
		      const struct nopal_part *part, uint8_t *bytes);
	/* The peer's, and its repetitions.  False: it cannot be taken, and
	 * nothing has changed. */
	bool (*read)(struct nopal_session *session,
		     const struct nopal_part *part, const uint8_t *bytes);
	/* (optional) Once, when both offers were read.  At the listener the answer
	 * leaves next, at the opener the session opens; false: neither does. */
	bool (*agreed)(struct nopal_session *session,
		       const struct nopal_part *part,
		       const struct nopal_opening *opening);
};
enum { NOPAL_OFFER_MOST = 64, NOPAL_OFFERS_MOST = 256 /* of all parts */ };
/* For the role connection: all offers of its layer, in an order that both sides
 * have; the read takes so many bytes of the reader. */
uint32_t nopal_offers_bytes(const struct nopal_session *session);
void nopal_offers_write(struct nopal_session *session,
			struct nopal_writer *writer);
bool nopal_offers_read(struct nopal_session *session,
		       struct nopal_reader *reader);
bool nopal_offers_agreed(struct nopal_session *session,
			 const struct nopal_opening *opening);
/* First byte of a datagram of class NOPAL_KIND_ANSWER; 0: there is no such kind. */
uint8_t nopal_answer_byte(const struct nopal_session *session);

struct nopal_microprotocol {
	unsigned abi;	       /* (required) NOPAL_ABI */
	const char *name;      /* (required) config word, file and symbol */
	const char *family;    /* (required) base status reliability flow ... */
	const char *summary;   /* (required) one line */
	unsigned wire_version; /* raise it when the wire meaning changes */
	/* It keeps nothing of a peer: it may stand above many destinations. */
	bool many;

	const struct nopal_role *provides;
	const struct nopal_relation *needs;
	const struct nopal_relation *excludes;

	size_t parameters_size;
	const struct nopal_parameter *parameters;
	/* (optional) Cross-check parameters; add problems, change nothing. */
	void (*validate)(const void *parameters,
			 struct nopal_problems *problems);

	const struct nopal_attribute *attributes;
	const struct nopal_shared *shared;
	const struct nopal_kind *kinds;
	const struct nopal_hold *holds;
	const struct nopal_timer *timers;
	const struct nopal_binding *bindings;
	const char *const
		*raises; /* events that its handlers raise; NULL ends */

	size_t state_size; /* zeroed before open */
	/* (optional) Set up state; negative: the session does not open.  Other
	 * instances may not be there yet: raise nothing here. */
	int (*open)(struct nopal_session *session,
		    const struct nopal_part *part);
	/* (optional) Nothing is under way, and nothing happened for a while: give
	 * back by nopal_free() what the next message can make again.  Raises and
	 * sends nothing.  Then state may move: nothing may point into it. */
	void (*rest)(struct nopal_session *session,
		     const struct nopal_part *part);
	/* (optional) Release what nopal_alloc() did not give. */
	void (*close)(struct nopal_session *session,
		      const struct nopal_part *part);

	const struct nopal_seal *seal;
	const struct nopal_format *format;
	const struct nopal_offer *offer;
	const struct nopal_admission *admission;
	/* (optional) Role message_segments: longest message, where one segment of
	 * `body_bytes` is not the limit. */
	uint64_t (*message_limit)(const void *parameters, uint32_t body_bytes);
};

/* A problem of this microprotocol's parameters; the runtime adds file, line. */
void nopal_problem(struct nopal_problems *problems, const char *parameter,
		   const char *cause, const char *fix);

/* -------------------------------------------- a microprotocol in its plan */

enum {
	NOPAL_MAX_KINDS = 4,	  /* of one microprotocol */
	NOPAL_MAX_ATTRIBUTES = 8, /* used by one microprotocol */
	NOPAL_MAX_SHARED = 12,	  /* used by one microprotocol */
};

/* A microprotocol as placed in a sealed composition: const, one for all
 * sessions of the plan. */
struct nopal_part {
	const struct nopal_microprotocol *microprotocol;
	const void *parameters; /* its parameters struct, in base units */
	const void *argument;	/* static argument of a run-time binding */
	uint32_t state;		/* offset of its state in a session */
	uint8_t index;		/* place in the plan */
	uint8_t first_timer;
	uint8_t kind[NOPAL_MAX_KINDS];		 /* wire codes of its kinds */
	uint8_t attribute[NOPAL_MAX_ATTRIBUTES]; /* slots; 0: absent, reads 0 */
	uint8_t shared[NOPAL_MAX_SHARED];	 /* slots */
	uint32_t hold[NOPAL_BARRIERS]; /* its bit in each barrier, or 0 */
};

/* ---------------------------------------------------- session, as seen here */

struct nopal_session {
	int64_t now_ns;	 /* read once per batch; the same for a whole turn */
	int64_t *shared; /* shared variables by slot */
	struct nopal_awake *awake; /* states lie in it */
				   /* the runtime's part follows */
};

#define nopal_state(session, part)                                             \
	((void *)((char *)(session)->awake + (part)->state))
#define nopal_parameters(part) ((part)->parameters)
/* What was in the file that parameter `which` of the microprotocol's table names,
 * when the config was read; NULL: it names none. */
const uint8_t *nopal_file(const struct nopal_session *session,
			  const struct nopal_part *part, unsigned which,
			  size_t *ret_length);

/* Shared variables: `which` is the index in the microprotocol's own table. */
#define nopal_shared(session, part, which)                                     \
	((session)->shared[(part)->shared[which]])
#define nopal_share(session, part, which, value)                               \
	((session)->shared[(part)->shared[which]] = (value))

/* Attributes of a segment or message; `which` as above. */
#define nopal_get(item, part, which)                                           \
	((item)->attribute[(part)->attribute[which]])
#define nopal_set(item, part, which, value)                                    \
	((item)->attribute[(part)->attribute[which]] = (value))
#define nopal_has(part, which) ((part)->attribute[which] != 0)

/* A serial attribute's owner says which value it accepted last: truncated
 * values on the wire are decoded to the nearest number. */
void nopal_serial_seen(struct nopal_session *session,
		       const struct nopal_part *part, unsigned which,
		       uint64_t value);

/* A 64-bit draw from the session's own stream: deterministic in `sim`.  Who has
 * seen some of its draws can tell the others: not for keys. */
uint64_t nopal_random(struct nopal_session *session);
/* Bytes for keys: the operating system's, in `sim` from the seed.  Dear. */
void nopal_random_bytes(struct nopal_session *session, void *bytes,
			size_t length);

/* Memory of the session, charged to its budget, released at its end.  NULL
 * when over budget.  Not for the packet path. */
void *nopal_alloc(struct nopal_session *session, size_t bytes);
void nopal_free(struct nopal_session *session, void *memory);

/* Declared timers.  `which` is the index in the microprotocol's table.  A
 * start replaces the running one; ties fire in the order of their starts. */
void nopal_timer_start(struct nopal_session *session,
		       const struct nopal_part *part, unsigned which,
		       int64_t deadline_ns);
void nopal_timer_stop(struct nopal_session *session,
		      const struct nopal_part *part, unsigned which);
bool nopal_timer_running(struct nopal_session *session,
			 const struct nopal_part *part, unsigned which);

/* Bind and unbind at run time.  A raise in progress keeps its handlers. */
int nopal_bind(struct nopal_session *session, const struct nopal_part *part,
	       const struct nopal_binding *binding);
void nopal_unbind(struct nopal_session *session, const struct nopal_part *part,
		  const struct nopal_binding *binding);
int nopal_bind_custom(struct nopal_session *session,
		      const struct nopal_part *part, int event,
		      nopal_custom_handler *handler, const void *argument);

/* Session life, for the role `connection` and for those who detect its end. */
bool nopal_session_is_opener(const struct nopal_session *session);
bool nopal_session_is_open(const struct nopal_session *session);
/* Does its peer open towards us, too?  Who is the opener then is open until both
 * have met. */
bool nopal_session_meets(const struct nopal_session *session);
void nopal_session_opened(
	struct nopal_session *session); /* raises SESSION_OPENED */
void nopal_session_peer_closed(struct nopal_session *session);
void nopal_session_closed(struct nopal_session *session);
void nopal_session_break(struct nopal_session *session, enum nopal_end end,
			 const char *text);
/* Asks the application, which knows the network or its owner, for a rate: what it
 * granted, in bits of bodies a second; 0: refused, or it knows of none. */
int64_t nopal_session_reserve(struct nopal_session *session, int64_t bps);
uint32_t nopal_session_local_id(const struct nopal_session *session);
/* 0 where it is not known: an opener's, before the answer. */
uint32_t nopal_session_peer_id(const struct nopal_session *session);
void nopal_session_set_peer_id(struct nopal_session *session, uint32_t id);
/* Name and canonical text of the composition, for an opening request. */
const char *nopal_session_composition(const struct nopal_session *session);

/* What the application may have unfinished, of its budget at most, from now on; 0: all
 * of that.  What it has already stays.  Nobody asks below another layer. */
void nopal_send_limit_set(struct nopal_session *session, uint64_t bytes);

/* Body bytes that fit in one data segment on this path, header deducted.  Where
 * somebody has the role path_limit it changes with time. */
uint32_t nopal_body_limit(const struct nopal_session *session);
/* The same for a control kind of this part. */
uint32_t nopal_control_limit(const struct nopal_session *session,
			     const struct nopal_part *part, unsigned kind);
/* The largest that nopal_body_limit may become, at either end. */
uint32_t nopal_body_most(const struct nopal_session *session);
/* Bytes of the longest datagram (UDP payload): on this path, and on the best one
 * that the composition allows. */
uint32_t nopal_path_limit(const struct nopal_session *session);
uint32_t nopal_path_most(const struct nopal_session *session);
/* Role path_limit: what the path takes from now on, but no more than
 * nopal_path_most, and no less than what an IP packet of 1200 bytes holds.  What
 * was cut longer stays so, and leaves in fragments of IP. */
void nopal_path_limit_set(struct nopal_session *session,
			  uint32_t datagram_bytes);

/* What the header of IP says of congestion: RFC 3168, section 5. */
enum nopal_ecn {
	NOPAL_NOT_ECT, /* the sender understands no marks */
	NOPAL_ECT_1,
	NOPAL_ECT_0,
	NOPAL_CE, /* marked: congestion, in place of a loss */
};
/* What the session's datagrams say from now on; NOPAL_NOT_ECT at first. */
void nopal_path_ecn_set(struct nopal_session *session, enum nopal_ecn ecn);

/* Paths beside the first one, which is number 0, where somebody has the role
 * parallel_paths: all that leaves, leaves by each path that is open.  Those that
 * the application gave are open.  Others are learnt from what arrives; they are
 * closed until the part with the role, having seen that the peer is there, opens
 * them, and one that was silent for NOPAL_PATH_SILENCE_NS gives its number to the
 * next that comes. */
enum {
	NOPAL_PATHS_MOST = 4,
	NOPAL_PATH_CHANNEL = UINT8_MAX - 1,
	NOPAL_PATH_NONE = UINT8_MAX
};
#define NOPAL_PATH_SILENCE_NS (3 * NOPAL_SECOND)
bool nopal_path_is_open(const struct nopal_session *session, unsigned path);
void nopal_path_open(struct nopal_session *session, unsigned path);

/* Above a flow that others stand on, too: FLOW_TURN follows, in the order of asking,
 * when nothing waits to leave the flow any more, by its variable app_limited; where
 * nobody writes that, at the end of the turn.  Asked again within FLOW_TURN it says that
 * more waits than the turn takes; then, as where others wait, app_limited is 0. */
void nopal_flow_wait(struct nopal_session *session);

/* Above a layer of destinations: who they are now, by their age, and which of them
 * have the segment that leaves, in SEND_SEGMENT: the one that the application has
 * named; those that were chosen; else all that are not removed, paused or ended.  What
 * a destination was given and has no fate of is its backlog. */
uint32_t nopal_destination_count(const struct nopal_session *session);
struct nopal_destination *
nopal_destination_at(const struct nopal_session *session, uint32_t index);
uint64_t nopal_destination_backlog(const struct nopal_session *session,
				   uint32_t index);
/* Ends the session with it. */
void nopal_destination_break(struct nopal_session *session, uint32_t index,
			     enum nopal_end end, const char *text);
void nopal_copies_choose(struct nopal_session *session, const uint32_t *indices,
			 uint32_t count);
/* The one with this id; the count, where there is none. */
uint32_t nopal_destination_find(const struct nopal_session *session,
				uint64_t id);
/* Above such a layer: are we one of the many, and not who speaks to them? */
bool nopal_is_destination(const struct nopal_session *session);
/* Is a segment or message of ours for one alone: from one of the many, or to the one
 * that the application named?  It takes no part in what is for all. */
#define nopal_is_for_one(session, item)                                        \
	nopal__is_for_one(session, (item)->attribute)
bool nopal__is_for_one(const struct nopal_session *session,
		       const uint64_t *attribute);

/* A channel, for the role `channel` of a layer above destinations: a multicast address
 * to which all that is carried and for all leaves once, for those that hear it there;
 * each of the others gets a copy of its own.  The address as in NOPAL_ADDRESS, and how
 * many routers it may pass.  Returns the channel's id, which destinations need to join;
 * negative: errno value.  What arrives by it has NOPAL_PATH_CHANNEL for its path. */
int64_t nopal_channel_open(struct nopal_session *session, int64_t address,
			   unsigned hops);
int nopal_channel_join(struct nopal_session *session, int64_t address,
		       uint32_t id);
void nopal_destination_hears(struct nopal_session *session, uint32_t index,
			     bool hears);

/* What sessions of this world measured of the way from our IP address to the
 * peer's, whatever the ports: kept when they have ended, for those that come.
 * There are so many records; one that a living session has asked for stays, of
 * the others the one goes first that was idle longest. */
enum nopal_path_fact {
	NOPAL_PATH_RTT_NS,
	NOPAL_PATH_RTT_VARIANCE_NS,
	NOPAL_PATH_LIMIT_BYTES, /* the longest datagram that passed */
	NOPAL_PATH_BANDWIDTH_BPS,
	NOPAL_PATH_FACTS,
};
/* Only what this end measured itself: what a peer says is no fact.  The last word
 * stands.  Nothing happens where there is no room. */
void nopal_path_remember(struct nopal_session *session,
			 enum nopal_path_fact fact, int64_t value);
/* False: it is not known.  How old may be used is for the caller to say. */
bool nopal_path_recall(struct nopal_session *session, enum nopal_path_fact fact,
		       int64_t *ret_value, int64_t *ret_age_ns);

#include "items.h"

#endif
