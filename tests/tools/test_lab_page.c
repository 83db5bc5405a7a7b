/* SPDX-License-Identifier: MIT */
/*
 * test_lab_page -- the ladder of a trial as text, and its page.
 *
 * With $NOPAL_LAB_PAGES the pages of these tests are kept in that folder: lab_pages.sh opens them.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/html.h"
#include "lab/page.h"
#include "support/made_trial.h"
#include "support/test.h"

enum { ROOM = 512 };

static char *said;
static size_t length;
static const char *const names[] = {
	"sender, yours", "receiver, the reference", "host 2, yours", "d", "e", "f", "g"
};

static void draw(size_t most)
{
	struct lab_ladder ladder;
	FILE *out;

	free(said);
	out = open_memstream(&said, &length);
	lab_ladder_make(&made, names, most, &ladder);
	lab_ladder_print(&ladder, out);
	lab_ladder_fini(&ladder);
	fclose(out);
}

static void has(const char *text)
{
	if (!strstr(said, text))
		fail_msg("no \"%s\" in:\n%s", text, said);
}

static size_t lines(void)
{
	size_t count = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

/* The page of the trial; kept as NAME.html where pages are kept. */
static void print_page(const char *name, const char *holders)
{
	const struct lab_page page = {
		.lab = "Lab 6: loss",
		.about = "retransmit.c, seed 17",
		.trial = &made,
		.names = names,
		.holders = holders,
		.hint = made.failed ? "A timer that is not set again after it expired runs once."
				    : NULL,
		.section = "When an acknowledgement does not come",
		.link = "README.md#when-an-acknowledgement-does-not-come",
	};
	const char *folder = getenv("NOPAL_LAB_PAGES");
	FILE *out;

	free(said);
	out = open_memstream(&said, &length);
	lab_page_print(&page, out);
	fclose(out);
	if (folder) {
		char path[ROOM];

		snprintf(path, sizeof(path), "%s/%s.html", folder, name);
		out = fopen(path, "w");
		assert_non_null(out);
		fputs(said, out);
		fclose(out);
	}
}

/* -------------------------------------------------------------------- as text */

TEST(test_ladder_of_two_hosts_stands_between_columns)
{
	made_loss();
	draw(0);
	has("                 message 1 --------------->    0.000000\n");
	has("                                               0.010000 ---------------> message 1\n");
	has("                                               0.010000 deliver message 1\n");
	has("                  24 bytes <---------------    0.020000\n");
}

TEST(test_ladder_tells_lost_corrupted_and_doubled_datagrams_apart)
{
	made_loss();
	draw(0);
	has("                 message 2 --------x           0.020000\n");
	has("0.050000 ~~~~~~~~~~~~~~~> message 3 corrupted\n");
	has("         message 3 (again) ===============>    0.240000\n");
	has("0.250000 ===============> message 3 (again) x2\n");
}

TEST(test_ladder_marks_the_failure_behind_all_that_came_before)
{
	const char *mark;

	made_loss();
	draw(0);
	mark = strstr(said, ">>> 2.000000 s: here it fails.\n>>> Message 2 was to be");
	assert_non_null(mark);
	assert_true(mark > strstr(said, "0.260000"));
	made_long();
	draw(0);
	mark = strstr(said, ">>> 0.175000 s: here it fails.\n");
	assert_true(mark > strstr(said, "deliver message 32"));
	assert_true(mark < strstr(said, "0.180000"));
}

TEST(test_ladder_of_many_rows_is_cut_to_what_leads_to_the_failure)
{
	enum { MOST = 20 };

	made_long();
	draw(MOST);
	has("send message 1 ");
	has("deliver message 32");
	has("message 31 --------x");
	has("rows are left out");
	assert_null(strstr(said, "message 5 "));
	/* the heading, gaps, two lines of the failure */
	assert_in_range(lines(), MOST + 1 + 2 + 1, MOST + 1 + 2 + MOST);
}

TEST(test_ladder_leaves_out_no_row_where_that_saves_no_line)
{
	made_loss(); /* 17 rows */
	draw(15);
	assert_null(strstr(said, "left out"));
	draw(8);
	has("rows are left out");
	assert_null(strstr(said, " 1 row is left out"));
	assert_null(strstr(said, " 2 rows are left out"));
}

TEST(test_ladder_is_no_wider_than_a_hundred_columns)
{
	void (*const all[])(void) = { made_loss, made_long, made_group };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		all[i]();
		draw(0);
		for (const char *at = said; *at; at += strcspn(at, "\n") + 1)
			assert_in_range(strcspn(at, "\n"), 0, LAB_LADDER_WIDTH);
	}
}

TEST(test_ladder_of_many_hosts_has_a_column_for_those_that_lost_something)
{
	made_group();
	draw(0);
	has("seconds sender, yours");
	has(" d ");
	has("g\n");
	has("xd message 1");
	has("xg message 1");
	assert_null(strstr(said, ">e message 1"));
}

TEST(test_ladder_puts_causes_before_effects_where_nothing_takes_time)
{
	made_begin("a network without delay", 2);
	made_message(0, 0);
	made_datagram(0, 1, 0, 0, 1);
	made_delivery(1, 0, 1);
	draw(0);
	assert_true(strstr(said, "send message 1") < strstr(said, "message 1 -"));
	assert_true(strstr(said, "message 1 -") < strstr(said, "> message 1"));
	assert_true(strstr(said, "> message 1") < strstr(said, "deliver message 1"));
}

TEST(test_ladder_of_a_trial_without_datagrams_is_its_heading)
{
	made_begin("silence", 2);
	draw(0);
	assert_int_equal(lines(), 1);
}

/* -------------------------------------------------------------------- as page */

TEST(test_page_says_verdict_steps_ladder_holders_and_hint)
{
	made_loss();
	print_page("loss", "segment 2 data since 20000000 ns, transmissions 1, held by "
			   "done:positive_ack done:retransmit");
	has("<h1>the second datagram is lost</h1>");
	has("fails at 2.000 s");
	has("<li class=\"bad\"><time>2.000 s</time>");
	has("<svg class=\"ladder\"");
	has("held by done:positive_ack");
	has("A timer that is not set again");
	has("<a href=\"README.md#when-an-acknowledgement-does-not-come\">When an");
}

TEST(test_page_of_a_trial_that_passes_has_no_hint)
{
	made_group();
	print_page("group", NULL);
	has("passes");
	assert_null(strstr(said, "hint\""));
	assert_null(strstr(said, "class=\"holders\""));
}

TEST(test_page_escapes_what_comes_from_outside)
{
	made_long();
	made_step(175000, false, "</pre><script>alert('1')</script>\x01\xff");
	print_page("long", "<img src=x onerror=alert(1)>");
	has("<h1>forty messages in order, &lt;b&gt;some&lt;/b&gt; &amp; &quot;late&quot;</h1>");
	has("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\xef\xbf\xbd\xef\xbf\xbd");
	has("&lt;img src=x");
	assert_null(strstr(said, "<script"));
	assert_null(strstr(said, "<img"));
}

TEST(test_page_needs_nothing_from_elsewhere)
{
	made_loss();
	print_page("loss", "");
	has("default-src 'none'");
	for (const char *at = said; (at = strstr(at, "url(")); at++)
		assert_int_equal(at[sizeof("url(") - 1], '#');
	assert_null(strstr(said, "http:"));
	assert_null(strstr(said, "https:"));
	assert_null(strstr(said, "src="));
	assert_null(strstr(said, "@import"));
}

TEST(test_page_of_the_same_trial_has_the_same_bytes)
{
	char *first;

	made_long();
	print_page("long", "");
	first = strdup(said);
	made_long();
	print_page("long", "");
	assert_string_equal(first, said);
	free(first);
}

TEST(test_times_have_as_many_decimals_as_they_need)
{
	char text[LAB_HTML_TIME];

	assert_string_equal(lab_html_time(0, LAB_HTML_EXACT, text), "0.000");
	assert_string_equal(lab_html_time(20300000, LAB_HTML_EXACT, text), "0.0203");
	assert_string_equal(lab_html_time(1000000001, LAB_HTML_EXACT, text), "1.000000001");
	assert_string_equal(lab_html_time(1000000001, 6, text), "1.000");
}
