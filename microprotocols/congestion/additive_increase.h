/* SPDX-License-Identifier: MIT */
/*
 * additive_increase.h -- a window grows by one segment for each window of acknowledged bytes.
 *
 * RFC 5681, section 3.1, with the byte counting of RFC 3465: what is left of a window counts on, so
 * that no acknowledgement is rounded away.
 */
#ifndef NOPAL_ADDITIVE_INCREASE_H
#define NOPAL_ADDITIVE_INCREASE_H

#include <nopal/microprotocol.h>

/* The window after `acked` more bytes; `*counted`: acked since the last step. */
static inline int64_t additive_increase(int64_t *counted, int64_t window, int64_t acked,
					uint32_t segment_bytes)
{
	*counted += acked;
	while (*counted >= window) {
		*counted -= window;
		window += segment_bytes;
	}
	return window;
}

#endif
