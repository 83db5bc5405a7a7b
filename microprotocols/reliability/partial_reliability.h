/* SPDX-License-Identifier: MIT */
/*
 * partial_reliability.h -- the state of partial_reliability, and the handlers of forward_point.c,
 * which tells the peer which segments were given up, and hears it.
 */
#ifndef NOPAL_PARTIAL_RELIABILITY_H
#define NOPAL_PARTIAL_RELIABILITY_H

#include "../status/outstanding.h"
#include "expiry.h"

struct partial_reliability_parameters {
	int64_t deadline_ns, attempts;
};

/* attributes */
enum {
	PARTIAL_RELIABILITY_DEADLINE,
	PARTIAL_RELIABILITY_ATTEMPTS,
	PARTIAL_RELIABILITY_EXPIRES,
	PARTIAL_RELIABILITY_FIRST,
	PARTIAL_RELIABILITY_NEXT,
	PARTIAL_RELIABILITY_NUMBER,
	PARTIAL_RELIABILITY_MESSAGE,
};
/* shared variables */
enum {
	PARTIAL_RELIABILITY_FORWARD_POINT,
	PARTIAL_RELIABILITY_LOCAL,
	PARTIAL_RELIABILITY_PEER,
	PARTIAL_RELIABILITY_TIMEOUT,
	PARTIAL_RELIABILITY_RTT,
};
enum { PARTIAL_RELIABILITY_FORWARD };				 /* kinds */
enum { PARTIAL_RELIABILITY_EXPIRED, PARTIAL_RELIABILITY_AGAIN }; /* timers */

enum {
	PARTIAL_RELIABILITY_NUMBER_BYTES = 4,
	PARTIAL_RELIABILITY_BYTES = 2 * PARTIAL_RELIABILITY_NUMBER_BYTES,
	PARTIAL_RELIABILITY_BACKOFF = 6, /* doublings of the time to tell again */
	PARTIAL_RELIABILITY_MARGIN = 4,	 /* a quarter of the round trip more */
	/* Beyond what any sender has numbered: such a point is not believed. */
	PARTIAL_RELIABILITY_MAX = 1 << 24,
};

struct partial_reliability {
	/* of what we send */
	struct outstanding open; /* what the peer is still to have */
	struct expiry expiry;	 /* messages, by their time */
	uint64_t order_end;	 /* place in the order of the next message */
	uint64_t cumulative;	 /* of the peer's acknowledgements */
	uint64_t told;		 /* the last point */
	uint32_t repeats;	 /* of telling it */

	/* of what the peer sends */
	uint64_t point, order;	  /* as it last told */
	uint64_t highest;	  /* one past the highest segment number */
	uint64_t highest_message; /* likewise, where messages have numbers */
};

nopal_ACK_PROCESSED_handler nopal__forward_point_on_processed;
nopal_TURN_END_handler nopal__forward_point_on_turn_end;
nopal_timer_handler nopal__forward_point_when_again;

nopal_SEGMENT_VERIFIED_handler nopal__forward_point_on_verified;
nopal_SEGMENT_FROM_NET_handler nopal__forward_point_on_forward;

#endif
