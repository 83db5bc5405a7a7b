/* SPDX-License-Identifier: MIT */
/*
 * positive_ack.h -- what the files of positive_ack share: its state, and the handlers of both ends,
 * ack_ends.c.
 */
#ifndef NOPAL_POSITIVE_ACK_H
#define NOPAL_POSITIVE_ACK_H

#include "ack_report.h"
#include "outstanding.h"

struct positive_ack_parameters {
	int64_t every, delay_ns, selective, piggyback, window;
};

/* attributes */
enum { POSITIVE_ACK_NUMBER, POSITIVE_ACK_CUMULATIVE, POSITIVE_ACK_PACKET };
/* shared variables */
enum {
	POSITIVE_ACK_LOCAL,
	POSITIVE_ACK_PEER,
	POSITIVE_ACK_UNMET,
	POSITIVE_ACK_WINDOW,
	POSITIVE_ACK_TOLD,
};
enum { POSITIVE_ACK_ACK };   /* kinds */
enum { POSITIVE_ACK_DELAY }; /* timers */

enum {
	/* How far the cumulative ack stays behind the highest number at a hole that nobody will
	 * fill: time for the sender to learn of it. */
	POSITIVE_ACK_HINDSIGHT = 512,
};

struct positive_ack {
	/* of what we send */
	struct outstanding sent;
	struct nopal_queue waiting; /* beyond what the peer can track */
	struct nopal_queue passing; /* away, and not data */
	uint64_t largest;	    /* packet number that the peer reported */
	bool reported;		    /* there is one */

	/* of what the peer sends */
	struct nopal_numbers seen; /* made with the first arrival */
	uint64_t first;		   /* number of the peer's first */
	uint64_t latest;	   /* largest packet number */
	int64_t latest_ns;	   /* its arrival */
	bool arrived;		   /* there was one */
	uint32_t unacked;	   /* arrivals since the last ack */
	bool at_once;		   /* one of them must not wait */
	bool other;		   /* one of them was not data */
	/* The lowest of them that no part of a report has told of; 0: none. */
	uint64_t untold;
	bool deep; /* the last part was of these */
};

/* Numbers up to this far below the highest that is reported surely arrived where the cumulative ack
 * has passed them; 0: all.  Both sides know the same. */
static inline uint64_t positive_ack_reach(struct nopal_at at)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	int64_t window = nopal_shared_get(at, POSITIVE_ACK_WINDOW);

	if (nopal_shared_get(at, POSITIVE_ACK_UNMET))
		return 0;
	if (!set->selective)
		return 1;
	return window < POSITIVE_ACK_HINDSIGHT ? (uint64_t)window : POSITIVE_ACK_HINDSIGHT;
}

nopal_SEGMENT_TO_NET_handler nopal__ack_sender_on_to_net;
nopal_SEND_SEGMENT_handler nopal__ack_sender_on_send;
nopal_SEGMENT_FROM_NET_handler nopal__ack_sender_on_ack;
nopal_SEGMENT_RECEIVED_handler nopal__ack_sender_on_received;
nopal_SEGMENT_LOST_handler nopal__ack_sender_on_missing;
nopal_SEGMENT_ABANDONED_handler nopal__ack_sender_on_abandoned;
nopal_TURN_END_handler nopal__ack_sender_on_turn_end;

nopal_SEGMENT_FROM_NET_handler nopal__ack_receiver_on_carried;
nopal_SEGMENT_VERIFIED_handler nopal__ack_receiver_on_verified;
nopal_FORWARD_RECEIVED_handler nopal__ack_receiver_on_gave_up;
nopal_TURN_END_handler nopal__ack_receiver_on_turn_end;
nopal_timer_handler nopal__ack_receiver_when_delayed;

#endif
