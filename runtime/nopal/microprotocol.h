/* SPDX-License-Identifier: MIT */
/*
 * microprotocol.h -- what an author of a microprotocol needs; nothing else.  Here are events and
 * the session; what is included here are its other pages, of which nobody has to include one:
 *
 *   address.h	     where somebody is
 *   durations.h     time in nanoseconds
 *   structures.h    what microprotocols keep things in
 *   cursor.h	     how bytes are read and written
 *   descriptor.h    what a microprotocol declares
 *   promise.h	     what a composition guarantees
 *   early.h	     messages in the request to open
 *   items.h	     what its handlers handle: segments and messages
 *   destinations.h  one to many
 *
 * A microprotocol is one file: a head comment (its purpose, its papers), a state struct, handlers,
 * and a const descriptor `nopal_NAME` that declares all it does; `nopal doc` prints it.  A
 * composition is checked, explained and drawn from descriptors alone; handlers run only in a sealed
 * one. Start from docs/write-a-microprotocol.md.
 *
 * Time is int64_t nanoseconds.  A session is single threaded; a handler runs to completion.
 * Nothing here blocks, reads a clock or does I/O.
 *
 *                      state of an outgoing segment
 *
 *   new -> waiting --send barrier--> away --done barrier--> done
 *             ^                       |                      |
 *             +---- resend (epoch+1) -+      deallocate barrier, then freed
 *
 * Four rules guard the barriers (docs/architecture.md):  a transmission re-arms
 * every send bit that is not sticky (epoch); stale handles name nothing (generation); no send after
 * done; only its owner releases a bit, once an epoch (owner).
 */
#ifndef NOPAL_MICROPROTOCOL_H
#define NOPAL_MICROPROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "durations.h"
#include "outcome.h"
#include "promise.h"
#include "structures.h"

#define NOPAL_ABI 8u /* a plugin built for another is refused */

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_session;
struct nopal_part;
struct nopal_binding;
struct nopal_segment;
struct nopal_message;
struct nopal_destination;
struct nopal_copy;
struct nopal_channel_report;
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

/* Argument of SESSION_BROKEN. */
struct nopal_failure {
	enum nopal_end end;
	const char *text; /* for people; valid during the raise */
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

/* Do both name the same? */
static inline bool nopal_handle_equal(struct nopal_handle one, struct nopal_handle other)
{
	return one.index == other.index && one.generation == other.generation;
}

/* A handle as the value of a nopal_map, and back.  It is never NULL, for a living generation is odd;
 * a pointer has 64 bits. */
static inline void *nopal_handle_value(struct nopal_handle handle)
{
	return (void *)(uintptr_t)((uint64_t)handle.index << 32 | handle.generation);
}

/* The handle of which nopal_handle_value() made it. */
static inline struct nopal_handle nopal_value_handle(const void *value)
{
	struct nopal_handle handle;

	handle.index = (uint32_t)((uint64_t)(uintptr_t)value >> 32);
	handle.generation = (uint32_t)(uintptr_t)value;
	return handle;
}

/* Argument of ACK_FROM_NET and ACK_PROCESSED.  The two are one object: its totals are complete at
 * ACK_PROCESSED. */
struct nopal_ack {
	uint64_t largest;	      /* packet number that the peer saw last */
	int64_t largest_sent_ns;      /* transmission of `largest`; -1: not known */
	int64_t delay_ns;	      /* how long the peer sat on it */
	uint64_t cumulative;	      /* the peer needs no segment below this number */
	bool selective;		      /* what lies above the cumulative ack was reported too: */
	uint64_t told_from, told_end; /* ... of these numbers; end 0: of all */
	bool largest_is_new;	      /* `largest` grew: its round trip is a sample */
	struct nopal_handle cumulative_segment; /* the one of number `cumulative`, while it is
						 * outstanding; generation 0: none */
	uint32_t newly_acked_segments;
	uint64_t newly_acked_bytes; /* bodies, this ack */
	/* `largest` follows from the cumulative ack: its segment is there, be it that redundancy
	 * made it. */
	bool inferred;
};

/* Argument of RECEIVE_POSTED: the application waits for a message. */
struct nopal_receive {
	uint64_t tag, mask; /* of messages whose tag is equal where the mask is set */
	uint64_t cookie;    /* the application's own name for it */
	int refused;	    /* negative errno value: nobody waits for it */
};

#define EVENT(name, type, doc)                                                                     \
	typedef enum nopal_verdict nopal_##name##_handler(struct nopal_at at, type *subject);
#include "events.def"
#undef EVENT
/* A handler of an event that a session created. */
typedef enum nopal_verdict nopal_custom_handler(struct nopal_at at, void *subject);

union nopal_handler {
#define EVENT(name, type, doc) nopal_##name##_handler *name;
#include "events.def"
#undef EVENT
	nopal_custom_handler *custom;
};

/* Raise synchronously: nested, depth first, returns when all have run. */
#define EVENT(name, type, doc)                                                                     \
	void nopal_raise_##name(struct nopal_session *session, type *subject);
#include "events.def"
#undef EVENT

/* A delayed raise that can be cancelled; 0 names none. */
typedef uint64_t nopal_token;

/* Raise asynchronously: after the current event, first in first out.  A segment or message that is
 * gone by then is a counted no-op. */
#define EVENT(name, type, doc)                                                                     \
	void nopal_queue_##name(struct nopal_session *session, type *subject);
#include "events.def"
#undef EVENT

/* Raise when `delay_ns` has passed. */
#define EVENT(name, type, doc)                                                                     \
	nopal_token nopal_delay_##name(struct nopal_session *session, type *subject,               \
				       int64_t delay_ns);
#include "events.def"
#undef EVENT
/* Takes back a delayed raise; nothing happens where that has come. */
void nopal_cancel(struct nopal_session *session, nopal_token token);

/* Events of a session's own.  Create returns the event's number, or a negative error where the name
 * exists or there are too many; delete forgets its handlers, and raises that wait for it are
 * counted no-ops.  `name` must outlive the session. */
int nopal_event_create(struct nopal_session *session, const char *name);
int nopal_event_find(struct nopal_session *session, const char *name);
void nopal_event_delete(struct nopal_session *session, int event);
/* Raise one of them at once, after the current event, or when `delay_ns` has passed, as above.
 * `subject` is handed on as it is, and may be NULL: whoever raises later keeps it in being, and puts
 * the handle of a segment or message in its place. */
void nopal_raise_custom(struct nopal_session *session, int event, void *subject);
void nopal_queue_custom(struct nopal_session *session, int event, void *subject);
nopal_token nopal_delay_custom(struct nopal_session *session, int event, void *subject,
			       int64_t delay_ns);

/* Let others run before this handler goes on: the events that are queued, and timers that are due.
 * Find segments and messages anew after it.  False: the session ended meanwhile. */
bool nopal_yield(struct nopal_session *session);

/* ---------------------------------------------------- session, as seen here */

struct nopal_session {
	int64_t now_ns;		   /* read once per batch; the same for a whole turn */
	int64_t *shared;	   /* shared variables by slot */
	struct nopal_awake *awake; /* states lie in it */
				   /* the runtime's part follows */
};

#define nopal_state(at)	     ((void *)((char *)(at).session->awake + (at).part->state))
#define nopal_parameters(at) ((at).part->parameters)
/* Static argument of the binding that runs; NULL: it has none. */
#define nopal_argument(at) ((at).part->argument)
/* Wire code of a kind; `which` is its index in the microprotocol's own table, here and below. */
#define nopal_kind(at, which) ((at).part->kind[which])
/* The bytes of the file that parameter `which` names, as of when the config was read; NULL: the
 * parameter names no file. */
const uint8_t *nopal_file(struct nopal_at at, unsigned which, size_t *ret_length);

/* Shared variables. */
#define nopal_shared_get(at, which) ((at).session->shared[(at).part->shared[which]])
#define nopal_shared_set(at, which, value)                                                         \
	((at).session->shared[(at).part->shared[which]] = (value))

/* Attributes of a segment or message. */
#define nopal_get(at, item, which)	  ((item)->attribute[(at).part->attribute[which]])
#define nopal_set(at, item, which, value) ((item)->attribute[(at).part->attribute[which]] = (value))
#define nopal_has(at, which)		  ((at).part->attribute[which] != 0)

/* A serial attribute's owner says which value it accepted last: truncated values on the wire are
 * decoded to the nearest number. */
void nopal_serial_seen(struct nopal_at at, unsigned which, uint64_t value);

/* A 64-bit draw from the session's own stream: deterministic in `sim`.  Who has seen some of its
 * draws can tell the others: not for keys. */
uint64_t nopal_random(struct nopal_session *session);
/* Bytes for keys: the operating system's, in `sim` from the seed.  Dear. */
void nopal_random_bytes(struct nopal_session *session, void *bytes, size_t length);

/* Memory of the session, charged to its budget, released at its end.  NULL when over budget.  Not
 * for the packet path. */
void *nopal_alloc(struct nopal_session *session, size_t bytes);
void nopal_free(struct nopal_session *session, void *memory);

/* Declared timers.  `which` is the index in the microprotocol's table.  A start replaces the
 * running one; ties fire in the order of their starts. */
void nopal_timer_start(struct nopal_at at, unsigned which, int64_t deadline_ns);
void nopal_timer_stop(struct nopal_at at, unsigned which);
bool nopal_timer_running(struct nopal_at at, unsigned which);

/* Bind and unbind at run time.  A raise in progress keeps its handlers.  The handler runs after all
 * that were bound, or right before those that `before` names.  The event may be one of the session's
 * own: its number is `event`, and `run.custom` the handler; nopal_bind_custom() is the short form.
 * -EINVAL: one that `after` names runs later than that.  -ENOENT: there is no such event.
 * -ENOMEM. */
int nopal_bind(struct nopal_at at, const struct nopal_binding *binding);
void nopal_unbind(struct nopal_at at, const struct nopal_binding *binding);
int nopal_bind_custom(struct nopal_at at, int event, nopal_custom_handler *handler,
		      const void *argument);

/* Session life, for the role `connection` and for those who detect its end. */
bool nopal_session_is_opener(const struct nopal_session *session);
bool nopal_session_is_open(const struct nopal_session *session);
/* Does its peer open towards us, too?  Who is the opener then is open until both have met. */
bool nopal_session_rendezvous(const struct nopal_session *session);
void nopal_session_opened(struct nopal_session *session); /* raises SESSION_OPENED */
void nopal_session_peer_closed(struct nopal_session *session);
void nopal_session_closed(struct nopal_session *session);
void nopal_session_break(struct nopal_session *session, enum nopal_end end, const char *text);
/* The peer is silent, and a reason to ask its endpoint whether it was restarted: where the answer
 * says so, the session breaks.  Nothing happens where sessions have no handshake, and not oftener
 * than twice a second. */
void nopal_session_doubt(struct nopal_session *session);
/* Asks the application, which knows the network or its owner, for a rate: what it granted, in bits
 * of bodies a second; 0: refused, or it knows of none. */
int64_t nopal_session_reserve(struct nopal_session *session, int64_t bps);
/* Tells the application how fast it had better produce, in bits of messages a second. */
void nopal_session_tell_rate(struct nopal_session *session, int64_t bps);
uint32_t nopal_session_local_id(const struct nopal_session *session);
/* 0 where it is not known: an opener's, before the answer. */
uint32_t nopal_session_peer_id(const struct nopal_session *session);
void nopal_session_set_peer_id(struct nopal_session *session, uint32_t id);
/* Name and canonical text of the composition, for an opening request. */
const char *nopal_session_composition(const struct nopal_session *session);

/* Sets how many bytes the application may have unfinished from now on, at most those of its budget;
 * 0: all of the budget.  Bytes that are unfinished already stay.  The limit has no effect in a
 * layer below another one. */
void nopal_send_limit_set(struct nopal_session *session, uint64_t bytes);

/* Body bytes that fit in one data segment on this path, header deducted.  Where somebody has the
 * role path_limit it changes with time. */
uint32_t nopal_body_limit(const struct nopal_session *session);
/* The same for a control kind of this part. */
uint32_t nopal_control_limit(struct nopal_at at, unsigned kind);
/* The largest that nopal_body_limit may become, at either end. */
uint32_t nopal_body_max(const struct nopal_session *session);
/* Bytes of the longest datagram (UDP payload): on this path, and on the best one that the
 * composition allows. */
uint32_t nopal_path_limit(const struct nopal_session *session);
uint32_t nopal_path_max(const struct nopal_session *session);
/* Role path_limit: what the path takes from now on, but no more than nopal_path_max, and no less
 * than what an IP packet of 1200 bytes holds.  What was cut longer stays so, and leaves in
 * fragments of IP. */
void nopal_path_limit_set(struct nopal_session *session, uint32_t datagram_bytes);
/* At PATH_NARROWED, whose handler has to take it: the longest datagram that the network said
 * passes; 0: it did not say. */
uint32_t nopal_path_hint(struct nopal_session *session);

/* The ECN field of the IP header: RFC 3168, section 5. */
enum nopal_ecn {
	NOPAL_NOT_ECT, /* the sender understands no marks */
	NOPAL_ECT_1,
	NOPAL_ECT_0,
	NOPAL_CE, /* marked: congestion, in place of a loss */
};
/* Sets the ECN field of the session's datagrams from now on; NOPAL_NOT_ECT at first. */
void nopal_path_ecn_set(struct nopal_session *session, enum nopal_ecn ecn);

/* Paths beside the first one, which is number 0, where somebody has the role parallel_paths: all
 * that leaves, leaves by each path that is open.  Those that the application gave are open.  Others
 * are learnt from what arrives; they are closed until the part with the role, having seen that the
 * peer is there, opens them, and one that was silent for NOPAL_PATH_SILENCE_NS gives its number to
 * the next that comes. */
enum { NOPAL_PATHS_MAX = 4, NOPAL_PATH_CHANNEL = UINT8_MAX - 1, NOPAL_PATH_NONE = UINT8_MAX };
#define NOPAL_PATH_SILENCE_NS (3 * NOPAL_SECOND)
/* Role path_change: the peer is where this path leads, which was learnt, and no longer where the
 * first one does: all leaves for there from now on.  `*ret_elsewhere`: its IP address is another
 * one, not its port alone; the path limit is looked for anew.  False: there is no such path, or it
 * is none of the session's own endpoint. */
bool nopal_path_move(struct nopal_session *session, unsigned path, bool *ret_elsewhere);
/* A proof of who opened the session with the peer: a hash of the challenge under a key that both
 * sides have from the opening, and who has not seen it has not.  Ours, and whether this is the
 * peer's. */
uint64_t nopal_session_proof(const struct nopal_session *session, uint64_t challenge);
bool nopal_session_proves(const struct nopal_session *session, uint64_t challenge, uint64_t proof);
bool nopal_path_is_open(const struct nopal_session *session, unsigned path);
void nopal_path_open(struct nopal_session *session, unsigned path);

/* Above a flow that others stand on, too: FLOW_TURN follows, in the order of asking, when nothing
 * waits to leave the flow any more, by its variable app_limited; where nobody writes that, at the
 * end of the turn.  Asked again within FLOW_TURN it says that more waits than the turn takes; then,
 * as where others wait, app_limited is 0. */
void nopal_flow_wait(struct nopal_session *session);
/* Ends the flow with all that stand on it, as out of memory (NOPAL_RESOURCE): where one of them
 * cannot even say to its peer that it is over. */
void nopal_flow_break(struct nopal_session *session, const char *text);

/* The path cache: facts that sessions of this world measured of the path from our IP address to the
 * peer's, whatever the ports; kept when those sessions have ended, for later ones.  The number of
 * records is limited: a record that a living session has asked for stays; of the others, the record
 * that was idle longest goes first. */
enum nopal_path_fact {
	NOPAL_PATH_RTT_NS,
	NOPAL_PATH_RTT_VARIANCE_NS,
	NOPAL_PATH_LIMIT_BYTES, /* the longest datagram that passed */
	NOPAL_PATH_BANDWIDTH_BPS,
	NOPAL_PATH_FACTS,
};
/* Only what this end measured itself: what a peer says is no fact.  The last word stands.  Nothing
 * happens where there is no room. */
void nopal_path_remember(struct nopal_session *session, enum nopal_path_fact fact, int64_t value);
/* False: it is not known.  How old may be used is for the caller to say. */
bool nopal_path_recall(struct nopal_session *session, enum nopal_path_fact fact, int64_t *ret_value,
		       int64_t *ret_age_ns);

#include "cursor.h"
#include "descriptor.h"
#include "early.h"
#include "items.h"
#include "destinations.h"

/* Why a session ended, for its peer: in NOPAL_FAILURE_BYTES at most, where the text is cut; and
 * back, which takes all that is left of the reader.  What is read says in `text` that it is the
 * peer's word; false: it is none. */
enum { NOPAL_FAILURE_TEXT = 192, NOPAL_FAILURE_BYTES = 160 };
void nopal_failure_write(struct nopal_writer *writer, const struct nopal_failure *failure);
bool nopal_failure_read(struct nopal_reader *reader, struct nopal_failure *ret_failure,
			char text[NOPAL_FAILURE_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
