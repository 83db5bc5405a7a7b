/* SPDX-License-Identifier: MIT */
/*
 * nopal.h -- the application's view: configs become plans, plans become sessions on an endpoint in
 * a world, sessions carry messages.
 *
 *   config text --nopal_plan_load--> plan --nopal_open--> session
 *                                     |                              ^
 *                                     +--nopal_endpoint_allow--------+ (accepted)
 *
 * Threads: a world belongs to one thread, and so do its endpoints, sessions and messages; all calls
 * about them are made there, and their callbacks run there.  Worlds of several threads share plans
 * and the registry of microprotocols, which any thread may use.  A connection or listener of
 * connections.h runs a world in a thread of its own; any one thread at a time may call it.
 *
 * Errors: negative numbers are errno values (nopal_strerror() has words for them), and pointers are
 * NULL where a problem was added to `problems`.  docs/use-from-c.md has whole examples.
 *
 * The other pages of this interface are included here; an application need not include them:
 *
 *   address.h	     addresses of endpoints and peers
 *   durations.h     time in nanoseconds
 *   outcome.h	     how messages and sessions end
 *   inspect.h	     what there is, and what plans are made of
 *   traces.h	     what happened, written down and read
 *   watch.h	     which microprotocol did what
 *   network.h	     links, live and simulated, and worlds in virtual time
 *   connections.h   calls that block
 */
#ifndef NOPAL_H
#define NOPAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "address.h"
#include "durations.h"
#include "outcome.h"
#include "promise.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NOPAL_VERSION "0.1.0"
/* The version of the library that runs, a static string; NOPAL_VERSION is that of the pages which a
 * program was compiled with. */
const char *nopal_version(void);
/* A negative errno value that a call returned, in words: a static string, from any thread. */
const char *nopal_strerror(int error);

struct event_base;
struct nopal_world;
struct nopal_endpoint;
struct nopal_plan;
struct nopal_session;
struct nopal_message;
struct nopal_buffer;
struct nopal_microprotocol;

/* ---------------------------------------------------------------- problems */

/* The problems of a user's input, all at once: begins as `{ 0 }`. */
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
	/* One entry says that memory ran out: what there was to say is not complete, and nothing is
	 * added any more. */
	bool no_memory;
};

/* Frees the entries; the struct is empty again. */
void nopal_problems_fini(struct nopal_problems *problems);
/* printf-like; `fix` is given whole and may be NULL. */
void nopal_problems_add(struct nopal_problems *problems, const char *file, int line,
			const char *fix, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));
void nopal_problems_warn(struct nopal_problems *problems, const char *file, int line,
			 const char *fix, const char *cause, ...)
	__attribute__((format(printf, 5, 6)));
/* "FILE:LINE: error: CAUSE\n  fix: FIX\n" for each, in the order of lines. */
void nopal_problems_print(struct nopal_problems *problems, FILE *out);

/* ----------------------------------------------------------------- plugins */

/* Loads NAME.so from a folder of $NOPAL_PLUGINS or the installed plugin folder. What holds a '/' is
 * a path, from the folder `beside` (NULL: from the working directory).  0; -ENOENT: there is none;
 * -EACCES: it is not executable, as files from the network are not; -ENOEXEC: it is no plugin.  Its
 * code runs with the rights of the program. */
int nopal_plugin_load(const char *name_or_path, const char *beside,
		      struct nopal_problems *problems);

/* ------------------------------------------------------------------- plans */

/* Load a config by path, or by name (`bulk`) from $NOPAL_CONFIGS, the installed config folder and
 * ./configs; check it, and build it.  `sets` are "section.key=value" overrides, NULL-ended, or
 * NULL. */
struct nopal_plan *nopal_plan_load(const char *name_or_path, const char *const *sets,
				   struct nopal_problems *problems);
/* The same from text; `file` is what problems name. */
struct nopal_plan *nopal_plan_parse(const char *text, const char *file, const char *const *sets,
				    struct nopal_problems *problems);
/* From any thread: plans are shared by the sessions of all worlds. */
struct nopal_plan *nopal_plan_ref(struct nopal_plan *plan);
void nopal_plan_unref(struct nopal_plan *plan);

/* A plan at a glance. */
struct nopal_plan_info {
	const char *name, *description; /* of the config */
	const char *canonical;		/* text of all that peers must agree on */
	uint64_t fingerprint;		/* its hash */
	uint32_t header_bytes;		/* header and trailer of an established data datagram */
	uint32_t body_bytes;		/* largest message body that fits one data datagram */
	uint64_t message_limit;		/* longest message that a session takes, in bytes */
	/* Shortest message: 0, but 1 where a composition puts nothing around a message: a
	 * datagram of no bytes is none. */
	uint32_t message_min;
};
/* Lives as long as the plan. */
const struct nopal_plan_info *nopal_plan_info(const struct nopal_plan *plan);
/* Does the plan have a provider of this role? */
bool nopal_plan_provides(const struct nopal_plan *plan, const char *role);
/* Fused units: a plan's handlers and the packet path compiled into one shared object, which does
 * the same quicker.  A plan takes its unit by itself, where it is: NAME.fused.so in a folder of
 * $NOPAL_FUSED (divided by ':'; the word `off` takes none), the user's own that
 * nopal_plan_unit_file() names, or NAME.fused.so among what is installed; never beside the config.
 * Says "fused: FILE", or "interpreted: WHY".  The unit's code is loaded with the first session or
 * listener of the plan, and no sooner. */
const char *nopal_plan_runs(const struct nopal_plan *plan);
/* The budget of a session of this plan. */
struct nopal_budget;
const struct nopal_budget *nopal_plan_budget(const struct nopal_plan *plan);

/* ------------------------------------------------------------------ worlds */

/* "127.0.0.1:9000", "[::1]:9000", "host:9000" (resolved).  Negative: errno value, and a problem was
 * added. */
int nopal_address_parse(const char *text, struct nopal_address *ret_address,
			struct nopal_problems *problems);

/* The real world on the caller's libevent loop; free it before the loop.  NULL in place of a loop:
 * a world for any other loop, which calls nopal_live_poll() where nopal_live_fd() is readable, and
 * at nopal_live_deadline().  Returns NULL: out of memory or descriptors. */
struct nopal_world *nopal_live_new(struct event_base *base);
/* A descriptor for poll(2) and its like, which the world owns.  It is readable (POLLIN, by level)
 * while something has arrived at a socket of the world, a socket that was full takes more again, or
 * the deadline has passed.  -EINVAL: the world is on a libevent loop, or simulated. */
int nopal_live_fd(const struct nopal_world *world);
/* The time of nopal_world_now() at which the world has to be polled even if nothing arrives;
 * NOPAL_NEVER: no timer runs.  Each call about the world may move it.  A loop may sleep until then
 * in place of having the descriptor tell it. */
int64_t nopal_live_deadline(const struct nopal_world *world);
/* Receives and wakes what is due now, without waiting, and returns whether anything was: one batch
 * of datagrams at most, so that a loop keeps its other work going; the descriptor stays readable
 * where there is more.  A program that never sleeps calls it again and again in place of running a
 * loop; on a libevent loop it then runs that loop (EVLOOP_NONBLOCK) now and then for the rest.
 * Nothing happens where the world is simulated. */
bool nopal_live_poll(struct nopal_world *world);
/* On the loop, after each arrival: poll for so long before the loop may sleep again (0, as at
 * first: not at all).  An answer that comes in this time meets a process that is awake.  Others on
 * the loop wait at most 2 ms for it. */
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
void nopal_endpoint_local(const struct nopal_endpoint *endpoint, struct nopal_address *ret_address);
/* Sets the endpoint's reset key.  An endpoint answers a datagram of an unknown session with a
 * reset, which the peer believes because only this key can have made its token; the key is drawn at
 * random unless it is set.  An endpoint that is opened anew at the same port with the key of the
 * last one ends the sessions of that one within a round trip.  Keep the key as secret as a private
 * key: whoever has it can end sessions.  -EBUSY: the endpoint has sessions, or is an alias. */
enum { NOPAL_RESET_KEY_BYTES = 16 };
int nopal_endpoint_set_reset_key(struct nopal_endpoint *endpoint, const uint8_t *key);
/* Makes `endpoint` another address of `with`, by which its sessions are found, too: those whose
 * composition has parallel paths.  Sessions are opened and accepted at `with` alone.  -EINVAL: it
 * has sessions or listeners of its own, or the two are of different worlds, or one of them is
 * shared already. */
int nopal_endpoint_share(struct nopal_endpoint *endpoint, struct nopal_endpoint *with);

/* One address, several loops: `count` live endpoints on one UDP port, each in a world and a thread
 * of its own, which share nothing but plans.  Who opens goes to a shard by its address; from then
 * on ids name the shard, so that a session stays where it began.  Open the group first, then an
 * endpoint of every shard (a shard without one loses its share of peers); close it after them.
 *
 * Sessions that we open had better have endpoints of their own: from one port to one address they
 * would all meet on one shard there, and what comes back to several of ours may be merged by the
 * kernel and go to one. */
struct nopal_shards;
enum { NOPAL_SHARDS_MAX = 64 };
struct nopal_shards *nopal_shards_open(const struct nopal_address *local, unsigned count,
				       struct nopal_problems *problems);
/* The endpoint of shard `index`, once, in a live world: in its thread, or before its loop runs. */
struct nopal_endpoint *nopal_shard_endpoint(struct nopal_shards *shards, unsigned index,
					    struct nopal_world *world,
					    struct nopal_problems *problems);
void nopal_shards_close(struct nopal_shards *shards);

/* ---------------------------------------------------------------- sessions */

/* The application's view of one destination of a group. */
struct nopal_destination_info {
	uint32_t id;
	struct nopal_address address;
	bool open, ended;
	/* Bytes of messages that left for it, once each, and of these, how many it is known to
	 * have. */
	uint64_t given_bytes, arrived_bytes;
	enum nopal_end end; /* where it ended, and in words */
	const char *text;   /* valid during the callback */
	/* The session with it, to look at: counters, shared variables. */
	const struct nopal_session *session;
};

/* All optional.  Called in the world's thread; a session may be closed or aborted, and messages
 * sent, from within any of them. */
struct nopal_callbacks {
	/* An accepted session: return its `user`.  Of a stream that the peer opens over a flow of
	 * ours, `listener_user` is the `user` of the session that opened the flow, also where that
	 * one has ended. */
	void *(*accepted)(struct nopal_session *session, void *listener_user);
	void (*opened)(struct nopal_session *session, void *user);
	/* A message arrived; it is given back on return unless it is kept. */
	void (*received)(struct nopal_session *session, struct nopal_message *message, void *user);
	/* The outcome of message `cookie` is known: unknown
	 * (it left), delivered or lost. */
	void (*sent)(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		     void *user);
	/* nopal_send said EAGAIN before; what it refused last has room now. */
	void (*writable)(struct nopal_session *session, void *user);
	/* A part of the composition wants a rate kept free for it, in bits of messages a second:
	 * return what is granted; 0 refuses, as does who has no such callback.  It is the
	 * application's that talks to the network. */
	int64_t (*reserve)(struct nopal_session *session, int64_t bps, void *user);
	/* A part of the composition says how fast the application had better produce from now
	 * on, in bits of messages a second: as for an encoder of variable rate. */
	void (*rate)(struct nopal_session *session, int64_t bps, void *user);
	/* A destination of a group has opened, or ended: it is gone after that. */
	void (*destination)(struct nopal_session *session,
			    const struct nopal_destination_info *info, void *user);
	/* A member of a group came or went, where the composition has views (member_view): the
	 * number of the view that begins, and its members, by the ids that the group's opener knows
	 * them by.  Told to the opener, too.  The ids are valid during the callback, until a
	 * destination is added or removed. */
	void (*view)(struct nopal_session *session, uint32_t number, const uint32_t *members,
		     size_t count, void *user);
	/* The peer sends no more; the default then closes this side too. */
	void (*peer_closed)(struct nopal_session *session, void *user);
	/* The last callback of the session: see enum nopal_end for what a good one
	 * promises of what was sent; `text` says why, how many messages are not known to have
	 * arrived, and which destinations were lost.  The session is gone after it. */
	void (*ended)(struct nopal_session *session, enum nopal_end end, const char *text,
		      void *user);
};

enum nopal_allow_flags {
	NOPAL_ALLOW_CONNECTIONLESS = 1, /* configs without a handshake may open here */
};
/* Sessions of this plan may be opened by peers.  The plan is referenced.
 * -EPERM: a config without a handshake, and the flag is not there.  -EINVAL: an
 * endpoint finds sessions by id, by address, or those of another protocol, and this one has begun
 * with another of these ways. */
int nopal_endpoint_allow(struct nopal_endpoint *endpoint, struct nopal_plan *plan, unsigned flags,
			 const struct nopal_callbacks *callbacks, void *listener_user);

/* A session to open.  Which of them `peer`, `beside` and `rendezvous` mean is a matter of the
 * plan's layers:
 *
 * - towards `peer`, where both layers and peers are one;
 * - `rendezvous`: towards a peer that opens towards us at about the same time, and neither listens:
 *   as where both are behind firewalls, which let in only answers.  Each has to know the other's
 *   address and port, so `endpoint` had better have a known one.  One session comes of it at each
 *   side, `opened` as any; where the peer does not come in time (parameter `rendezvous` of
 *   virtual_circuit), or runs another composition, `ended` says so.  Of a plan with streams the
 *   first one is the same at both.  Listeners take no notice;
 * - `beside` a stream: another stream on its flow, where the upper layer of the plan has
 *   `multiplicity = per_stream`; endpoint, plan and peer are those of the flow.  Each stream is a
 *   session to the application: it sends, receives and closes by itself, and a listener accepts
 *   each.  The flow below them opens with the first stream and closes with the last: a stream that
 *   the listener has open then ends with it, well only where all that was sent on it arrived.  A
 *   stream that the peer opens where nobody accepts is refused, and aborted there.  Where the lower
 *   layer is `shared`, a session without `beside` joins the flow to the same peer, too;
 * - one to many, where a layer of the plan has `multiplicity = per_destination`: a group with the
 *   peer for its first destination; without destinations yet, where `peer` is NULL.  A message goes
 *   to all that are there then, or to one alone, whose id is the property `destination`.  A group
 *   opens with the first destination, and breaks when the last one has gone by itself.  A
 *   listener's session has the opener for its only destination. */
struct nopal_open {
	struct nopal_endpoint *endpoint;
	struct nopal_plan *plan;
	const struct nopal_address *peer;
	struct nopal_session *beside;
	bool rendezvous;
	const struct nopal_callbacks *callbacks; /* NULL: none */
	void *user;
};
/* Never blocks; `opened` or `ended` follows.  NULL: out of memory, or over the endpoint's sessions;
 * the endpoint finds sessions in another way, or by address and has one with that peer; the plan
 * has no such layers; the flow of `beside` ends; a rendezvous with this address is under way, the
 * endpoint is a shard, or the plan cannot: see nopal_plan_can_rendezvous(). */
struct nopal_session *nopal_session_open(const struct nopal_open *open);
/* The short form: towards one peer. */
static inline struct nopal_session *nopal_open(struct nopal_endpoint *endpoint,
					       struct nopal_plan *plan,
					       const struct nopal_address *peer,
					       const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_open open = { endpoint, plan, peer, NULL, false, callbacks, user };

	return nopal_session_open(&open);
}
/* Can sessions of this plan open by rendezvous?  They can where the plan has a connection, and one
 * destination. */
bool nopal_plan_can_rendezvous(const struct nopal_plan *plan);
/* Adds a destination to a group, and returns its id.  Where the plan has the role host_streams, an
 * address that is there already gets one stream more: a session of its own, with an id of its own.
 * -EINVAL: no group; -EEXIST: the address is one of its destinations already, and the plan has no
 * such role, or headers without a session's id; -EPIPE: the group closes; -ENOMEM, or over the
 * endpoint's sessions. */
int64_t nopal_destination_add(struct nopal_session *group, const struct nopal_address *address);
/* Removes a destination: it gets no more messages, and nobody waits for it.  Messages that it was
 * given before still go there, and then its session closes; or, `at_once`, ends now.
 * -ENOENT: no destination has this id. */
int nopal_destination_remove(struct nopal_session *group, uint32_t id, bool at_once);
/* The same of all streams to the host at this address.  Where one stream of several is removed, the
 * host is still a destination, and outcomes of what the stream was given still count.  -ENOENT: no
 * destination has this address. */
int nopal_destination_remove_host(struct nopal_session *group, const struct nopal_address *address,
				  bool at_once);
/* Destinations that are there; writes at most `room`, returns how many there are. */
size_t nopal_destinations(const struct nopal_session *group,
			  struct nopal_destination_info *ret_infos, size_t room);
/* Close in good order: what was sent gets its outcome first; then `ended`, as NOPAL_UNDELIVERED
 * where some of it is missing that the composition was to bring. */
void nopal_session_close(struct nopal_session *session);
/* One path more: from the session's own endpoint, or from one that was shared with it, to another
 * address of the peer.  From now on all leaves by this path, too.  0, also where it is there
 * already; -ENOTSUP: a composition without parallel paths; -EINVAL: another endpoint; -ENOSPC:
 * there are four; -ENOMEM; -EPIPE. */
int nopal_session_add_path(struct nopal_session *session, struct nopal_endpoint *endpoint,
			   const struct nopal_address *peer);
/* Paths by which all leaves now, the first among them. */
unsigned nopal_session_paths(const struct nopal_session *session);
/* How fast the peer is to send to us, in bits of messages a second; 0: as fast as it can, as at
 * first.  Said again it replaces what was said before.  0; -ENOTSUP:
 * nothing in the composition tells the peer; -EPIPE: closed. */
int nopal_session_accept_rate(struct nopal_session *session, uint64_t bps);
/* End now.  `ended` follows with NOPAL_ABORTED; the peer is told once. */
void nopal_session_abort(struct nopal_session *session, const char *text);

/* A property of one message, which the application sets.  The composition determines which
 * properties there are: `nopal explain CONF` lists them.  `urgent` is there in all compositions:
 * the segments of an urgent message go first among those that wait. */
struct nopal_property {
	unsigned which; /* of nopal_property(); 0: no part reads it, and it is left out */
	uint64_t value;
};
/* The number of a property of this plan by its name; 0: no part reads it. */
unsigned nopal_property(const struct nopal_plan *plan, const char *name);
/* A message to send: `length` bytes of `buffer` from byte `from`, which gets one reference more
 * until all of them are free to go, or, where `buffer` is NULL, a copy of `bytes`.  A message of no
 * bytes is a message, too. */
struct nopal_outgoing {
	const void *bytes;
	struct nopal_buffer *buffer;
	uint32_t from;
	size_t length;
	uint64_t cookie; /* for the callback `sent` */
	const struct nopal_property *properties;
	size_t property_count;
};
/* 0; -EAGAIN: the send buffer, or that of unsent messages, is full (`writable` follows); -EMSGSIZE: longer than the plan's
 * limit; -EINVAL: shorter than its least, or no such property; -ENOBUFS: out of memory; -EPIPE:
 * closed. A part that judges properties may refuse the message with an error of its own. */
int nopal_send_message(struct nopal_session *session, const struct nopal_outgoing *outgoing);
/* Takes back the oldest message with this cookie of which nothing has left yet: `sent` says before
 * the return that it is lost.  0; -ENOENT: no message with this cookie has an open outcome;
 * -EALREADY: it has left, or begun to, or waits in one segment with others; -ENOTSUP: some layer
 * retransmits, so that the peer would wait for it, and has no partial reliability, or the session
 * is one to many; -EPIPE: closed. */
int nopal_withdraw(struct nopal_session *session, uint64_t cookie);
/* The short form: a copy of so many bytes, without properties. */
static inline int nopal_send(struct nopal_session *session, const void *bytes, size_t length,
			     uint64_t cookie)
{
	struct nopal_outgoing outgoing = { bytes, NULL, 0, length, cookie, NULL, 0 };

	return nopal_send_message(session, &outgoing);
}
/* Datagrams that are sent between start and stop leave at stop, or earlier where a train is full:
 * many short messages, or one message to many sessions, at a fraction of the system calls.  Within
 * a callback that is so anyway.  May be nested; stop before the loop goes on. */
void nopal_batch_start(struct nopal_world *world);
void nopal_batch_stop(struct nopal_world *world);
/* Bytes that nopal_send would take now. */
uint64_t nopal_session_send_room(const struct nopal_session *session);

/* Bytes for struct nopal_outgoing, with one reference, which is the caller's; NULL: no memory. */
struct nopal_buffer *nopal_buffer_new(uint32_t capacity);
uint8_t *nopal_buffer_bytes(struct nopal_buffer *buffer);
void nopal_buffer_free(struct nopal_buffer *buffer); /* gives up one reference */

/* An arriving message: its pieces lie where they arrived. */
uint64_t nopal_message_length(const struct nopal_message *message);
size_t nopal_message_pieces(const struct nopal_message *message);
const uint8_t *nopal_message_piece(const struct nopal_message *message, size_t index,
				   uint32_t *ret_length);
/* Copies at most `room` bytes from byte `from`; returns how many. */
size_t nopal_message_copy(const struct nopal_message *message, uint64_t from, void *bytes,
			  size_t room);
/* A property that came with it; 0 where it does not travel. */
uint64_t nopal_message_property(const struct nopal_message *message, unsigned which);
/* Compositions that match tags deliver what the application asked for: the oldest message that
 * came, or the next one to come, whose tag is `tag` where `mask` is set.  `cookie` is its property
 * `receive`.  -ENOSYS: nobody matches tags in this composition; -ENOBUFS: too many receives wait;
 * -ERANGE: no message has such a tag. */
int nopal_receive_post(struct nopal_session *session, uint64_t tag, uint64_t mask, uint64_t cookie);
/* Keep it beyond `received`; give it back within the session's life: flow control counts it as
 * unread until then. */
void nopal_message_keep(struct nopal_message *message);
void nopal_message_give_back(struct nopal_session *session, struct nopal_message *message);

/* The name of the session's plan, and the address of its peer. */
const char *nopal_session_plan_name(const struct nopal_session *session);
void nopal_session_peer(const struct nopal_session *session, struct nopal_address *ret_address);
/* Nanoseconds since the last arrival from a peer that owes an answer: to a request to open, or to
 * segments that left.  0 where the peer owes none, and for one to many. */
int64_t nopal_session_silence(const struct nopal_session *session);
void *nopal_session_user(const struct nopal_session *session);
uint32_t nopal_session_id(const struct nopal_session *session);
/* A shared variable by name (smoothed_rtt_ns, ...), of the uppermost layer where some microprotocol
 * writes it; false when there is none. */
bool nopal_session_shared(const struct nopal_session *session, const char *name,
			  int64_t *ret_value);

/* Limits of a session; 0 means the default. */
struct nopal_budget {
	uint64_t bytes;	     /* bodies and memory held: default 256 MiB */
	uint32_t objects;    /* segments and messages: default 1 Mi */
	uint64_t send_bytes; /* unfinished messages of ours: default 4 MiB */
	/* of these, messages that have not left yet, and their bytes: default no limit */
	uint64_t unsent_bytes;
	uint32_t unsent_messages;
	int64_t hold_ns; /* watchdog: name the holder of a segment that waits longer: default 10 s */
};
/* Sets those limits of the session that are not 0 here; the others stay. */
void nopal_session_set_budget(struct nopal_session *session, const struct nopal_budget *budget);

/* Counters of a session.  COUNTER(name, doc) */
#define NOPAL_COUNTERS(COUNTER)                                                                    \
	COUNTER(messages_sent, "messages that the application sent")                               \
	COUNTER(messages_arrived, "of these, known to have arrived")                               \
	COUNTER(messages_missing, "of these, known not to have arrived")                           \
	COUNTER(messages_delivered, "messages given to the application")                           \
	COUNTER(messages_discarded, "arriving messages that ordering dropped")                     \
	COUNTER(bytes_sent, "bytes of messages sent")                                              \
	COUNTER(bytes_delivered, "bytes of messages delivered")                                    \
	COUNTER(datagrams_out, "datagrams that left")                                              \
	COUNTER(datagrams_in, "datagrams that arrived here")                                       \
	COUNTER(datagram_bytes_out, "their UDP payload")                                           \
	COUNTER(datagram_bytes_in, "their UDP payload")                                            \
	COUNTER(transmissions, "transmissions of carried segments")                                \
	COUNTER(resends, "transmissions that were not the first")                                  \
	COUNTER(control_out, "control segments that left")                                         \
	COUNTER(segments_lost, "raises of SEGMENT_LOST")                                           \
	COUNTER(segments_timeout, "raises of SEGMENT_TIMEOUT")                                     \
	COUNTER(segments_stopped, "arriving segments that a filter stopped")                       \
	COUNTER(segments_rebuilt, "segments that redundancy rebuilt")                              \
	COUNTER(rx_malformed, "datagrams dropped: not canonical")                                  \
	COUNTER(rx_sealed_badly, "datagrams dropped: checksum or tag")                             \
	COUNTER(rx_over_budget, "segments dropped: over budget")                                   \
	COUNTER(stale_handles, "events about segments that were gone")                             \
	COUNTER(misuses, "releases of a bit that was not held: mistakes")                          \
	COUNTER(refused_sends, "sends asked for after SEGMENT_DONE")                               \
	COUNTER(long_holds, "segments that waited longer than hold_ns")                            \
	COUNTER(raises, "events raised")

struct nopal_counters {
#define NOPAL_COUNTER_FIELD(name, doc) uint64_t name;
	NOPAL_COUNTERS(NOPAL_COUNTER_FIELD)
#undef NOPAL_COUNTER_FIELD
};
/* Copy what is needed: it stays until the caller gives control back to the world. */
const struct nopal_counters *nopal_session_counters(const struct nopal_session *session);

/* Counters of an endpoint, for datagrams that belong to no session. */
struct nopal_endpoint_counters {
	uint64_t datagrams_in, datagrams_out;
	uint64_t unknown_session, malformed, refused, requests, replies, accepted;
	uint64_t busy;	      /* the kernel took no more for a while */
	uint64_t soft_errors; /* send errors that were not fatal */
	uint64_t trains_out, batches_in;
	uint64_t sessions; /* now */
	uint64_t resets;   /* said to who sent to a session that is unknown */
	uint64_t hints;	   /* reports of the network about our sessions */
	/* requests with early data: admitted; refused, because they were admitted before, are out of
	 * their window of time, show no ticket that is good here, or found the guard full */
	uint64_t early_admitted, early_replayed, early_late, early_unknown, early_full;
};
/* They stay until the endpoint is closed. */
const struct nopal_endpoint_counters *nopal_endpoint_counters(
	const struct nopal_endpoint *endpoint);

#include "inspect.h"
#include "traces.h"
#include "watch.h"
#include "network.h"
#include "connections.h"

#ifdef __cplusplus
}
#endif

#endif
