/* SPDX-License-Identifier: MIT */
/*
 * talk.h -- the talk of the grader with a host: frames over one stream socket.
 *
 * The grader says commands, each with the virtual time at which it is carried out, and then
 * TALK_RUN.  The host runs until that time, or until the instant at which its first datagram
 * leaves, tells its deeds, and ends its turn with TALK_DONE.
 *
 *   word             time      number            other        body
 *   TALK_SETUP       MTU       own number        random seed  file name, 0, text of the config
 *   TALK_OPEN        when      host              -            -
 *   TALK_DESTINATION when      host              session      -
 *   TALK_SEND        when      message           session      properties, 0, bytes
 *   TALK_CLOSE       when      -                 session      -
 *   TALK_ARRIVE      when      host              -            the datagram
 *   TALK_RUN         until     -                 -            -
 *   TALK_SHARED      -         -                 session      name of a shared variable
 *   TALK_DUMP        -         -                 -            -
 *   TALK_STOP        -         -                 -            -
 *
 *   TALK_READY       -         -                 -            -
 *   TALK_REFUSED     -         -                 -            problems of the config
 *   TALK_DATAGRAM    when      host              -            the datagram
 *   TALK_STARTED     when      1: opened         session      -
 *   TALK_OPENED      when      -                 session      -
 *   TALK_SENT        when      message           0 or errno   -
 *   TALK_DELIVERED   when      -                 session      the message
 *   TALK_OUTCOME     when      message           outcome      -
 *   TALK_ENDED       when      end               session      words
 *   TALK_VALUE       -         1: there is one   value        -
 *   TALK_TEXT        -         -                 -            who holds segments
 *   TALK_DONE        now       -                 next event   -
 *
 * A host is not to be believed: the reader checks lengths, and whoever uses a frame its numbers.
 */
#ifndef NOPAL_LAB_TALK_H
#define NOPAL_LAB_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum talk_word {
	TALK_SETUP = 1,
	TALK_OPEN,
	TALK_DESTINATION,
	TALK_SEND,
	TALK_CLOSE,
	TALK_ARRIVE,
	TALK_RUN,
	TALK_SHARED,
	TALK_DUMP,
	TALK_STOP,
	TALK_READY = 32,
	TALK_REFUSED,
	TALK_DATAGRAM,
	TALK_STARTED,
	TALK_OPENED,
	TALK_SENT,
	TALK_DELIVERED,
	TALK_OUTCOME,
	TALK_ENDED,
	TALK_VALUE,
	TALK_TEXT,
	TALK_DONE,
};

enum { TALK_BODY_MAX = 4 << 20 };

struct talk_frame {
	uint32_t length; /* of the body */
	uint32_t word;	 /* enum talk_word, or a lie */
	int64_t time_ns;
	uint64_t number, other;
};

struct talk {
	int fd;
	uint8_t *in, *out;
	size_t in_from, in_used, in_room, out_used, out_room;
};

void talk_init(struct talk *talk, int fd);
/* Frees the buffers; the descriptor is the caller's. */
void talk_fini(struct talk *talk);
/* Puts a frame behind those that wait to be flushed. */
void talk_put(struct talk *talk, enum talk_word word, int64_t time_ns, uint64_t number,
	      uint64_t other, const void *body, size_t length);
/* Blocks until all has left, where the descriptor blocks.  Negative: errno value; -EAGAIN: a part is
 * left. */
int talk_flush(struct talk *talk);
/* The next whole frame of what was read; its body is valid until talk_read().  1; 0: more is to be
 * read; -EPROTO: no frame looks like this. */
int talk_next(struct talk *talk, struct talk_frame *ret_frame, const uint8_t **ret_body);
/* What waits to be flushed is what the other side reads next, where both are of one process (their
 * descriptors are -1, and talk_flush() leaves it alone). */
void talk_carry(struct talk *from, struct talk *to);
/* One read(2), which may block.  Bytes; 0: the other side has ended; negative: errno value. */
int64_t talk_read(struct talk *talk);

#endif
