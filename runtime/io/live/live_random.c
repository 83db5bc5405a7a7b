/* SPDX-License-Identifier: MIT */
/*
 * live_random.c -- random bytes of the kernel.
 */
#include <errno.h>
#include <sys/random.h>

#include "io/live/live.h"

bool nopal__live_random_fill(void *bytes, size_t length)
{
	uint8_t *at = bytes;

	while (length) {
		ssize_t got = getrandom(at, length, 0);

		if (got < 0 && errno != EINTR)
			return false;
		if (got < 0)
			continue;
		at += got;
		length -= (size_t)got;
	}
	return true;
}
