/* SPDX-License-Identifier: MIT */
/*
 * go_back_n.h -- the state of go_back_n, and the handlers of its sender, go_back_sender.c.
 */
#ifndef NOPAL_GO_BACK_N_H
#define NOPAL_GO_BACK_N_H

#include "../base/held.h"
#include "../status/outstanding.h"

struct go_back_n_parameters {
	int64_t window, timeout_ns, backoff, attempts, piggyback, buffer;
};

/* attributes */
enum {
	GO_BACK_N_NUMBER = HELD_NEXT,
	GO_BACK_N_CUMULATIVE,
	GO_BACK_N_CUMULATIVE_ALONE, /* the same, on what carries nothing else */
};
/* shared variables */
enum { GO_BACK_N_UNMET, GO_BACK_N_LOCAL, GO_BACK_N_PEER, GO_BACK_N_TIMEOUT };
enum { GO_BACK_N_ACK };	      /* kinds */
enum { GO_BACK_N_TIMED_OUT }; /* timers */
enum { GO_BACK_N_NUMBER_BYTES = 4 };

struct go_back_n {
	struct held held; /* of what the peer sends */

	/* of what we send */
	struct outstanding sent;
	struct nopal_queue waiting; /* beyond the window */
	uint64_t cumulative;	    /* the peer waits for this number */
	uint64_t back;		    /* where to go back to */
	bool lost;		    /* do so when the turn ends */
	bool asking;		    /* it is this part that asks for a resend */
	bool reported;		    /* something was acknowledged */
	uint32_t vain;		    /* waits since the cumulative ack moved */
	uint64_t largest;	    /* packet number that was acknowledged */
	int64_t moved_ns;	    /* when the cumulative ack moved, or all left again */
	int64_t due_ns;		    /* when the timer fires */

	/* of what the peer sends */
	uint64_t next; /* the only number that is taken */
	bool owed;     /* something came since the last acknowledgement */
};

nopal_SEGMENT_TO_NET_handler nopal__go_back_sender_on_to_net;
nopal_SEND_SEGMENT_handler nopal__go_back_sender_on_send;
nopal_SEGMENT_RESEND_handler nopal__go_back_sender_on_resend;
nopal_SEGMENT_FROM_NET_handler nopal__go_back_sender_on_ack;
nopal_SEGMENT_RECEIVED_handler nopal__go_back_sender_on_settled;
nopal_SEGMENT_LOST_handler nopal__go_back_sender_on_lost;
nopal_TURN_END_handler nopal__go_back_sender_on_turn_end;
nopal_timer_handler nopal__go_back_sender_when_timed_out;
/* An acknowledgement: the number that the peer waits for, modulo 2^32. */
void nopal__go_back_sender_take_cumulative(struct nopal_at at, uint64_t wire);

#endif
