/* SPDX-License-Identifier: MIT */
/*
 * file_hash.h -- the hash of a file's bytes, as fast as they can be read.
 *
 * Two levels after Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: fast and secure message
 * authentication" (1999): blocks of 512 bytes go through NH, one multiplication for 16 bytes, and
 * the blocks' sums through nopal_hash.  The keys are published: it finds damage, it stops no
 * forger.
 */
#ifndef NOPAL_FILE_HASH_H
#define NOPAL_FILE_HASH_H

#include <nopal/nopal.h>

enum { FILE_HASH_BLOCK_BYTES = 512 };

struct file_hash {
	struct nopal_hash sums; /* of whole blocks */
	uint64_t length;
	uint8_t tail[FILE_HASH_BLOCK_BYTES]; /* begun */
};

void file_hash_init(struct file_hash *hash);
void file_hash_update(struct file_hash *hash, const void *bytes, size_t length);
/* Of all bytes so far; more may follow. */
uint64_t file_hash_value(const struct file_hash *hash);

#endif
