/* SPDX-License-Identifier: MIT */
/*
 * delivery_rate.h -- samples of the rate at which a path delivers.
 *
 * After Cheng, Cardwell, Yeganeh, Jacobson, Delivery Rate Estimation (IETF draft, 2017).  A
 * transmission takes along what had been delivered and lost until then; when it is acknowledged,
 * what came on top, over the time that it took, is a sample.  The interval is the longer one of
 * sending and acknowledging, so that a burst of acks is no burst of bandwidth.  A policy puts
 * DELIVERY_ATTRIBUTES first in its table of attributes.
 */
#ifndef NOPAL_DELIVERY_RATE_H
#define NOPAL_DELIVERY_RATE_H

#include <nopal/microprotocol.h>

/* First in the policy's own table of attributes. */
enum delivery_attribute {
	DELIVERY_BEFORE,	/* bytes delivered at the transmission, and flags */
	DELIVERY_BEFORE_NS,	/* when the last of them were delivered */
	DELIVERY_FIRST_SENT_NS, /* transmission that begins the interval */
	DELIVERY_NEXT,		/* the policy's own begin here */
};
/* Low bits of DELIVERY_BEFORE. */
enum {
	DELIVERY_LIMITED = 1, /* the application had no more to send */
	DELIVERY_FLAG_BITS = 1,
};

#define DELIVERY_ATTRIBUTES                                                                        \
	[DELIVERY_BEFORE] = { "delivered_before", NOPAL_WRITE,                                     \
			      "bytes delivered at the transmission, times 2, and a flag",          \
			      .kinds = NOPAL_CARRIED },                                            \
	[DELIVERY_BEFORE_NS] = { "delivered_before_ns", NOPAL_WRITE,                               \
				 "when they had been delivered", .kinds = NOPAL_CARRIED },         \
	[DELIVERY_FIRST_SENT_NS] = { "first_sent_ns", NOPAL_WRITE,                                 \
				     "transmission that began the sample's interval",              \
				     .kinds = NOPAL_CARRIED }

struct delivery {
	uint64_t delivered; /* bytes, ever */
	int64_t delivered_ns;
	int64_t first_sent_ns;	/* begins the next sample's interval */
	uint64_t limited_until; /* below this much delivered, the application limits samples */
	/* The sample of the ack in work: of its segment that left last. */
	struct delivery_sample {
		bool any, limited;
		uint64_t packet_number;
		uint64_t delivered; /* before it left */
		uint64_t early;	    /* bytes of the ack */
		int64_t delivered_ns, first_sent_ns, sent_ns;
	} sample;
};

/* A round trip of what is delivered. */
struct delivery_round {
	uint64_t count;
	uint64_t end; /* bytes delivered that end it */
	bool began;   /* with this ack */
};

/* A segment leaves; `limited`: the application has no more to send. */
static inline void delivery_stamp(struct nopal_at at, struct delivery *delivery,
				  struct nopal_segment *segment, int64_t in_flight, bool limited)
{
	uint64_t before = delivery->delivered << DELIVERY_FLAG_BITS;

	if (limited)
		delivery->limited_until = delivery->delivered + (uint64_t)in_flight;
	if (delivery->limited_until > delivery->delivered)
		before |= DELIVERY_LIMITED;
	if (in_flight <= segment->body.length) {
		delivery->delivered_ns = at.session->now_ns;
		delivery->first_sent_ns = at.session->now_ns;
	}
	nopal_set(at, segment, DELIVERY_BEFORE, before);
	nopal_set(at, segment, DELIVERY_BEFORE_NS, (uint64_t)delivery->delivered_ns);
	nopal_set(at, segment, DELIVERY_FIRST_SENT_NS, (uint64_t)delivery->first_sent_ns);
}

/* A segment that left less than `min_rtt_ns` ago is acknowledged for an earlier transmission: it
 * counts, but its stamps say nothing. */
static inline void delivery_take(struct nopal_at at, struct delivery *delivery,
				 const struct nopal_segment *segment, int64_t min_rtt_ns)
{
	uint64_t before = nopal_get(at, segment, DELIVERY_BEFORE);
	struct delivery_sample *sample = &delivery->sample;
	int64_t age = at.session->now_ns - segment->transmitted_ns;

	delivery->delivered += segment->body.length;
	delivery->delivered_ns = at.session->now_ns;
	if (age < min_rtt_ns)
		sample->early += segment->body.length;
	if (age < min_rtt_ns || (sample->any && segment->packet_number < sample->packet_number))
		return;
	sample->any = true;
	sample->limited = before & DELIVERY_LIMITED;
	sample->packet_number = segment->packet_number;
	sample->delivered = before >> DELIVERY_FLAG_BITS;
	sample->delivered_ns = (int64_t)nopal_get(at, segment, DELIVERY_BEFORE_NS);
	sample->first_sent_ns = (int64_t)nopal_get(at, segment, DELIVERY_FIRST_SENT_NS);
	sample->sent_ns = segment->transmitted_ns;
}

/* Forget the sample: the next ack has its own. */
static inline void delivery_end_ack(struct delivery *delivery)
{
	delivery->sample.any = false;
	delivery->sample.early = 0;
}

/* The bytes delivered in the interval of the sample.  Where acks overtake, one that does by far, by
 * more than `burst`, tells of more than that: of bytes that came early. */
static inline uint64_t delivery_amount(const struct delivery *delivery, uint64_t burst)
{
	uint64_t bytes = delivery->delivered - delivery->sample.delivered;
	uint64_t early = delivery->sample.early;

	if (early <= burst)
		return bytes;
	return bytes > early ? bytes - early : 0;
}

/* The interval of the sample; its transmission begins the next one. */
static inline int64_t delivery_interval(struct nopal_session *session, struct delivery *delivery)
{
	const struct delivery_sample *sample = &delivery->sample;
	int64_t acked_in = session->now_ns - sample->delivered_ns;
	int64_t sent_in = sample->sent_ns - sample->first_sent_ns;

	delivery->first_sent_ns = sample->sent_ns;
	return acked_in > sent_in ? acked_in : sent_in;
}

#endif
