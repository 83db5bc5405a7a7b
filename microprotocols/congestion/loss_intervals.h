/* SPDX-License-Identifier: MIT */
/*
 * loss_intervals.h -- how many packets from loss event to loss event, on average.
 *
 * RFC 5348, sections 5.2 to 5.5: losses of packets that left within a round trip of the first are
 * one event; the mean is over the last eight intervals, older ones count less; the one that is open
 * counts only where it makes the mean larger, so that the rate does not fall because a loss is
 * recent.  Where it is more than twice as long as the others are, these are discounted: the path is
 * better than it was.
 */
#ifndef NOPAL_LOSS_INTERVALS_H
#define NOPAL_LOSS_INTERVALS_H

#include <nopal/microprotocol.h>

enum {
	LOSS_INTERVALS = 8,
	LOSS_INTERVALS_WHOLE = 1024,	   /* no discount */
	LOSS_INTERVALS_MAX_DISCOUNT = 256, /* a quarter is left: section 5.5 */
	LOSS_INTERVALS_LONG = 2,
};
/* 1 1 1 1 0.8 0.6 0.4 0.2, in fifths. */
static const uint8_t loss_intervals_weight[LOSS_INTERVALS] = { 5, 5, 5, 5, 4, 3, 2, 1 };

struct loss_intervals {
	uint64_t packets[LOSS_INTERVALS]; /* closed ones, newest first */
	uint32_t counts[LOSS_INTERVALS];  /* how much of each: DF_i */
	uint32_t count;
	bool any;	       /* there was a loss event */
	uint64_t event_packet; /* the first that got lost in the newest */
	int64_t event_ns;      /* its transmission */
};

/* The sum of the intervals, times their weights, and of the weights. */
struct loss_intervals_sum {
	uint64_t packets, weights;
};

/* Of those that are closed, but for the oldest `less`, which give their weights to newer ones; each
 * discounted by `discount` once more. */
static inline struct loss_intervals_sum loss_intervals_sum(const struct loss_intervals *intervals,
							   unsigned less, uint64_t discount)
{
	struct loss_intervals_sum sum = { 0, 0 };

	for (unsigned i = 0; i + less < intervals->count; i++) {
		uint64_t weight = loss_intervals_weight[i + less] * intervals->counts[i] * discount;

		sum.packets += intervals->packets[i] * weight;
		sum.weights += weight;
	}
	return sum;
}

/* How much of the closed ones counts while one of `open` packets is open: DF. */
static inline uint64_t loss_intervals_discount(const struct loss_intervals *intervals,
					       uint64_t open)
{
	struct loss_intervals_sum closed = loss_intervals_sum(intervals, 0, LOSS_INTERVALS_WHOLE);
	uint64_t discount;

	if (!closed.weights || !open)
		return LOSS_INTERVALS_WHOLE;
	discount =
		closed.packets / closed.weights * LOSS_INTERVALS_LONG * LOSS_INTERVALS_WHOLE / open;
	if (discount < LOSS_INTERVALS_MAX_DISCOUNT)
		return LOSS_INTERVALS_MAX_DISCOUNT;
	return discount < LOSS_INTERVALS_WHOLE ? discount : LOSS_INTERVALS_WHOLE;
}

static inline void loss_intervals_close(struct loss_intervals *intervals, uint64_t packets)
{
	uint64_t discount = loss_intervals_discount(intervals, packets);

	for (unsigned i = LOSS_INTERVALS - 1; i > 0; i--) {
		intervals->packets[i] = intervals->packets[i - 1];
		intervals->counts[i] =
			(uint32_t)(intervals->counts[i - 1] * discount / LOSS_INTERVALS_WHOLE);
	}
	intervals->packets[0] = packets ? packets : 1;
	intervals->counts[0] = LOSS_INTERVALS_WHOLE;
	if (intervals->count < LOSS_INTERVALS)
		intervals->count++;
}

/* A packet that left then is lost.  True: it begins an event.  The caller closes the interval
 * before the first event: nothing in here knows how long it was. */
static inline bool loss_intervals_lost(struct loss_intervals *intervals, uint64_t packet,
				       int64_t transmitted_ns, int64_t rtt_ns)
{
	if (intervals->any &&
	    (packet <= intervals->event_packet || transmitted_ns <= intervals->event_ns + rtt_ns))
		return false;
	if (intervals->any)
		loss_intervals_close(intervals, packet - intervals->event_packet);
	intervals->any = true;
	intervals->event_packet = packet;
	intervals->event_ns = transmitted_ns;
	return true;
}

/* Loss events in `unity` packets; `largest` is the newest whose outcome is known. An interval was
 * closed. */
static inline uint64_t loss_intervals_events(const struct loss_intervals *intervals,
					     uint64_t largest, uint64_t unity)
{
	const uint64_t whole = LOSS_INTERVALS_WHOLE * LOSS_INTERVALS_WHOLE;
	uint64_t open = largest > intervals->event_packet ? largest - intervals->event_packet : 0;
	struct loss_intervals_sum closed = loss_intervals_sum(intervals, 0, LOSS_INTERVALS_WHOLE);
	struct loss_intervals_sum with =
		loss_intervals_sum(intervals, 1, loss_intervals_discount(intervals, open));
	uint64_t events = nopal_scale(closed.weights, unity, closed.packets);
	uint64_t open_events;

	with.packets += open * loss_intervals_weight[0] * whole;
	with.weights += loss_intervals_weight[0] * whole;
	if (!with.packets)
		return events;
	open_events = nopal_scale(with.weights, unity, with.packets);
	return open_events < events ? open_events : events;
}

#endif
