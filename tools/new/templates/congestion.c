/* SPDX-License-Identifier: MIT */
/*
 * sample -- a window that grows by a segment a round trip, and is cut by a loss.
 *
 *   window    /|   /|   /      each round trip adds a segment; a loss takes `cut` of the window,
 *            / |  / |  /       at most once a round trip
 *           /  | /  | /
 *              |/   |/
 *
 * Paper:     Chiu and Jain, Analysis of the increase and decrease algorithms, 1989.
 * Differs:   begins with ten segments, without slow start.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_WINDOW }; /* its shared variables */
enum { SAMPLE_MILLION = 1000000, SAMPLE_LEAST_SEGMENTS = 2 };

struct sample_parameters {
	int64_t cut_ppm;
};

struct sample {
	uint64_t cut_at; /* packets below this number left before the last cut */
};

static enum nopal_verdict sample_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sample_parameters *set = nopal_parameters(at);
	struct sample *self = nopal_state(at);
	int64_t window = nopal_shared_get(at, SAMPLE_WINDOW);
	int64_t least = SAMPLE_LEAST_SEGMENTS * (int64_t)nopal_body_limit(at.session);

	if (segment->packet_number < self->cut_at)
		return NOPAL_CONTINUE; /* it left before the last cut, which was for it, too */
	self->cut_at = nopal_next_packet_number(at.session);
	window -= (int64_t)nopal_scale((uint64_t)window, (uint64_t)set->cut_ppm, SAMPLE_MILLION);
	nopal_shared_set(at, SAMPLE_WINDOW, window > least ? window : least);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sample_on_acked(struct nopal_at at, struct nopal_ack *ack)
{
	int64_t window = nopal_shared_get(at, SAMPLE_WINDOW);

	/* A whole window of acknowledged bytes adds one segment. */
	window += (int64_t)nopal_scale(ack->newly_acked_bytes, nopal_body_limit(at.session),
				       (uint64_t)window);
	nopal_shared_set(at, SAMPLE_WINDOW, window);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, congestion,
		       "a window that grows by a segment a round trip, and is cut by a loss"),
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "window_policy", false }),
	.needs = NOPAL_RELATIONS(
		{ .role = "window_mechanism", .because = "a mechanism has to keep to the window" },
		{ .role = "loss_detection", .because = "losses cut the window" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct sample_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(sample, cut_ppm, "cut", PERCENT, "50%", "1%",
						    "90%", "part of the window that a loss takes")),
	.shared = NOPAL_SHARED([SAMPLE_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 14600,
						   "bodies that may be in flight" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_LOST, sample_on_lost),
				   NOPAL_ON(ACK_PROCESSED, sample_on_acked)),
	.state_size = sizeof(struct sample),
};
