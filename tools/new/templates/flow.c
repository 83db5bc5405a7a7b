/* SPDX-License-Identifier: MIT */
/*
 * sample -- let segments go at a fixed rate.
 *
 *   SEGMENT_TO_NET -> waiting -- when the one before has had its time at `rate` --> SEND_SEGMENT
 *
 * The rate is the sender's own.  A receiver that is to say how much may come needs a kind of
 * its own: see keep_alive.c for sending one, and windowed_flow.c for all that can get lost.
 *
 * Paper:     Turner, New directions in communications, 1986.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_DROP }; /* its timers */

struct sample_parameters {
	int64_t rate_bps;
};

struct sample {
	struct nopal_queue waiting;
	int64_t next_ns; /* no segment leaves before */
};

/* Lets go what is due; the timer stands at the time of the next one. */
static void sample_let_go(struct nopal_at at)
{
	const struct sample_parameters *set = nopal_parameters(at);
	struct sample *self = nopal_state(at);
	struct nopal_segment *segment;

	while ((segment = nopal_queue_first(at.session, &self->waiting)) != NULL) {
		uint64_t bytes = segment->body.length;

		if (self->next_ns > at.session->now_ns) {
			nopal_timer_start(at, SAMPLE_DROP, self->next_ns);
			return;
		}
		nopal_queue_pop(&self->waiting);
		self->next_ns = at.session->now_ns + (int64_t)nopal_scale(bytes, NOPAL_BYTE_BITS_NS,
									  (uint64_t)set->rate_bps);
		nopal_release(at, segment, NOPAL_SEND);
	}
}

static enum nopal_verdict sample_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct sample *self = nopal_state(at);

	if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment to wait");
	else
		sample_let_go(at);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, flow, "let segments go at a fixed rate"),
	.promises = NOPAL_PROMISES({ NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     .because = "the configured rate, and no more" }),
	.parameters_size = sizeof(struct sample_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(sample, rate_bps, "rate", RATE, "1Mbit",
						    "1kbit", "100Gbit", "bits of bodies a second")),
	.holds = NOPAL_HOLDS({ "the segments before it have had their time", NOPAL_SEND, NOPAL_DATA,
			       .sticky = true }),
	.timers = NOPAL_TIMERS([SAMPLE_DROP] = { "drop", sample_let_go }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, sample_on_to_net)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct sample),
};
