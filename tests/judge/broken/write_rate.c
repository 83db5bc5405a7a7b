/* SPDX-License-Identifier: MIT */
/* write_rate -- sets the sending rate, which is for another to set. */
#include <nopal/microprotocol.h>

static enum nopal_verdict write_rate_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	(void)subject;
	nopal_shared_set(at, 0, 1);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_write_rate = {
	.abi = NOPAL_ABI,
	.name = "write_rate",
	.family = "broken",
	.summary = "sets the sending rate, which is for another to set",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(TURN_END, write_rate_on_turn_end,
							     .before = "rate_mechanism"),
						    { 0 } },
	.shared = (const struct nopal_shared[]){ { "sending_rate_bps", NOPAL_READ, 0, "another's" },
						 { 0 } },
};
