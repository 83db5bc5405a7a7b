/* SPDX-License-Identifier: MIT */
/*
 * test_fetch_lies -- servers whose file is damaged after they announced it, or is another one: each
 * wrong part is thrown away, its server named, and all comes that an honest one has.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/servers.h"
#include "support/test.h"

ALL_TESTS(tests, make_folders, remove_folders);

enum { BLOCK = FILE_BLOCK_MIN, BLOCKS = (SIZE + BLOCK - 1) / BLOCK };

/* Which blocks are damaged at each server, once it is known which file it is. */
static struct lie {
	unsigned from, end, step;
} lies[SERVERS];

static void flip(int fd, off_t at)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* One bit of each block, and no sign of it in the folder. */
static void tell_lies(void)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		char path[256];
		struct stat was;
		int fd;

		if (!lies[i].step)
			continue;
		snprintf(path, sizeof(path), "%s/" NAME, folders[i]);
		fd = open(path, O_RDWR);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &was), 0);
		for (unsigned at = lies[i].from; at < lies[i].end; at += lies[i].step)
			flip(fd, (off_t)at * BLOCK + 5);
		assert_int_equal(futimens(fd, (struct timespec[]){ was.st_atim, was.st_mtim }), 0);
		close(fd);
	}
}

static void open_liars(void)
{
	open_place();
	place.at_found = tell_lies;
}

static void close_liars(void)
{
	close_place();
	for (unsigned i = 0; i < SERVERS; i++) {
		lies[i] = (struct lie){ 0 };
		write_file(folders[i], bytes);
	}
}

static void is_named(unsigned server)
{
	assert_int_equal(place.rows[server].state, TABLE_FAILED);
	assert_non_null(strstr(place.rows[server].why, "are not the file's"));
	assert_non_null(place.rows[server].fix);
}

TEST(test_one_byte_in_one_part)
{
	open_liars();
	lies[1] = (struct lie){ 2, 3, 1 }; /* of the first that it is asked for */
	servers_begin(0, 3);
	run_to_the_end();
	is_named(1);
	assert_non_null(strstr(place.rows[1].why, "bytes 65536 to 98303"));
	assert_int_equal(place.rows[0].state, TABLE_SHARE);
	assert_int_equal(place.rows[2].state, TABLE_SHARE);
	close_liars();
}

/* The fastest has every part wrong: it gives nothing, and costs little. */
TEST(test_one_of_three_lies_always)
{
	int64_t took_ns;

	open_liars();
	lies[2] = (struct lie){ 0, BLOCKS, 1 };
	servers_begin(0, 3);
	took_ns = run_to_the_end();
	is_named(2);
	assert_int_equal(place.rows[2].bytes, 0);
	/* 48 Mbit with 15 Mbit/s: 3.2 s, and what a beginning costs */
	assert_true(took_ns < 4 * NOPAL_SECOND);
	close_liars();
}

TEST(test_all_but_one_lie)
{
	for (unsigned honest = 0; honest < SERVERS; honest++) {
		open_liars();
		for (unsigned i = 0; i < SERVERS; i++)
			if (i != honest)
				lies[i] = (struct lie){ 0, BLOCKS, 1 };
		servers_begin(0, 3);
		run_to_the_end();
		for (unsigned i = 0; i < SERVERS; i++) {
			if (i == honest)
				continue;
			is_named(i);
			assert_int_equal(place.rows[i].bytes, 0);
		}
		assert_int_equal(place.rows[honest].state, TABLE_SHARE);
		assert_int_equal(place.rows[honest].bytes, SIZE);
		close_liars();
	}
}

/* Each part is well at one of them at least. */
TEST(test_each_is_damaged_elsewhere)
{
	open_liars();
	lies[0] = (struct lie){ 0, 60, 30 };
	lies[1] = (struct lie){ 2, 120, 50 };
	lies[2] = (struct lie){ 4, BLOCKS, 70 };
	servers_begin(0, 3);
	run_to_the_end();
	for (unsigned i = 0; i < SERVERS; i++) {
		is_named(i);
		assert_true(place.rows[i].bytes > 0);
	}
	close_liars();
}

/* The bytes that came are the file's; the rest did not come. */
static void has_only_truth(void)
{
	static const uint8_t nothing[BLOCK];
	uint64_t came = 0;

	for (size_t at = 0; at < SIZE; at += BLOCK) {
		size_t length = SIZE - at < BLOCK ? SIZE - at : BLOCK;

		if (memcmp(place.came + at, nothing, length) == 0)
			continue;
		assert_memory_equal(place.came + at, bytes + at, length);
		came += length;
	}
	assert_int_equal(came, place.came_bytes);
}

static void ends_with_an_error(void)
{
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_int_equal(place.deserted, 1);
	assert_string_equal(place.why, "no server is left that gives the rest");
	for (unsigned i = 0; i < SERVERS; i++)
		is_named(i);
	has_only_truth();
}

TEST(test_all_lie_in_one_part)
{
	open_liars();
	for (unsigned i = 0; i < SERVERS; i++)
		lies[i] = (struct lie){ 100, 101, 1 };
	servers_begin(0, 3);
	ends_with_an_error();
	assert_int_equal(place.came_bytes, SIZE - BLOCK);
	close_liars();
}

TEST(test_all_lie_always)
{
	open_liars();
	for (unsigned i = 0; i < SERVERS; i++)
		lies[i] = (struct lie){ 0, BLOCKS, 1 };
	servers_begin(0, 3);
	ends_with_an_error();
	assert_int_equal(place.came_bytes, 0);
	close_liars();
}

/* A bad one goes, and comes back: it is not trusted more for that. */
TEST(test_a_liar_comes_back)
{
	open_liars();
	lies[2] = (struct lie){ 0, BLOCKS, 1 };
	servers_begin(0, 3);
	run_until(600 * NOPAL_MILLISECOND);
	set_link(2, DEAD_LINK);
	run_until(NOPAL_SECOND);
	set_link(2, links[2]);
	run_to_the_end();
	is_named(2);
	assert_int_equal(place.rows[2].bytes, 0);
	close_liars();
}

/* ----------------------------------------------------------------- other versions */

static void other_version_at(unsigned server)
{
	bytes[SIZE / 2] ^= 1;
	write_file(folders[server], bytes);
	bytes[SIZE / 2] ^= 1;
}

static void is_refused(unsigned server)
{
	assert_int_equal(place.rows[server].state, TABLE_REFUSED);
	assert_non_null(strstr(place.rows[server].why, "another version"));
	assert_int_equal(place.rows[server].bytes, 0);
}

/* Whichever it is, and though it answers first. */
TEST(test_max_of_them_say_which_file)
{
	for (unsigned other = 0; other < SERVERS; other++) {
		other_version_at(other);
		open_liars();
		for (unsigned i = 0; i < SERVERS; i++)
			if (i != other)
				set_link(i, "rate 20mbit delay 100ms");
		servers_begin(0, 3);
		run_to_the_end();
		is_refused(other);
		close_liars();
	}
}

/* One answers, and the others cannot be reached: it is believed, after a second. */
TEST(test_nobody_is_waited_for_long)
{
	open_liars();
	set_link(0, DEAD_LINK);
	set_link(1, DEAD_LINK);
	servers_begin(0, 3);
	assert_true(run_to_the_end() > NOPAL_SECOND);
	assert_true(place.whole_ns < 5 * NOPAL_SECOND);
	close_liars();
}

static int64_t alone(void)
{
	int64_t took_ns;

	open_liars();
	servers_begin(2, 1);
	took_ns = run_to_the_end();
	close_liars();
	return took_ns;
}

/* Not when all the others have said no, and not when it is named. */
TEST(test_nobody_is_waited_for_in_vain)
{
	int64_t alone_ns = alone(), max_ns = alone_ns + NOPAL_SECOND / 2;

	open_liars();
	for (unsigned i = 0; i < 2; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/" NAME, folders[i]);
		unlink(path);
	}
	servers_begin(0, 3);
	assert_true(run_to_the_end() < max_ns);
	close_liars();
	open_liars();
	set_link(0, DEAD_LINK);
	set_link(1, DEAD_LINK);
	servers_begin(0, 3);
	place.fetch.given = true;
	place.fetch.hash = root_of(bytes);
	assert_true(run_to_the_end() < max_ns);
	close_liars();
}

TEST(test_the_one_that_is_named)
{
	other_version_at(0);
	other_version_at(2);
	open_liars();
	servers_begin(0, 3);
	place.fetch.given = true;
	place.fetch.hash = root_of(bytes);
	run_to_the_end();
	is_refused(0);
	is_refused(2);
	close_liars();
}

TEST(test_the_one_that_is_named_is_not_there)
{
	open_liars();
	servers_begin(0, 3);
	place.fetch.given = true;
	place.fetch.hash = root_of(bytes) + 1;
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_int_equal(place.found, 0);
	assert_string_equal(place.why, "no server gives it");
	for (unsigned i = 0; i < SERVERS; i++)
		is_refused(i);
	close_liars();
}
