/* SPDX-License-Identifier: MIT */
/*
 * test_file_blocks -- a file in blocks: where they are, and what their root tells apart.
 */
#include <stdlib.h>

#include "file/file_blocks.h"
#include "support/test.h"

enum { COUNT = 1000 };

/* Calculated apart from this program: they are on the wire. */
#define ROOT_OF_NOTHING UINT64_C(0xe2d28260f0fa9bc0)
#define ROOT_OF_LIST	UINT64_C(0xad05ccf2c495827d)

static const uint64_t max = (uint64_t)FILE_BLOCKS_MAX * FILE_BLOCK_MAX;

TEST(test_lengths_are_of_the_file_alone)
{
	static const struct {
		uint64_t size, count;
		uint32_t block_bytes;
	} cases[] = {
		{ 0, 0, FILE_BLOCK_MIN },
		{ 1, 1, FILE_BLOCK_MIN },
		{ FILE_BLOCK_MIN, 1, FILE_BLOCK_MIN },
		{ FILE_BLOCK_MIN + 1, 2, FILE_BLOCK_MIN },
		{ 64 << 20, 2048, FILE_BLOCK_MIN },
		{ (64 << 20) + 1, 1025, 2 * FILE_BLOCK_MIN },
		{ 512 << 20, 2048, FILE_BLOCK_MAX },
		{ (512 << 20) + 1, 2049, FILE_BLOCK_MAX },
		{ UINT64_C(1) << 40, 4 << 20, FILE_BLOCK_MAX },
	};
	struct file_blocks blocks;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file_blocks_init(&blocks, cases[i].size);
		assert_int_equal(blocks.count, cases[i].count);
		assert_int_equal(blocks.block_bytes, cases[i].block_bytes);
		assert_null(blocks.hashes);
	}
}

TEST(test_only_so_long_ones_fit)
{
	struct file_blocks blocks;

	assert_true(file_blocks_fit(0));
	assert_true(file_blocks_fit(max));
	assert_false(file_blocks_fit(max + 1));
	assert_false(file_blocks_fit(INT64_MAX));
	assert_false(file_blocks_fit(UINT64_MAX));
	file_blocks_init(&blocks, max);
	assert_int_equal(blocks.count, FILE_BLOCKS_MAX);
	/* room follows what is known, not what is announced */
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(file_blocks_add(&blocks, i));
	assert_true(blocks.room <= 2 * COUNT);
	file_blocks_fini(&blocks);
}

TEST(test_blocks_cover_the_file)
{
	const uint64_t size = 100 * FILE_BLOCK_MIN + 7;
	struct file_blocks blocks;
	uint64_t at = 0, index;

	file_blocks_init(&blocks, size);
	for (uint64_t i = 0; i < blocks.count; i++) {
		struct range range = file_blocks_range(&blocks, i);
		uint64_t length = range.end - range.from;

		assert_int_equal(range.from, at);
		assert_true(file_blocks_find(&blocks, at, length, &index));
		assert_int_equal(index, i);
		assert_false(file_blocks_find(&blocks, at, length - 1, &index));
		assert_false(file_blocks_find(&blocks, at, length + 1, &index));
		assert_false(file_blocks_find(&blocks, at + 1, length, &index));
		at = range.end;
	}
	assert_int_equal(at, size);
	assert_false(file_blocks_find(&blocks, size, 0, &index));
	assert_false(file_blocks_find(&blocks, UINT64_MAX, 1, &index));
	assert_false(
		file_blocks_find(&blocks, UINT64_MAX - FILE_BLOCK_MIN + 1, FILE_BLOCK_MIN, &index));
}

static uint64_t root_of(uint64_t size, const uint64_t *hashes)
{
	struct file_blocks blocks;
	uint64_t root;

	file_blocks_init(&blocks, size);
	while (!file_blocks_are_known(&blocks))
		assert_true(file_blocks_add(&blocks, hashes[blocks.known]));
	root = file_blocks_root(&blocks);
	file_blocks_fini(&blocks);
	return root;
}

/* One bit anywhere in any hash, their order, and the length of the file. */
TEST(test_the_root_tells_lists_apart)
{
	static uint64_t hashes[COUNT];
	const uint64_t size = (uint64_t)COUNT * FILE_BLOCK_MIN;
	uint64_t root;

	for (uint64_t i = 0; i < COUNT; i++)
		hashes[i] = i * UINT64_C(0x9e3779b97f4a7c15);
	root = root_of(size, hashes);
	assert_true(root == ROOT_OF_LIST);
	assert_true(root == root_of(size, hashes));
	for (uint64_t i = 0; i < COUNT; i++) {
		hashes[i] ^= UINT64_C(1) << i % 64;
		assert_true(root != root_of(size, hashes));
		hashes[i] ^= UINT64_C(1) << i % 64;
	}
	hashes[7] = hashes[8];
	hashes[8] = 7 * UINT64_C(0x9e3779b97f4a7c15);
	assert_true(root != root_of(size, hashes));
	assert_true(root_of(5, hashes) != root_of(6, hashes));
	assert_true(root_of(0, hashes) == ROOT_OF_NOTHING);
}
