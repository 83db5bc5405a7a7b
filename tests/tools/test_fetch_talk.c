/* SPDX-License-Identifier: MIT */
/*
 * test_fetch_talk -- one file from three servers in virtual time: what comes together, whoever
 * dies, comes, comes back, or has something else.
 */
#include <unistd.h>

#include "support/servers.h"
#include "support/test.h"

ALL_TESTS(tests, make_folders, remove_folders);

TEST(test_three_are_faster_than_the_fastest)
{
	int64_t alone_ns, three_ns;

	open_place();
	servers_begin(2, 1);
	alone_ns = run_to_the_end();
	close_place();
	open_place();
	servers_begin(0, 3);
	three_ns = run_to_the_end();
	printf("20 Mbit/s alone %.3f s; with 5 and 10 Mbit/s %.3f s\n", (double)alone_ns / 1e9,
	       (double)three_ns / 1e9);
	/* at best 20/35 of it */
	assert_true(three_ns * 100 < alone_ns * 65);
	assert_true(place.rows[0].bytes > SIZE / 12);
	assert_true(place.rows[1].bytes > SIZE / 6);
	assert_true(place.rows[2].bytes > SIZE / 3);
	for (unsigned i = 0; i < SERVERS; i++)
		assert_int_equal(place.rows[i].state, TABLE_SHARE);
	close_place();
}

/* Whichever two they are, and whenever. */
TEST(test_two_deaths_are_survived)
{
	for (unsigned survivor = 0; survivor < SERVERS; survivor++) {
		open_place();
		servers_begin(0, 3);
		run_until(600 * NOPAL_MILLISECOND);
		set_link((survivor + 1) % SERVERS, DEAD_LINK);
		run_until(900 * NOPAL_MILLISECOND);
		set_link((survivor + 2) % SERVERS, DEAD_LINK);
		run_to_the_end();
		for (unsigned i = 0; i < SERVERS; i++)
			assert_true(place.rows[i].bytes > 0);
		assert_true(place.rows[survivor].bytes > SIZE / 4);
		close_place();
	}
}

/* The receiver does not wait for a dead server while others are there: not one second is lost. */
TEST(test_a_death_costs_its_share_alone)
{
	int64_t took_ns;

	open_place();
	servers_begin(0, 3);
	run_until(600 * NOPAL_MILLISECOND);
	set_link(0, DEAD_LINK);
	took_ns = run_to_the_end();
	/* 48 Mbit with 30 of 35 Mbit/s: 1.6 s, and what a beginning costs */
	assert_true(took_ns < 2300 * NOPAL_MILLISECOND);
	close_place();
}

TEST(test_all_comes_through_losses)
{
	open_place();
	for (unsigned i = 0; i < SERVERS; i++)
		set_link(i, "rate 20mbit delay 10ms 5ms loss 3% duplicate 2% corrupt 1% limit 100");
	servers_begin(0, 3);
	run_to_the_end();
	for (unsigned i = 0; i < SERVERS; i++)
		assert_int_equal(place.rows[i].state, TABLE_SHARE);
	close_place();
}

TEST(test_all_die_and_it_ends)
{
	open_place();
	servers_begin(0, 3);
	run_until(600 * NOPAL_MILLISECOND);
	for (unsigned i = 0; i < SERVERS; i++)
		set_link(i, DEAD_LINK);
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_int_equal(place.deserted, 1);
	assert_string_equal(place.why, "all servers are gone");
	for (unsigned i = 0; i < SERVERS; i++)
		assert_true(place.rows[i].state == TABLE_DIED ||
			    place.rows[i].state == TABLE_UNREACHED);
	close_place();
}

TEST(test_nobody_is_there)
{
	open_place();
	for (unsigned i = 0; i < SERVERS; i++)
		set_link(i, DEAD_LINK);
	servers_begin(0, 3);
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_string_equal(place.why, "no server answers");
	assert_int_equal(place.rows[0].state, TABLE_UNREACHED);
	close_place();
}

TEST(test_all_come_back)
{
	open_place();
	servers_begin(0, 3);
	run_until(600 * NOPAL_MILLISECOND);
	for (unsigned i = 0; i < SERVERS; i++)
		set_link(i, DEAD_LINK);
	run_until(8 * NOPAL_SECOND);
	for (unsigned i = 0; i < SERVERS; i++)
		set_link(i, links[i]);
	assert_true(run_to_the_end() > 8 * NOPAL_SECOND);
	close_place();
}

TEST(test_one_comes_late)
{
	open_place();
	set_link(2, DEAD_LINK);
	servers_begin(0, 3);
	run_until(500 * NOPAL_MILLISECOND);
	set_link(2, links[2]);
	run_to_the_end();
	assert_true(place.rows[2].bytes > SIZE / 6);
	close_place();
}

/* The first that answers is right; it is the one whose link is up. */
TEST(test_another_version_is_left_out)
{
	char path[256];

	bytes[SIZE / 2] ^= 1;
	write_file(folders[1], bytes);
	bytes[SIZE / 2] ^= 1;
	snprintf(path, sizeof(path), "%s/" NAME, folders[2]);
	unlink(path);
	open_place();
	set_link(1, DEAD_LINK);
	servers_begin(0, 3);
	run_until(500 * NOPAL_MILLISECOND);
	set_link(1, links[1]);
	run_to_the_end();
	assert_int_equal(place.rows[1].state, TABLE_REFUSED);
	assert_non_null(strstr(place.rows[1].why, "another version"));
	assert_int_equal(place.rows[1].bytes, 0);
	assert_int_equal(place.rows[2].state, TABLE_REFUSED);
	assert_non_null(strstr(place.rows[2].why, "no such file"));
	close_place();
	write_file(folders[1], bytes);
	write_file(folders[2], bytes);
}

TEST(test_nobody_has_it)
{
	open_place();
	servers_begin(0, 3);
	place.fetch.name = "films/other.mkv";
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_string_equal(place.why, "no server gives it");
	assert_true(place.now_ns < 5 * NOPAL_SECOND);
	close_place();
}

/* The file changes at a server: parts that came from there may be wrong, and it gives no more. */
TEST(test_a_file_that_changes_is_given_no_more)
{
	char path[256];

	open_place();
	servers_begin(0, 3);
	run_until(600 * NOPAL_MILLISECOND);
	snprintf(path, sizeof(path), "%s/" NAME, folders[2]);
	assert_int_equal(truncate(path, SIZE - 1), 0);
	run_to_the_end();
	assert_int_equal(place.rows[2].state, TABLE_FAILED);
	assert_non_null(strstr(place.rows[2].why, "changed"));
	close_place();
	write_file(folders[2], bytes);
}
