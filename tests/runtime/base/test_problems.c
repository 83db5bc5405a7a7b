/* SPDX-License-Identifier: MIT */
/*
 * problems.c: what is said, in which order, and which name was meant.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "base/problems.h"
#include "support/test.h"

static char *printed(struct nopal_problems *problems)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	nopal_problems_print(problems, out);
	fclose(out);
	return text;
}

static void says(struct nopal_problems *problems, const char *expected)
{
	char *text = printed(problems);

	assert_string_equal(text, expected);
	free(text);
	nopal_problems_fini(problems);
}

TEST(test_lines_in_order)
{
	struct nopal_problems problems = { 0 };

	nopal_problems_add(&problems, "a.conf", 9, "remove it", "nine %d", 9);
	nopal_problems_add(&problems, "a.conf", 2, NULL, "two");
	nopal_problems_warn(&problems, "a.conf", 4, "look", "four");
	assert_int_equal(problems.count, 3);
	assert_int_equal(problems.errors, 2);
	says(&problems, "a.conf:2: error: two\n"
			"a.conf:4: warning: four\n  fix: look\n"
			"a.conf:9: error: nine 9\n  fix: remove it\n");
}

TEST(test_equal_lines_keep_their_order)
{
	struct nopal_problems problems = { 0 };

	nopal_problems_add(&problems, "a.conf", 2, NULL, "first");
	nopal_problems_add(&problems, "a.conf", 2, NULL, "second");
	nopal_problems_add(&problems, NULL, 0, NULL, "nowhere");
	says(&problems, "error: nowhere\na.conf:2: error: first\n"
			"a.conf:2: error: second\n");
}

TEST(test_files_stay_together)
{
	struct nopal_problems problems = { 0 };

	nopal_problems_add(&problems, "b.conf", 1, NULL, "b1");
	nopal_problems_add(&problems, "a.conf", 7, NULL, "a7");
	nopal_problems_add(&problems, "b.conf", 3, NULL, "b3");
	nopal_problems_add(&problems, "a.conf", 0, NULL, "a");
	says(&problems, "a.conf: error: a\na.conf:7: error: a7\n"
			"b.conf:1: error: b1\nb.conf:3: error: b3\n");
}

TEST(test_a_microprotocol_complains)
{
	struct nopal_problems problems, placed;
	struct nopal_place place = { "c.conf", 5 };

	problems = (struct nopal_problems){ 0 };
	placed = (struct nopal_problems){ 0 };
	nopal_problem(&problems, "n", "n is not above k", "set n = 5");
	nopal_problem(&problems, NULL, "nothing fits", NULL);
	nopal__problems_move(&placed, &problems, place);
	assert_int_equal(problems.count, 0);
	says(&placed, "c.conf:5: error: n: n is not above k\n"
		      "  fix: set n = 5\n"
		      "c.conf:5: error: nothing fits\n");
}

TEST(test_moving_keeps_places)
{
	struct nopal_problems from, to;
	struct nopal_place place = { "c.conf", 5 };

	from = (struct nopal_problems){ 0 };
	to = (struct nopal_problems){ 0 };
	nopal_problems_add(&from, "d.conf", 1, NULL, "here");
	nopal_problems_warn(&from, NULL, 0, NULL, "there");
	nopal__problems_move(&to, &from, place);
	assert_int_equal(to.errors, 1);
	says(&to, "c.conf:5: warning: there\nd.conf:1: error: here\n");
}

TEST(test_many)
{
	enum { MANY = 1000 };
	struct nopal_problems problems = { 0 };

	for (int i = MANY; i > 0; i--)
		nopal_problems_add(&problems, "m", i, NULL, "%d", i);
	free(printed(&problems));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(problems.entries[i].line, i + 1);
	nopal_problems_fini(&problems);
	nopal_problems_fini(&problems);
}

TEST(test_nearest)
{
	static const char *const names[] = { "retransmit",
					     "resize",
					     "positive_ack",
					     "negative_ack",
					     "forward_error_correction",
					     "rtt_estimation",
					     NULL };
	static const char *const none[] = { NULL };

	assert_string_equal(nopal_nearest("retransmitt", names), "retransmit");
	assert_string_equal(nopal_nearest("retarnsmit", names), "retransmit");
	assert_string_equal(nopal_nearest("rezise", names), "resize");
	assert_string_equal(nopal_nearest("postive_ack", names), "positive_ack");
	assert_string_equal(nopal_nearest("fec", names), "forward_error_correction");
	assert_string_equal(nopal_nearest("rtt", names), "rtt_estimation");
	assert_null(nopal_nearest("checksum", names));
	assert_null(nopal_nearest("", names));
	assert_null(nopal_nearest("resize", none));
}

TEST(test_nearest_of_the_absurdly_long)
{
	static const char *const names[] = { "resize", NULL };
	char name[4096];

	memset(name, 'r', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(nopal_nearest(name, names));
}

TEST(test_suggestion)
{
	static const char *const names[] = { "resize", "rtp", NULL };
	struct nopal_problems problems = { 0 };

	nopal_problems_add(&problems, "a", 1, NULL, "c");
	nopal__problems_suggest(&problems, "resizes", names, "one of: ");
	nopal_problems_add(&problems, "a", 2, NULL, "c");
	nopal__problems_suggest(&problems, "checksum", names, "one of: ");
	nopal_problems_add(&problems, "a", 3, "see the list", "c");
	nopal__problems_suggest(&problems, "checksum", names, NULL);
	nopal_problems_add(&problems, "a", 4, "see the list", "c");
	nopal__problems_fix(&problems, "write %d", 5);
	says(&problems, "a:1: error: c\n  fix: did you mean `resize`?\n"
			"a:2: error: c\n  fix: one of: resize rtp\n"
			"a:3: error: c\n  fix: see the list\n"
			"a:4: error: c\n  fix: write 5\n");
	nopal__problems_suggest(NULL, "resizes", names, NULL);
	nopal__problems_fix(NULL, "write %d", 5);
}

/* That report needs no memory itself, and problems added after it would mislead. */
TEST(test_no_memory_is_the_last_that_is_said)
{
	struct nopal_problems problems, moved;
	struct nopal_place place = { "c.conf", 5 };

	problems = (struct nopal_problems){ 0 };
	moved = (struct nopal_problems){ 0 };
	nopal__problems_no_memory(&problems);
	nopal__problems_no_memory(&problems);
	nopal_problems_add(&problems, "a", 1, NULL, "more");
	nopal__problems_fix(&problems, "less");
	assert_true(problems.no_memory);
	assert_int_equal(problems.count, 1);
	assert_int_equal(problems.errors, 1);
	nopal_problems_warn(&moved, "a", 1, NULL, "before");
	nopal__problems_move(&moved, &problems, place);
	assert_int_equal(problems.count, 0);
	assert_false(problems.no_memory);
	assert_true(moved.no_memory);
	assert_int_equal(moved.errors, 1);
	says(&moved, "error: out of memory\n  fix: free memory, or raise the "
		     "limit of this process\na:1: warning: before\n");
}
