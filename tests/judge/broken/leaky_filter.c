/* SPDX-License-Identifier: MIT */
/* leaky_filter -- numbers segments, and lets each in as often as it comes. */
#include "microprotocol.h"

struct leaky_filter {
	uint64_t next;
};

static enum nopal_verdict
leaky_filter_on_from_user(struct nopal_session *session,
			  const struct nopal_part *part,
			  struct nopal_segment *segment)
{
	struct leaky_filter *self = nopal_state(session, part);

	nopal_set(segment, part, 0,
		  (uint64_t)nopal_shared(session, part, 0) + self->next++);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_leaky_filter = {
	.abi = NOPAL_ABI,
	.name = "leaky_filter",
	.family = "broken",
	.summary = "numbers segments, and lets each in as often as it comes",
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
			NOPAL_ON(SEGMENT_FROM_USER, leaky_filter_on_from_user),
			{ 0 } },
	.state_size = sizeof(struct leaky_filter),
};
