/* SPDX-License-Identifier: MIT */
/*
 * ack_train -- rate of the acks of the first window, which BBR starts with
 *
 * The first window leaves in one burst, so what spaces its acks is the bottleneck.  Startup goes to
 * that rate at once, and beyond it in steps of half, so that it ends with less than a product in
 * the queue.  Beyond that rate, a round that loses far more than is random ends startup: so does a
 * queue too short to be seen.
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_filters.h"
#include "bbr_model.h"
#include "random_loss.h"

enum {
	ACK_TRAIN_MIN_BPS,
	ACK_TRAIN_MAX_BPS,
	ACK_TRAIN_OVERFLOWS,
	ACK_TRAIN_BANDWIDTH,
	ACK_TRAIN_ROUND,
	ACK_TRAIN_SLOW,
	ACK_TRAIN_STARTING,
	ACK_TRAIN_SAMPLE,
	ACK_TRAIN_OVERTAKEN,
	ACK_TRAIN_RANDOM,
};

struct ack_train_part {
	struct ack_train train;
	uint64_t first_end;	  /* packets below left before anything arrived */
	uint64_t delivered, lost; /* bytes, ever */
	int64_t round;
	uint64_t round_delivered, round_lost; /* as it began */
};

static enum nopal_verdict ack_train_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct ack_train_part *self = nopal_state(at);

	self->lost += segment->body.length;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict ack_train_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct ack_train_part *self = nopal_state(at);
	int64_t sample = nopal_shared_get(at, ACK_TRAIN_SAMPLE);
	uint64_t seen_bps = (uint64_t)nopal_shared_get(at, ACK_TRAIN_BANDWIDTH);

	if (!self->delivered)
		self->first_end = nopal_next_packet_number(at.session);
	self->delivered += ack->newly_acked_bytes;
	if (sample < 0 || !nopal_shared_get(at, ACK_TRAIN_STARTING))
		return NOPAL_CONTINUE;
	if (nopal_shared_get(at, ACK_TRAIN_ROUND) != self->round) {
		if (self->train.rate_bps && !nopal_shared_get(at, ACK_TRAIN_SLOW) &&
		    random_loss_exceeded((uint64_t)nopal_shared_get(at, ACK_TRAIN_RANDOM),
					 self->delivered - self->round_delivered,
					 self->lost - self->round_lost))
			nopal_shared_set(at, ACK_TRAIN_OVERFLOWS, 1);
		self->round = nopal_shared_get(at, ACK_TRAIN_ROUND);
		self->round_delivered = self->delivered;
		self->round_lost = self->lost;
	}
	if (sample < (int64_t)self->first_end)
		ack_train_note(&self->train, at.session->now_ns, self->delivered);
	/* Where packets overtake, the spacing of the first acks is void. */
	if (nopal_shared_get(at, ACK_TRAIN_OVERTAKEN)) {
		self->train.rate_bps = 0;
		nopal_shared_set(at, ACK_TRAIN_OVERFLOWS, 0);
	}
	nopal_shared_set(at, ACK_TRAIN_MIN_BPS, (int64_t)self->train.rate_bps);
	nopal_shared_set(at, ACK_TRAIN_MAX_BPS, (int64_t)ack_train_max(&self->train, seen_bps));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_ack_train = {
	NOPAL_DESCRIBE(ack_train, congestion,
		       "rate of the acks of the first window, which BBR starts with"),
	BBR_MODIFIER,
	.shared = NOPAL_SHARED([ACK_TRAIN_MIN_BPS] = { BBR_STARTUP_MIN(NOPAL_WRITE) },
			       [ACK_TRAIN_MAX_BPS] = { BBR_STARTUP_MAX(NOPAL_WRITE) },
			       [ACK_TRAIN_OVERFLOWS] = { BBR_LOSES(NOPAL_WRITE) },
			       [ACK_TRAIN_BANDWIDTH] = { BBR_MODEL_BANDWIDTH(NOPAL_READ) },
			       [ACK_TRAIN_ROUND] = { BBR_MODEL_ROUND(NOPAL_READ) },
			       [ACK_TRAIN_SLOW] = { BBR_MODEL_SLOW(NOPAL_READ) },
			       [ACK_TRAIN_STARTING] = { BBR_MODEL_STARTING(NOPAL_READ) },
			       [ACK_TRAIN_SAMPLE] = { BBR_MODEL_SAMPLE(NOPAL_READ) },
			       [ACK_TRAIN_OVERTAKEN] = { BBR_OVERTAKEN(NOPAL_READ_OPTIONAL) },
			       [ACK_TRAIN_RANDOM] = { BBR_RANDOM_LOSS(NOPAL_READ_OPTIONAL) }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_LOST, ack_train_on_lost, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_TIMEOUT, ack_train_on_lost, .kinds = NOPAL_CARRIED),
		NOPAL_ON(ACK_PROCESSED, ack_train_on_ack, .after = "loss_detection|usual_rtt")),
	.state_size = sizeof(struct ack_train_part),
};
