/* SPDX-License-Identifier: MIT */
/*
 * loss_compensation -- random loss counted as passed by the bottleneck, for BBR
 *
 * BBR sends at the rate of delivery.  Where a share p is lost behind the bottleneck, that is (1 -
 * p) of the bytes that the bottleneck passed, and the link is left idle in part.  Here bytes lost
 * within a sample count as passed, up to the share that is random.
 *
 * The random share is measured on transmissions in slow phases alone: loss that our own sending
 * causes is absent there.  A slow phase that still sees a queue counts as free of loss, so that a
 * share that was taken too large fades (random_loss.h); a loss that was none is taken back.
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_model.h"
#include "random_loss.h"
#include "standing_queue.h"

/* Attributes. */
enum { LOSS_COMPENSATION_LOST, LOSS_COMPENSATION_DELIVERED, LOSS_COMPENSATION_LATE };
enum {
	LOSS_COMPENSATION_PASSED,
	LOSS_COMPENSATION_SHARE,
	LOSS_COMPENSATION_SLOW,
	LOSS_COMPENSATION_SAMPLE,
	LOSS_COMPENSATION_PATH_RTT,
	LOSS_COMPENSATION_LATEST,
};
/* The low bit of an attribute is a flag: ours says that the segment left in a slow phase. */
enum { LOSS_COMPENSATION_MARK = 1, LOSS_COMPENSATION_FLAG_BITS = 1 };

struct loss_compensation {
	struct random_loss random;
	uint64_t delivered, lost;		/* bytes, ever */
	uint64_t delivered_before, lost_before; /* ... before the segment of the sample left */
};

static bool loss_compensation_is_marked(struct nopal_at at, const struct nopal_segment *segment)
{
	return nopal_get(at, segment, LOSS_COMPENSATION_LOST) & LOSS_COMPENSATION_MARK;
}

static enum nopal_verdict loss_compensation_on_send(struct nopal_at at,
						    struct nopal_segment *segment)
{
	const struct loss_compensation *self = nopal_state(at);
	bool slow = nopal_shared_get(at, LOSS_COMPENSATION_SLOW);

	nopal_set(at, segment, LOSS_COMPENSATION_LOST,
		  self->lost << LOSS_COMPENSATION_FLAG_BITS | slow);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict loss_compensation_on_received(struct nopal_at at,
							struct nopal_segment *segment)
{
	struct loss_compensation *self = nopal_state(at);
	int64_t sample = nopal_shared_get(at, LOSS_COMPENSATION_SAMPLE);
	uint64_t bytes = segment->body.length;

	self->delivered += bytes;
	/* The segment was counted as lost, and has arrived. */
	if (nopal_has(at, LOSS_COMPENSATION_LATE) &&
	    nopal_get(at, segment, LOSS_COMPENSATION_LATE) && self->lost >= bytes)
		self->lost -= bytes;
	if (loss_compensation_is_marked(at, segment))
		random_loss_count(&self->random, segment, false);
	if (sample == (int64_t)segment->packet_number) {
		self->delivered_before = nopal_get(at, segment, LOSS_COMPENSATION_DELIVERED) >>
					 LOSS_COMPENSATION_FLAG_BITS;
		self->lost_before = nopal_get(at, segment, LOSS_COMPENSATION_LOST) >>
				    LOSS_COMPENSATION_FLAG_BITS;
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict loss_compensation_on_lost(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct loss_compensation *self = nopal_state(at);

	self->lost += segment->body.length;
	if (loss_compensation_is_marked(at, segment))
		random_loss_count(&self->random, segment, true);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict loss_compensation_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct loss_compensation *self = nopal_state(at);
	int64_t path_ns = nopal_shared_get(at, LOSS_COMPENSATION_PATH_RTT);
	int64_t rtt_ns = bbr_timed_rtt(ack, nopal_shared_get(at, LOSS_COMPENSATION_LATEST));

	uint64_t delivered = self->delivered - self->delivered_before;
	uint64_t lost = self->lost > self->lost_before ? self->lost - self->lost_before : 0;
	uint64_t passed;

	if (nopal_shared_get(at, LOSS_COMPENSATION_SAMPLE) < 0)
		return NOPAL_CONTINUE;
	random_loss_end_ack(at.session, &self->random, !standing_queue_is_small(rtt_ns, path_ns));
	/* In the interval of the sample, beyond the bytes that were delivered. */
	passed = random_loss_passed(at.session, &self->random, delivered, lost) - delivered;
	nopal_shared_set(at, LOSS_COMPENSATION_PASSED, (int64_t)passed);
	nopal_shared_set(at, LOSS_COMPENSATION_SHARE,
			 (int64_t)random_loss_share(at.session, &self->random));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_loss_compensation = {
	NOPAL_DESCRIBE(loss_compensation, congestion,
		       "random loss counted as passed by the bottleneck, for BBR"),
	BBR_MODIFIER,
	.attributes = NOPAL_ATTRIBUTES(
		[LOSS_COMPENSATION_LOST] = { "lost_before", NOPAL_WRITE,
					     "bytes lost at the transmission, times 2, and a flag",
					     .kinds = NOPAL_CARRIED },
		[LOSS_COMPENSATION_DELIVERED] = { "delivered_before", NOPAL_READ },
		[LOSS_COMPENSATION_LATE] = { "late_left_ns", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([LOSS_COMPENSATION_PASSED] = { BBR_PASSED(NOPAL_WRITE) },
			       [LOSS_COMPENSATION_SHARE] = { BBR_RANDOM_LOSS(NOPAL_WRITE) },
			       [LOSS_COMPENSATION_SLOW] = { BBR_MODEL_SLOW(NOPAL_READ) },
			       [LOSS_COMPENSATION_SAMPLE] = { BBR_MODEL_SAMPLE(NOPAL_READ) },
			       [LOSS_COMPENSATION_PATH_RTT] = { BBR_MODEL_MIN_RTT(NOPAL_READ) },
			       [LOSS_COMPENSATION_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0,
							      "did it meet a queue" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEND_SEGMENT, loss_compensation_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_RECEIVED, loss_compensation_on_received, .kinds = NOPAL_CARRIED,
			 .after = "path_model"),
		/* Before what is lost leaves again and is stamped anew. */
		NOPAL_ON(SEGMENT_LOST, loss_compensation_on_lost, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, loss_compensation_on_lost, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(ACK_PROCESSED, loss_compensation_on_ack, .after = "loss_detection")),
	.state_size = sizeof(struct loss_compensation),
};
