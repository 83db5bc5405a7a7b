/* SPDX-License-Identifier: MIT */
/* forget_done -- never says that a segment is done. */
#include "microprotocol.h"

static enum nopal_verdict forget_done_on_segment(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	(void)session;
	(void)part;
	(void)segment;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_forget_done = {
	.abi = NOPAL_ABI,
	.name = "forget_done",
	.family = "broken",
	.summary = "never says that a segment is done",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_RECEIVED, forget_done_on_segment),
			{ 0 } },
	.holds = (const struct nopal_hold[]){ { "nothing that ever comes",
						NOPAL_FINISH, NOPAL_DATA,
						false },
					      { 0 } },
};
