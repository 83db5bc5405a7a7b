/* SPDX-License-Identifier: MIT */
/* renumber -- gives each segment the number of another. */
#include <nopal/microprotocol.h>

static enum nopal_verdict renumber_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_set(at, segment, 0, nopal_get(at, segment, 0) & ~UINT64_C(1));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_renumber = {
	.abi = NOPAL_ABI,
	.name = "renumber",
	.family = "broken",
	.summary = "gives each segment the number of another",
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_TO_NET, renumber_on_to_net, .before = "driver"), { 0 } },
	.attributes =
		(const struct nopal_attribute[]){
			{ .name = "segment_number", .access = NOPAL_READ }, { 0 } },
};
