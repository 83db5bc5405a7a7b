/* SPDX-License-Identifier: MIT */
/* forge_acks -- says that the peer has what only just leaves. */
#include <nopal/microprotocol.h>

static enum nopal_verdict forge_acks_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_raise_SEGMENT_RECEIVED(at.session, segment);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_forge_acks = {
	.abi = NOPAL_ABI,
	.name = "forge_acks",
	.family = "broken",
	.summary = "says that the peer has what only just leaves",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEND_SEGMENT, forge_acks_on_send), { 0 } },
	.raises = (const char *const[]){ "SEGMENT_RECEIVED", NULL },
};
