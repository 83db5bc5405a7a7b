/* SPDX-License-Identifier: MIT */
/*
 * file_blocks.h -- a file in blocks, each with its hash, and the hash of them all, by which the
 * file is known.
 *
 * A peer with the list of hashes can tell any block of the file from any other bytes, and a peer
 * with the root can tell the list.  The length of a block follows from that of the file alone, so
 * that all peers with the same file have the same list.
 */
#ifndef NOPAL_FILE_BLOCKS_H
#define NOPAL_FILE_BLOCKS_H

#include "file/ranges.h"

enum {
	FILE_BLOCK_MIN = 32 << 10,
	FILE_BLOCK_MAX = 256 << 10,
	FILE_BLOCKS_FEW = 2048,	   /* so many before they get longer */
	FILE_BLOCKS_MAX = 8 << 20, /* of one file: 2 TiB, a list of 64 MiB */
};

struct file_blocks {
	uint64_t size, count; /* bytes of the file, and its blocks */
	uint32_t block_bytes;
	uint64_t known, room; /* hashes, from the first block's on */
	uint64_t *hashes;
};

/* False: the file is longer than FILE_BLOCKS_MAX blocks. */
bool file_blocks_fit(uint64_t size);
/* Of a file that fits.  Nothing is known yet, and nothing allocated. */
void file_blocks_init(struct file_blocks *blocks, uint64_t size);
void file_blocks_fini(struct file_blocks *blocks);
/* Adds the hash of the next block, while not all are known.  Memory grows with the known hashes,
 * and not with the announced length.  False: no memory. */
bool file_blocks_add(struct file_blocks *blocks, uint64_t hash);
bool file_blocks_are_known(const struct file_blocks *blocks);
struct range file_blocks_range(const struct file_blocks *blocks, uint64_t index);
/* Are these bytes exactly a block, and which? */
bool file_blocks_find(const struct file_blocks *blocks, uint64_t offset, uint64_t length,
		      uint64_t *ret_index);
/* Of the length and all hashes. */
uint64_t file_blocks_root(const struct file_blocks *blocks);

#endif
