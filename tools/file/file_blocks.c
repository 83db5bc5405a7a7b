/* SPDX-License-Identifier: MIT */
/*
 * file_blocks.c -- a file in blocks, each with its hash, and the hash of them all.
 */
#include <endian.h>
#include <stdlib.h>

#include "file/file_blocks.h"
#include "file/file_hash.h"

enum { FILE_BLOCKS_FIRST_ROOM = 64 };

static uint64_t file_blocks_in(uint64_t size, uint64_t block_bytes)
{
	return size / block_bytes + (size % block_bytes > 0);
}

bool file_blocks_fit(uint64_t size)
{
	return file_blocks_in(size, FILE_BLOCK_MAX) <= FILE_BLOCKS_MAX;
}

void file_blocks_init(struct file_blocks *blocks, uint64_t size)
{
	uint32_t bytes = FILE_BLOCK_MIN;

	while (bytes < FILE_BLOCK_MAX && file_blocks_in(size, bytes) > FILE_BLOCKS_FEW)
		bytes *= 2;
	*blocks = (struct file_blocks){
		.size = size,
		.count = file_blocks_in(size, bytes),
		.block_bytes = bytes,
	};
}

void file_blocks_fini(struct file_blocks *blocks)
{
	free(blocks->hashes);
	*blocks = (struct file_blocks){ 0 };
}

bool file_blocks_add(struct file_blocks *blocks, uint64_t hash)
{
	if (blocks->known == blocks->room) {
		uint64_t room = blocks->room ? 2 * blocks->room : FILE_BLOCKS_FIRST_ROOM;
		uint64_t *hashes;

		if (room > blocks->count)
			room = blocks->count;
		hashes = realloc(blocks->hashes, room * sizeof(*hashes));
		if (!hashes)
			return false;
		blocks->hashes = hashes;
		blocks->room = room;
	}
	blocks->hashes[blocks->known++] = hash;
	return true;
}

bool file_blocks_are_known(const struct file_blocks *blocks)
{
	return blocks->known == blocks->count;
}

struct range file_blocks_range(const struct file_blocks *blocks, uint64_t index)
{
	struct range range = { .from = index * blocks->block_bytes };

	range.end = range.from + blocks->block_bytes;
	if (range.end > blocks->size)
		range.end = blocks->size;
	return range;
}

bool file_blocks_find(const struct file_blocks *blocks, uint64_t offset, uint64_t length,
		      uint64_t *ret_index)
{
	struct range range;

	if (offset >= blocks->size || offset % blocks->block_bytes)
		return false;
	*ret_index = offset / blocks->block_bytes;
	range = file_blocks_range(blocks, *ret_index);
	return range.end - range.from == length;
}

uint64_t file_blocks_root(const struct file_blocks *blocks)
{
	uint64_t number = htobe64(blocks->size);
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, &number, sizeof(number));
	for (uint64_t i = 0; i < blocks->known; i++) {
		number = htobe64(blocks->hashes[i]);
		file_hash_update(&hash, &number, sizeof(number));
	}
	return file_hash_value(&hash);
}
