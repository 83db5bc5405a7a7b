/* SPDX-License-Identifier: MIT */
/*
 * items.h -- what handlers handle: bodies, segments and messages, their barriers, and
 * transmissions, of which each has a packet number.  Part of microprotocol.h, which draws the
 * states of a segment and includes it.
 */
#include "microprotocol.h" /* which includes this page in its place */

#ifndef NOPAL_ITEMS_H
#define NOPAL_ITEMS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that several may look at; freed with the last reference. */
struct nopal_buffer {
	uint32_t references; /* single threaded, like its session */
	uint32_t capacity;
	uint8_t *bytes;
	void (*release)(struct nopal_buffer *buffer); /* when nobody looks any more */
	void *owner;
};

struct nopal_body {
	struct nopal_buffer *buffer; /* one reference is held; NULL when empty */
	const uint8_t *bytes;
	uint32_t length;
};

static inline struct nopal_buffer *nopal_buffer_ref(struct nopal_buffer *buffer)
{
	if (buffer)
		buffer->references++;
	return buffer;
}

static inline void nopal_buffer_unref(struct nopal_buffer *buffer)
{
	if (buffer && --buffer->references == 0)
		buffer->release(buffer);
}

static inline struct nopal_reader nopal_body_reader(const struct nopal_body *body)
{
	return nopal_reader_over(body->bytes, body->length);
}

struct nopal_segment {
	struct nopal_handle handle;
	uint32_t waiting[3]; /* bits still held, by enum nopal_barrier */
	uint8_t kind;	     /* wire code; 0 is data */
	bool done;	     /* SEGMENT_DONE was raised */
	bool incoming;
	bool urgent; /* its message is: first among those that wait */
	bool wanted; /* asked to leave and has not yet: first time or resend */
	bool last;   /* it never leaves again: nopal_segment_resend() says no */
	union {
		uint8_t outcome; /* enum nopal_outcome, of the role acknowledgement */
		uint8_t ecn;	 /* arriving: enum nopal_ecn of its datagram */
	};
	uint8_t pins; /* raises in progress: freed after the last */
	uint16_t transmissions;
	uint8_t path; /* arriving: the one it came by, or NOPAL_PATH_NONE */
	/* `above` is its message there, and all that waits for it */
	bool taken : 1;
	/* The layer below has not told its outcome: that one brings what leaves here again
	 * meanwhile, too. */
	bool below : 1;
	bool left : 1;	 /* its first transmission is on the network */
	uint32_t copies; /* with destinations whose outcome is open */
	uint32_t number; /* counts from 1 in its session: its name in traces */
	/* the segment of the layer above that it is here, where no message is made of that */
	struct nopal_handle above;
	int64_t created_ns;
	uint64_t packet_number;	       /* of the last transmission; arriving: the sender's */
	int64_t transmitted_ns;	       /* last transmission; arriving: arrival */
	struct nopal_message *message; /* outgoing data: the message it is cut
					* from; NULL where it has `above` */
	struct nopal_body body;
	__extension__ uint64_t attribute[]; /* by slot */
};

struct nopal_message {
	struct nopal_handle handle;
	uint32_t number;	   /* as of a segment: one count for both */
	uint32_t waiting;	   /* deliver bits still held */
	uint32_t segments_open;	   /* outgoing: not yet done */
	uint32_t segments_missing; /* outgoing: done without having arrived */
	uint32_t segments_arrived;
	uint32_t segments_unknown; /* outgoing: done, and nobody can say */
	uint32_t fragments;	   /* pieces of `fragment` in use */
	uint32_t fragments_room;
	uint64_t cookie;	     /* the application's own name for it */
	int64_t created_ns;	     /* push, or arrival of its first segment */
	uint64_t length;	     /* bytes */
	uint64_t unsent;	     /* outgoing: of these, not yet on the network */
	struct nopal_body *fragment; /* in order; &one where one is enough */
	struct nopal_body one;
	bool incoming;
	bool is_unsent; /* outgoing: counted as such */
	bool cut;	/* outgoing: all its segments exist */
	bool delivered;
	bool unread;  /* within MSG_TO_USER: it may still be discarded */
	bool kept;    /* the application holds it beyond `received` */
	bool settled; /* its outcome was told, or it was discarded */
	/* Outgoing: a segment has expired; a segment is unknown, and not waived. */
	bool expired, uncertain;
	bool urgent; /* its segments go first among those that wait */
	bool early;  /* travels, or came, in the request to open */
	uint8_t pins;
	int refused;		    /* negative errno value: nobody sends it */
	struct nopal_message *also; /* the next one in the same segment */
	struct nopal_handle above;  /* the segment of the layer above that it carries */
	__extension__ uint64_t attribute[];
};

/* NULL when the handle is stale: a counted no-op for the caller. */
struct nopal_segment *nopal_segment_find(struct nopal_session *session, struct nopal_handle handle);
struct nopal_message *nopal_message_find(struct nopal_session *session, struct nopal_handle handle);
/* Has the application said the same of both?  Then one segment may carry them, with the attributes
 * of either. */
bool nopal_message_is_like(const struct nopal_session *session, const struct nopal_message *one,
			   const struct nopal_message *other);
/* Starts to fetch a segment that is looked at soon: what waited for a round trip has left the
 * cache. */
void nopal_segment_prefetch(struct nopal_session *session, struct nopal_handle handle);

/* A data segment of `message` whose body is message bytes [from, from+length). Raise
 * SEGMENT_FROM_USER with it.  NULL when over budget. */
struct nopal_segment *nopal_segment_cut(struct nopal_session *session,
					struct nopal_message *message, uint64_t from,
					uint32_t length);
/* The same for a segment with bytes of its own (several messages in one). The segment takes over
 * the reference to `body.buffer`. */
struct nopal_segment *nopal_segment_new(struct nopal_session *session,
					struct nopal_message *message, struct nopal_body body);
/* One message more whose outcome follows `segment`, which was made with another one.  A message
 * rides in one such segment only. */
void nopal_segment_also(struct nopal_session *session, struct nopal_segment *segment,
			struct nopal_message *message);
/* A buffer for the body of a segment, from a pool; one reference is the caller's.  NULL: out of
 * memory. */
struct nopal_buffer *nopal_body_buffer(struct nopal_session *session, uint32_t capacity);
/* Says that all segments of `message` exist now: its outcome may be settled. */
void nopal_message_is_cut(struct nopal_session *session, struct nopal_message *message);

/* A segment of one of this part's kinds, with room for `length` bytes at `*ret_bytes`.  Control and
 * opening kinds leave by nopal_control_send (which takes the segment, and cuts it to `length`);
 * carried kinds by raising SEGMENT_TO_NET.  NULL when over budget. */
struct nopal_segment *nopal_control_new(struct nopal_at at, unsigned kind, uint32_t length,
					uint8_t **ret_bytes);
/* The same with a writer over these bytes, for nopal_written() to say how many have become of
 * them. */
static inline struct nopal_segment *nopal_control_begin(struct nopal_at at, unsigned kind,
							uint32_t room,
							struct nopal_writer *ret_writer)
{
	uint8_t *bytes;
	struct nopal_segment *segment = nopal_control_new(at, kind, room, &bytes);

	if (segment)
		*ret_writer = nopal_writer_over(bytes, room);
	return segment;
}
/* A control segment without a body: its kind and its attributes say all. */
static inline struct nopal_segment *nopal_control_bare(struct nopal_at at, unsigned kind)
{
	uint8_t *nowhere;

	return nopal_control_new(at, kind, 0, &nowhere);
}
void nopal_control_send(struct nopal_session *session, struct nopal_segment *segment,
			uint32_t length);
/* The same by one path alone, whether it is open or not. */
void nopal_control_send_by(struct nopal_session *session, struct nopal_segment *segment,
			   uint32_t length, unsigned path);

/* Release this part's bit in a barrier of the segment.  Releasing a bit that is not held is a
 * counted mistake and does nothing. */
void nopal_release(struct nopal_at at, struct nopal_segment *segment, enum nopal_barrier barrier);
/* The bit of this microprotocol in a barrier; 0: it holds nothing there. */
static inline uint32_t nopal_hold_bit(struct nopal_at at, enum nopal_barrier barrier)
{
	return at.part->hold[barrier];
}
static inline bool nopal_holds(struct nopal_at at, const struct nopal_segment *segment,
			       enum nopal_barrier barrier)
{
	return (segment->waiting[barrier] & nopal_hold_bit(at, barrier)) != 0;
}
/* Ask that a segment leaves once more: releases the caller's send bit in the new epoch and raises
 * SEGMENT_RESEND.  False when it is done or `last`, or has not left since it last asked. */
bool nopal_segment_resend(struct nopal_at at, struct nopal_segment *segment);

/* Nobody needs the segment any more, whether it has left or not: it is `last`, and done when all
 * have released their bits, for which SEGMENT_ABANDONED is raised. */
void nopal_segment_abandon(struct nopal_session *session, struct nopal_segment *segment);
/* Nobody sends this message: whoever sent it gets `error`, a negative errno value.  In a handler of
 * MSG_FROM_USER that runs before the role message_segments, which then returns NOPAL_STOP. */
void nopal_message_refuse(struct nopal_session *session, struct nopal_message *message, int error);
/* Takes back an outgoing message of which nothing has left yet, with the outcome expired: see
 * nopal_withdraw() for where that can be, and for the errors.  It may be gone after that. */
int nopal_message_withdraw(struct nopal_session *session, struct nopal_message *message);
/* Other bytes for a message: in MSG_FROM_USER before it is cut, or in MSG_TO_USER before the
 * application sees it.  Takes over the reference to `body.buffer`; false: over budget, and the
 * message is as it was. */
bool nopal_message_replace(struct nopal_session *session, struct nopal_message *message,
			   struct nopal_body body);

/* The deliver bit of an arriving message. */
void nopal_message_release(struct nopal_at at, struct nopal_message *message);
/* Deliver it now, whoever still holds it: its place in any order stays taken until they release
 * it. */
void nopal_message_deliver(struct nopal_session *session, struct nopal_message *message);
/* An arriving message that will never be delivered: late, a duplicate; within MSG_TO_USER, whose
 * handler then returns NOPAL_STOP, one that makes no sense. */
void nopal_message_discard(struct nopal_session *session, struct nopal_message *message);

/* A new arriving message with the attributes of `first`; NULL over budget. */
struct nopal_message *nopal_message_arriving(struct nopal_session *session,
					     const struct nopal_segment *first);
/* A segment that is a whole message, in a layer below another where nobody looks at messages on
 * their way up, goes up as it is; false: it is to become a message. */
bool nopal_segment_rise(struct nopal_session *session, struct nopal_segment *segment);
/* Put a body in place `index` (takes a reference); false: over budget, or the place is taken. */
bool nopal_message_put(struct nopal_session *session, struct nopal_message *message, uint32_t index,
		       struct nopal_body body);

/* Wire attributes and body of a data segment as one byte string, and back: what redundancy codes
 * over.  Pack returns its length, or 0 when `room` is short; unpack gives a segment to raise
 * SEGMENT_FROM_NET with, or NULL. */
uint32_t nopal_segment_pack(struct nopal_session *session, const struct nopal_segment *segment,
			    uint8_t *bytes, uint32_t room);
struct nopal_segment *nopal_segment_unpack(struct nopal_session *session, const uint8_t *bytes,
					   uint32_t length);
/* Done with a segment that nopal_segment_unpack gave, after the raise. */
void nopal_segment_drop(struct nopal_session *session, struct nopal_segment *segment);
/* Bytes that nopal_segment_pack needs for the longest segment of this path. */
uint32_t nopal_pack_limit(const struct nopal_session *session);

/* -------------------------------------------------------------- transmissions */

/* Every transmission of a carried segment has a packet number of its own.  The runtime keeps the
 * transmissions whose status is open, oldest first. */
struct nopal_transmission {
	struct nopal_handle segment;
	int64_t time_ns;
	bool open; /* not yet received, lost, timed out or superseded */
};

/* First packet number that may be open; next_packet_number when none is. */
uint64_t nopal_oldest_transmission(const struct nopal_session *session);
uint64_t nopal_next_packet_number(const struct nopal_session *session);
/* NULL when the number was never used or is forgotten. */
struct nopal_transmission *nopal_transmission_find(struct nopal_session *session,
						   uint64_t packet_number);
/* The status of the transmission is known. */
void nopal_transmission_settle(struct nopal_session *session, uint64_t packet_number);
/* Settles the last transmission of the segment. */
void nopal_segment_settle(struct nopal_session *session, const struct nopal_segment *segment);

/* ------------------------------------------------------ barriers, any item */

/* A barrier on any data item: up to 32 members; `event` (a custom event) is raised with `item` when
 * all have entered, once. */
struct nopal_item_barrier {
	uint32_t members, waiting;
	int event;
	void *item;
};
void nopal_barrier_init(struct nopal_item_barrier *barrier, int event, void *item);
/* Returns the member's bit, or 0 when there are 32 already. */
uint32_t nopal_barrier_join(struct nopal_item_barrier *barrier);
void nopal_barrier_enter(struct nopal_session *session, struct nopal_item_barrier *barrier,
			 uint32_t bit);

#ifdef __cplusplus
}
#endif

#endif
