/* SPDX-License-Identifier: MIT */
/* overtake -- delivers each message at once, whoever holds it back. */
#include <nopal/microprotocol.h>

static enum nopal_verdict overtake_on_from_net(struct nopal_session *session,
					       const struct nopal_part *part,
					       struct nopal_message *message)
{
	(void)part;
	nopal_message_deliver(session, message);
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
