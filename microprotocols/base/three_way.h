/* SPDX-License-Identifier: MIT */
/*
 * three_way.h -- the state of three_way; sending, and the handlers of its close, which are in
 * three_way_close.c.
 */
#ifndef NOPAL_THREE_WAY_H
#define NOPAL_THREE_WAY_H

#include "retries.h"

struct three_way_parameters {
	struct retries retries;
	int64_t silence_ns, backlog;
};

/* attributes */
enum { THREE_WAY_NUMBER, THREE_WAY_CUMULATIVE, THREE_WAY_OF_DATA };
/* kinds */
enum { THREE_WAY_SYN, THREE_WAY_SYN_ACK, THREE_WAY_ACK, THREE_WAY_FIN };
/* shared variables */
enum { THREE_WAY_LOCAL, THREE_WAY_PEER };
/* timers */
enum {
	THREE_WAY_OPENING,
	THREE_WAY_CLOSING,
	THREE_WAY_LINGER,
	THREE_WAY_SILENCE,
};

enum three_way_state {
	THREE_WAY_LISTENING, /* admitted; its SYN comes next */
	THREE_WAY_ASKING,
	THREE_WAY_TELLING,
	THREE_WAY_OPEN,
};

enum {
	THREE_WAY_INITIAL_SHIFT = 64 - 31, /* leaves 31 random bits */
	THREE_WAY_MSS_BYTES = 4,
};

struct three_way {
	enum three_way_state state;
	uint64_t next;	     /* ours: the number of the next packet */
	uint64_t cumulative; /* the peer's, which we wait for */
	uint32_t mss;	     /* that we told, or were told */
	bool doubted;	     /* is the peer of this open session still there? */
	struct closing closing;
	bool told; /* every FIN of ours acknowledged the peer's */
	uint32_t opening_sends;
	int64_t heard_ns; /* when something of the peer's came last */
};

/* On the wire numbers are 32 bits long. */
static inline bool three_way_is(uint64_t wire, uint64_t number)
{
	return wire == (uint32_t)number;
}

/* `mss`: of SYN and SYN-ACK; else 0, and no payload. */
void nopal__three_way_send(struct nopal_at at, unsigned kind, uint64_t number, uint64_t cumulative,
			   uint32_t mss);
void nopal__three_way_send_ack(struct nopal_at at);

nopal_CLOSE_SESSION_handler nopal__three_way_on_close_session;
nopal_SEGMENT_FROM_NET_handler nopal__three_way_on_fin;
nopal_timer_handler nopal__three_way_when_closing;
nopal_timer_handler nopal__three_way_when_lingered;
/* A segment came that acknowledges our FIN. */
void nopal__three_way_acked(struct nopal_at at);

#endif
