/* SPDX-License-Identifier: MIT */
/* test_download -- an object in chunks comes whole, is cut off, or is found to be damaged. */
#include <nopal/microprotocol.h>

#include "load/download.h"
#include "support/rig.h"
#include "support/suite.h"
#include "support/test.h"

enum { CHUNK = 1426, SIZE = 100 * CHUNK + 1 };

static struct download simulated(struct nopal_plan *plan, const char *words, int64_t cutoff_ns)
{
	struct download download = {
		.protocol = SIDE_CONFIG,
		.plan = plan,
		.chunk = CHUNK,
		.size = SIZE,
		.cutoff_ns = cutoff_ns,
	};
	struct nopal_problems problems = { 0 };
	struct side_place place = { .seed = 1 };

	assert_int_equal(nopal_link_parse(words, &place.forward, &place.reverse, &problems), 0);
	assert_true(download_run(&download, &place));
	nopal_problems_fini(&problems);
	nopal_plan_unref(plan);
	return download;
}

/* Two round trips of opening and asking, and what the link takes for the bytes. */
TEST(test_object_comes_whole_in_the_time_of_the_link)
{
	struct download download =
		simulated(suite_plan("bulk"), "rate 10mbit delay 20ms", 10 * NOPAL_SECOND);
	int64_t link_ns = (int64_t)SIZE * 8 * 100;

	assert_true(download.done);
	assert_false(download.wrong);
	assert_int_equal(download.came, SIZE);
	assert_in_range(download.took_ns, link_ns + 80 * NOPAL_MILLISECOND,
			link_ns * 11 / 10 + 200 * NOPAL_MILLISECOND);
}

TEST(test_slow_transfer_is_cut_off_with_what_had_come)
{
	struct download download =
		simulated(suite_plan("bulk"), "rate 100kbit delay 20ms", 3 * NOPAL_SECOND);

	assert_false(download.done);
	assert_false(download.wrong);
	assert_int_equal(download.took_ns, 3 * NOPAL_SECOND);
	assert_in_range(download.came, CHUNK, 3 * 100000 / 8);
}

TEST(test_silent_path_is_cut_off_with_nothing)
{
	struct download download =
		simulated(suite_plan("bulk"), "delay 20ms loss 100%", 3 * NOPAL_SECOND);

	assert_false(download.done);
	assert_int_equal(download.came, 0);
	assert_int_equal(download.took_ns, 3 * NOPAL_SECOND);
}

TEST(test_damage_that_no_checksum_finds_is_seen)
{
	struct download download = simulated(rig_plan("transport_driver {}\nfixed_size {}\n"
						      "sequenced_segments {}\n"),
					     "rev: corrupt 50%", NOPAL_SECOND);

	assert_false(download.done);
	assert_true(download.wrong);
}
