/* SPDX-License-Identifier: MIT */
/*
 * test_build -- submissions that compile, that do not, and that look for secrets.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/build.c"

#include "support/test.h"

static char folder[] = "/tmp/test_build.XXXXXX", into[] = "/tmp/test_into.XXXXXX";
static char said[BUILD_SAID_BYTES];

static void scene_put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int scene_open(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(strcpy(folder, "/tmp/test_build.XXXXXX")));
	assert_non_null(mkdtemp(strcpy(into, "/tmp/test_into.XXXXXX")));
	return 0;
}

static void scene_empty(const char *path)
{
	DIR *names = opendir(path);
	struct dirent *entry;

	assert_non_null(names);
	while ((entry = readdir(names)))
		if (*entry->d_name != '.')
			unlinkat(dirfd(names), entry->d_name, 0);
	closedir(names);
	assert_int_equal(rmdir(path), 0);
}

static int scene_close(void **state)
{
	(void)state;
	scene_empty(folder);
	scene_empty(into);
	return 0;
}

EACH_TEST(scene_open, scene_close);

static enum tool_exit scene_build(enum build_kind kind)
{
	const struct build build = { kind, folder, "part", into };

	return build_part(&build, said);
}

static bool scene_has(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", into, name);
	return access(path, X_OK) == 0;
}

static void expect_refused(const char *source, const char *words)
{
	scene_put("part.c", source);
	assert_int_equal(scene_build(BUILD_QUICK), TOOL_FAILED);
	if (!strstr(said, words))
		print_error("%s\n", said);
	assert_non_null(strstr(said, words));
	assert_false(scene_has("part.so"));
}

TEST(test_a_submission_compiles_with_headers_of_its_own_and_of_nopal)
{
	scene_put("mine.h", "enum { MINE = 3 };\n");
	scene_put("part.c", "#include <nopal/microprotocol.h>\n"
			    "#include <string.h>\n"
			    "#include \"mine.h\"\n"
			    "int part(void) { return NOPAL_ABI + MINE; }\n");
	if (scene_build(BUILD_QUICK) != TOOL_GOOD)
		print_error("%s\n", said);
	assert_string_equal(said, "");
	assert_true(scene_has("part.so"));
	assert_false(scene_has("part.o"));
}

TEST(test_a_checked_submission_has_a_runtime_to_preload)
{
	char preload[BUILD_PRELOAD_BYTES] = "";

	if (!build_preload(preload, said))
		skip();
	assert_int_equal(*preload, '/');
	scene_put("part.c", "int part(int *p) { return *p; }\n");
	if (scene_build(BUILD_CHECKED) != TOOL_GOOD)
		print_error("%s\n", said);
	assert_true(scene_has("part.so"));
}

TEST(test_an_error_is_told_with_a_path_from_the_folder)
{
	scene_put("part.c", "int part(void)\n{\n\treturn nothing;\n}\n");
	assert_int_equal(scene_build(BUILD_QUICK), TOOL_FAILED);
	assert_non_null(strstr(said, "part.c:3:"));
	assert_null(strstr(said, folder));
	assert_null(strstr(said, into));
}

TEST(test_an_error_quotes_no_control_characters)
{
	expect_refused("int part = \033[2J \xff;\n", "part.c:1:");
	for (const char *at = said; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
}

TEST(test_an_error_of_the_assembler_is_always_the_same)
{
	char first[BUILD_SAID_BYTES];

	expect_refused("asm(\"no such instruction\");\n", "no such instruction");
	strcpy(first, said);
	expect_refused("asm(\"no such instruction\");\n", "no such instruction");
	assert_string_equal(said, first);
}

TEST(test_files_of_the_system_cannot_be_read)
{
	expect_refused("#include \"/etc/passwd\"\n", "Permission denied");
	assert_null(strstr(said, "root:"));
	expect_refused("asm(\".incbin \\\"/etc/passwd\\\"\");\n", "/etc/passwd");
	expect_refused("#include \"/proc/self/environ\"\n", "Permission denied");
	expect_refused("#include \"/dev/zero\"\n", "Permission denied");
}

TEST(test_sources_of_nopal_but_its_public_headers_cannot_be_read)
{
	expect_refused("#include \"" NOPAL_SOURCE_ROOT "/runtime/session/session.h\"\n",
		       "Permission denied");
	expect_refused("#include \"" NOPAL_SOURCE_ROOT "/tests/tools/test_build.c\"\n",
		       "Permission denied");
}

TEST(test_a_link_out_of_the_folder_is_not_followed)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/mine.h", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	expect_refused("#include \"mine.h\"\n", "Permission denied");
}

TEST(test_a_missing_source_is_told)
{
	assert_int_equal(scene_build(BUILD_QUICK), TOOL_FAILED);
	assert_non_null(strstr(said, "part.c"));
}

TEST(test_a_compiler_that_is_not_there_is_told)
{
	const char *had = getenv("CC");
	char *kept = had ? strdup(had) : NULL;

	setenv("CC", "no-such-compiler", 1);
	scene_put("part.c", "int part;\n");
	assert_int_equal(scene_build(BUILD_QUICK), TOOL_ENVIRONMENT);
	assert_non_null(strstr(said, "fix: install a C compiler"));
	assert_int_equal(kept ? setenv("CC", kept, 1) : unsetenv("CC"), 0);
	free(kept);
}
