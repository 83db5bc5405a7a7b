/* SPDX-License-Identifier: MIT */
/*
 * delivery_rate.h -- samples of the rate at which a path delivers.
 *
 * After Cheng, Cardwell, Yeganeh, Jacobson, Delivery Rate Estimation (IETF
 * draft, 2017).  A departure takes along what had been delivered and lost until
 * then; when it is acknowledged, what came on top, over the time that it took,
 * is a sample.  The interval is the longer one of sending and acknowledging, so
 * that a burst of acks is no burst of bandwidth.  For policies of this family:
 * put DELIVERY_ATTRIBUTES first in the table of attributes.
 */
#ifndef NOPAL_DELIVERY_RATE_H
#define NOPAL_DELIVERY_RATE_H

#include "microprotocol.h"

/* First in the policy's own table of attributes. */
enum delivery_attribute {
	DELIVERY_BEFORE,    /* bytes delivered at the departure, and flags */
	DELIVERY_LOST,	    /* bytes lost at the departure */
	DELIVERY_BEFORE_NS, /* when the last of them were delivered */
	DELIVERY_FIRST_SENT_NS, /* departure that begins the interval */
	DELIVERY_NEXT,		/* the policy's own begin here */
};
/* Low bits of DELIVERY_BEFORE. */
enum {
	DELIVERY_LIMITED = 1, /* the application had no more to send */
	DELIVERY_MARKED = 2,  /* as the policy pleases */
	DELIVERY_FLAG_BITS = 2,
};

#define DELIVERY_ATTRIBUTES                                                    \
	[DELIVERY_BEFORE] = { .name = "delivered_before",                      \
			      .access = NOPAL_WRITE,                           \
			      .kinds = NOPAL_CARRIED,                          \
			      .doc = "bytes delivered at the departure, "      \
				     "times 4, and flags" },                   \
	[DELIVERY_LOST] = { .name = "lost_before",                             \
			    .access = NOPAL_WRITE,                             \
			    .kinds = NOPAL_CARRIED,                            \
			    .doc = "bytes lost at the departure" },            \
	[DELIVERY_BEFORE_NS] = { .name = "delivered_before_ns",                \
				 .access = NOPAL_WRITE,                        \
				 .kinds = NOPAL_CARRIED,                       \
				 .doc = "when they had been delivered" },      \
	[DELIVERY_FIRST_SENT_NS] = { .name = "first_sent_ns",                  \
				     .access = NOPAL_WRITE,                    \
				     .kinds = NOPAL_CARRIED,                   \
				     .doc = "departure that began the "        \
					    "sample's interval" }

enum {
	DELIVERY_RTT_SAMPLES = 4, /* in a row that a least round trip takes */
	DELIVERY_RTT_BATCH = 64,  /* segments, where packets overtake */
};

struct delivery {
	uint64_t delivered, lost; /* bytes, ever */
	int64_t delivered_ns;
	int64_t first_sent_ns;	/* begins the next sample's interval */
	uint64_t limited_until; /* below this much delivered, samples are
				   small because the application was */
	int64_t recent_rtt_ns[DELIVERY_RTT_SAMPLES];
	uint32_t newest_rtt;
	uint64_t largest_number; /* packet that earlier acks reported */
	bool overtakes;		 /* a later one came before an earlier one */
	uint32_t batch;		 /* segments in it */
	int64_t batch_rtt_ns;	 /* their largest round trip */
	int64_t usual_rtt_ns;	 /* of a whole batch, to be taken; or 0 */
	/* The sample of the ack in work: of its segment that left last. */
	struct delivery_sample {
		bool any, limited;
		uint64_t packet_number;
		uint64_t delivered, lost; /* before it left */
		int64_t delivered_ns, first_sent_ns, sent_ns;
	} sample;
};

static inline void delivery_stamp(struct nopal_session *session,
				  const struct nopal_part *part,
				  struct delivery *delivery,
				  struct nopal_segment *segment,
				  uint64_t in_flight, bool marked)
{
	uint64_t flags = marked ? DELIVERY_MARKED : 0;

	if (in_flight <= segment->body.length) {
		delivery->delivered_ns = session->now_ns;
		delivery->first_sent_ns = session->now_ns;
	}
	if (delivery->limited_until > delivery->delivered)
		flags |= DELIVERY_LIMITED;
	nopal_set(segment, part, DELIVERY_BEFORE,
		  delivery->delivered << DELIVERY_FLAG_BITS | flags);
	nopal_set(segment, part, DELIVERY_LOST, delivery->lost);
	nopal_set(segment, part, DELIVERY_BEFORE_NS,
		  (uint64_t)delivery->delivered_ns);
	nopal_set(segment, part, DELIVERY_FIRST_SENT_NS,
		  (uint64_t)delivery->first_sent_ns);
}

static inline bool delivery_is_marked(const struct nopal_part *part,
				      const struct nopal_segment *segment)
{
	return nopal_get(segment, part, DELIVERY_BEFORE) & DELIVERY_MARKED;
}

/* A segment that left less than `least_rtt_ns` ago is acknowledged for an earlier
 * departure: it counts, but its stamps say nothing. */
static inline void delivery_take(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct delivery *delivery,
				 const struct nopal_segment *segment,
				 int64_t least_rtt_ns)
{
	uint64_t before = nopal_get(segment, part, DELIVERY_BEFORE);
	struct delivery_sample *sample = &delivery->sample;
	int64_t age = session->now_ns - segment->departed_ns;

	delivery->delivered += segment->body.length;
	delivery->delivered_ns = session->now_ns;
	if (age < least_rtt_ns ||
	    (sample->any && segment->packet_number < sample->packet_number))
		return;
	sample->any = true;
	sample->limited = before & DELIVERY_LIMITED;
	sample->packet_number = segment->packet_number;
	sample->delivered = before >> DELIVERY_FLAG_BITS;
	sample->lost = nopal_get(segment, part, DELIVERY_LOST);
	sample->delivered_ns =
		(int64_t)nopal_get(segment, part, DELIVERY_BEFORE_NS);
	sample->first_sent_ns =
		(int64_t)nopal_get(segment, part, DELIVERY_FIRST_SENT_NS);
	sample->sent_ns = segment->departed_ns;
}

/* Was nothing at all delivered since the segment left? */
static inline bool delivery_is_silent(const struct nopal_part *part,
				      const struct delivery *delivery,
				      const struct nopal_segment *segment)
{
	return nopal_get(segment, part, DELIVERY_BEFORE) >>
		       DELIVERY_FLAG_BITS ==
	       delivery->delivered;
}

/* The interval of the sample; its departure begins the next one. */
static inline int64_t delivery_interval(struct nopal_session *session,
					struct delivery *delivery)
{
	const struct delivery_sample *sample = &delivery->sample;
	int64_t acked_in = session->now_ns - sample->delivered_ns;
	int64_t sent_in = sample->sent_ns - sample->first_sent_ns;

	delivery->first_sent_ns = sample->sent_ns;
	return acked_in > sent_in ? acked_in : sent_in;
}

/* The largest of the last few round trips: that of a packet that jumped the
 * queue is true, but no other will have it. */
static inline int64_t delivery_steady_rtt(struct delivery *delivery,
					  int64_t rtt_ns)
{
	int64_t largest = rtt_ns;

	delivery->newest_rtt =
		(delivery->newest_rtt + 1) % DELIVERY_RTT_SAMPLES;
	delivery->recent_rtt_ns[delivery->newest_rtt] = rtt_ns;
	for (unsigned i = 0; i < DELIVERY_RTT_SAMPLES; i++)
		if (delivery->recent_rtt_ns[i] > largest)
			largest = delivery->recent_rtt_ns[i];
	return largest;
}

/* A packet that overtakes is the newest of its ack, so where packets overtake,
 * round trips of the newest are too short: there, each segment counts.  True
 * when that turns out. */
static inline bool delivery_note_rtt(struct nopal_session *session,
				     struct delivery *delivery,
				     const struct nopal_segment *segment)
{
	int64_t age = session->now_ns - segment->departed_ns;
	bool first;

	if (segment->departures != 1)
		return false;
	if (age > delivery->batch_rtt_ns)
		delivery->batch_rtt_ns = age;
	if (++delivery->batch == DELIVERY_RTT_BATCH) {
		delivery->usual_rtt_ns = delivery->batch_rtt_ns;
		delivery->batch_rtt_ns = 0;
		delivery->batch = 0;
	}
	if (segment->packet_number >= delivery->largest_number)
		return false;
	first = !delivery->overtakes;
	delivery->overtakes = true;
	return first;
}

/* A round trip that others will have too; 0: not known now. */
static inline int64_t delivery_usual_rtt(struct delivery *delivery,
					 int64_t rtt_ns)
{
	int64_t usual_ns = delivery->usual_rtt_ns;

	delivery->usual_rtt_ns = 0;
	if (delivery->overtakes)
		return usual_ns;
	return rtt_ns > 0 ? delivery_steady_rtt(delivery, rtt_ns) : 0;
}

#endif
