/* SPDX-License-Identifier: MIT */
/*
 * held.h -- the bytes of whole messages that arrived and were not consumed: those that wait for
 * their place in an order, unread and kept ones.
 *
 * A message that an order discards was charged, and is credited.  For a part whose state has a
 * struct held first, whose attributes begin with HELD_CHARGE, and whose bindings have HELD_BINDINGS
 * among them.
 */
#ifndef NOPAL_HELD_H
#define NOPAL_HELD_H

#include <nopal/microprotocol.h>

enum { HELD_CHARGE, HELD_NEXT }; /* attributes; the part's own begin behind */

struct held {
	int64_t bytes;
};

static inline enum nopal_verdict held_on_message(struct nopal_at at, struct nopal_message *message)
{
	struct held *held = nopal_state(at);

	nopal_set(at, message, HELD_CHARGE, message->length);
	held->bytes += (int64_t)message->length;
	return NOPAL_CONTINUE;
}

static inline enum nopal_verdict held_on_consumed(struct nopal_at at, struct nopal_message *message)
{
	struct held *held = nopal_state(at);

	held->bytes -= (int64_t)nopal_get(at, message, HELD_CHARGE);
	nopal_set(at, message, HELD_CHARGE, 0);
	return NOPAL_CONTINUE;
}

#define HELD_BINDINGS                                                                              \
	NOPAL_ON(MSG_FROM_NET, held_on_message, .before = "order|partial_order|jitter"),           \
		NOPAL_ON(MSG_CONSUMED, held_on_consumed)

#endif
