/* SPDX-License-Identifier: MIT */
/*
 * nopal.h -- the application's view: configs become plans, plans become
 * sessions on an endpoint in a world, sessions carry messages.
 *
 *   config text --nopal_plan_load--> plan --nopal_session_open--> session
 *                                     |                              ^
 *                                     +--nopal_endpoint_allow--------+ (accepted)
 *
 * Everything but plans belongs to one world and is used from its thread alone; the
 * blocking calls at the end run a world in a thread of their own.  Errors:
 * negative numbers are errno values, and pointers are NULL where a problem was
 * added to `problems`.  docs/use-from-c.md has two whole examples.
 */
#ifndef NOPAL_H
#define NOPAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOPAL_VERSION "0.1.0"

struct event_base;
struct nopal_world;
struct nopal_endpoint;
struct nopal_plan;
struct nopal_session;
struct nopal_message;
struct nopal_buffer;
struct nopal_microprotocol;

/* ---------------------------------------------------------------- problems */

/* What is wrong with a user's input, all at once. */
struct nopal_problem_entry {
	char *file; /* NULL: not about a file */
	int line;   /* 0: not about a line */
	char *cause, *fix;
	bool warning; /* worth saying, but not a refusal */
};
struct nopal_problems {
	struct nopal_problem_entry *entries;
	size_t count, room;
	size_t errors; /* entries that are not warnings */
};

void nopal_problems_init(struct nopal_problems *problems);
void nopal_problems_fini(struct nopal_problems *problems);
/* printf-like; `fix` is given whole and may be NULL. */
void nopal_problems_add(struct nopal_problems *problems, const char *file,
			int line, const char *fix, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));
void nopal_problems_warn(struct nopal_problems *problems, const char *file,
			 int line, const char *fix, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));
/* "FILE:LINE: error: CAUSE\n  fix: FIX\n" for each, in the order of lines. */
void nopal_problems_print(struct nopal_problems *problems, FILE *out);

/* ----------------------------------------------------------------- registry */

/* All microprotocols, built in and loaded, ordered by name. */
size_t nopal_registry_count(void);
const struct nopal_microprotocol *nopal_registry_at(size_t index);
const struct nopal_microprotocol *nopal_registry_find(const char *name);
/* Loads NAME.so from the working directory's or config's folder `beside` (may
 * be NULL) or the installed plugin folder; a path is loaded as it is. */
int nopal_plugin_load(const char *name_or_path, const char *beside,
		      struct nopal_problems *problems);
/* The name nearest to `name` in a NULL-ended list, or NULL when none is near. */
const char *nopal_nearest(const char *name, const char *const *names);

/* ------------------------------------------------------------------- plans */

/* Load a config by path, or by name (`bulk`) from $NOPAL_CONFIGS, the
 * installed config folder and ./configs; check it, and seal it.  `sets` are
 * "section.key=value" overrides, NULL-ended, or NULL. */
struct nopal_plan *nopal_plan_load(const char *name_or_path,
				   const char *const *sets,
				   struct nopal_problems *problems);
/* The same from text; `file` is what problems name. */
struct nopal_plan *nopal_plan_parse(const char *text, const char *file,
				    const char *const *sets,
				    struct nopal_problems *problems);
/* From any thread: plans are shared by the sessions of all worlds. */
struct nopal_plan *nopal_plan_ref(struct nopal_plan *plan);
void nopal_plan_unref(struct nopal_plan *plan);

const char *nopal_plan_name(const struct nopal_plan *plan);
const char *nopal_plan_description(const struct nopal_plan *plan);
/* Canonical text of all that peers must agree on; its hash is the fingerprint. */
const char *nopal_plan_canonical(const struct nopal_plan *plan);
uint64_t nopal_plan_fingerprint(const struct nopal_plan *plan);
/* Does the plan have a provider of this role? */
bool nopal_plan_provides(const struct nopal_plan *plan, const char *role);
/* Header and trailer bytes of an established data datagram. */
uint32_t nopal_plan_header_bytes(const struct nopal_plan *plan);
/* Largest message body that fits one data datagram. */
uint32_t nopal_plan_body_bytes(const struct nopal_plan *plan);
/* Longest message that a session of this plan takes, in bytes. */
uint64_t nopal_plan_message_limit(const struct nopal_plan *plan);

/* Fused units: a plan's handlers and the packet path compiled into one shared
 * object NAME.fused.so, which does the same quicker.  A plan takes its unit by
 * itself where it is in $NOPAL_FUSED, beside the config, or installed; the word
 * `off` in $NOPAL_FUSED takes none.  Says "fused: FILE", or "interpreted: WHY". */
const char *nopal_plan_runs(const struct nopal_plan *plan);
/* Its sessions from now on are interpreted. */
void nopal_plan_interpret(struct nopal_plan *plan);
/* Writes the C source of the plan's unit; `nopal fuse` compiles it.  `sources`:
 * files NAME.c of those microprotocols that are plugins, NULL-ended, or NULL.
 * Negative: problems say why. */
int nopal_plan_fuse(const struct nopal_plan *plan, const char *const *sources,
		    FILE *out, struct nopal_problems *problems);

/* What a session of this plan may hold. */
struct nopal_budget;
const struct nopal_budget *nopal_plan_budget(const struct nopal_plan *plan);

/* One line a microprotocol of the difference between two canonical texts:
 * "- only there", "+ only here", "~ other value".  Caller frees. */
char *nopal_canonical_diff(const char *here, const char *there);

/* What a plan is made of, for explain, graph and doc.  All strings live as
 * long as the plan. */
struct nopal_plan_field {
	const char *attribute;	   /* "kind", "session id", ... too */
	const char *microprotocol; /* NULL: the runtime's */
	uint32_t bytes;
};
size_t nopal_plan_fields(const struct nopal_plan *plan,
			 const struct nopal_plan_field **ret_fields);
size_t nopal_plan_part_count(const struct nopal_plan *plan);
const struct nopal_part *nopal_plan_part(const struct nopal_plan *plan,
					 size_t index);
/* Handlers of an event for data segments, in run order: parts[i] runs at i. */
size_t nopal_plan_handlers(const struct nopal_plan *plan, unsigned event,
			   const struct nopal_part **ret_parts, size_t room);
/* Name, argument type and doc of an event (enum nopal_event); NULL beyond. */
const char *nopal_event_name(unsigned event);
const char *nopal_event_doc(unsigned event);
const char *nopal_event_argument(unsigned event);

/* ------------------------------------------------------------------ worlds */

struct nopal_address {
	uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;	/* host order */
	uint16_t reserved;
};
/* "127.0.0.1:9000", "[::1]:9000", "host:9000" (resolved).  Negative: errno
 * value, and a problem was added. */
int nopal_address_parse(const char *text, struct nopal_address *ret_address,
			struct nopal_problems *problems);
enum { NOPAL_ADDRESS_TEXT = 64 };
/* Writes at most NOPAL_ADDRESS_TEXT bytes; returns `text`. */
const char *nopal_address_format(const struct nopal_address *address,
				 char *text);
bool nopal_address_equal(const struct nopal_address *a,
			 const struct nopal_address *b);
/* Of a parameter of unit NOPAL_ADDRESS, as its int64_t has it. */
struct nopal_address nopal_address_of(int64_t value);

/* The real world on the caller's libevent loop; free it before the loop. */
struct nopal_world *nopal_live_new(struct event_base *base);
/* For who will not sleep: receives and wakes what is there to do now, without a
 * look at the loop, and returns whether there was anything.  Call it again and
 * again instead of running the loop, and the loop (EVLOOP_NONBLOCK) now and then
 * for what else is on it.  Nothing happens where the world is simulated. */
bool nopal_live_poll(struct nopal_world *world);
/* On the loop, after each arrival: poll for so long before the loop may sleep
 * again (0, as at first: not at all).  An answer that comes in this time meets
 * a process that is awake.  Others on the loop wait at most 2 ms for it. */
void nopal_live_linger(struct nopal_world *world, int64_t linger_ns);
void nopal_world_free(struct nopal_world *world); /* ends its sessions first */
int64_t nopal_world_now(const struct nopal_world *world);
/* How datagrams travel here, e.g. "gso 64 gro on sndbuf 4194304 rcvbuf 4194304":
 * what the kernel granted, and every fall-back that was taken. */
const char *nopal_endpoint_transport(const struct nopal_endpoint *endpoint);

/* --------------------------------------------------------------- endpoints */

/* One UDP port.  Port 0 takes a free one.  In `sim`, see nopal_sim_endpoint. */
struct nopal_endpoint *nopal_endpoint_open(struct nopal_world *world,
					   const struct nopal_address *local,
					   struct nopal_problems *problems);
void nopal_endpoint_close(struct nopal_endpoint *endpoint);
void nopal_endpoint_local(const struct nopal_endpoint *endpoint,
			  struct nopal_address *ret_address);
/* Makes `endpoint` another address of `with`, by which its sessions are found,
 * too: those whose composition has parallel paths.  Sessions are opened and
 * accepted at `with` alone.  -EINVAL: it has sessions or listeners of its own, or
 * the two are of different worlds, or one of them is shared already. */
int nopal_endpoint_share(struct nopal_endpoint *endpoint,
			 struct nopal_endpoint *with);

/* One address, several loops: `count` live endpoints on one UDP port, each in a
 * world and a thread of its own, which share nothing but plans.  Who opens goes
 * to a shard by its address; from then on ids name the shard, so that a session
 * stays where it began.  Open the group first, then an endpoint of every shard (a
 * shard without one loses its share of peers); close it after them.
 *
 * Sessions that we open had better have endpoints of their own: from one port to
 * one address they would all meet on one shard there, and what comes back to
 * several of ours may be merged by the kernel and go to one. */
struct nopal_shards;
enum { NOPAL_SHARDS_MOST = 64 };
struct nopal_shards *nopal_shards_open(const struct nopal_address *local,
				       unsigned count,
				       struct nopal_problems *problems);
/* The endpoint of shard `index`, once, in a live world: in its thread, or before
 * its loop runs. */
struct nopal_endpoint *nopal_shard_endpoint(struct nopal_shards *shards,
					    unsigned index,
					    struct nopal_world *world,
					    struct nopal_problems *problems);
void nopal_shards_close(struct nopal_shards *shards);

/* ---------------------------------------------------------------- sessions */

/* What the application sees of one destination of a group. */
struct nopal_destination_info {
	uint32_t id;
	struct nopal_address address;
	bool open, ended;
	/* Bytes of messages that left for it, once each, and of these, how many it
	 * is known to have. */
	uint64_t given_bytes, arrived_bytes;
	int end;	  /* where it ended: enum nopal_end, and in words */
	const char *text; /* valid during the callback */
	/* The session with it, to look at: counters, shared variables. */
	const struct nopal_session *session;
};

/* All optional.  Called in the world's thread; a session may be closed or
 * aborted, and messages sent, from within any of them. */
struct nopal_callbacks {
	/* An accepted session: return its `user`. */
	void *(*accepted)(struct nopal_session *session, void *listener_user);
	void (*opened)(struct nopal_session *session, void *user);
	/* A message arrived; it is given back on return unless it is kept. */
	void (*received)(struct nopal_session *session,
			 struct nopal_message *message, void *user);
	/* The fate of message `cookie` is known: see nopal_fate in
	 * microprotocol.h: 0 unknown (it left), 1 arrived, 2 missing. */
	void (*sent)(struct nopal_session *session, uint64_t cookie, int fate,
		     void *user);
	/* nopal_send said EAGAIN before; what it refused last has room now. */
	void (*writable)(struct nopal_session *session, void *user);
	/* A part of the composition wants a rate kept free for it, in bits of
	 * messages a second: return what is granted; 0 refuses, as does who has
	 * no such callback.  It is the application's that talks to the network. */
	int64_t (*reserve)(struct nopal_session *session, int64_t bps,
			   void *user);
	/* A destination of a group has opened, or ended: it is gone after that. */
	void (*destination)(struct nopal_session *session,
			    const struct nopal_destination_info *info,
			    void *user);
	/* The peer sends no more; the default then closes this side too. */
	void (*peer_closed)(struct nopal_session *session, void *user);
	/* The last callback of the session: `end` is enum nopal_end, `text` says
	 * why.  The session is gone after it. */
	void (*ended)(struct nopal_session *session, int end, const char *text,
		      void *user);
};

enum nopal_allow_flags {
	NOPAL_ALLOW_CONNECTIONLESS =
		1, /* configs without a handshake may open here */
};
/* Sessions of this plan may be opened by peers.  The plan is referenced.
 * -EPERM: a config without a handshake, and the flag is not there.  -EINVAL: an
 * endpoint finds sessions by id, by address, or those of another protocol, and
 * this one has begun with another of these ways. */
int nopal_endpoint_allow(struct nopal_endpoint *endpoint,
			 struct nopal_plan *plan, unsigned flags,
			 const struct nopal_callbacks *callbacks,
			 void *listener_user);

/* Open towards a peer.  Never blocks; `opened` or `ended` follows.  NULL when
 * out of memory or over the endpoint's sessions; or where the endpoint finds
 * sessions in another way, or by address and has one with that peer. */
struct nopal_session *
nopal_session_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
		   const struct nopal_address *peer,
		   const struct nopal_callbacks *callbacks, void *user);
/* Open towards a peer that opens towards us at about the same time, and neither
 * listens: as where both are behind firewalls, which let in only what answers
 * something.  Each has to know the other's address and port, so `endpoint` had better
 * have a known one.  One session comes of it at each side, `opened` as any; where the
 * peer does not come in time (parameter `rendezvous` of virtual_circuit), or runs
 * another composition, `ended` says so.  Of a plan with streams the first one is the
 * same at both.  Who listens takes no notice.  NULL: as above; or there is one under
 * way to this address already; or the endpoint is a shard; or the plan cannot: it has
 * no connection, or many destinations. */
bool nopal_plan_can_meet(const struct nopal_plan *plan);
struct nopal_session *
nopal_rendezvous_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
		      const struct nopal_address *peer,
		      const struct nopal_callbacks *callbacks, void *user);
/* Many streams in one session, where the upper layer of the plan has `multiplicity =
 * per_stream`: nopal_session_open() opens the first one; this, another beside `with`.
 * Each is a session to the application: it sends, receives and closes by itself, and
 * a listener accepts each.  The flow below them opens with the first and closes with
 * the last.  Where the lower layer is `shared`, nopal_session_open() itself joins the
 * flow that is there to the same peer.  NULL: out of memory, the flow ends, or the
 * plan has no streams. */
struct nopal_session *nopal_stream_open(struct nopal_session *with,
					const struct nopal_callbacks *callbacks,
					void *user);
/* One to many, where a layer of the plan has `multiplicity = per_destination`: a
 * session without destinations yet.  What is sent goes to those that are there then,
 * or to one alone, which the property `destination` names by its id; it opens with
 * the first of them, and breaks when the last one has gone by itself.
 * nopal_session_open() with such a plan is a group with one destination, and a
 * listener's session has the opener for its only one.  NULL: as there, or no such
 * layer. */
struct nopal_session *nopal_group_open(struct nopal_endpoint *endpoint,
				       struct nopal_plan *plan,
				       const struct nopal_callbacks *callbacks,
				       void *user);
/* Its id.  -EINVAL: no group; -EEXIST: it is one already; -EPIPE: the group
 * closes; -ENOMEM, or over the endpoint's sessions. */
int64_t nopal_destination_add(struct nopal_session *group,
			      const struct nopal_address *address);
/* It gets no more messages, and nobody waits for it.  What it was given before
 * still goes there, and then its session closes; or, `at_once`, it ends now.
 * -ENOENT: there is none of this id. */
int nopal_destination_remove(struct nopal_session *group, uint32_t id,
			     bool at_once);
/* Those that are there; writes at most `room`, returns how many. */
size_t nopal_destinations(const struct nopal_session *group,
			  struct nopal_destination_info *ret_infos,
			  size_t room);
/* Close in good order: what was sent gets its fate first; then `ended`. */
void nopal_session_close(struct nopal_session *session);
/* One path more: from the session's own endpoint, or from one that was shared
 * with it, to another address of the peer.  From now on all leaves by this path,
 * too.  0, also where it is there already; -ENOTSUP: a composition without parallel
 * paths; -EINVAL: another endpoint; -ENOSPC: there are four; -ENOMEM; -EPIPE. */
int nopal_session_add_path(struct nopal_session *session,
			   struct nopal_endpoint *endpoint,
			   const struct nopal_address *peer);
/* Paths by which all leaves now, the first among them. */
unsigned nopal_session_paths(const struct nopal_session *session);
/* How fast the peer is to send to us, in bits of messages a second; 0: as fast as
 * it can, as at first.  Said again it replaces what was said before.  0; -ENOTSUP:
 * nothing in the composition tells the peer; -EPIPE: closed. */
int nopal_session_accept_rate(struct nopal_session *session, uint64_t bps);
/* End now.  `ended` follows with NOPAL_ABORTED; the peer is told once. */
void nopal_session_abort(struct nopal_session *session, const char *text);

/* Send a message: copied.  0; -EAGAIN: the send buffer is full (`writable`
 * follows); -EMSGSIZE: longer than the plan's limit; -EPIPE: closed. */
int nopal_send(struct nopal_session *session, const void *bytes, size_t length,
	       uint64_t cookie);
/* The same without a copy: `buffer` gets one reference more until all of it is
 * free to go. */
int nopal_send_buffer(struct nopal_session *session,
		      struct nopal_buffer *buffer, uint32_t from,
		      uint32_t length, uint64_t cookie);
/* What an application says of one message.  Which properties there are is a
 * matter of the composition: `nopal explain CONF` lists them.  `urgent` is there
 * in all of them: its segments go first among those that wait. */
struct nopal_property {
	unsigned
		which; /* of nopal_property(); 0: nobody looks, and it is left out */
	uint64_t value;
};
/* The number of a property of this plan by its name; 0: nobody looks at it. */
unsigned nopal_property(const struct nopal_plan *plan, const char *name);
/* nopal_send, nopal_send_buffer with properties.  A part that judges them may
 * refuse the message with an error of its own. */
int nopal_send_with(struct nopal_session *session, const void *bytes,
		    size_t length, uint64_t cookie,
		    const struct nopal_property *properties, size_t count);
int nopal_send_buffer_with(struct nopal_session *session,
			   struct nopal_buffer *buffer, uint32_t from,
			   uint32_t length, uint64_t cookie,
			   const struct nopal_property *properties,
			   size_t count);
/* What is sent between start and stop leaves at stop, or earlier where a train
 * is full: many short messages, or one to many sessions, at a fraction of the
 * system calls.  Within a callback that is so anyway.  May be nested; stop before
 * the loop goes on. */
void nopal_batch_start(struct nopal_world *world);
void nopal_batch_stop(struct nopal_world *world);
/* Bytes that nopal_send would take now. */
uint64_t nopal_session_send_room(const struct nopal_session *session);

struct nopal_buffer *nopal_buffer_new(uint32_t capacity);
uint8_t *nopal_buffer_bytes(struct nopal_buffer *buffer);
void nopal_buffer_free(
	struct nopal_buffer *buffer); /* gives up one reference */

/* An arriving message: its pieces lie where they arrived. */
uint64_t nopal_message_length(const struct nopal_message *message);
size_t nopal_message_pieces(const struct nopal_message *message);
const uint8_t *nopal_message_piece(const struct nopal_message *message,
				   size_t index, uint32_t *ret_length);
/* Copies at most `room` bytes from byte `from`; returns how many. */
size_t nopal_message_copy(const struct nopal_message *message, uint64_t from,
			  void *bytes, size_t room);
/* A property that came with it; 0 where it does not travel. */
uint64_t nopal_message_property(const struct nopal_message *message,
				unsigned which);
/* Compositions that match tags deliver what the application asked for: the
 * oldest message that came, or the next one to come, whose tag is `tag` where
 * `mask` is set.  `cookie` is its property `receive`.  -ENOSYS: nobody matches
 * tags in this composition; -ENOBUFS: too many receives wait; -ERANGE: no message
 * has such a tag. */
int nopal_receive_post(struct nopal_session *session, uint64_t tag,
		       uint64_t mask, uint64_t cookie);
/* Keep it beyond `received`; give it back within the session's life: flow
 * control counts it as unread until then. */
void nopal_message_keep(struct nopal_message *message);
void nopal_message_give_back(struct nopal_session *session,
			     struct nopal_message *message);

const char *nopal_session_plan_name(const struct nopal_session *session);
void nopal_session_peer(const struct nopal_session *session,
			struct nopal_address *ret_address);
void *nopal_session_user(const struct nopal_session *session);
uint32_t nopal_session_id(const struct nopal_session *session);
/* A shared variable by name (smoothed_rtt_ns, ...); false when there is none. */
bool nopal_session_shared(const struct nopal_session *session, const char *name,
			  int64_t *ret_value);

/* Limits of a session; 0 means the default. */
struct nopal_budget {
	uint64_t bytes;	     /* bodies and memory held: default 256 MiB */
	uint32_t objects;    /* segments and messages: default 1 Mi */
	uint64_t send_bytes; /* unfinished messages of ours: default 4 MiB */
	int64_t hold_ns; /* watchdog: name the holder of a segment that waits longer: default 10 s */
};
void nopal_session_set_budget(struct nopal_session *session,
			      const struct nopal_budget *budget);

/* Counters of a session.  COUNTER(name, doc) */
#define NOPAL_COUNTERS(COUNTER)                                                \
	COUNTER(messages_sent, "messages that the application sent")           \
	COUNTER(messages_arrived, "of these, known to have arrived")           \
	COUNTER(messages_missing, "of these, known not to have arrived")       \
	COUNTER(messages_delivered, "messages given to the application")       \
	COUNTER(messages_discarded, "arriving messages that ordering dropped") \
	COUNTER(bytes_sent, "bytes of messages sent")                          \
	COUNTER(bytes_delivered, "bytes of messages delivered")                \
	COUNTER(datagrams_out, "datagrams that left")                          \
	COUNTER(datagrams_in, "datagrams that arrived here")                   \
	COUNTER(datagram_bytes_out, "their UDP payload")                       \
	COUNTER(datagram_bytes_in, "their UDP payload")                        \
	COUNTER(departures, "departures of carried segments")                  \
	COUNTER(resends, "departures that were not the first")                 \
	COUNTER(control_out, "control segments that left")                     \
	COUNTER(segments_lost, "raises of SEGMENT_LOST")                       \
	COUNTER(segments_timeout, "raises of SEGMENT_TIMEOUT")                 \
	COUNTER(segments_stopped, "arriving segments that a filter stopped")   \
	COUNTER(segments_rebuilt, "segments that redundancy rebuilt")          \
	COUNTER(rx_malformed, "datagrams dropped: not canonical")              \
	COUNTER(rx_sealed_badly, "datagrams dropped: checksum or tag")         \
	COUNTER(rx_over_budget, "segments dropped: over budget")               \
	COUNTER(stale_handles, "events about segments that were gone")         \
	COUNTER(misuses, "releases of a bit that was not held: mistakes")      \
	COUNTER(refused_sends, "sends asked for after SEGMENT_DONE")           \
	COUNTER(long_holds, "segments that waited longer than hold_ns")        \
	COUNTER(raises, "events raised")

struct nopal_counters {
#define NOPAL_COUNTER_FIELD(name, doc) uint64_t name;
	NOPAL_COUNTERS(NOPAL_COUNTER_FIELD)
#undef NOPAL_COUNTER_FIELD
};
/* Copy what is needed: it stays until the caller gives control back to the world. */
const struct nopal_counters *
nopal_session_counters(const struct nopal_session *session);

/* Who holds what: a line a waiting segment or message, for people.  Returns
 * the number of lines. */
size_t nopal_session_dump(const struct nopal_session *session, FILE *out);

/* Counters of an endpoint, for datagrams that belong to no session. */
struct nopal_endpoint_counters {
	uint64_t datagrams_in, datagrams_out;
	uint64_t unknown_session, malformed, refused, requests, replies,
		accepted;
	uint64_t busy;	      /* the kernel took no more for a while */
	uint64_t soft_errors; /* send errors that were not fatal */
	uint64_t trains_out, batches_in;
	uint64_t sessions; /* now */
};
const struct nopal_endpoint_counters *
nopal_endpoint_counters(const struct nopal_endpoint *endpoint);

/* ------------------------------------------------------------------- traces */

/* A trace of all sessions of a world.  Hash and file may be used together. */
enum nopal_trace_detail {
	NOPAL_TRACE_OFF,
	NOPAL_TRACE_PACKETS, /* departures, arrivals, deliveries, session life */
	NOPAL_TRACE_EVENTS,  /* and every raise, hold, release and timer */
};
/* Starts a trace into `path` (NULL: hash only).  Negative: errno value. */
int nopal_trace_start(struct nopal_world *world, const char *path,
		      enum nopal_trace_detail detail);
/* Ends it and flushes; the first write error, or 0. */
int nopal_trace_stop(struct nopal_world *world);
uint64_t nopal_trace_hash(const struct nopal_world *world);

/* Reading one. */
enum nopal_trace_what {
	NOPAL_TRACED_SESSION =
		1,	     /* a: local id, b: role (1 opener), number: plan */
	NOPAL_TRACED_RAISE,  /* number: event, a: subject, b: detail */
	NOPAL_TRACED_DEPART, /* number: kind, a: subject, b: packet number */
	NOPAL_TRACED_ARRIVE, /* number: kind, a: subject, b: packet number */
	NOPAL_TRACED_HOLD,   /* number: barrier, a: subject, b: bits waiting */
	NOPAL_TRACED_RELEASE, /* number: barrier, a: subject, b: bits left, part: who */
	NOPAL_TRACED_FREE,    /* a: subject */
	NOPAL_TRACED_DELIVER, /* a: message, b: bytes */
	NOPAL_TRACED_TIMER,   /* number: index, part: whose */
	NOPAL_TRACED_NOTE,    /* number: enum nopal_trace_note, a, b */
};
enum nopal_trace_note {
	NOPAL_NOTE_STALE = 1,	 /* stale handle */
	NOPAL_NOTE_MISUSE,	 /* bit released that was not held */
	NOPAL_NOTE_REFUSED_SEND, /* send asked for after SEGMENT_DONE */
	NOPAL_NOTE_LONG_HOLD,	 /* watchdog; b: bits waiting */
	NOPAL_NOTE_DROPPED,	 /* arriving datagram dropped; b: reason */
};
struct nopal_trace_record { /* as in the file, little endian */
	int64_t time_ns;
	uint32_t session; /* local id */
	uint8_t what;	  /* enum nopal_trace_what */
	uint8_t part;	  /* index in the plan; 255: the runtime */
	uint16_t number;
	uint64_t a; /* subject: segment or message number within the session */
	uint64_t b;
};
struct nopal_trace_reader;
struct nopal_trace_reader *nopal_trace_open(const char *path,
					    struct nopal_problems *problems);
/* 1: a record; 0: the end; negative: the file is damaged, -EIO. */
int nopal_trace_next(struct nopal_trace_reader *reader,
		     struct nopal_trace_record *ret_record);
/* Names from the dictionary in the file; NULL beyond.  `plan` is its number. */
const char *nopal_trace_event_name(const struct nopal_trace_reader *reader,
				   unsigned event);
const char *nopal_trace_part_name(const struct nopal_trace_reader *reader,
				  unsigned plan, unsigned part);
const char *nopal_trace_kind_name(const struct nopal_trace_reader *reader,
				  unsigned plan, unsigned kind);
const char *nopal_trace_hold_name(const struct nopal_trace_reader *reader,
				  unsigned plan, unsigned barrier,
				  unsigned bit);
const char *nopal_trace_plan_name(const struct nopal_trace_reader *reader,
				  unsigned plan);
void nopal_trace_close(struct nopal_trace_reader *reader);

/* --------------------------------------------------- links, as netem has them */

enum nopal_loss_model {
	NOPAL_LOSS_NONE,
	NOPAL_LOSS_RANDOM,
	NOPAL_LOSS_GEMODEL,
	NOPAL_LOSS_MASK
};
enum nopal_distribution {
	NOPAL_UNIFORM,
	NOPAL_NORMAL,
	NOPAL_PARETO,
	NOPAL_PARETONORMAL
};

/* One direction of a link.  Probabilities are parts per million.  Order of
 * work: MTU, queue limit and rate, then loss, duplicate, corrupt, delay,
 * reorder: what is lost has used the link. */
struct nopal_link {
	int64_t delay_ns, jitter_ns;
	enum nopal_distribution distribution;
	uint32_t delay_correlation;
	enum nopal_loss_model loss_model;
	uint32_t loss; /* random */
	uint32_t ge_p, ge_r, ge_bad_loss,
		ge_good_loss; /* gemodel p r 1-h 1-k */
	uint64_t loss_mask;   /* bit i: the i-th datagram is lost */
	uint32_t duplicate, corrupt, reorder;
	uint32_t gap;	   /* reorder every gap-th */
	uint64_t rate_bps; /* 0: unlimited */
	uint32_t limit;	   /* packets in the queue: default 1000 */
	uint32_t mtu;	   /* IP bytes: default 1500 */
	int64_t down_from_ns, down_until_ns; /* partition: nothing passes */
	bool ecn; /* who understands it gets a mark in place of a loss */
	int64_t ce_threshold_ns; /* a longer wait is marked; 0: none is */
};
/* Words of tc-netem: "rate 100mbit delay 25ms 2ms distribution normal loss 5%
 * limit 400"; `fwd:` and `rev:` begin words for one direction.  Negative: a
 * problem was added. */
int nopal_link_parse(const char *text, struct nopal_link *ret_forward,
		     struct nopal_link *ret_reverse,
		     struct nopal_problems *problems);

/* A UDP relay of the live world that treats datagrams as a link does: what
 * arrives at `listen` leaves for `target` by `forward`, and what comes back
 * returns by `reverse`.  Every sender has a socket of its own towards the target.
 * Runs on the caller's libevent loop. */
struct nopal_relay;
struct nopal_link_counters;
struct nopal_relay *nopal_relay_open(struct event_base *base,
				     const struct nopal_address *listen,
				     const struct nopal_address *target,
				     const struct nopal_link *forward,
				     const struct nopal_link *reverse,
				     uint64_t seed,
				     struct nopal_problems *problems);
void nopal_relay_close(struct nopal_relay *relay);
void nopal_relay_local(const struct nopal_relay *relay,
		       struct nopal_address *ret_address);
void nopal_relay_counters(const struct nopal_relay *relay,
			  struct nopal_link_counters *ret_forward,
			  struct nopal_link_counters *ret_reverse);

/* A link between two TUN devices, for any program's packets: what the kernel
 * routes into the first comes out of the second by `forward`, and back by
 * `reverse`.  Makes the devices and brings them up; they go when it is closed.
 * Lengths are those of IP packets.  Linux; needs the right to make devices. */
struct nopal_tun;
struct nopal_tun_side {
	const char *device;
	const char *netns; /* of ip-netns(8), or a path; NULL: the caller's */
};
struct nopal_tun *nopal_tun_open(struct event_base *base,
				 const struct nopal_tun_side sides[2],
				 const struct nopal_link *forward,
				 const struct nopal_link *reverse,
				 uint64_t seed,
				 struct nopal_problems *problems);
void nopal_tun_close(struct nopal_tun *tun);
void nopal_tun_counters(const struct nopal_tun *tun,
			struct nopal_link_counters *ret_forward,
			struct nopal_link_counters *ret_reverse);

/* --------------------------------------------------------------- simulation */

/* A world in virtual time.  Same seed, same calls: same trace hash. */
struct nopal_world *nopal_sim_new(uint64_t seed);
/* Hosts are numbered from 0 in the order of adding; host i is 10.0.(i/256).(i%256). */
int nopal_sim_host(struct nopal_world *world);
/* Connects a host to another, each direction by its own link. */
int nopal_sim_connect(struct nopal_world *world, int from, int to,
		      const struct nopal_link *forward,
		      const struct nopal_link *reverse);
/* `count` pairs (2i, 2i+1) through one bottleneck shared by all. */
int nopal_sim_dumbbell(struct nopal_world *world, int count,
		       const struct nopal_link *edge,
		       const struct nopal_link *forward,
		       const struct nopal_link *reverse);
/* Hosts 1..count each linked to host 0. */
int nopal_sim_star(struct nopal_world *world, int count,
		   const struct nopal_link *forward,
		   const struct nopal_link *reverse);
struct nopal_endpoint *nopal_sim_endpoint(struct nopal_world *world, int host,
					  uint16_t port);
void nopal_sim_address(int host, uint16_t port,
		       struct nopal_address *ret_address);
/* Change a link's words from now on. */
int nopal_sim_change(struct nopal_world *world, int from, int to,
		     const struct nopal_link *link);
/* Run until `until_ns`, or until nothing is left to happen (1 is returned). */
int nopal_sim_run(struct nopal_world *world, int64_t until_ns);
/* One step: the next instant at which something happens; false: nothing will. */
bool nopal_sim_step(struct nopal_world *world);
/* A datagram as if it came from that address (fuzzing, replay). */
void nopal_sim_inject(struct nopal_world *world,
		      struct nopal_endpoint *endpoint,
		      const struct nopal_address *from, const void *bytes,
		      size_t length);
/* Every datagram as it enters the network; for golden packets and captures. */
void nopal_sim_tap(struct nopal_world *world,
		   void (*tap)(void *user, int64_t now_ns,
			       const struct nopal_address *from,
			       const struct nopal_address *to,
			       const uint8_t *bytes, size_t length),
		   void *user);
/* Call back at a virtual time. */
void nopal_sim_at(struct nopal_world *world, int64_t time_ns,
		  void (*call)(void *user), void *user);
/* What a directed link did. */
struct nopal_link_counters {
	uint64_t entered, delivered, lost, overflowed, too_big, duplicated,
		corrupted, reordered, marked;
	uint64_t delivered_bytes; /* UDP payload; TUN: IP packets */
	uint64_t queue_peak;	  /* packets */
	int64_t queue_delay_peak_ns, queue_delay_sum_ns;
	/* Live links alone.  How long after their time packets came out; what
	 * the kernel took no more, and what it dropped before the link: where
	 * these are not small, the emulator's machine was the bottleneck. */
	int64_t late_peak_ns, late_sum_ns;
	uint64_t refused, missed;
};
bool nopal_sim_link_counters(const struct nopal_world *world, int from, int to,
			     struct nopal_link_counters *ret_counters);

/* ----------------------------------------------------------- blocking calls */

/* A session in a thread of its own behind bounded rings; each call may be made
 * from any one thread at a time.  Timeouts in nanoseconds, negative: for ever. */
struct nopal_connection;
struct nopal_listener;
struct nopal_connection *nopal_dial(const char *config, const char *address,
				    int64_t timeout_ns,
				    struct nopal_problems *problems);
/* Both sides call it, each with the other's address: see nopal_rendezvous_open. */
struct nopal_connection *nopal_meet(const char *config, const char *local,
				    const char *peer, int64_t timeout_ns,
				    struct nopal_problems *problems);
struct nopal_listener *nopal_listen(const char *config, const char *address,
				    struct nopal_problems *problems);
struct nopal_connection *nopal_accept(struct nopal_listener *listener,
				      int64_t timeout_ns,
				      struct nopal_problems *problems);
/* 0, -ETIMEDOUT, -EPIPE, -EMSGSIZE. */
int nopal_connection_send(struct nopal_connection *connection,
			  const void *bytes, size_t length, int64_t timeout_ns);
/* The same, to one destination alone where `destination` is its id (0: to all).
 * `ret_ticket` (or NULL) gets a number for nopal_connection_wait(): of the last
 * NOPAL_TICKETS tickets the fates are remembered, and while the fate of one is open
 * the ticket that would take its place waits, as it does for room.  -ENOENT: there
 * is no such destination any more. */
enum { NOPAL_TICKETS = 4096 };
int nopal_connection_send_to(struct nopal_connection *connection,
			     uint32_t destination, const void *bytes,
			     size_t length, int64_t timeout_ns,
			     uint64_t *ret_ticket);
/* Waits for the fate of what was sent: 0 unknown (it left), 1 arrived, 2 missing.
 * Ticket 0 is all that was sent: 1 where all of it has arrived since it was last
 * asked so, 2 where any is missing.  -ETIMEDOUT; -ENOENT: no ticket, or forgotten. */
int nopal_connection_wait(struct nopal_connection *connection, uint64_t ticket,
			  int64_t timeout_ns);
/* Length of the message (which may exceed `room`: the rest is dropped), 0 at
 * the end in good order, -ETIMEDOUT, -ECONNRESET. */
int64_t nopal_connection_receive(struct nopal_connection *connection,
				 void *bytes, size_t room, int64_t timeout_ns);
/* The same; `ret_from` gets the id of the destination that sent it, where there are
 * destinations, or 0. */
int64_t nopal_connection_receive_from(struct nopal_connection *connection,
				      void *bytes, size_t room,
				      int64_t timeout_ns, uint32_t *ret_from);
/* One connection to many, with a config that has a layer `per_destination`.  Waits
 * until each has opened or ended, or until the time is over: who has not opened is a
 * warning, and NULL is returned where nobody has.  nopal_dial() with such a config
 * is the same with one. */
struct nopal_connection *nopal_dial_many(const char *config,
					 const char *const *addresses,
					 size_t count, int64_t timeout_ns,
					 struct nopal_problems *problems);
/* One more: its id when it is open.  -ETIMEDOUT, -ECONNREFUSED: it did not open, the
 * problems say why, and it is no destination; -EEXIST: it is one; -EPIPE: the
 * connection has ended; -EINVAL: no address, or no such connection: one to one, or
 * an accepted one. */
int64_t nopal_connection_add(struct nopal_connection *connection,
			     const char *address, int64_t timeout_ns,
			     struct nopal_problems *problems);
/* It gets no more messages, and nobody waits for it; what was sent before still goes
 * there, and then its session closes, or, `at_once`, it ends now.  Returns at once.  One that has ended by
 * itself is taken off the list.  -ENOENT: there is none; -EINVAL: as above. */
int nopal_connection_remove(struct nopal_connection *connection, uint32_t id,
			    bool at_once);
/* Those that are there, and those that have ended and were not removed.  Writes at
 * most `room`, returns how many; `session` is NULL, and `text` valid until the
 * destination is removed, or the connection closed. */
size_t nopal_connection_destinations(struct nopal_connection *connection,
				     struct nopal_destination_info *ret_infos,
				     size_t room);
/* Waits for the good end: 0, or -ECONNRESET with the reason in `problems`. */
int nopal_connection_close(struct nopal_connection *connection,
			   int64_t timeout_ns, struct nopal_problems *problems);
void nopal_listener_close(struct nopal_listener *listener);
void nopal_listener_address(const struct nopal_listener *listener,
			    struct nopal_address *ret_address);

/* --------------------------------------------------------------- small tools */

/* "25ms" and friends to base units, by enum nopal_unit; negative: a problem
 * was added, naming `what`. */
int nopal_quantity_parse(const char *text, int unit, const char *what,
			 int64_t *ret_value, struct nopal_problems *problems);
/* SipHash-2-4 with a fixed key: fingerprints and file hashes.  Stream: init,
 * update, final. */
struct nopal_hash {
	uint64_t v[4], tail;
	uint64_t length;
};
void nopal_hash_init(struct nopal_hash *hash);
void nopal_hash_update(struct nopal_hash *hash, const void *bytes,
		       size_t length);
uint64_t nopal_hash_final(struct nopal_hash *hash);

#ifdef __cplusplus
}
#endif

#endif
