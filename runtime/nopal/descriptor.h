/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h -- what a microprotocol declares, all of it in its const descriptor, which is at the
 * end; and what it is in a plan.  Part of microprotocol.h, which includes it.
 *
 * A table of a descriptor is written in it, by the macro of its rows, or is a named static array
 * above it, which ends with { 0 }: a row an entry, its first members by position up to its doc, the
 * others by name.
 */
#include "microprotocol.h" /* which includes this page in its place */

#ifndef NOPAL_DESCRIPTOR_H
#define NOPAL_DESCRIPTOR_H

#ifdef __cplusplus
extern "C" {
#endif

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
	unsigned kinds;	      /* enum nopal_kinds; segment events only */
	const char *before;   /* (optional) role or microprotocol that runs later */
	const char *after;    /* (optional) role or microprotocol that ran already */
	const void *argument; /* (optional) static argument: part->argument */
};

#define NOPAL_ON(name, handler, ...)                                                               \
	{                                                                                          \
		.event = NOPAL_##name, .run.name = (handler), __VA_ARGS__                          \
	}

/* An arriving segment of a kind that is declared here. */
#define NOPAL_ON_OWN(kind, handler)                                                                \
	NOPAL_ON(SEGMENT_FROM_NET, handler, .kinds = NOPAL_OWN_KIND + (kind))

enum nopal_barrier {
	NOPAL_SEND,	  /* a segment leaves when all send bits are released */
	NOPAL_DONE,	  /* the done bits: SEGMENT_DONE when all are released */
	NOPAL_DEALLOCATE, /* the segment is freed when all are released */
	NOPAL_DELIVER,	  /* the send bits of a message on its way up */
	NOPAL_BARRIERS,
};

/* One bit in a barrier of every segment (or arriving message) of the session. */
struct nopal_hold {
	const char *why; /* what is waited for; NULL ends the table */
	enum nopal_barrier barrier;
	unsigned kinds; /* enum nopal_kinds: NOPAL_DATA, NOPAL_CARRIED, own */
	bool sticky;	/* send bits: one release serves all transmissions */
};

enum nopal_access {
	NOPAL_WRITE,	     /* sets it: one writer in a composition */
	NOPAL_READ,	     /* needs it: a composition without a writer is refused */
	NOPAL_READ_OPTIONAL, /* reads `initial` where nobody writes it */
	NOPAL_PROPERTY,	     /* of messages: the application sets it, see nopal_send_message */
};

/* A named 64-bit field of messages and segments.  A segment starts with the attributes of its
 * message, an arriving message with those of its first segment.  With `wire_bytes` it travels. */
struct nopal_attribute {
	const char *name; /* NULL ends the table */
	enum nopal_access access;
	const char *doc;    /* (optional) for a reader */
	uint8_t wire_bytes; /* writer: 0 local, else 1..8 bytes of header */
	unsigned kinds;	    /* on which kinds it travels */
	bool serial;	    /* a counter, truncated on the wire; see nopal_serial_seen */
	const char *when;   /* (optional) name of the on/off parameter that puts it on the wire */
	int unit;	    /* property: enum nopal_unit of its value; 0: a bare number */
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
	enum nopal_kind_class kind_class;
	const char *doc;
	uint16_t
		around; /* carried: its body is a packed data segment and this many bytes; 0: unrelated */
};

typedef void nopal_timer_handler(struct nopal_at at);

struct nopal_timer {
	const char *name; /* NULL ends the table */
	nopal_timer_handler *expired;
};

enum nopal_unit {
	NOPAL_COUNT,   /* a bare number */
	NOPAL_TIME,    /* ns us ms s min h -> nanoseconds */
	NOPAL_SIZE,    /* B kB KiB MB MiB GB GiB, or seg: full segments -> bytes */
	NOPAL_RATE,    /* bit kbit Mbit Gbit (per second) -> bits per second */
	NOPAL_PERCENT, /* % -> parts per million */
	NOPAL_SWITCH,  /* on | off -> 1 | 0 */
	NOPAL_WORD,    /* one of `choices` -> its index */
	NOPAL_FILE,    /* path of a secret, beside the config that names it -> 1; "" -> 0 */
	/* 239.1.2.3:9000, [ff15::1]:9000, [ff02::1%eth0]:9000 -> its nopal_address,
	 * with an interface that is named by its index, in place of an int64_t */
	NOPAL_ADDRESS,
};

/* Which parameters bound the time in which a session lets nothing happen, though it goes on: nothing
 * new is on its way for a longest wait, and that as many times in a row as attempts may be in vain.
 * Judges of runs that stand still wait for so long (tools/judge). */
enum nopal_waits {
	NOPAL_WAITS_NOT,
	NOPAL_WAITS_LONGEST,   /* a time: the longest wait */
	NOPAL_WAITS_DOUBLED,   /* a time: a wait that doubles, and at most */
	NOPAL_WAITS_DOUBLINGS, /* a count: so often; where no part says this, six times */
	NOPAL_WAITS_ATTEMPTS,  /* a count: waits in a row until the session gives up */
};

/* A key of the microprotocol's config section; the value is an int64_t at `offset` in its
 * parameters. */
struct nopal_parameter {
	const char *name; /* NULL ends the table */
	enum nopal_unit unit;
	size_t offset;
	const char *initial;   /* as one would write it in a config */
	const char *min, *max; /* (optional) range, inclusive, as written */
	const char *choices;   /* NOPAL_WORD: "reno|newreno|tahoe" */
	bool wire;	       /* both peers must have the same value: part of the fingerprint */
	uint8_t waits;	       /* (optional) enum nopal_waits */
	const char *doc;
};

/* Rows of a table of parameters.  `field` of `struct NAME_parameters` takes the value of the key;
 * what else a row needs follows its doc: `.wire = true`. */
#define NOPAL_NUMBER(name_, field, key, unit_, initial_, min_, max_, doc_, ...)                    \
	{                                                                                          \
		.name = (key), .unit = NOPAL_##unit_,                                              \
		.offset = offsetof(struct name_##_parameters, field), .initial = (initial_),       \
		.min = (min_), .max = (max_), .doc = (doc_), __VA_ARGS__                           \
	}
#define NOPAL_ON_OFF(name_, field, key, initial_, doc_, ...)                                       \
	{                                                                                          \
		.name = (key), .unit = NOPAL_SWITCH,                                               \
		.offset = offsetof(struct name_##_parameters, field), .initial = (initial_),       \
		.doc = (doc_), __VA_ARGS__                                                         \
	}
#define NOPAL_WORDS(name_, field, key, initial_, choices_, doc_, ...)                              \
	{                                                                                          \
		.name = (key), .unit = NOPAL_WORD,                                                 \
		.offset = offsetof(struct name_##_parameters, field), .initial = (initial_),       \
		.choices = (choices_), .doc = (doc_), __VA_ARGS__                                  \
	}

/* A key that the section had in an earlier version of the microprotocol. */
struct nopal_moved {
	const char *name; /* NULL ends the table */
	const char *fix;  /* shown to the user: how a config says it now */
};

/* A role, or the name of a microprotocol; alternatives are joined by '|'. */
struct nopal_relation {
	const char *role;    /* NULL ends the table */
	const char *because; /* shown to the user where it does not hold */
	const char *unless;  /* (optional) excludes: its on/off parameter that lifts it */
};

struct nopal_role {
	const char *name; /* NULL ends the table */
	bool exclusive;	  /* at most one provider in a layer */
};

/* Tables that are written in their descriptor. */
#define NOPAL_ROLES(...)      ((const struct nopal_role[]){ __VA_ARGS__, { 0 } })
#define NOPAL_RELATIONS(...)  ((const struct nopal_relation[]){ __VA_ARGS__, { 0 } })
#define NOPAL_PARAMETERS(...) ((const struct nopal_parameter[]){ __VA_ARGS__, { 0 } })
#define NOPAL_BINDINGS(...)   ((const struct nopal_binding[]){ __VA_ARGS__, { 0 } })
#define NOPAL_MOVED(...)      ((const struct nopal_moved[]){ __VA_ARGS__, { 0 } })
#define NOPAL_ATTRIBUTES(...) ((const struct nopal_attribute[]){ __VA_ARGS__, { 0 } })
#define NOPAL_SHARED(...)     ((const struct nopal_shared[]){ __VA_ARGS__, { 0 } })
#define NOPAL_KINDS(...)      ((const struct nopal_kind[]){ __VA_ARGS__, { 0 } })
#define NOPAL_HOLDS(...)      ((const struct nopal_hold[]){ __VA_ARGS__, { 0 } })
#define NOPAL_TIMERS(...)     ((const struct nopal_timer[]){ __VA_ARGS__, { 0 } })
#define NOPAL_RAISES(...)     ((const char *const[]){ __VA_ARGS__, NULL })

/* The first line of a descriptor: name, family, and the summary. */
#define NOPAL_DESCRIBE(name_, family_, summary_)                                                   \
	.abi = NOPAL_ABI, .name = #name_, .family = #family_, .summary = (summary_)

/* A sealing stage: the last to touch a datagram that leaves, the first to touch one that arrives.
 * `overhead` trailing bytes belong to it.  It may change all bytes but the first NOPAL_CLEAR_BYTES,
 * and must change nothing else of the session before it knows that a datagram is the peer's. */
enum { NOPAL_CLEAR_BYTES = 5 }; /* version and kind, the receiver's session id */
struct nopal_seal {
	uint32_t overhead;
	/* Fill the trailing bytes behind `bytes[0..length)`.  Datagrams are closed in the order
	 * in which they leave, and some time after their SEND_SEGMENT. */
	void (*close)(struct nopal_at at, uint8_t *bytes, size_t length);
	/* Is the trailer behind bytes[0..length) good? */
	bool (*open)(struct nopal_at at, uint8_t *bytes, size_t length);
	/* (optional) The trailing bytes that these parameters ask for, where they differ: 1 to
	 * `overhead`.  NULL: `overhead`. */
	uint32_t (*trailer)(const void *parameters);
	/* (optional) The same of early data, before keys are agreed on, with the NOPAL_EARLY_TAG_BYTES
	 * behind them; once a session.  False: there is no key that both sides had before, or the
	 * bytes are not the peer's. */
	bool (*close_early)(struct nopal_at at, struct nopal_reader context, uint8_t *bytes,
			    size_t length);
	bool (*open_early)(struct nopal_at at, struct nopal_reader context, uint8_t *bytes,
			   size_t length);
};

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

/* A wire format of one's own for the headers of data segments.  An interop format is that of
 * another protocol: datagrams have neither our first byte nor a session id, and belong to the
 * session with their sender's address; nothing but data and the kinds that it names travels, so a
 * composition that sends others, or attributes that it does not carry, is refused. */
struct nopal_format {
	bool interop;
	/* Foreign: bytes of its longest header.  Else what its longest one has beyond all fields of
	 * the composition. */
	uint32_t bytes;
	/* (optional) Foreign: attributes that it carries, NULL-ended. */
	const char *const *carries;
	/* Writes the header of a segment that leaves. */
	void (*pack)(struct nopal_at at, const struct nopal_segment *segment,
		     struct nopal_writer *writer);
	/* Reads the header of one that arrived; the rest is its body.  False: it is not of this
	 * format, or not to be understood, and is dropped. */
	bool (*unpack)(struct nopal_at at, struct nopal_segment *segment,
		       struct nopal_reader *reader);
	/* (optional) Foreign: may this datagram open a session at a listener? Where the composition
	 * has an admission, only one of a kind of class NOPAL_KIND_OPENING may, and the request's
	 * body is the datagram; else only data may. */
	bool (*opens)(struct nopal_at at, struct nopal_reader datagram);
	/* (optional) Foreign: kinds that have its header, too, NULL-ended. */
	const struct nopal_format_kind *kinds;
	/* (with kinds) Which of them a datagram seems to be, negative: data; unpack judges it as
	 * such. */
	int (*kind_of)(struct nopal_at at, struct nopal_reader datagram);
};
/* For pack and unpack: which of its format's kinds it is; negative: data. */
int nopal_format_kind_of(const struct nopal_session *session, const struct nopal_segment *segment);
/* The fields of a data segment, in order: what a format of one's own carries, or leaves out because
 * the peer knows. */
const struct nopal_field *nopal_data_fields(const struct nopal_session *session,
					    unsigned *ret_count);
/* The number that the low bytes of a serial field mean. */
uint64_t nopal_field_expand(const struct nopal_session *session, const struct nopal_field *field,
			    uint64_t truncated);

/* A request to open, as a listener without a session sees it. */
struct nopal_request {
	uint32_t peer_id;     /* the session id that the opener chose */
	uint64_t fingerprint; /* of the composition, already matched */
	struct nopal_reader body;
	size_t datagram_bytes; /* a reply must be smaller */
	int64_t now_ns;
	uint32_t extension_bytes; /* of the composition's extensions, in the body */
	const void *context;	  /* of the runtime */
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
	enum nopal_admission_verdict (*admit)(struct nopal_at at, struct nopal_request *request,
					      struct nopal_writer *reply);
	/* (optional) The peer of `session` asks for what the session asks of it:
	 * one of the two gives way.  ACCEPT: ours is a listener's from now on, and sees the request
	 * as one's first segment. */
	enum nopal_admission_verdict (*rendezvous)(struct nopal_at at,
						   struct nopal_request *request,
						   struct nopal_writer *reply);
};
/* Keyed hash over the opener's address and id, `epoch` and `extra`: only this endpoint can make
 * it. */
uint64_t nopal_request_mac(const struct nopal_request *request, uint64_t epoch, uint64_t extra);

/* Handshake extensions: bytes from a part to the same part of the peer while a session opens,
 * before any segment.  The role connection carries the opener's bytes in its request and the
 * listener's in its answer, and does not know what they mean. */
struct nopal_opening { /* as both sides know it, proofs of address left out */
	const uint8_t *request, *answer;
	size_t request_length, answer_length;
};
/* Of a microprotocol that lets messages travel in the request: early.h, whose functions of the same
 * names call these. */
struct nopal_early {
	bool (*ready)(struct nopal_at at);
	struct nopal_reader (*pack)(struct nopal_at at, uint32_t room);
	bool (*refused)(struct nopal_at at);
	/* `extension`: the opener's bytes. */
	enum nopal_admission_verdict (*admit)(struct nopal_at at,
					      const struct nopal_request *request,
					      const uint8_t *extension, struct nopal_reader early);
	bool (*arrived)(struct nopal_at at, struct nopal_reader early);
	void (*deliver)(struct nopal_at at);
};
struct nopal_extension {
	uint32_t bytes; /* of each: 1 to NOPAL_EXTENSION_MAX */
	/* Ours: the same however often. */
	void (*write)(struct nopal_at at, uint8_t *bytes);
	/* The peer's, and its repetitions.  False: it cannot be taken, and nothing has changed. */
	bool (*read)(struct nopal_at at, const uint8_t *bytes);
	/* (optional) Once, when both extensions were read.  At the listener the answer leaves next,
	 * at the opener the session opens; false: neither does. */
	bool (*agreed)(struct nopal_at at, const struct nopal_opening *opening);
	const struct nopal_early *early; /* (optional) */
};
enum { NOPAL_EXTENSION_MAX = 64, NOPAL_EXTENSIONS_MAX = 256 /* of all parts */ };
/* For the role connection: all extensions of its layer, in an order that both sides have; the read
 * takes so many bytes of the reader. */
uint32_t nopal_extensions_bytes(const struct nopal_session *session);
void nopal_extensions_write(struct nopal_session *session, struct nopal_writer *writer);
bool nopal_extensions_read(struct nopal_session *session, struct nopal_reader *reader);
bool nopal_extensions_agreed(struct nopal_session *session, const struct nopal_opening *opening);
/* First byte of a datagram of class NOPAL_KIND_ANSWER; 0: there is no such kind. */
uint8_t nopal_answer_byte(const struct nopal_session *session);

struct nopal_microprotocol {
	unsigned abi;	       /* (required) NOPAL_ABI */
	const char *name;      /* (required) config word, file and symbol */
	const char *family;    /* (required) base status reliability flow ... */
	const char *summary;   /* (required) one line */
	unsigned wire_version; /* raise it when the wire meaning changes */
	/* The microprotocol keeps nothing of a peer: it may stand above many destinations. */
	bool many;
	/* Role message_segments: the microprotocol makes one segment of each message, with the same
	 * bytes, and does nothing else in MSG_FROM_USER. */
	bool whole;

	const struct nopal_role *provides;
	/* (optional) Roles, joined by '|', for which `requires = auto` adds this microprotocol: one
	 * of the registry for each role. */
	const char *standard;
	const struct nopal_relation *needs;
	const struct nopal_relation *excludes;
	/* (optional) Qualities that it guarantees, and those that it weakens: promise.h. */
	const struct nopal_promise *promises;

	size_t parameters_size;
	const struct nopal_parameter *parameters;
	/* (optional) Keys that are another microprotocol's now. */
	const struct nopal_moved *moved;
	/* (optional) Cross-check parameters; add problems, change nothing. */
	void (*validate)(const void *parameters, struct nopal_problems *problems);

	const struct nopal_attribute *attributes;
	const struct nopal_shared *shared;
	const struct nopal_kind *kinds;
	const struct nopal_hold *holds;
	const struct nopal_timer *timers;
	const struct nopal_binding *bindings;
	/* (optional) Where the handlers of `bindings` are a family's, in its header: the
	 * microprotocol's own functions and constants that they call, of the type that the header
	 * gives. */
	const void *rules;
	const char *const *raises; /* events that its handlers raise; NULL ends */

	size_t state_size; /* zeroed before open */
	/* (optional) Set up state; negative: the session does not open.  Other instances may not be
	 * there yet: raise nothing here. */
	int (*open)(struct nopal_at at);
	/* (optional) Nothing is under way, and nothing happened for a while: give back by
	 * nopal_free() what the next message can make again.  Raises and sends nothing.  Then state
	 * may move: nothing may point into it. */
	void (*idle)(struct nopal_at at);
	/* (optional) Release what nopal_alloc() did not give. */
	void (*close)(struct nopal_at at);

	const struct nopal_seal *seal;
	const struct nopal_format *format;
	const struct nopal_extension *extension;
	const struct nopal_admission *admission;
	/* (optional) Role message_segments: longest message, where one segment of `body_bytes` is
	 * not the limit.  Of another: longest segment that it ever lets go, which is a message
	 * where the layer leaves the cutting to the one below. */
	uint64_t (*message_limit)(const void *parameters, uint32_t body_bytes);
};

/* A problem of this microprotocol's parameters; the runtime adds file, line. */
void nopal_problem(struct nopal_problems *problems, const char *parameter, const char *cause,
		   const char *fix);

/* -------------------------------------------- a microprotocol in its plan */

enum {
	NOPAL_MAX_KINDS = 4,	  /* of one microprotocol */
	NOPAL_MAX_ATTRIBUTES = 8, /* used by one microprotocol */
	NOPAL_MAX_SHARED = 28,	  /* used by one microprotocol */
};

/* A microprotocol as placed in a sealed composition: const, one for all sessions of the plan. */
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
	uint32_t hold[NOPAL_BARRIERS];		 /* its bit in each barrier, or 0 */
};

#ifdef __cplusplus
}
#endif

#endif
