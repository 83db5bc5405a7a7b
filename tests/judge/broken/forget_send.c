/* SPDX-License-Identifier: MIT */
/* forget_send -- holds each segment back, and never lets one go. */
#include "stands_in.h"

const struct nopal_microprotocol nopal_forget_send = {
	.abi = NOPAL_ABI,
	.name = "forget_send",
	.family = "broken",
	.summary = "holds each segment back, and never lets one go",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, forgets_segment), { 0 } },
	FORGOTTEN_HOLD(NOPAL_SEND),
};
