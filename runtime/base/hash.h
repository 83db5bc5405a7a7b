/* SPDX-License-Identifier: MIT */
/*
 * hash.h -- SipHash-2-4 under a key of one's own.
 *
 * The stream with the published key is nopal_hash_* in nopal.h; this one is for secrets: tokens of
 * a listener, session ids.
 */
#ifndef NOPAL_HASH_H
#define NOPAL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* key[0] holds key bytes 0..7, key[1] bytes 8..15, little endian. */
uint64_t nopal__siphash(const uint64_t key[2], const void *bytes, size_t length);

#endif
