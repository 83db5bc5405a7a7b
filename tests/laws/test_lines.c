/* SPDX-License-Identifier: MIT */
/*
 * Each line of a shipped config earns its place: without its microprotocol the checker refuses the
 * rest, or the rest promises less, or costs more on some network (worth.h).
 *
 * The same program writes the page docs/compositions.md of the build folder:
 *
 *   laws-test_lines --page
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compositions_page.h"
#include "support/suite.h"
#include "support/worth.h"
#include "support/test.h"

/* ---------------------------------------------------------------- shipped configs */

struct tally {
	const char *config;
	unsigned lines[WORTHS];
};

static void note_line(const struct worth_line *line, void *user)
{
	struct tally *tally = user;

	tally->lines[line->worth]++;
	if (line->worth == WORTH_NOTHING)
		printf("%s, layer %s: nothing is worse without %s\n", tally->config, line->layer,
		       line->name);
}

TEST(test_each_line_of_a_shipped_config_is_worth_something)
{
	struct tally tally = { 0 };
	char *names[SUITE_CONFIGS];
	size_t count = suite_configs(names);

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		tally.config = names[i];
		worth_of_config(names[i], note_line, &tally);
		free(names[i]);
	}
	for (int i = 0; i < WORTHS; i++)
		printf("%u lines: %s\n", tally.lines[i], worth_words[i]);
	assert_int_equal(tally.lines[WORTH_NOTHING], 0);
}

/* --------------------------------------------------------------- what is told apart */

#define ARQ                                                                                        \
	"transport_driver {}\nvirtual_circuit {}\nresize {}\n"                                     \
	"sequenced_segments {}\ngo_back_n {}\n"

static enum worth worth_of_line(const char *with, const char *without, const char *name)
{
	struct costs *costs = costs_new(with);
	struct worth_line line = { .layer = "session", .name = name };

	worth_judge(costs, without, &line);
	costs_free(costs);
	assert_int_equal(line.worth == WORTH_NOTHING, !line.loss[0]);
	return line.worth;
}

/* An order is there already. */
TEST(test_a_line_that_changes_nothing_is_worth_nothing)
{
	assert_int_equal(worth_of_line(ARQ "reliable_fifo {}\n", ARQ, "reliable_fifo"),
			 WORTH_NOTHING);
}

TEST(test_each_kind_of_worth_is_found)
{
	assert_int_equal(worth_of_line(ARQ,
				       "transport_driver {}\nresize {}\n"
				       "go_back_n {}\n",
				       "sequenced_segments"),
			 WORTH_REFUSED);
	assert_int_equal(worth_of_line(ARQ "checksum {}\n", ARQ, "checksum"), WORTH_PROMISE);
	assert_int_equal(worth_of_line(ARQ "rtt_estimation {}\n", ARQ, "rtt_estimation"),
			 WORTH_COST);
}

/* -------------------------------------------------------------------- the page */

TEST(test_the_page_says_why_two_do_not_rendezvous)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	compositions_page_pairs(out, "go_back_n");
	fclose(out);
	assert_non_null(strstr(text, "`retransmit`"));
	assert_non_null(strstr(text, "both provide an exclusive role"));
	free(text);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--page") == 0) {
		compositions_page(stdout);
		return 0;
	}
	return tests_run();
}
