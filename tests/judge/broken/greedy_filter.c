/* SPDX-License-Identifier: MIT */
/* greedy_filter -- lets in only numbers that are higher than all before. */
#include "microprotocol.h"

struct greedy_filter {
	uint64_t next, highest;
};

static enum nopal_verdict
greedy_filter_on_from_user(struct nopal_session *session,
			   const struct nopal_part *part,
			   struct nopal_segment *segment)
{
	struct greedy_filter *self = nopal_state(session, part);

	nopal_set(segment, part, 0,
		  (uint64_t)nopal_shared(session, part, 0) + self->next++);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict
greedy_filter_on_from_net(struct nopal_session *session,
			  const struct nopal_part *part,
			  struct nopal_segment *segment)
{
	struct greedy_filter *self = nopal_state(session, part);

	if (nopal_get(segment, part, 0) <= self->highest)
		return NOPAL_STOP;
	self->highest = nopal_get(segment, part, 0);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_greedy_filter = {
	.abi = NOPAL_ABI,
	.name = "greedy_filter",
	.family = "broken",
	.summary = "lets in only numbers that are higher than all before",
	.provides = (const struct nopal_role[]){ { "segment_numbers", true },
						 { "duplicate_filter", false },
						 { 0 } },
	.promises = NOPAL_PROMISES(NOPAL_NUMBERS_ONCE),
	.attributes =
		(const struct nopal_attribute[]){ { .name = "segment_number",
						    .access = NOPAL_WRITE,
						    .wire_bytes = 4,
						    .doc = "counts" },
						  { 0 } },
	.shared = (const struct nopal_shared[]){ { "initial_local",
						   NOPAL_READ_OPTIONAL, 1,
						   "our first number" },
						 { 0 } },
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_FROM_USER, greedy_filter_on_from_user),
			NOPAL_ON(SEGMENT_FROM_NET, greedy_filter_on_from_net),
			{ 0 } },
	.state_size = sizeof(struct greedy_filter),
};
