/* SPDX-License-Identifier: MIT */
/* forget_done -- never says that a segment is done. */
#include "stands_in.h"

const struct nopal_microprotocol nopal_forget_done = {
	.abi = NOPAL_ABI,
	.name = "forget_done",
	.family = "broken",
	.summary = "never says that a segment is done",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_RECEIVED, forgets_segment),
						    { 0 } },
	FORGOTTEN_HOLD(NOPAL_DONE),
};
