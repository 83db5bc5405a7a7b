/* SPDX-License-Identifier: MIT */
/*
 * total_order.h -- the state of total_order, and the handlers of its two halves: order_hub.c at the
 * group's opener, order_member.c at a destination.
 */
#ifndef NOPAL_TOTAL_ORDER_H
#define NOPAL_TOTAL_ORDER_H

#include <nopal/microprotocol.h>

struct total_order_parameters {
	int64_t window, waiting, early;
};

/* attributes */
enum {
	TOTAL_ORDER_TO_ALL,
	TOTAL_ORDER_PLACE,
	TOTAL_ORDER_SENDER,
	TOTAL_ORDER_REQUEST,
	TOTAL_ORDER_RETURNED,
	TOTAL_ORDER_DESTINATION,
	TOTAL_ORDER_ORDERED,
};
/* kinds */
enum { TOTAL_ORDER_RELAY, TOTAL_ORDER_START };
/* shared variables */
enum { TOTAL_ORDER_LAST, TOTAL_ORDER_MEMBER };

enum {
	TOTAL_ORDER_PLACE_BYTES = 8,
	TOTAL_ORDER_ID_BYTES = 4,
	TOTAL_ORDER_START_BYTES = TOTAL_ORDER_PLACE_BYTES + TOTAL_ORDER_ID_BYTES,
	TOTAL_ORDER_ITEM_BYTES = 256, /* what an empty message counts in bounds of memory */
};

struct total_order {
	/* the hub's */
	uint64_t given;		  /* the last place */
	struct nopal_map waiting; /* messages of members without a place, by their arrival */
	uint64_t first, end;	  /* arrivals in it */
	uint64_t waiting_bytes;
	uint64_t relayed_bytes; /* of relays that not all destinations have */
	bool relays;
	/* a destination's */
	uint64_t id;		/* in the group */
	uint64_t next;		/* place of the next delivery; 0: not known yet */
	struct nopal_map early; /* messages behind a missing one, by place */
	struct nopal_map asked; /* own segments whose message has not come back, by request */
	uint32_t request;	/* the last one */
	/* both: the group closes, or the peer has */
	bool closed;
};

/* Nobody waits for its status any more: a kind of another part's, too. */
static inline void total_order_done(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_segment_settle(at.session, segment);
	nopal_release(at, segment, NOPAL_DONE);
}

/* order_hub.c */
void nopal__order_hub_place(struct nopal_at at, struct nopal_segment *segment);
enum nopal_verdict nopal__order_hub_take(struct nopal_at at, struct nopal_message *message);
void nopal__order_hub_close(struct nopal_at at);
nopal_DESTINATION_ADDED_handler nopal__order_hub_on_added;
nopal_COPIES_LEAVE_handler nopal__order_hub_on_leave;
void nopal__order_hub_over(struct nopal_at at, struct nopal_segment *segment);
nopal_SEGMENT_DONE_handler nopal__order_hub_on_done;

/* order_member.c */
void nopal__order_member_ask(struct nopal_at at, struct nopal_segment *segment);
void nopal__order_member_give_up(struct nopal_at at, const struct nopal_segment *segment);
enum nopal_verdict nopal__order_member_take(struct nopal_at at, struct nopal_message *message);
nopal_PEER_CLOSED_handler nopal__order_member_on_peer_closed;
nopal_SEGMENT_DONE_handler nopal__order_member_on_done;
nopal_SEGMENT_FROM_NET_handler nopal__order_member_on_start;
nopal_SEGMENT_FROM_NET_handler nopal__order_member_on_relay;

#endif
