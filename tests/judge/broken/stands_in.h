/* SPDX-License-Identifier: MIT */
/*
 * stands_in.h -- what broken microprotocols declare alike that stand in the place of a good one,
 * and handlers that several of them have.
 */
#ifndef NOPAL_TEST_STANDS_IN_H
#define NOPAL_TEST_STANDS_IN_H

#include <nopal/microprotocol.h>

/* In the place of retransmit. */
#define STANDS_IN_FOR_RETRANSMIT                                                                   \
	.provides = (const struct nopal_role[]){ { "reliability", false }, { 0 } },                \
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,       \
				     .because = "it says so" }),                                   \
	.shared = (const struct nopal_shared[])                                                    \
	{                                                                                          \
		{ "reliability_unmet", NOPAL_WRITE, 1, "1: an unseen segment is still needed" },   \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* In the place of reliable_fifo. */
#define STANDS_IN_FOR_ORDER                                                                        \
	.provides = (const struct nopal_role[]){ { "order", true },                                \
						 { "reliable_order", false },                      \
						 { 0 } },                                          \
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,      \
				     .because = "it says so" }),                                   \
	.holds = (const struct nopal_hold[])                                                       \
	{                                                                                          \
		{ "its turn", NOPAL_DELIVER, NOPAL_DATA, false },                                  \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* In the place of sequenced_segments: attribute 0 is the number, shared variable 0 the first
 * one. */
#define STANDS_IN_FOR_NUMBERS                                                                      \
	.provides = (const struct nopal_role[]){ { "segment_numbers", true },                      \
						 { "duplicate_filter", false },                    \
						 { 0 } },                                          \
	.promises = NOPAL_PROMISES(NOPAL_NUMBERS_ONCE),                                            \
	.attributes = (const struct nopal_attribute[]){ { .name = "segment_number",                \
							  .access = NOPAL_WRITE,                   \
							  .wire_bytes = 4,                         \
							  .doc = "counts" },                       \
							{ 0 } },                                   \
	.shared = (const struct nopal_shared[])                                                    \
	{                                                                                          \
		{ "initial_local", NOPAL_READ_OPTIONAL, 1, "our first number" },                   \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* The part's state begins with how many were numbered. */
static inline enum nopal_verdict numbers_segment(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t *next = nopal_state(at);

	nopal_set(at, segment, 0, (uint64_t)nopal_shared_get(at, 0) + (*next)++);
	return NOPAL_CONTINUE;
}

/* Of who holds a segment and forgets it. */
static inline enum nopal_verdict forgets_segment(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	return NOPAL_CONTINUE;
}
#define FORGOTTEN_HOLD(barrier)                                                                    \
	.holds = (const struct nopal_hold[])                                                       \
	{                                                                                          \
		{ "nothing that ever comes", barrier, NOPAL_DATA, false },                         \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

#endif
