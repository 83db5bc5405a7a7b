/* SPDX-License-Identifier: MIT */
/*
 * standing_queue -- a queue that stands for a round trip ends the startup of BBR
 *
 * A round trip in which every sample met a queue says that the pipe is full, up to three rounds
 * before the bandwidth says so by not growing (standing_queue.h).  A late ack of a single segment,
 * of an application that had no more to send, waited for company and met no queue.
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_model.h"
#include "standing_queue.h"

enum {
	STANDING_QUEUE_STANDS,
	STANDING_QUEUE_LATEST,
	STANDING_QUEUE_PATH_RTT,
	STANDING_QUEUE_SAMPLE,
	STANDING_QUEUE_LIMITED,
	STANDING_QUEUE_OVERTAKEN,
};

struct standing_queue_part {
	struct standing_queue queue;
	bool overtakes; /* packets do: what was seen before is void */
};

static enum nopal_verdict standing_queue_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct standing_queue_part *self = nopal_state(at);
	int64_t path_ns = nopal_shared_get(at, STANDING_QUEUE_PATH_RTT);
	int64_t rtt_ns = bbr_timed_rtt(ack, nopal_shared_get(at, STANDING_QUEUE_LATEST));

	if (nopal_shared_get(at, STANDING_QUEUE_OVERTAKEN) && !self->overtakes) {
		standing_queue_begin(&self->queue);
		self->overtakes = true;
	}
	if (nopal_shared_get(at, STANDING_QUEUE_SAMPLE) < 0)
		return NOPAL_CONTINUE;
	if (rtt_ns && nopal_shared_get(at, STANDING_QUEUE_LIMITED))
		rtt_ns = path_ns;
	/* With the first sample there is nothing to hold it against. */
	if (path_ns)
		standing_queue_note(&self->queue, at.session->now_ns, rtt_ns, path_ns);
	nopal_shared_set(at, STANDING_QUEUE_STANDS, self->queue.stands);
	return NOPAL_CONTINUE;
}

static int standing_queue_open(struct nopal_at at)
{
	struct standing_queue_part *self = nopal_state(at);

	standing_queue_begin(&self->queue);
	return 0;
}

const struct nopal_microprotocol nopal_standing_queue = {
	NOPAL_DESCRIBE(standing_queue, congestion,
		       "a queue that stands for a round trip ends the startup of BBR"),
	BBR_MODIFIER,
	.shared = NOPAL_SHARED([STANDING_QUEUE_STANDS] = { BBR_QUEUE_STANDS(NOPAL_WRITE) },
			       [STANDING_QUEUE_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0,
							   "with what is queued" },
			       [STANDING_QUEUE_PATH_RTT] = { BBR_MODEL_MIN_RTT(NOPAL_READ) },
			       [STANDING_QUEUE_SAMPLE] = { BBR_MODEL_SAMPLE(NOPAL_READ) },
			       [STANDING_QUEUE_LIMITED] = { BBR_MODEL_LIMITED(NOPAL_READ) },
			       [STANDING_QUEUE_OVERTAKEN] = { BBR_OVERTAKEN(NOPAL_READ_OPTIONAL) }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(ACK_PROCESSED, standing_queue_on_ack,
					    .after = "loss_detection|usual_rtt")),
	.state_size = sizeof(struct standing_queue_part),
	.open = standing_queue_open,
};
