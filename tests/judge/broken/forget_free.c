/* SPDX-License-Identifier: MIT */
/* forget_free -- keeps every segment that is done. */
#include "stands_in.h"

const struct nopal_microprotocol nopal_forget_free = {
	.abi = NOPAL_ABI,
	.name = "forget_free",
	.family = "broken",
	.summary = "keeps every segment that is done",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_DONE, forgets_segment), { 0 } },
	FORGOTTEN_HOLD(NOPAL_DEALLOCATE),
};
