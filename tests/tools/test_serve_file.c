/* SPDX-License-Identifier: MIT */
/*
 * test_serve_file -- what is served is below the folder, and its hash is the file's.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "transfer/serve_file.h"
#include "support/test.h"

enum { FILES = 300, LONG = 9000000 };

static char outside[] = "/tmp/nopal-serve-XXXXXX", inside[64];
static struct serve_files files;
static char why[TRANSFER_TEXT_ROOM];

static char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", inside, name);
	return path;
}

static void write_to(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static uint64_t hash_of(const char *text)
{
	struct file_blocks blocks;
	struct file_hash hash;
	uint64_t root;

	file_hash_init(&hash);
	file_hash_update(&hash, text, strlen(text));
	file_blocks_init(&blocks, strlen(text));
	assert_true(file_blocks_add(&blocks, file_hash_value(&hash)));
	root = file_blocks_root(&blocks);
	file_blocks_fini(&blocks);
	return root;
}

static void refused(const char *name, const char *because)
{
	struct source source;

	why[0] = '\0';
	assert_null(serve_file_open(&files, name, &source, why));
	assert_non_null(strstr(why, because));
	assert_null(files.list);
}

static struct serve_file *opened(const char *name)
{
	struct source source;
	struct serve_file *file = serve_file_open(&files, name, &source, why);

	assert_non_null(file);
	assert_int_equal(source.size, file->size);
	source_close(&source);
	return file;
}

static int begin(void **state)
{
	(void)state;
	strcpy(outside + strlen(outside) - 6, "XXXXXX");
	if (!mkdtemp(outside))
		return -1;
	snprintf(inside, sizeof(inside), "%s/served", outside);
	mkdir(inside, 0777);
	mkdir(path_of("folder"), 0777);
	write_to(path_of("file"), "file");
	write_to(path_of("folder/deep"), "deep");
	write_to(path_of(".hidden"), "hidden");
	files = (struct serve_files){
		.folder = open(inside, O_RDONLY | O_DIRECTORY),
	};
	return files.folder < 0;
}

static int end(void **state)
{
	char command[256];

	(void)state;
	serve_files_fini(&files);
	close(files.folder);
	snprintf(command, sizeof(command), "rm -rf %s", outside);
	return system(command);
}

EACH_TEST(begin, end);

TEST(test_files_below_are_there)
{
	struct serve_file *file = opened("file"), *deep = opened("folder/deep");

	assert_int_equal(file->state, SERVE_FILE_NEW);
	while (serve_file_step(&files))
		;
	assert_int_equal(file->state, SERVE_FILE_KNOWN);
	assert_true(file->hash == hash_of("file"));
	assert_true(deep->hash == hash_of("deep"));
	serve_file_close(&files, file);
	serve_file_close(&files, deep);
}

TEST(test_nothing_else_is)
{
	char secret[128];

	snprintf(secret, sizeof(secret), "%s/secret", outside);
	write_to(secret, "secret");
	assert_int_equal(symlink("../secret", path_of("out")), 0);
	assert_int_equal(symlink("..", path_of("up")), 0);
	assert_int_equal(symlink("file", path_of("in")), 0);
	assert_int_equal(mkfifo(path_of("fifo"), 0666), 0);
	refused("../secret", "begin with a dot");
	refused("folder/../../secret", "begin with a dot");
	refused(secret, "the name is empty");
	refused(".hidden", "begin with a dot");
	refused("out", "links are not followed");
	refused("in", "links are not followed");
	refused("up/secret", "links are not followed");
	refused("folder", "is no plain file");
	refused("fifo", "is no plain file");
	refused("none", "there is no such file");
	refused("none/file", "there is no such file");
	refused("file/file", "there is no such file");
	refused("", "the name is empty");
	refused("a\033[2Jb", "control characters");
	assert_null(strchr(why, '\033'));
}

TEST(test_a_hash_is_taken_once)
{
	static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct serve_file *file = opened("file"), *again = opened("file");

	assert_ptr_equal(file, again);
	while (serve_file_step(&files))
		;
	serve_file_close(&files, file);
	serve_file_close(&files, again);
	again = opened("file");
	assert_int_equal(again->state, SERVE_FILE_KNOWN);
	serve_file_close(&files, again);
	write_to(path_of("file"), "elif");
	/* as long, and written in the same tick of the clock, perhaps */
	assert_int_equal(utimensat(AT_FDCWD, path_of("file"), times, 0), 0);
	again = opened("file");
	assert_int_equal(again->state, SERVE_FILE_NEW);
	while (serve_file_step(&files))
		;
	assert_true(again->hash == hash_of("elif"));
	serve_file_close(&files, again);
}

/* A hole costs nothing to make, and a list of a hundred thousand hashes would. */
TEST(test_what_is_too_long_is_not_given)
{
	struct source source;

	if (truncate(path_of("file"), (off_t)(UINT64_C(1) << 42)))
		skip(); /* this disk has no such files */
	assert_null(serve_file_open(&files, "file", &source, why));
	assert_non_null(strstr(why, "longer than 2 TiB"));
	assert_null(files.list);
}

/* Nobody waits any more: it is not read on. */
TEST(test_who_went_is_not_waited_for)
{
	struct serve_file *file = opened("file");

	serve_file_close(&files, file);
	assert_null(files.list);
	assert_null(serve_file_step(&files));
}

TEST(test_long_ones_take_their_steps)
{
	struct serve_file *file;
	unsigned steps = 0;

	assert_int_equal(truncate(path_of("file"), LONG), 0);
	file = opened("file");
	while (serve_file_step(&files))
		steps++;
	assert_int_equal(steps, (LONG + TRANSFER_STEP_BYTES - 1) / TRANSFER_STEP_BYTES);
	assert_int_equal(file->state, SERVE_FILE_KNOWN);
	assert_int_equal(file->blocks.count, LONG / FILE_BLOCK_MIN + 1);
	/* zeros: alike but for the last, and the first, which had a word */
	for (uint64_t i = 2; i < LONG / FILE_BLOCK_MIN; i++)
		assert_true(file->blocks.hashes[i] == file->blocks.hashes[1]);
	assert_true(file->blocks.hashes[LONG / FILE_BLOCK_MIN] != file->blocks.hashes[0]);
	serve_file_close(&files, file);
}

TEST(test_one_that_changes_meanwhile_fails)
{
	struct serve_file *file;

	assert_int_equal(truncate(path_of("file"), LONG), 0);
	file = opened("file");
	assert_ptr_equal(serve_file_step(&files), file);
	assert_int_equal(truncate(path_of("file"), 10), 0);
	while (serve_file_step(&files))
		;
	assert_int_equal(file->state, SERVE_FILE_FAILED);
	assert_true(file->why[0] != '\0');
	serve_file_close(&files, file);
	assert_null(files.list);
}

TEST(test_as_many_are_remembered)
{
	char name[32];

	for (int i = 0; i < FILES; i++) {
		struct serve_file *file;

		snprintf(name, sizeof(name), "file%d", i);
		write_to(path_of(name), name);
		file = opened(name);
		while (serve_file_step(&files))
			;
		assert_true(file->hash == hash_of(name));
		serve_file_close(&files, file);
		assert_true(files.count <= 257);
	}
}
