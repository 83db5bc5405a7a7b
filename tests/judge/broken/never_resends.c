/* SPDX-License-Identifier: MIT */
/* never_resends -- waits for what is lost, and does not send it again. */
#include "stands_in.h"

static enum nopal_verdict never_resends_on_received(struct nopal_at at,
						    struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_never_resends = {
	.abi = NOPAL_ABI,
	.name = "never_resends",
	.family = "broken",
	.summary = "waits for what is lost, and does not send it again",
	STANDS_IN_FOR_RETRANSMIT,
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_RECEIVED, never_resends_on_received), { 0 } },
	.holds = (const struct nopal_hold[]){ { "the peer has it", NOPAL_DONE, NOPAL_DATA, false },
					      { 0 } },
};
