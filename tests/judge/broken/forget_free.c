/* SPDX-License-Identifier: MIT */
/* forget_free -- keeps every segment that is done. */
#include "microprotocol.h"

static enum nopal_verdict forget_free_on_segment(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	(void)session;
	(void)part;
	(void)segment;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_forget_free = {
	.abi = NOPAL_ABI,
	.name = "forget_free",
	.family = "broken",
	.summary = "keeps every segment that is done",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_DONE, forget_free_on_segment), { 0 } },
	.holds = (const struct nopal_hold[]){ { "nothing that ever comes",
						NOPAL_DEALLOCATE, NOPAL_DATA,
						false },
					      { 0 } },
};
