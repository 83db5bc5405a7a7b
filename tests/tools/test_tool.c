/* SPDX-License-Identifier: MIT */
/*
 * tool.c, complete.c: command lines, help, completions and the manual page.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "plan/plan.h"
#include "frame/tool.h"
#include "support/test.h"

static const struct tool_option options[] = {
	{ "config", 'c', "CONF", "a config's name" },
	{ "loud", 'l', NULL, "say more" },
	{ "quick", 'q', NULL, "it's [quick]" },
	{ "delay", 0, "TIME", "how long" },
	TOOL_SET_OPTION,
	{ 0 },
};

static enum tool_exit run(const struct tool_call *call)
{
	(void)call;
	return TOOL_GOOD;
}

static const struct tool tool_fake = {
	.name = "fake",
	.words = "CONF...",
	.summary = "a tool for tests",
	.help = "It does -nothing.\n\n  nopal fake x\n\n.dots and more",
	.min_words = 1,
	.max_words = 2,
	.options = options,
	.run = run,
};
static const struct tool tool_bare = {
	.name = "bare",
	.words = "",
	.summary = "no options",
	.max_words = 0,
	.run = run,
};
static const struct tool tool_choice = {
	.name = "choice",
	.words = "left|right NAME",
	.summary = "one of two",
	.max_words = 2,
	.run = run,
};
static const struct tool *const table[] = { &tool_fake, &tool_bare, &tool_choice, NULL };

/* Splits at blanks; the words live until the next call. */
static enum tool_parsed parse(const struct tool *tool, const char *line, struct tool_call *call)
{
	enum { ROOM = 256, WORDS = 80 };
	static char text[ROOM * 4];
	static char *words[WORDS + 1];
	char *rest = text, *word;
	int count = 0;

	snprintf(text, sizeof(text), "%s %s", tool->name, line);
	while ((word = strsep(&rest, " ")) && count < WORDS) {
		if (*word)
			words[count++] = word;
	}
	words[count] = NULL;
	return tool_parse(tool, count, words, call);
}

static struct tool_call call;

TEST(test_words_and_options)
{
	assert_int_equal(parse(&tool_fake, "-c one a --loud b --delay=5ms", &call), TOOL_PARSED);
	assert_int_equal(call.word_count, 2);
	assert_string_equal(call.words[0], "a");
	assert_string_equal(call.words[1], "b");
	assert_string_equal(tool_value(&call, "config"), "one");
	assert_string_equal(tool_value(&call, "loud"), "");
	assert_string_equal(tool_value(&call, "delay"), "5ms");
	assert_null(tool_value(&call, "quick"));
	assert_null(tool_value(&call, "nothing"));
}

TEST(test_letters)
{
	assert_int_equal(parse(&tool_fake, "-lqcone a", &call), TOOL_PARSED);
	assert_string_equal(tool_value(&call, "config"), "one");
	assert_non_null(tool_value(&call, "loud"));
	assert_non_null(tool_value(&call, "quick"));
	assert_int_equal(parse(&tool_fake, "-lq -c one a", &call), TOOL_PARSED);
	assert_string_equal(tool_value(&call, "config"), "one");
}

TEST(test_repeats)
{
	const char *const *sets;

	assert_int_equal(parse(&tool_fake, "--set a=1 x --set b=2", &call), TOOL_PARSED);
	sets = tool_values(&call, "set");
	assert_string_equal(sets[0], "a=1");
	assert_string_equal(sets[1], "b=2");
	assert_null(sets[2]);
	assert_string_equal(tool_value(&call, "set"), "b=2");
	assert_null(tool_values(&call, "nothing")[0]);
}

TEST(test_ends_of_options)
{
	assert_int_equal(parse(&tool_fake, "-- --loud -x", &call), TOOL_PARSED);
	assert_int_equal(call.word_count, 2);
	assert_string_equal(call.words[0], "--loud");
	assert_int_equal(parse(&tool_fake, "-", &call), TOOL_PARSED);
	assert_string_equal(call.words[0], "-");
	assert_int_equal(parse(&tool_fake, "a --help", &call), TOOL_PARSED_HELP);
	assert_int_equal(parse(&tool_bare, "-h", &call), TOOL_PARSED_HELP);
}

TEST(test_bad_lines)
{
	static const char *const lines[] = {
		"",	     "a b c",	    "--louder a", "--loud=yes a",
		"a --delay", "a --unknown", "-x a",	  "a -c",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(parse(&tool_fake, lines[i], &call), TOOL_PARSED_BADLY);
	assert_int_equal(parse(&tool_bare, "a", &call), TOOL_PARSED_BADLY);
	assert_int_equal(parse(&tool_bare, "--set", &call), TOOL_PARSED_BADLY);
}

TEST(test_quantities)
{
	const int64_t fallback = 7;
	int64_t value = 0;

	parse(&tool_fake, "a --delay 5ms", &call);
	assert_true(tool_quantity(&call, "delay", NOPAL_TIME, fallback, &value));
	assert_int_equal(value, 5 * NOPAL_MILLISECOND);
	parse(&tool_fake, "a --delay 5", &call);
	assert_false(tool_quantity(&call, "delay", NOPAL_TIME, fallback, &value));
	parse(&tool_fake, "a", &call);
	assert_true(tool_quantity(&call, "delay", NOPAL_TIME, fallback, &value));
	assert_int_equal(value, fallback);
}

TEST(test_plans)
{
	struct nopal_plan *plan;

	parse(&tool_fake, "a --set fixed_size.mtu=1000B", &call);
	plan = tool_plan(&call, "ctp_minimal");
	assert_non_null(plan);
	nopal_plan_unref(plan);
	assert_null(tool_plan(&call, "no_such_config"));
	parse(&tool_fake, "a --set fixed_size.mtu=1000", &call);
	assert_null(tool_plan(&call, "ctp_minimal"));
}

TEST(test_destinations_given_twice_are_refused)
{
	struct nopal_address addresses[2];

	parse(&tool_fake, "127.0.0.1:2 127.0.0.1:2", &call);
	assert_true(tool_destinations(&call, 1, addresses));
	assert_int_equal(addresses[0].port, 2);
	assert_true(tool_destinations(&call, 0, addresses));
	assert_false(tool_destinations_differ(&call, 0, addresses, ""));
}

TEST(test_finding)
{
	assert_ptr_equal(tool_find(table, "bare"), &tool_bare);
	assert_null(tool_find(table, "bar"));
	assert_string_equal(tool_nearest(table, "faek"), "fake");
	assert_null(tool_nearest(table, "explain"));
}

/* ---------------------------------------------------------------- what is printed */

static char *text;
static size_t text_length;

static FILE *open_text(void)
{
	FILE *out = open_memstream(&text, &text_length);

	assert_non_null(out);
	return out;
}

static void has(const char *words)
{
	if (!strstr(text, words))
		fail_msg("nothing says `%s` in:\n%s", words, text);
}

TEST(test_help)
{
	FILE *out = open_text();

	tool_help(&tool_fake, out);
	fclose(out);
	has("nopal fake CONF...\n\na tool for tests.\n");
	has("-c, --config CONF           a config's name\n");
	has("    --delay TIME");
	free(text);
}

static void completes(const char *shell, const char *words, const char *more)
{
	FILE *out = open_text();

	assert_true(tool_complete(table, shell, out));
	fclose(out);
	has(words);
	has(more);
	free(text);
}

TEST(test_completions)
{
	completes("bash", "fake) words=\"--help --config --loud", "complete ");
	completes("zsh", "'*--quick[it'\\''s \\[quick\\]]'", "#compdef nopal");
	completes("fish", "-l config -s c -r -d 'a config\\'s name'", "-a bare -d 'no options'");
	assert_false(tool_complete(table, "csh", stderr));
	completes("bash", "choice) words=\"--help left right\"", "");
	completes("fish", "subcommand_from choice' -a 'left right'", "");
}

TEST(test_manual)
{
	FILE *out = open_text();

	tool_man(table, out);
	fclose(out);
	has(".SS \"nopal fake CONF...\"");
	has("It does \\-nothing.");
	has(".nf\n  nopal fake x\n.fi\n");
	has("\n\\&.dots and more\n");
	has(".B \\-c, \\-\\-config CONF\n");
	free(text);
}
