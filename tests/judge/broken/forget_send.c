/* SPDX-License-Identifier: MIT */
/* forget_send -- holds each segment back, and never lets one go. */
#include "microprotocol.h"

static enum nopal_verdict forget_send_on_segment(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	(void)session;
	(void)part;
	(void)segment;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_forget_send = {
	.abi = NOPAL_ABI,
	.name = "forget_send",
	.family = "broken",
	.summary = "holds each segment back, and never lets one go",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_TO_NET, forget_send_on_segment),
			{ 0 } },
	.holds = (const struct nopal_hold[]){ { "nothing that ever comes",
						NOPAL_SEND, NOPAL_DATA, false },
					      { 0 } },
};
