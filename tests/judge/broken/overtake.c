/* SPDX-License-Identifier: MIT */
/* overtake -- delivers each message at once, whoever holds it back. */
#include <nopal/microprotocol.h>

static enum nopal_verdict overtake_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	nopal_message_deliver(at.session, message);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_overtake = {
	.abi = NOPAL_ABI,
	.name = "overtake",
	.family = "broken",
	.summary = "delivers each message at once, whoever holds it back",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(MSG_FROM_NET, overtake_on_from_net, .after = "order"), { 0 } },
};
