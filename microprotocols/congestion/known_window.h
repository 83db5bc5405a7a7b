/* SPDX-License-Identifier: MIT */
/*
 * known_window.h -- a first window from what earlier sessions found room for.
 *
 * Two shared variables of the policy, by their places in its table: its window, and
 * known_window_bytes, which is 0 where nobody remembers.
 */
#ifndef NOPAL_KNOWN_WINDOW_H
#define NOPAL_KNOWN_WINDOW_H

#include <nopal/microprotocol.h>

static inline void known_window_begin(struct nopal_at at, unsigned window, unsigned known)
{
	int64_t bytes = nopal_shared_get(at, known);

	if (bytes > nopal_shared_get(at, window))
		nopal_shared_set(at, window, bytes);
}

#endif
