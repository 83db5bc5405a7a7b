/* SPDX-License-Identifier: MIT */
/*
 * live_random.c -- random bytes of the kernel.
 *
 * A world has a key that the kernel gave when the world was made; without it there is no world.
 * Where the kernel gives nothing later on, as under a filter of system calls that the program has
 * put on since, bytes are SipHash of a counter under that key, which nobody else can compute.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
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

void nopal__live_random_bytes(struct live_random *random, void *bytes, size_t length)
{
	uint8_t *at = bytes;

	if (nopal__live_random_fill(bytes, length))
		return;
	while (length) {
		uint64_t word = nopal__siphash(random->key, &random->used, sizeof(random->used));
		size_t part = length < sizeof(word) ? length : sizeof(word);

		random->used++;
		memcpy(at, &word, part);
		at += part;
		length -= part;
	}
}
