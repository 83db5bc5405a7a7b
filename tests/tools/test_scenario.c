/* SPDX-License-Identifier: MIT */
/*
 * scenario.c: cases in their language, and what is said of those that are wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"
#include "support/said.h"
#include "support/test.h"

enum { PAGE_ROOM = 1 << 16 };

static struct lab_scenarios scenarios;
static struct nopal_problems problems;

static int tear_down(void **state)
{
	(void)state;
	lab_scenarios_fini(&scenarios);
	nopal_problems_fini(&problems);
	return 0;
}

EACH_TEST(NULL, tear_down);

#define GOOD                                                                                       \
	"case \"one\"\n"                                                                           \
	"\tlink delay 10ms\n"                                                                      \
	"\tmessages 5 every 20ms size 8..1000\n"                                                   \
	"\twithin 2s\n"                                                                            \
	"\texpect all\n"

static int parse(const char *text)
{
	return lab_scenarios_parse(text, "cases.txt", &scenarios, &problems);
}

static const struct lab_scenario *only(void)
{
	assert_int_equal(scenarios.count, 1);
	return &scenarios.list[0];
}

/* The last expectation of the only case, whose line stands behind a good case's. */
static const struct lab_expectation *expects(const char *words)
{
	char *text = said(GOOD "\texpect %s\n", words);

	tear_down(NULL);
	assert_int_equal(parse(text), 0);
	free(text);
	assert_int_equal(only()->expectation_count, 2);
	assert_int_equal(only()->expectations[1].line, 6);
	return &only()->expectations[1];
}

/* The text is refused, with one problem alone, in this line, which says so. */
static void refused(const char *text, int line, const char *cause)
{
	tear_down(NULL);
	assert_true(parse(text) < 0);
	assert_int_equal(problems.count, 1);
	assert_string_equal(problems.entries[0].file, "cases.txt");
	assert_int_equal(problems.entries[0].line, line);
	if (!strstr(problems.entries[0].cause, cause))
		fail_msg("nothing of `%s` in: %s", cause, problems.entries[0].cause);
	assert_non_null(problems.entries[0].fix);
}

/* The same of one line more in a good case. */
static void line_refused(const char *words, const char *cause)
{
	char *text = said(GOOD "\t%s\n", words);

	refused(text, 6, cause);
	free(text);
}

/* The same where it stands in place of the line of messages. */
static void messages_refused(const char *words, const char *cause)
{
	char *text =
		said("case \"one\"\n\tlink delay 10ms\n\t%s\n\twithin 2s\n\texpect all\n", words);

	refused(text, 3, cause);
	free(text);
}

/* -------------------------------------------------------------------- what is good */

TEST(test_a_case_has_what_its_lines_say)
{
	const struct lab_scenario *one;

	assert_int_equal(parse("# a comment\n\ncase \"two # are lost\"  # and here\n"
			       "link   delay 10ms fwd: loss mask 0101\r\n"
			       "sender reference\n"
			       "\treceiver\tstudent\n"
			       "messages 7 size 20..30 every 5ms\n"
			       "within 1500ms\n"
			       "expect all once\n"
			       "expect datagrams <= 12"),
			 0);
	one = only();
	assert_string_equal(one->name, "two # are lost");
	assert_string_equal(one->link, "delay 10ms fwd: loss mask 0101");
	assert_int_equal(one->line, 3);
	assert_int_equal(one->sender, LAB_REFERENCE);
	assert_int_equal(one->receiver, LAB_STUDENT);
	assert_int_equal(one->messages, 7);
	assert_int_equal(one->every_ns, 5 * NOPAL_MILLISECOND);
	assert_int_equal(one->within_ns, 1500 * NOPAL_MILLISECOND);
	assert_int_equal(one->size_min, 20);
	assert_int_equal(one->size_max, 30);
	assert_int_equal(one->expectation_count, 2);
}

TEST(test_what_is_not_said_has_its_default)
{
	assert_int_equal(parse("case \"x\"\nlink delay 1ms\nmessages 1\nwithin 1s\nexpect none\n"),
			 0);
	assert_int_equal(only()->sender, LAB_STUDENT);
	assert_int_equal(only()->receiver, LAB_REFERENCE);
	assert_int_equal(only()->every_ns, 0);
	assert_int_equal(only()->size_min, 8);
	assert_int_equal(only()->size_max, 8);
}

TEST(test_cases_are_apart)
{
	assert_int_equal(parse(GOOD "case \"two\"\nsender reference\nlink loss 5%\nmessages 2 size "
				    "9\nwithin 1s\nexpect once\nexpect intact\n"),
			 0);
	assert_int_equal(scenarios.count, 2);
	assert_int_equal(scenarios.list[0].sender, LAB_STUDENT);
	assert_int_equal(scenarios.list[0].expectation_count, 1);
	assert_int_equal(scenarios.list[1].size_max, 9);
	assert_int_equal(scenarios.list[1].expectation_count, 2);
}

TEST(test_checks_are_united)
{
	assert_int_equal(expects("once ordered intact ended")->value,
			 LAB_ONCE | LAB_ORDERED | LAB_INTACT | LAB_ENDED);
	assert_int_equal(expects("all")->value, LAB_ALL);
	assert_int_equal(expects("none")->value, LAB_NONE);
	assert_int_equal(expects("none")->subject, LAB_EXPECT_CHECKS);
}

TEST(test_figures_have_a_relation_and_a_value)
{
	const struct lab_expectation *one = expects("datagrams <= 12");

	assert_int_equal(one->subject, LAB_EXPECT_DATAGRAMS);
	assert_int_equal(one->relation, LAB_AT_MOST);
	assert_int_equal(one->value, 12);
	assert_int_equal(expects("acks = 5")->subject, LAB_EXPECT_ACKS);
	assert_int_equal(expects("acks = 5")->relation, LAB_EQUAL);
	assert_int_equal(expects("delivered >= 4")->subject, LAB_EXPECT_DELIVERED);
	assert_int_equal(expects("delivered >= 4")->relation, LAB_AT_LEAST);
	assert_int_equal(expects("delay <= 250ms")->subject, LAB_EXPECT_LATEST);
	assert_int_equal(expects("delay <= 250ms")->value, 250 * NOPAL_MILLISECOND);
}

TEST(test_a_resend_has_a_time_and_a_tolerance)
{
	const struct lab_expectation *one = expects("resend at 200ms 5ms");

	assert_int_equal(one->subject, LAB_EXPECT_RESEND);
	assert_int_equal(one->value, 200 * NOPAL_MILLISECOND);
	assert_int_equal(one->tolerance, 5 * NOPAL_MILLISECOND);
}

/* The page's own words. */
TEST(test_examples_of_the_page_are_cases)
{
	static const char path[] = NOPAL_SOURCE_ROOT "/docs/labs/cases.md";
	char *page = calloc(1, PAGE_ROOM), *at = page;
	FILE *in = fopen(path, "r");
	unsigned examples = 0;

	assert_non_null(in);
	assert_non_null(page);
	assert_true(fread(page, 1, PAGE_ROOM - 1, in) < PAGE_ROOM - 1);
	fclose(in);
	while ((at = strstr(at, "```\n"))) {
		char *begin = at + strlen("```\n"), *end = strstr(begin, "```");

		assert_non_null(end);
		*end = '\0';
		tear_down(NULL);
		assert_int_equal(parse(begin), 0);
		examples++;
		at = end + 1;
	}
	assert_int_equal(examples, 2);
	free(page);
}

/* ------------------------------------------------------------------- what is wrong */

TEST(test_a_text_without_a_case_is_refused)
{
	refused("", 1, "no case");
	refused("\n# nothing\n", 1, "no case");
	refused("link delay 10ms\n", 1, "of no case");
}

TEST(test_a_name_is_refused)
{
	refused("case one\nlink delay 1ms\nmessages 1\nwithin 1s\nexpect all\n", 1, "quotes");
	refused("case \"\"\nlink delay 1ms\nmessages 1\nwithin 1s\nexpect all\n", 1, "quotes");
	refused("case \"a\" \"b\"\nlink delay 1ms\nmessages 1\nwithin 1s\nexpect all\n", 1,
		"quotes");
	refused(GOOD GOOD, 6, "line 1 has this name");
}

TEST(test_words_are_refused)
{
	line_refused("exspect all", "exspect");
	line_refused("within 3s", "line 4 already");
	line_refused("sender teacher", "teacher");
	line_refused("sender", "a word is missing");
	line_refused("sender student twice", "word too many");
	line_refused("expect al", "`al`");
	line_refused("expect", "a word is missing");
	line_refused("expect all none", "contradict");
	line_refused("expect all delivered", "among checks");
	line_refused("expect datagrams<=12", "datagrams<=12");
	line_refused("expect datagrams < 12", "`<`");
	line_refused("expect datagrams <= many", "many");
	line_refused("expect datagrams <= 12 13", "word too many");
	line_refused("expect delay <= 12", "12");
	line_refused("expect resend 200ms", "200ms");
	line_refused("expect resend at 200ms", "give or take");
	line_refused("expect delivered >= 6", "5 messages are sent");
}

TEST(test_numbers_beyond_the_limits_are_refused)
{
	messages_refused("messages 0", "no number from 1");
	messages_refused("messages 10001", "no number from 1");
	messages_refused("messages -1", "no number from 1");
	messages_refused("messages 99999999999999999999", "no number from 1");
	messages_refused("messages 5 every 61s", "longer than 60 s");
	messages_refused("messages 5 every 20", "every");
	messages_refused("messages 5 size 0", "no number from 1");
	messages_refused("messages 5 size 9..8", "9..8");
	messages_refused("messages 5 size 8..", "no number");
	messages_refused("messages 5 size 1048577", "no number");
	messages_refused("messages 5 speed 3", "speed");
	refused("case \"x\"\nlink delay 1ms\nmessages 100 size 1000000\nwithin 1s\nexpect all\n", 1,
		"64 MiB");
	refused("case \"x\"\nlink delay 1ms\nmessages 1\nwithin 0s\nexpect all\n", 4, "no time");
	refused("case \"x\"\nlink delay 1ms\nmessages 11 every 100ms\nwithin 1s\nexpect all\n", 1,
		"over before");
	refused("case \"x\"\nlink delay 1ms\nmessages 2 size 7\nwithin 1s\nexpect resend at 1s "
		"1ms\n",
		5, "shorter message");
}

TEST(test_a_link_is_refused_by_its_own_words)
{
	refused("case \"x\"\nlink delays 5ms\nmessages 1\nwithin 1s\nexpect all\n", 2, "delays");
	refused("case \"x\"\nlink\nmessages 1\nwithin 1s\nexpect all\nlink delay 1ms\n", 6,
		"already");
}

TEST(test_lines_that_lack_are_all_named)
{
	assert_true(parse("case \"x\"\nmessages 1\n") < 0);
	assert_int_equal(problems.count, 3);
	for (size_t i = 0; i < problems.count; i++)
		assert_int_equal(problems.entries[i].line, 1);
}

TEST(test_all_problems_are_told_at_once)
{
	assert_true(parse("case \"x\"\nlink delays 5ms\nmessages none\nwithin 1\nexpect much\n") <
		    0);
	assert_int_equal(problems.count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(problems.entries[i].line, i + 2);
}

TEST(test_a_long_line_is_refused_whole)
{
	char line[600];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	line_refused(line, "longer than");
}

TEST(test_too_many_cases_are_refused)
{
	char *text = said("%s", "");

	for (int i = 0; i < 65; i++) {
		char *more = said("%scase \"%d\"\nlink delay 1ms\nmessages 1\nwithin 1s\nexpect "
				  "all\n",
				  text, i);

		free(text);
		text = more;
	}
	assert_true(parse(text) < 0);
	free(text);
}

TEST(test_too_many_expectations_are_refused)
{
	char *text = said("%s", GOOD);

	for (int i = 0; i < 32; i++) {
		char *more = said("%sexpect once\n", text);

		free(text);
		text = more;
	}
	refused(text, 37, "at most 32");
	free(text);
}
