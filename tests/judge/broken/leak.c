/* SPDX-License-Identifier: MIT */
/* leak -- takes all memory that it can have. */
#include <nopal/microprotocol.h>

static enum nopal_verdict leak_on_segment(struct nopal_session *session,
					  const struct nopal_part *part,
					  struct nopal_segment *segment)
{
	(void)part;
	(void)segment;
	while (nopal_alloc(session, 4096))
		continue;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_leak = {
	.abi = NOPAL_ABI,
	.name = "leak",
	.family = "broken",
	.summary = "takes all memory that it can have",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, leak_on_segment), { 0 } },
};
