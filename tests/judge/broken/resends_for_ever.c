/* SPDX-License-Identifier: MIT */
/* resends_for_ever -- sends everything again, and never looks at acks. */
#include "stands_in.h"

struct resends_for_ever {
	struct nopal_queue again;
};

static void resends_for_ever_expired(struct nopal_at at)
{
	struct resends_for_ever *self = nopal_state(at);

	for (uint32_t i = 0; i < self->again.count; i++) {
		struct nopal_segment *segment = nopal_queue_at(at.session, &self->again, i);

		if (segment)
			nopal_segment_resend(at, segment);
	}
	nopal_timer_start(at, 0, at.session->now_ns + 50 * NOPAL_MILLISECOND);
}

static enum nopal_verdict resends_for_ever_on_send(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct resends_for_ever *self = nopal_state(at);

	if (segment->transmissions == 1)
		nopal_queue_push(at.session, &self->again, segment);
	if (!nopal_timer_running(at, 0))
		nopal_timer_start(at, 0, at.session->now_ns + 50 * NOPAL_MILLISECOND);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_resends_for_ever = {
	.abi = NOPAL_ABI,
	.name = "resends_for_ever",
	.family = "broken",
	.summary = "sends everything again, and never looks at acks",
	STANDS_IN_FOR_RETRANSMIT,
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEND_SEGMENT, resends_for_ever_on_send),
						{ 0 } },
	.timers = (const struct nopal_timer[]){ { "again", resends_for_ever_expired }, { 0 } },
	.raises = (const char *const[]){ "SEGMENT_RESEND", NULL },
	.state_size = sizeof(struct resends_for_ever),
	.holds =
		(const struct nopal_hold[]){ { "nobody knows what", NOPAL_DONE, NOPAL_DATA, false },
					     { 0 } },
};
