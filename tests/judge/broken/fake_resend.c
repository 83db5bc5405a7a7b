/* SPDX-License-Identifier: MIT */
/* fake_resend -- takes what is lost for done. */
#include "stands_in.h"

static enum nopal_verdict fake_resend_on_fact(struct nopal_at at, struct nopal_segment *segment)
{
	if (nopal_holds(at, segment, NOPAL_DONE))
		nopal_release(at, segment, NOPAL_DONE);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_fake_resend = {
	.abi = NOPAL_ABI,
	.name = "fake_resend",
	.family = "broken",
	.summary = "takes what is lost for done",
	STANDS_IN_FOR_RETRANSMIT,
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_RECEIVED, fake_resend_on_fact),
						    NOPAL_ON(SEGMENT_LOST, fake_resend_on_fact),
						    NOPAL_ON(SEGMENT_TIMEOUT, fake_resend_on_fact),
						    { 0 } },
	.holds = (const struct nopal_hold[]){ { "the peer has it", NOPAL_DONE, NOPAL_DATA, false },
					      { 0 } },
};
