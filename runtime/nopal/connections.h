/* SPDX-License-Identifier: MIT */
/*
 * connections.h -- calls that block, for who has no loop: a connection or a listener is a world in
 * a thread of its own.  Part of nopal.h, which includes it.
 */
#include "nopal.h" /* which includes this page in its place */

#ifndef NOPAL_CONNECTIONS_H
#define NOPAL_CONNECTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A session in a thread of its own behind bounded rings; each call may be made from any one thread
 * at a time.  Timeouts in nanoseconds, negative: for ever. */
struct nopal_connection;
struct nopal_listener;
struct nopal_connection *nopal_dial(const char *config, const char *address, int64_t timeout_ns,
				    struct nopal_problems *problems);
/* The same with a first message, which is sent before the session opens, as with the property
 * `early`: with early_data it travels in the first datagram where an earlier connection of this
 * process, with the same config to the same address, was given a ticket; else it follows the
 * handshake.  The calling process may be killed and started again, or the listener: whoever acts on
 * the message had better do no harm when it acts twice.  The wait for ticket 0 tells its outcome.
 * NULL also where the message cannot be sent, as nopal_send() says. */
struct nopal_connection *nopal_dial_early(const char *config, const char *address,
					  const void *bytes, size_t length, int64_t timeout_ns,
					  struct nopal_problems *problems);
/* Both sides call it, each with the other's address: see struct nopal_open. */
struct nopal_connection *nopal_rendezvous(const char *config, const char *local, const char *peer,
					  int64_t timeout_ns, struct nopal_problems *problems);
struct nopal_listener *nopal_listen(const char *config, const char *address,
				    struct nopal_problems *problems);
/* The same with a reset key (NOPAL_RESET_KEY_BYTES, see nopal_endpoint_set_reset_key):
 * one that was listening here before with this key has its peers told at once. */
struct nopal_listener *nopal_listen_keyed(const char *config, const char *address,
					  const uint8_t *reset_key,
					  struct nopal_problems *problems);
struct nopal_connection *nopal_accept(struct nopal_listener *listener, int64_t timeout_ns,
				      struct nopal_problems *problems);
/* 0, -ETIMEDOUT, -EPIPE, -EMSGSIZE, -EINVAL: as nopal_send. */
int nopal_connection_send(struct nopal_connection *connection, const void *bytes, size_t length,
			  int64_t timeout_ns);
/* The same, to one destination alone where `destination` is its id (0: to all). `ret_ticket` (or
 * NULL) gets a number for nopal_connection_wait(): of the last NOPAL_TICKETS tickets the outcomes
 * are remembered, and while the outcome of one is open the ticket that would take its place waits,
 * as it does for room.  -ENOENT: there is no such destination any more. */
enum { NOPAL_TICKETS = 4096 };
int nopal_connection_send_to(struct nopal_connection *connection, uint32_t destination,
			     const void *bytes, size_t length, int64_t timeout_ns,
			     uint64_t *ret_ticket);
/* A message with its properties, whose numbers nopal_connection_property() tells; its `buffer` has
 * to be NULL, and a ticket stands for its cookie. */
int nopal_connection_send_message(struct nopal_connection *connection,
				  const struct nopal_outgoing *outgoing, int64_t timeout_ns,
				  uint64_t *ret_ticket);
/* As nopal_property(), for the plan of the connection. */
unsigned nopal_connection_property(const struct nopal_connection *connection, const char *name);
/* Waits for the outcome of a message, which is one of enum nopal_outcome.  To many it is that of
 * the group's rule: NOPAL_OUTCOME_DELIVERED where as many have the message as must.  Ticket 0
 * stands for all messages since the last wait for ticket 0: delivered where all of them are,
 * NOPAL_OUTCOME_LOST where any is missing.  -ETIMEDOUT; -ENOENT: no ticket, or forgotten.  Outcomes
 * that nobody waits for are not lost: nopal_connection_close() tells them, too. */
int nopal_connection_wait(struct nopal_connection *connection, uint64_t ticket, int64_t timeout_ns);
/* Length of the message (which may exceed `room`: the rest is dropped, and may be 0),
 * -EPIPE at the end in good order, -ETIMEDOUT, -ECONNRESET. */
int64_t nopal_connection_receive(struct nopal_connection *connection, void *bytes, size_t room,
				 int64_t timeout_ns);
/* The same; `ret_from` gets the id of the destination that sent it, where there are destinations,
 * or 0. */
int64_t nopal_connection_receive_from(struct nopal_connection *connection, void *bytes, size_t room,
				      int64_t timeout_ns, uint32_t *ret_from);
/* Where a message is to be copied, and which of its properties are asked for: `which` is given, and
 * `value` is set where a message came. */
struct nopal_incoming {
	void *bytes;
	size_t room;
	struct nopal_property *properties;
	size_t property_count;
};
int64_t nopal_connection_receive_message(struct nopal_connection *connection,
					 const struct nopal_incoming *incoming, int64_t timeout_ns);
/* A file, or a part of one, as messages.  Its bytes go from the file into the messages that leave,
 * and from the datagrams that came into the file, and are copied nowhere else. */
enum { NOPAL_FILE_PIECE = 1 << 16 };
#define NOPAL_FILE_TO_END UINT64_MAX
struct nopal_file_range {
	int fd;	       /* which pread(2) and pwrite(2) take: no pipe, no socket */
	uint64_t from; /* byte of the file */
	/* Bytes; NOPAL_FILE_TO_END: up to the end of the file, or of the connection. */
	uint64_t length;
	/* Most bytes of a message, `placed` its number included; 0: NOPAL_FILE_PIECE, or what the
	 * plan takes where that is less. */
	uint32_t piece;
	/* Each message begins with a number, 8 bytes, which tells where its piece belongs: pieces
	 * are written as they come, and nobody waits for one that is late.  Both sides say so, with
	 * the same `piece` and `length`.  Otherwise the messages' bytes are a stream, and the
	 * composition has to keep their order. */
	bool placed;
	/* After each message, in the caller's thread: the bytes that are through so far.  False
	 * ends the call.  NULL: none. */
	bool (*progress)(uint64_t done_bytes, void *user);
	void *user;
};
/* 0: the session has taken all of the range (nopal_connection_wait() tells the outcome), or all of
 * it is written.  In any case `ret_done` (or NULL) gets the bytes that are through; after an error
 * what follows can be sent or received by another call, but a placed range begins anew.
 * `timeout_ns` is for one message.  -ETIMEDOUT; -ECANCELED: by `progress`; -EPIPE, -ECONNRESET: the
 * connection ended before; -EINVAL: a placed range with no length, or a piece that holds nothing,
 * or exceeds the plan's messages; -ENOTSUP: the composition does not promise a
 * stream, all of it, in order and once; -ENOMEM; what reading or writing said, such as -EIO.
 *
 * -ENODATA: the file is shorter than the range, or has become so. */
int nopal_connection_send_file(struct nopal_connection *connection,
			       const struct nopal_file_range *range, int64_t timeout_ns,
			       uint64_t *ret_done);
/* -ENOSPC, -EDQUOT, -EFBIG (where SIGXFSZ is ignored): the file cannot grow; -EBADMSG: the next message is no piece of the
 * range, or exceeds it.  The message at which writing failed, or which is none of the range, stays
 * unread. */
int nopal_connection_receive_file(struct nopal_connection *connection,
				  const struct nopal_file_range *range, int64_t timeout_ns,
				  uint64_t *ret_done);
/* Descriptors for poll(2) and its like, which connection and listener own and close: readable
 * (POLLIN, by level) while a receive, or an accept, would return at once.  Negative: errno
 * value. */
int nopal_connection_fd(struct nopal_connection *connection);
int nopal_listener_fd(struct nopal_listener *listener);
/* Several connections and listeners, to wait for any of them; any thread may change it while
 * another waits.  A connection or listener is in one set at most, and leaves it when it is closed.
 * What a set costs is proportional to those that are ready, not to its members. */
struct nopal_connections;
enum nopal_ready_events {
	NOPAL_READABLE = 1, /* a message is there; of a listener: a connection to accept */
	NOPAL_WRITABLE = 2, /* a send without a ticket would return at once */
	NOPAL_ENDED = 4,    /* the session has ended; messages may still be there */
};
struct nopal_connection_ready {
	struct nopal_connection *connection; /* NULL: it is the listener */
	struct nopal_listener *listener;
	unsigned events; /* those that were asked for and are so; NOPAL_ENDED unasked */
	void *user;	 /* as it was added */
};
/* NULL: out of memory. */
struct nopal_connections *nopal_connections_new(void);
/* The set's members stay open, and are in none then; nobody may be waiting. */
void nopal_connections_free(struct nopal_connections *set);
/* Adds a member, or changes what is asked of it: NOPAL_READABLE, NOPAL_WRITABLE, both or none.
 * -EBUSY: it is in another set; -EINVAL: other events. */
int nopal_connections_add(struct nopal_connections *set, struct nopal_connection *connection,
			  unsigned events, void *user);
int nopal_connections_add_listener(struct nopal_connections *set, struct nopal_listener *listener,
				   void *user);
/* -ENOENT: it is not in this set. */
int nopal_connections_remove(struct nopal_connections *set, struct nopal_connection *connection);
int nopal_connections_remove_listener(struct nopal_connections *set,
				      struct nopal_listener *listener);
/* Waits until a member is ready, and writes at most `room` of those that are, each once; returns
 * how many, of which 0 says that the time is over.  By level: who stays ready is told again, after
 * all others that are. */
size_t nopal_connections_wait(struct nopal_connections *set,
			      struct nopal_connection_ready *ret_ready, size_t room,
			      int64_t timeout_ns);
/* A descriptor for poll(2) and its like, which the set owns: readable (POLLIN, by level) while
 * nopal_connections_wait() would return at once.  Negative: errno value. */
int nopal_connections_fd(struct nopal_connections *set);
/* The state of a connection, now or at its end. */
struct nopal_connection_info {
	struct nopal_address local, peer; /* peer: of the session; to many, see the destinations */
	bool ended;
	enum nopal_end end; /* where it has ended */
	struct nopal_counters counters;
};
/* Waits for the connection's own thread to answer, which is a matter of microseconds. */
void nopal_connection_look(struct nopal_connection *connection,
			   struct nopal_connection_info *ret_info);
/* One connection to many, with a config that has a layer `per_destination`.  Waits until each has
 * opened or ended, or until the time is over: who has not opened is a warning, and NULL is returned
 * where nobody has.  nopal_dial() with such a config is the same with one. */
struct nopal_connection *nopal_dial_many(const char *config, const char *const *addresses,
					 size_t count, int64_t timeout_ns,
					 struct nopal_problems *problems);
/* One more: its id when it is open.  With a config that has host_streams, an address that is there
 * already gets one stream more, with an id of its own.  -ETIMEDOUT, -ECONNREFUSED: it did not open,
 * the problems say why, and it is no destination; -EEXIST: it is one, and has but one stream; -EPIPE: the connection has ended; -EINVAL: no
 * address, or no such connection: one to one, or an accepted one. */
int64_t nopal_connection_add(struct nopal_connection *connection, const char *address,
			     int64_t timeout_ns, struct nopal_problems *problems);
/* Removes destination `id`: it gets no more messages, and nobody waits for it; messages sent before
 * still go there, and then its session closes, or, `at_once`, ends now.  Returns at once.  A
 * destination that has ended by itself is taken off the list.  -ENOENT: no destination has this id;
 * -EINVAL: as above. */
int nopal_connection_remove(struct nopal_connection *connection, uint32_t id, bool at_once);
/* The same of all streams to the host at this address.  -ENOENT: there is none. */
int nopal_connection_remove_host(struct nopal_connection *connection, const char *address,
				 bool at_once, struct nopal_problems *problems);
/* Destinations that are there, or have ended and were not removed.  Writes at most `room`, returns
 * how many there are; `session` is NULL, and `text` valid until the destination is removed, or the
 * connection closed. */
size_t nopal_connection_destinations(struct nopal_connection *connection,
				     struct nopal_destination_info *ret_infos, size_t room);
/* Waits for the end.  0: a good one, so that all arrived that the composition was to bring (enum
 * nopal_end).  -ECONNRESET: another, or messages were accepted that could not be sent any more;
 * `problems` say why, how many are missing, and which destinations were lost.  -ETIMEDOUT.  The
 * connection is gone in any case. */
int nopal_connection_close(struct nopal_connection *connection, int64_t timeout_ns,
			   struct nopal_problems *problems);
void nopal_listener_close(struct nopal_listener *listener);
void nopal_listener_address(const struct nopal_listener *listener,
			    struct nopal_address *ret_address);

#ifdef __cplusplus
}
#endif

#endif
