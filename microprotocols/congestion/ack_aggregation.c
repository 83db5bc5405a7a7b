/* SPDX-License-Identifier: MIT */
/*
 * ack_aggregation -- room in the window of BBR for bursts of acks
 *
 * Receivers, radios and kernels hand acks over in bursts.  Between two of them the pipe must not
 * run dry: the window has room for the largest burst of the last ten rounds (bbr_filters.h).
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_filters.h"
#include "bbr_model.h"

enum {
	ACK_AGGREGATION_BURST,
	ACK_AGGREGATION_BANDWIDTH,
	ACK_AGGREGATION_PATH_RTT,
	ACK_AGGREGATION_ROUND,
	ACK_AGGREGATION_SAMPLE,
};
enum { ACK_AGGREGATION_ROUNDS = 5 }; /* of one stretch, of two */

struct ack_aggregation {
	struct ack_burst burst;
	uint64_t delivered; /* bytes, ever */
	int64_t round;
};

static enum nopal_verdict ack_aggregation_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct ack_aggregation *self = nopal_state(at);
	uint64_t bps = (uint64_t)nopal_shared_get(at, ACK_AGGREGATION_BANDWIDTH);
	int64_t round = nopal_shared_get(at, ACK_AGGREGATION_ROUND);
	uint64_t product = nopal_rate_bytes(bps, nopal_shared_get(at, ACK_AGGREGATION_PATH_RTT));

	self->delivered += ack->newly_acked_bytes;
	if (nopal_shared_get(at, ACK_AGGREGATION_SAMPLE) < 0)
		return NOPAL_CONTINUE;
	if (round != self->round && round % ACK_AGGREGATION_ROUNDS == 0)
		ack_burst_turn(&self->burst);
	self->round = round;
	ack_burst_note(&self->burst, at.session->now_ns, self->delivered, bps, product);
	nopal_shared_set(at, ACK_AGGREGATION_BURST, (int64_t)ack_burst_largest(&self->burst));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_ack_aggregation = {
	NOPAL_DESCRIBE(ack_aggregation, congestion, "room in the window of BBR for bursts of acks"),
	BBR_MODIFIER,
	.shared = NOPAL_SHARED([ACK_AGGREGATION_BURST] = { BBR_BURST(NOPAL_WRITE) },
			       [ACK_AGGREGATION_BANDWIDTH] = { BBR_MODEL_BANDWIDTH(NOPAL_READ) },
			       [ACK_AGGREGATION_PATH_RTT] = { BBR_MODEL_MIN_RTT(NOPAL_READ) },
			       [ACK_AGGREGATION_ROUND] = { BBR_MODEL_ROUND(NOPAL_READ) },
			       [ACK_AGGREGATION_SAMPLE] = { BBR_MODEL_SAMPLE(NOPAL_READ) }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(ACK_PROCESSED, ack_aggregation_on_ack, .after = "loss_detection")),
	.state_size = sizeof(struct ack_aggregation),
};
