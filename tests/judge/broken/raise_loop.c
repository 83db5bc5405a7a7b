/* SPDX-License-Identifier: MIT */
/* raise_loop -- raises the event that it handles. */
#include <nopal/microprotocol.h>

static enum nopal_verdict raise_loop_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_raise_SEGMENT_TO_NET(at.session, segment);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_raise_loop = {
	.abi = NOPAL_ABI,
	.name = "raise_loop",
	.family = "broken",
	.summary = "raises the event that it handles",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_TO_NET, raise_loop_on_to_net, .after = "driver"), { 0 } },
	.raises = (const char *const[]){ "SEGMENT_TO_NET", NULL },
};
