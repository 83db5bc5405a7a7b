/* SPDX-License-Identifier: MIT */
/*
 * test_part_blocks -- a file on disk in blocks whose hashes are known: of what is there nothing
 * counts but what has its hash, whoever left it, and whatever was noted of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "file/file_blocks.h"
#include "file/file_hash.h"
#include "file/part.h"
#include "support/test.h"

enum { SIZE = 400000, BLOCK = FILE_BLOCK_MIN, COUNT = 13 };
#define PART_NAME  ".f.nopal-part"
#define STATE_NAME ".f.nopal-state"

static char path[] = "/tmp/nopal-test-XXXXXX";
static struct part_folder folder;
static struct file_blocks blocks;
static uint8_t content[SIZE];
static char why[TRANSFER_TEXT_ROOM];

static int begin(void **state)
{
	struct file_hash hash;

	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	assert_non_null(mkdtemp(path));
	folder = (struct part_folder){ .fd = open(path, O_RDONLY | O_DIRECTORY),
				       .limit = INT64_MAX,
				       .differs = "differs" };
	file_blocks_init(&blocks, SIZE);
	assert_int_equal(blocks.count, COUNT);
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 251 + 1);
	for (uint64_t i = 0; i < COUNT; i++) {
		struct range range = file_blocks_range(&blocks, i);

		file_hash_init(&hash);
		file_hash_update(&hash, content + range.from, (size_t)(range.end - range.from));
		assert_true(file_blocks_add(&blocks, file_hash_value(&hash)));
	}
	return 0;
}

static int end(void **state)
{
	static const char *const names[] = { "f", PART_NAME, STATE_NAME };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(folder.fd, names[i], 0);
	assert_int_equal(rmdir(path), 0); /* nothing else was left there */
	close(folder.fd);
	file_blocks_fini(&blocks);
	return 0;
}

EACH_TEST(begin, end);

static bool is_there(const char *name)
{
	return faccessat(folder.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put(const char *name, const void *bytes, size_t length)
{
	int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void flip(const char *name, off_t at)
{
	int fd = openat(folder.fd, name, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static struct part *opened(void)
{
	struct transfer_note offer = { .type = TRANSFER_OFFER, .size = SIZE, .text = "f" };
	struct part *part = NULL;

	offer.id = transfer_id(offer.text, SIZE, 0);
	assert_int_equal(part_open(&folder, &offer, &part, why), TRANSFER_YES);
	return part;
}

static bool has(struct part *part, uint64_t index)
{
	struct range range = file_blocks_range(&blocks, index);
	uint64_t hash;

	return part_block_hash(part, &range, &hash) && hash == blocks.hashes[index];
}

static void write_block(struct part *part, uint64_t index)
{
	struct range range = file_blocks_range(&blocks, index);
	struct iovec pieces[] = {
		{ content + range.from, 1000 },
		{ content + range.from + 1000, (size_t)(range.end - range.from) - 1000 },
	};

	assert_true(part_write(part, range.from, pieces, 2, why));
	assert_true(has(part, index));
}

/* Writes what is not here, from the end on; how much that was. */
static unsigned end_well(struct part *part)
{
	unsigned written = 0;

	for (uint64_t i = COUNT; i-- > 0;) {
		if (has(part, i))
			continue;
		write_block(part, i);
		written++;
	}
	part_begin(part, PART_COMMITTING);
	assert_int_equal(part_finish(part), 0);
	part_close(part, true);
	return written;
}

static void is_the_file(void)
{
	static uint8_t bytes[SIZE + 1];
	int fd = openat(folder.fd, "f", O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), SIZE);
	assert_memory_equal(bytes, content, SIZE);
	close(fd);
	assert_false(is_there(PART_NAME));
	assert_false(is_there(STATE_NAME));
}

TEST(test_blocks_in_any_order)
{
	struct part *part = opened();

	for (uint64_t i = 0; i < COUNT; i++)
		assert_false(has(part, i));
	assert_true(part_start_blocks(part, why));
	assert_int_equal(end_well(part), COUNT);
	is_the_file();
}

/* Where the program was killed: nothing was said of what is there. */
TEST(test_a_later_run_has_what_is_right)
{
	struct part *part = opened();

	assert_true(part_start_blocks(part, why));
	for (uint64_t i = 1; i < COUNT; i += 2)
		write_block(part, i);
	part_begin(part, PART_SAVING);
	assert_true(part->job == PART_SAVING);
	assert_int_equal(part_finish(part), 0);
	part_close(part, true);
	assert_false(is_there("f"));
	assert_false(is_there(STATE_NAME));
	flip(PART_NAME, 3 * BLOCK + 77);
	flip(PART_NAME, 6 * BLOCK - 1);
	part = opened();
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(has(part, i), i % 2 && i != 3 && i != 5);
	assert_true(part_start_blocks(part, why));
	assert_int_equal(end_well(part), COUNT - COUNT / 2 + 2);
	is_the_file();
}

/* A note that says how much is there is no reason to believe it. */
TEST(test_notes_are_not_believed)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "nopal-part 1 %016llx %d %d\n",
			      (unsigned long long)transfer_id("f", SIZE, 0), SIZE, SIZE);
	struct part *part;

	put(PART_NAME, content, SIZE);
	put(STATE_NAME, text, (size_t)length);
	flip(PART_NAME, 0);
	flip(PART_NAME, SIZE - 1);
	part = opened();
	assert_false(has(part, 0));
	assert_false(has(part, COUNT - 1));
	assert_true(part_start_blocks(part, why));
	assert_false(is_there(STATE_NAME)); /* nor by who comes later */
	assert_int_equal(end_well(part), 2);
	is_the_file();
}

/* Cut short in the middle of a block, or longer than the file. */
TEST(test_other_lengths)
{
	static uint8_t longer[2 * SIZE];
	struct part *part;

	put(PART_NAME, content, 5 * BLOCK + 9);
	part = opened();
	assert_true(has(part, 4));
	assert_false(has(part, 5));
	assert_true(part_start_blocks(part, why));
	assert_int_equal(end_well(part), COUNT - 5);
	is_the_file();
	unlinkat(folder.fd, "f", 0);
	memcpy(longer, content, SIZE);
	put(PART_NAME, longer, sizeof(longer));
	part = opened();
	assert_true(part_start_blocks(part, why));
	assert_int_equal(end_well(part), 0);
	is_the_file();
}

TEST(test_the_file_of_its_name)
{
	struct part *part;

	put("f", content, SIZE);
	part = opened();
	assert_true(part->existing);
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(has(part, i));
	part_close(part, true);
	is_the_file();
	flip("f", 5);
	part = opened();
	assert_false(has(part, 0));
	assert_false(part_leave_existing(part, why)); /* it stays */
	assert_non_null(strstr(why, "differs"));
	part_close(part, true);
	assert_false(is_there(PART_NAME));
	folder.overwrite = true;
	put(PART_NAME, content, 2 * BLOCK);
	part = opened();
	assert_true(part->existing);
	assert_true(part_leave_existing(part, why));
	assert_false(part->existing);
	assert_true(has(part, 1)); /* of the part now */
	assert_true(part_start_blocks(part, why));
	assert_int_equal(end_well(part), COUNT - 2);
	is_the_file();
}

TEST(test_bytes_beyond_the_end_are_refused)
{
	struct part *part = opened();
	struct iovec piece = { content, BLOCK };

	assert_true(part_start_blocks(part, why));
	assert_false(part_write(part, SIZE - BLOCK + 1, &piece, 1, why));
	assert_false(part_write(part, UINT64_MAX, &piece, 1, why));
	part_close(part, false);
	assert_false(is_there(PART_NAME));
}
