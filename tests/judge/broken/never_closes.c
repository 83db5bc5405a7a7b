/* SPDX-License-Identifier: MIT */
/* never_closes -- stops the session on its way to its end. */
#include <nopal/microprotocol.h>

static enum nopal_verdict never_closes_on_close(struct nopal_at at, struct nopal_session *subject)
{
	(void)at;
	(void)subject;
	return NOPAL_STOP;
}

const struct nopal_microprotocol nopal_never_closes = {
	.abi = NOPAL_ABI,
	.name = "never_closes",
	.family = "broken",
	.summary = "stops the session on its way to its end",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(CLOSE_SESSION, never_closes_on_close,
							     .before = "connection"),
						    { 0 } },
};
