/* SPDX-License-Identifier: MIT */
/*
 * test_reset_key -- a receiver's reset key: made once, read again, and refused where others could
 * have it.
 */
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>

#include "file/reset_key.h"
#include "support/test.h"

static char folder_path[64], file_path[128];
static int folder;

static int set_up(void **state)
{
	const char *where = getenv("TMPDIR");

	(void)state;
	snprintf(folder_path, sizeof(folder_path), "%.40s/nopal-test-XXXXXX",
		 where ? where : "/tmp");
	if (!mkdtemp(folder_path))
		return -1;
	snprintf(file_path, sizeof(file_path), "%s/%s", folder_path, RESET_KEY_NAME);
	folder = open(folder_path, O_RDONLY | O_DIRECTORY);
	return folder < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file_path);
	close(folder);
	return rmdir(folder_path); /* nothing else was left */
}

EACH_TEST(set_up, tear_down);

static bool keep(uint8_t *ret_key)
{
	enum reset_key kept = reset_key_keep(folder, folder_path, ret_key);

	assert_true(kept == RESET_KEY_KEPT || kept == RESET_KEY_REFUSED);
	return kept == RESET_KEY_KEPT;
}

static void write_file(const void *bytes, size_t length, mode_t mode)
{
	int file;

	unlink(file_path);
	file = open(file_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, length), length);
	assert_int_equal(fchmod(file, mode), 0);
	close(file);
}

TEST(test_it_is_made_once_and_its_owners_alone)
{
	uint8_t first[NOPAL_RESET_KEY_BYTES], again[NOPAL_RESET_KEY_BYTES];
	struct stat is;

	assert_true(keep(first));
	assert_int_equal(stat(file_path, &is), 0);
	assert_int_equal(is.st_mode & 07777, 0600);
	assert_int_equal(is.st_size, NOPAL_RESET_KEY_BYTES);
	assert_true(keep(again));
	assert_memory_equal(first, again, sizeof(first));
	unlink(file_path);
	assert_true(keep(again));
	assert_memory_not_equal(first, again, sizeof(first));
}

TEST(test_the_masks_of_others_do_not_open_it)
{
	uint8_t key[NOPAL_RESET_KEY_BYTES];
	mode_t before = umask(0777);
	struct stat is;
	bool kept = keep(key);

	umask(before);
	assert_true(kept);
	assert_int_equal(stat(file_path, &is), 0);
	assert_int_equal(is.st_mode & 07777, 0600);
}

TEST(test_what_others_may_read_or_write_is_refused)
{
	static const mode_t open_to_others[] = { 0640, 0620, 0604, 0602, 0666, 0610 };
	uint8_t key[NOPAL_RESET_KEY_BYTES] = { 1 };

	for (size_t i = 0; i < sizeof(open_to_others) / sizeof(*open_to_others); i++) {
		write_file(key, sizeof(key), open_to_others[i]);
		assert_false(keep(key));
	}
	write_file(key, sizeof(key), 0600);
	assert_true(keep(key));
}

TEST(test_another_length_is_refused)
{
	uint8_t key[NOPAL_RESET_KEY_BYTES + 1] = { 1 };

	for (size_t length = 0; length <= sizeof(key); length++) {
		write_file(key, length, 0600);
		assert_int_equal(keep(key), length == NOPAL_RESET_KEY_BYTES);
	}
}

TEST(test_what_is_no_file_is_refused)
{
	uint8_t key[NOPAL_RESET_KEY_BYTES];

	assert_int_equal(symlink("/etc/passwd", file_path), 0);
	assert_false(keep(key));
	unlink(file_path);
	assert_int_equal(mkdir(file_path, 0700), 0);
	assert_false(keep(key));
	rmdir(file_path);
	assert_int_equal(mkfifo(file_path, 0600), 0);
	assert_false(keep(key));
}

/* A disk that takes nothing is no reason not to receive. */
TEST_WITH(NULL, NULL, test_a_disk_that_takes_none_is_no_refusal)
{
	uint8_t key[NOPAL_RESET_KEY_BYTES];
	int elsewhere = open("/proc/self", O_RDONLY | O_DIRECTORY);

	assert_true(elsewhere >= 0);
	assert_int_equal(reset_key_keep(elsewhere, "/proc/self", key), RESET_KEY_NONE);
	close(elsewhere);
}
