/* SPDX-License-Identifier: MIT */
/* forget_deliver -- holds every message, and never delivers one. */
#include "stands_in.h"

static enum nopal_verdict forget_deliver_on_message(struct nopal_at at,
						    struct nopal_message *message)
{
	(void)at;
	(void)message;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_forget_deliver = {
	.abi = NOPAL_ABI,
	.name = "forget_deliver",
	.family = "broken",
	.summary = "holds every message, and never delivers one",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_NET, forget_deliver_on_message),
						{ 0 } },
	FORGOTTEN_HOLD(NOPAL_DELIVER),
};
