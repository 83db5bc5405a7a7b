/* SPDX-License-Identifier: MIT */
/*
 * registry.c and descriptor.c: what is there, and what is let in.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fakes.h"
#include "registry/registry.h"
#include "support/test.h"

/* ------------------------------------------------------------------ what is there */

TEST(test_builtin_are_sorted)
{
	assert_true(nopal_registry_count() > 0);
	for (size_t i = 1; i < nopal_registry_count(); i++)
		assert_true(strcmp(nopal_registry_at(i - 1)->name, nopal_registry_at(i)->name) < 0);
	assert_null(nopal_registry_at(nopal_registry_count()));
}

TEST(test_builtin_are_sound)
{
	struct nopal_problems problems = { 0 };

	for (size_t i = 0; i < nopal_registry_count(); i++)
		nopal__descriptor_check(nopal_registry_at(i), "builtin", &problems);
	nopal_problems_print(&problems, stderr);
	assert_int_equal(problems.errors, 0);
	nopal_problems_fini(&problems);
}

TEST(test_find)
{
	assert_string_equal(nopal_registry_find("transport_driver")->name, "transport_driver");
	assert_null(nopal_registry_find("transport_drive"));
	assert_null(nopal_registry_find(""));
}

TEST(test_names_end)
{
	struct nopal_arena arena = { 0 };
	const char *const *names = nopal__registry_names(&arena);
	size_t count = 0;

	while (names[count])
		count++;
	assert_int_equal(count, nopal_registry_count());
	nopal__arena_release(&arena);
}

/* ------------------------------------------------------------------- what is let in */

static void refused(const struct nopal_microprotocol *one, const char *word)
{
	struct nopal_problems problems = { 0 };
	size_t count = nopal_registry_count();
	bool said = false;

	assert_false(nopal__registry_add(one, "here.so", &problems));
	assert_int_equal(nopal_registry_count(), count);
	for (size_t i = 0; i < problems.count; i++) {
		assert_string_equal(problems.entries[i].file, "here.so");
		assert_non_null(problems.entries[i].fix);
		said = said || strstr(problems.entries[i].cause, word);
	}
	if (!said)
		nopal_problems_print(&problems, stderr);
	assert_true(said);
	nopal_problems_fini(&problems);
}

FAKE(fake_good, .provides = FAKE_ROLES({ "fake_role", false }));

TEST(test_a_sound_one_is_added_once)
{
	struct nopal_problems problems = { 0 };
	size_t count = nopal_registry_count();

	assert_true(nopal__registry_add(&fake_good, "here", &problems));
	assert_true(nopal__registry_add(&fake_good, "here", &problems));
	assert_int_equal(nopal_registry_count(), count + 1);
	assert_ptr_equal(nopal_registry_find("fake_good"), &fake_good);
	assert_int_equal(problems.count, 0);
}

TEST(test_names_are_taken_once)
{
	static const struct nopal_microprotocol twin = {
		.abi = NOPAL_ABI,
		.name = "transport_driver",
		.family = "fake",
		.summary = "a twin",
	};

	refused(&twin, "there is a microprotocol `transport_driver` already");
}

TEST(test_another_abi)
{
	static const struct nopal_microprotocol old = { .abi = NOPAL_ABI + 1 };

	refused(&old, "built for ABI");
}

TEST(test_required_fields)
{
	static const struct nopal_microprotocol nameless = { .abi = NOPAL_ABI };
	static const struct nopal_microprotocol shouting = {
		.abi = NOPAL_ABI,
		.name = "Loud",
		.family = "fake",
		.summary = "loud",
	};

	refused(&nameless, "lacks a required field");
	refused(&shouting, "is not a config word");
}

struct fake_parameters {
	int64_t one;
};

#define FAKE_PARAMETER(word, ...)                                                                  \
	FAKE(word, .parameters_size = sizeof(struct fake_parameters),                              \
	     .parameters = (const struct nopal_parameter[]){                                       \
		     { .name = "one", .doc = "one", __VA_ARGS__ }, { 0 } })

FAKE_PARAMETER(fake_no_default, .unit = NOPAL_COUNT);
FAKE_PARAMETER(fake_bad_default, .unit = NOPAL_TIME, .initial = "7");
FAKE_PARAMETER(fake_wide_default, .unit = NOPAL_COUNT, .initial = "7", .max = "6");
FAKE_PARAMETER(fake_outside, .unit = NOPAL_COUNT, .initial = "7", .offset = 8);
FAKE_PARAMETER(fake_no_choices, .unit = NOPAL_WORD, .initial = "a");
FAKE_PARAMETER(fake_shared_file, .unit = NOPAL_FILE, .initial = "", .wire = true);
FAKE_PARAMETER(fake_bad_bound, .unit = NOPAL_TIME, .initial = "7s", .max = "6");

FAKE(fake_mute, .extension = &(const struct nopal_extension){ .bytes = 4 });

TEST(test_extensions)
{
	refused(&fake_mute, "lacks a function, or is of no or too many bytes");
}

TEST(test_parameters)
{
	refused(&fake_no_default, "has no default");
	refused(&fake_bad_default, "bare number");
	refused(&fake_wide_default, "out of range");
	refused(&fake_outside, "outside its struct");
	refused(&fake_no_choices, "has no choices");
	refused(&fake_bad_bound, "bare number");
	refused(&fake_shared_file, "is a file that peers would have to");
}

FAKE(fake_wide,
     .attributes = FAKE_ATTRIBUTES({ .name = "wide", .access = NOPAL_WRITE, .wire_bytes = 9 }));
FAKE(fake_reader,
     .attributes = FAKE_ATTRIBUTES({ .name = "number", .access = NOPAL_READ, .wire_bytes = 4 }));
FAKE(fake_when,
     .attributes = FAKE_ATTRIBUTES(
	     { .name = "number", .access = NOPAL_WRITE, .wire_bytes = 4, .when = "switch" }));
FAKE(fake_kindless, .attributes = FAKE_ATTRIBUTES({ .name = "number",
						    .access = NOPAL_WRITE,
						    .kinds = NOPAL_OWN_KIND + 1 }));
#define FOUR_VARIABLES                                                                             \
	{ .name = "a" }, { .name = "b" }, { .name = "c" },                                         \
	{                                                                                          \
		.name = "d"                                                                        \
	}
FAKE(fake_greedy,
     .shared = FAKE_SHARED(FOUR_VARIABLES, FOUR_VARIABLES, FOUR_VARIABLES, FOUR_VARIABLES,
			   FOUR_VARIABLES, FOUR_VARIABLES, FOUR_VARIABLES, { .name = "one more" }));

TEST(test_tables)
{
	refused(&fake_wide, "does not fit in 64 bits");
	refused(&fake_reader, "one who only reads it");
	refused(&fake_when, "condition that peers do not share");
	refused(&fake_kindless, "a kind that is not declared");
	refused(&fake_greedy, "NOPAL_MAX_SHARED");
}

FAKE(fake_two_holds, .holds = FAKE_HOLDS({ "one", NOPAL_SEND }, { "two", NOPAL_SEND }));
FAKE(fake_no_barrier, .holds = FAKE_HOLDS({ "one", NOPAL_BARRIERS }));
FAKE(fake_no_handler, .bindings = FAKE_BINDINGS({ .event = NOPAL_TURN_END }));
FAKE(fake_custom, .bindings = FAKE_BINDINGS({ .event = NOPAL_CUSTOM }));
FAKE(fake_raiser, .raises = FAKE_RAISES("SEGMENT_LOSTT"));
FAKE(fake_unlifted, .excludes = FAKE_RELATIONS({ "integrity", "no", .unless = "sure" }));
FAKE(fake_reasonless, .needs = FAKE_RELATIONS({ "driver", NULL }));
FAKE(fake_timer, .timers = (const struct nopal_timer[]){ { "late", NULL }, { 0 } });

TEST(test_the_rest)
{
	refused(&fake_two_holds, "a second one in its barrier");
	refused(&fake_no_barrier, "names no barrier");
	refused(&fake_no_handler, "has no handler");
	refused(&fake_custom, "events.def lacks");
	refused(&fake_raiser, "SEGMENT_LOSTT");
	refused(&fake_reasonless, "has no reason");
	refused(&fake_unlifted, "is lifted by what is not there");
	refused(&fake_timer, "has no handler");
}

/* --------------------------------------------------------------------------- plugins */

static void no_plugin(const char *name, const char *word)
{
	struct nopal_problems problems = { 0 };

	assert_true(nopal_plugin_load(name, NULL, &problems) < 0);
	assert_int_equal(problems.errors, 1);
	assert_non_null(strstr(problems.entries[0].cause, word));
	assert_non_null(problems.entries[0].fix);
	nopal_problems_fini(&problems);
}

/* Its file, which is executable as some libraries are not. */
static const char *library_of(void (*function)(void))
{
	static char path[PATH_MAX];
	Dl_info library;

	assert_true(dladdr((void *)(uintptr_t)function, &library) != 0);
	assert_non_null(realpath(library.dli_fname, path));
	assert_int_equal(access(path, X_OK), 0);
	return path;
}

TEST(test_plugins_that_are_none)
{
	no_plugin("no_such_thing", "looked in");
	no_plugin("./no_such_thing.so", "does not load");
	no_plugin(NOPAL_SOURCE_ROOT "/runtime/stamp", "does not load");
	no_plugin(library_of((void (*)(void))(uintptr_t)&gnu_get_libc_version),
		  "has no symbol `nopal_libc");
}

/* As `nopal recv` writes files: whoever sent it, none of it runs. */
TEST(test_a_file_that_is_not_executable)
{
	no_plugin(NOPAL_SOURCE_ROOT "/meson.build", "is not executable");
}

/* Files come into these folders from others. */
TEST(test_no_name_is_found_beside_or_here)
{
	char folder[] = "/tmp/nopal-plugins-XXXXXX", path[64];
	char *before = getcwd(NULL, 0);
	struct nopal_problems problems = { 0 };
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/strange.so", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(nopal_plugin_load("strange", folder, &problems), -ENOENT);
	/* by its path it is looked at */
	assert_int_equal(nopal_plugin_load("./strange.so", NULL, &problems), -ENOEXEC);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(nopal_plugin_load("./strange.so", folder, &problems), -ENOEXEC);
	assert_int_equal(nopal_plugin_load("./strange.so", NULL, &problems), -ENOEXEC);
	assert_non_null(strstr(problems.entries[3].cause, "cannot open"));
	nopal_problems_fini(&problems);
	assert_int_equal(chdir(before), 0);
	free(before);
	unlink(path);
	rmdir(folder);
}

TEST(test_the_searched_places_are_told)
{
	struct nopal_problems problems = { 0 };

	setenv("NOPAL_PLUGINS", "/first:/second", 1);
	assert_true(nopal_plugin_load("no_such_thing", "/beside", &problems) < 0);
	assert_non_null(strstr(problems.entries[0].cause, "in /first:/second:"));
	assert_null(strstr(problems.entries[0].cause, "/beside"));
	nopal_problems_fini(&problems);
	unsetenv("NOPAL_PLUGINS");
}

TEST(test_what_is_there_needs_no_file)
{
	assert_int_equal(nopal_plugin_load("transport_driver", NULL, NULL), 0);
}
