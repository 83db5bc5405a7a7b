/* SPDX-License-Identifier: MIT */
/*
 * Every config in tests/configs/bad is refused, for the reason that its first line tells: file,
 * line, cause and a fix.
 *
 *   # expect LINE: words of the cause
 *   # expect@FILE LINE: words of the cause      (the fault lies in FILE)
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/nopal.h>
#include "plan/plan.h"
#include "support/test.h"

enum { MIN_CONFIGS = 44, LINE_ROOM = 256 };

static const char folder[] = NOPAL_SOURCE_ROOT "/tests/configs/bad/";

/* The first line of a config. */
struct expected {
	char text[LINE_ROOM];
	const char *file, *words;
	int line;
};

static void expect(const char *path, struct expected *ret)
{
	FILE *file = fopen(path, "re");
	char *at;

	assert_non_null(file);
	assert_non_null(fgets(ret->text, sizeof(ret->text), file));
	fclose(file);
	ret->text[strcspn(ret->text, "\n")] = '\0';
	at = ret->text + strlen("# expect");
	assert_memory_equal(ret->text, "# expect", strlen("# expect"));
	ret->file = path + strlen(folder);
	if (*at == '@') {
		ret->file = ++at;
		at += strcspn(at, " ");
		*at++ = '\0';
	}
	ret->line = (int)strtol(at, &at, 10);
	assert_int_equal(*at, ':');
	ret->words = at + strlen(": ");
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = text ? strlen(text) : 0;

	return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool is_said(const struct expected *expected, const struct nopal_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		const struct nopal_problem_entry *entry = &problems->entries[i];

		if (!entry->warning && entry->line == expected->line &&
		    ends_with(entry->file, expected->file) &&
		    strstr(entry->cause, expected->words) && entry->fix && *entry->fix)
			return true;
	}
	return false;
}

static void check_one(const char *path)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	struct expected expected;

	expect(path, &expected);
	plan = nopal_plan_load(path, NULL, &problems);
	if (plan || !is_said(&expected, &problems)) {
		nopal_problems_print(&problems, stderr);
		fail_msg("%s: line %d of %s should say: %s", path, expected.line, expected.file,
			 expected.words);
	}
	for (size_t i = 0; i < problems.count; i++)
		assert_non_null(problems.entries[i].fix);
	nopal_problems_fini(&problems);
}

TEST(test_each_is_refused)
{
	char pattern[LINE_ROOM];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s*.conf", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= MIN_CONFIGS);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_one(found.gl_pathv[i]);
	globfree(&found);
}

static void refused(const char *name, const char *set, const char *words)
{
	const char *sets[] = { set, NULL };
	struct nopal_problems problems = { 0 };
	bool said = false;

	assert_null(nopal_plan_load(name, sets, &problems));
	for (size_t i = 0; i < problems.count; i++)
		said = said || strstr(problems.entries[i].cause, words);
	if (!said)
		nopal_problems_print(&problems, stderr);
	assert_true(said);
	nopal_problems_fini(&problems);
}

TEST(test_overrides_are_refused)
{
	refused("bulk", "resize", "is not SECTION.KEY=VALUE");
	refused("bulk", "resise.mtu=1500B", "no section `resise`");
	refused("bulk", "resize.mtuu=1500B", "resize has no key `mtuu`");
	refused("bulk", "resize.mtu=1500", "bare number");
	refused("bulk", "resize.mtu=1B", "out of range");
	refused("bulk", "nothing=1", "no key `nothing`");
}

TEST(test_what_is_not_there)
{
	refused("bulkk", NULL, "there is no config `bulkk`; looked in");
	refused("./no/such.conf", NULL, "there is no config ./no/such.conf");
}
