/* SPDX-License-Identifier: MIT */
/* early_losses.h -- a path of 10 ms that loses some of the first datagrams. */
#ifndef NOPAL_TEST_EARLY_LOSSES_H
#define NOPAL_TEST_EARLY_LOSSES_H

#include <stdio.h>

/* Words of such a link: bit i of a mask is the i-th datagram of that direction.  Good until they
 * are asked for again. */
static inline const char *early_losses(unsigned there, unsigned back)
{
	static char link[128];

	snprintf(link, sizeof(link),
		 "fwd: delay 10ms loss mask 0x%x rev: delay 10ms loss mask 0x%x", there, back);
	return link;
}

#endif
