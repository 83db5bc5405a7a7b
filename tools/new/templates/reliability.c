/* SPDX-License-Identifier: MIT */
/*
 * sample -- send each segment twice, some time apart.
 *
 *   SEND_SEGMENT -- apart --> resend: SEND_SEGMENT -> done
 *
 * No acknowledgement is waited for: what is lost twice stays lost.
 *
 * Paper:     none.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_AGAIN }; /* its timers */

struct sample_parameters {
	int64_t apart_ns;
};

struct sample {
	struct nopal_queue away; /* segments that left once, in that order */
};

static enum nopal_verdict sample_on_wanted(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sample_on_settled(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sample_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sample_parameters *set = nopal_parameters(at);
	struct sample *self = nopal_state(at);

	if (segment->transmissions > 1)
		return sample_on_settled(at, segment);
	if (nopal_queue_append(at.session, &self->away, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment to repeat");
	else if (!nopal_timer_running(at, SAMPLE_AGAIN))
		nopal_timer_start(at, SAMPLE_AGAIN, segment->transmitted_ns + set->apart_ns);
	return NOPAL_CONTINUE;
}

static void sample_when_again(struct nopal_at at)
{
	const struct sample_parameters *set = nopal_parameters(at);
	struct sample *self = nopal_state(at);
	struct nopal_segment *segment;

	while ((segment = nopal_queue_first(at.session, &self->away)) != NULL) {
		int64_t due_ns = segment->transmitted_ns + set->apart_ns;

		if (due_ns > at.session->now_ns) {
			nopal_timer_start(at, SAMPLE_AGAIN, due_ns);
			return;
		}
		nopal_queue_pop(&self->away);
		nopal_segment_resend(at, segment);
	}
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, reliability, "send each segment twice, some time apart"),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_REPAIRED,
				     .because = "each segment is sent twice" },
				   { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     .because = "a copy leaves behind later segments" }),
	.parameters_size = sizeof(struct sample_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(sample, apart_ns, "apart", TIME, "10ms", "0ms",
						    "1s", "time between a segment and its copy")),
	.holds = NOPAL_HOLDS({ "a transmission is asked for", NOPAL_SEND, .kinds = NOPAL_DATA },
			     { "its copy has left", NOPAL_DONE, .kinds = NOPAL_DATA },
			     { "its copy has left", NOPAL_DEALLOCATE, .kinds = NOPAL_DATA }),
	.timers = NOPAL_TIMERS([SAMPLE_AGAIN] = { "again", sample_when_again }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, sample_on_wanted),
				   NOPAL_ON(SEGMENT_RESEND, sample_on_wanted),
				   NOPAL_ON(SEND_SEGMENT, sample_on_send),
				   NOPAL_ON(SEGMENT_ABANDONED, sample_on_settled)),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct sample),
};
