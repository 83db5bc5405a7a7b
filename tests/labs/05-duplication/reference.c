/* SPDX-License-Identifier: MIT */
/* filter -- number every segment, and let each number in once, by a memory of 32 */
#include <nopal/microprotocol.h>

enum { FILTER_NUMBER };	     /* its attributes */
enum { FILTER_WINDOW = 32 }; /* numbers that it remembers: the highest, and 31 below */

struct filter {
	uint64_t next;	  /* number of our next segment */
	uint64_t highest; /* of the peer's that arrived */
	uint32_t seen;	  /* bit i: highest - i has arrived */
};

static enum nopal_verdict filter_on_from_user(struct nopal_at at, struct nopal_segment *segment)
{
	struct filter *self = nopal_state(at);

	nopal_set(at, segment, FILTER_NUMBER, self->next++);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict filter_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct filter *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, FILTER_NUMBER);

	if (number > self->highest) {
		uint64_t ahead = number - self->highest;

		self->seen = ahead < FILTER_WINDOW ? self->seen << ahead : 0;
		self->highest = number;
		nopal_serial_seen(at, FILTER_NUMBER, number);
	} else if (self->highest - number >= FILTER_WINDOW ||
		   self->seen >> (self->highest - number) & 1) {
		return NOPAL_STOP;
	}
	self->seen |= UINT32_C(1) << (self->highest - number);
	return NOPAL_CONTINUE;
}

static int filter_open(struct nopal_at at)
{
	struct filter *self = nopal_state(at);

	self->next = 1;
	self->seen = 1; /* 0, which no segment has */
	return 0;
}

const struct nopal_microprotocol nopal_filter = {
	NOPAL_DESCRIBE(filter, labs,
		       "number every segment, and let each number in once, by a memory of 32"),
	.provides = NOPAL_ROLES({ "segment_numbers", true }, { "duplicate_filter" }),
	.promises = NOPAL_PROMISES(NOPAL_NUMBERS_ONCE),
	.attributes =
		NOPAL_ATTRIBUTES([FILTER_NUMBER] = { "segment_number", NOPAL_WRITE,
						     "counts segments from 1", .wire_bytes = 1,
						     .kinds = NOPAL_DATA, .serial = true }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_FROM_USER, filter_on_from_user),
				   NOPAL_ON(SEGMENT_FROM_NET, filter_on_from_net)),
	.state_size = sizeof(struct filter),
	.open = filter_open,
};
