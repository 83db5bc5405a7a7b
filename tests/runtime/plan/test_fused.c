/* SPDX-License-Identifier: MIT */
/*
 * Which unit is found, which is taken, and what is said of those that are not:
 * whatever lies there, the config runs, and no code of it does that was not taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/fused.h"
#include "support/pair.h"
#include "support/workshop.h"
#include "support/test.h"

static const char MINE[] = "transport_driver {}\nresize { mtu = 1400B }\n"
			   "sequenced_messages {}\nlossy_fifo {}\n";
static const char *const quick[] = { "flag", "-O0", NULL };
static const char *const other_mtu[] = { "resize.mtu=1300B", NULL };

/* The plan, which must say this of itself; `says` ends early where it may. */
static struct nopal_plan *runs(const char *config, const char *const *sets, const char *says)
{
	struct nopal_plan *plan = workshop_plan(config, sets);

	assert_non_null(plan);
	if (!strstr(nopal_plan_runs(plan), says))
		fail_msg("runs %s, not %s", nopal_plan_runs(plan), says);
	return plan;
}

/* The plan delivers messages, fused or interpreted. */
static void delivers(struct nopal_plan *plan, bool fused)
{
	struct pair_run run = { .plan = plan, .link = "delay 1ms", .seed = 1 };
	struct pair_seen seen;

	pair_run(&run, &seen);
	assert_true((plan->fused != NULL) == fused);
	assert_true(seen.delivered > 0);
	nopal_plan_unref(plan);
}

static void compile(const char *output, const char *source)
{
	char command[8192];

	workshop_write("by_hand.c", source);
	snprintf(command, sizeof(command),
		 "cd '%s' && ${CC:-cc} -shared -fPIC -w -o %s by_hand.c -I '%s/runtime'",
		 workshop_path(""), output, NOPAL_SOURCE_ROOT);
	assert_int_equal(system(command), 0);
}

/* Units of the test's own folder are looked at from now on. */
static void name_the_folder(void)
{
	setenv("NOPAL_FUSED", workshop_path(""), true);
}

static const struct told *fuse_as(const char *config, const char *output)
{
	return workshop_fuse(
		config, (const char *[]){ "flag", "-O0", "output", workshop_path(output), NULL });
}

/* A run of this code is seen. */
#define CONSTRUCTOR                                                                                \
	"#include <stdlib.h>\n"                                                                    \
	"__attribute__((constructor)) static void run(void)\n"                                     \
	"{ setenv(\"NOPAL_RAN\", \"yes\", 1); }\n"

static bool has_run(void)
{
	bool ran = getenv("NOPAL_RAN") != NULL;

	unsetenv("NOPAL_RAN");
	return ran;
}

/* ------------------------------------------------------------------- finding */

TEST(test_no_unit)
{
	workshop_write("alone.conf", MINE);
	delivers(runs("alone.conf", NULL,
		      "interpreted: there is no alone.fused.so; `nopal fuse` makes it"),
		 false);
}

TEST(test_in_the_users_own_folder)
{
	struct stat about;
	char says[4096];

	workshop_write("mine.conf", MINE);
	workshop_fuse("mine.conf", quick);
	assert_int_equal(stat(workshop_path("nopal/fused"), &about), 0);
	assert_int_equal(about.st_mode & 0777, 0700);
	snprintf(says, sizeof(says), "fused: %s", workshop_path("nopal/fused/mine-"));
	delivers(runs("mine.conf", NULL, says), true);
	/* another composition has another unit, or none */
	delivers(runs("mine.conf", other_mtu, "there is no mine.fused.so"), false);
}

/* Anybody who can write there can have his code run. */
TEST(test_a_folder_that_others_may_write)
{
	static const mode_t shared[] = { 0770, 0707, 0777 };
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	workshop_write("shared.conf", MINE);
	workshop_fuse("shared.conf", quick);
	for (unsigned i = 0; i < 2 * sizeof(shared) / sizeof(*shared); i++) {
		const char *folder = workshop_path(i % 2 ? "nopal" : "nopal/fused");

		assert_int_equal(chmod(folder, shared[i / 2]), 0);
		plan = runs("shared.conf", NULL, "there is no");
		assert_null(nopal_plan_unit_file(plan, &problems));
		assert_int_equal(problems.errors, 1);
		assert_non_null(strstr(problems.entries[0].cause, "others"));
		nopal_problems_fini(&problems);
		nopal_plan_unref(plan);
		assert_int_equal(chmod(folder, 0700), 0);
	}
	delivers(runs("shared.conf", NULL, "fused: "), true);
}

TEST(test_no_folder_of_the_user)
{
	struct nopal_problems problems = { 0 };
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	char *cache = strdup(getenv("XDG_CACHE_HOME"));
	struct nopal_plan *plan;

	workshop_write("homeless.conf", MINE);
	unsetenv("HOME");
	setenv("XDG_CACHE_HOME", "not/absolute", true);
	plan = runs("homeless.conf", NULL, "there is no");
	assert_null(nopal_plan_unit_file(plan, &problems));
	assert_non_null(problems.entries[0].fix);
	nopal_problems_fini(&problems);
	nopal_plan_unref(plan);
	setenv("XDG_CACHE_HOME", cache, true);
	if (home)
		setenv("HOME", home, true);
	free(cache);
	free(home);
}

/* ----------------------------------------------------------------- strangers */

TEST(test_beside_its_config_is_none)
{
	char *before = getcwd(NULL, 0);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	workshop_write("beside.conf", MINE);
	fuse_as("beside.conf", "beside.fused.so");
	delivers(runs("beside.conf", NULL, "there is no beside.fused.so"), false);
	assert_int_equal(chdir(workshop_path("")), 0);
	plan = nopal_plan_load("beside.conf", NULL, &problems);
	assert_int_equal(chdir(before), 0);
	assert_non_null(plan);
	assert_non_null(strstr(nopal_plan_runs(plan), "there is no"));
	nopal_plan_unref(plan);
	free(before);
}

/* A stranger's object: beside the config, and even in a folder that is named. */
TEST(test_no_code_of_a_stranger_runs)
{
	workshop_write("strange.conf", MINE);
	compile("strange.fused.so", CONSTRUCTOR);
	delivers(runs("strange.conf", NULL, "there is no"), false);
	name_the_folder();
	delivers(runs("strange.conf", NULL, "is no fused unit"), false);
	unsetenv("NOPAL_FUSED");
	assert_false(has_run());
}

/* Of the right unit too, until a session wants it. */
TEST(test_code_is_loaded_with_the_first_session)
{
	struct nopal_plan *plan;
	char include[4096];

	workshop_write("late.conf", MINE);
	workshop_write("run.h", CONSTRUCTOR);
	snprintf(include, sizeof(include), "-include%s", workshop_path("run.h"));
	workshop_fuse("late.conf", (const char *[]){ "flag", include, NULL });
	plan = runs("late.conf", NULL, "fused: ");
	assert_null(plan->fused);
	assert_false(has_run());
	delivers(plan, true);
	assert_true(has_run());
}

TEST(test_a_file_that_is_not_executable)
{
	workshop_write("received.conf", MINE);
	fuse_as("received.conf", "received.fused.so");
	assert_int_equal(chmod(workshop_path("received.fused.so"), 0644), 0);
	name_the_folder();
	delivers(runs("received.conf", NULL, "is not executable"), false);
	unsetenv("NOPAL_FUSED");
}

/* The file changes between the check and the session. */
TEST(test_a_file_that_has_changed)
{
	struct nopal_plan *plan;

	workshop_write("swapped.conf", MINE);
	fuse_as("swapped.conf", "swapped.fused.so");
	name_the_folder();
	plan = runs("swapped.conf", NULL, "fused: ");
	unsetenv("NOPAL_FUSED");
	workshop_write("swapped.conf", "transport_driver {}\nfixed_size {}\n");
	fuse_as("swapped.conf", "swapped.fused.so");
	nopal__fused_load(plan);
	assert_null(plan->fused);
	assert_non_null(strstr(nopal_plan_runs(plan), "does not load"));
	delivers(plan, false);
}

/* ------------------------------------------------------------------- choosing */

TEST(test_off)
{
	workshop_write("off.conf", MINE);
	workshop_fuse("off.conf", quick);
	setenv("NOPAL_FUSED", "off", true);
	delivers(runs("off.conf", NULL, "interpreted: NOPAL_FUSED=off"), false);
	unsetenv("NOPAL_FUSED");
	delivers(runs("off.conf", NULL, "fused: "), true);
}

/* The named folders come first, in their order. */
TEST(test_in_named_folders)
{
	char folders[8192], says[8192];

	workshop_write("named.conf", MINE);
	workshop_write("named.fused.so", "this is none");
	assert_int_equal(mkdir(workshop_path("sub"), 0777), 0);
	fuse_as("named.conf", "sub/named.fused.so");
	nopal_plan_unref(runs("named.conf", NULL, "interpreted: "));
	snprintf(folders, sizeof(folders), "/none:%s", workshop_path("sub"));
	snprintf(says, sizeof(says), "fused: %s", workshop_path("sub/named.fused.so"));
	setenv("NOPAL_FUSED", folders, true);
	delivers(runs("named.conf", NULL, says), true);
	unsetenv("NOPAL_FUSED");
}

/* -------------------------------------------------------------------- taking */

TEST(test_another_version)
{
	workshop_write("old.conf", MINE);
	compile("old.fused.so", "__attribute__((used, section(\"nopal_unit\")))\n"
				"static const char mark[] = \"0.0.1 0 0123456789abcdef\";\n");
	name_the_folder();
	delivers(runs("old.conf", NULL, "old.fused.so was made for another version"), false);
	unsetenv("NOPAL_FUSED");
}

TEST(test_another_composition)
{
	workshop_write("changed.conf", MINE);
	fuse_as("changed.conf", "changed.fused.so");
	workshop_write("changed.conf", "transport_driver {}\nfixed_size {}\n");
	name_the_folder();
	delivers(runs("changed.conf", NULL, "changed.fused.so was made from another composition"),
		 false);
	unsetenv("NOPAL_FUSED");
}

/* Every difference counts, also what peers need not agree on. */
TEST(test_a_parameter_that_is_set)
{
	static const char *const delay[] = { "lossy_fifo.delay=90ms", NULL };
	static const char says[] = "set.fused.so was made from another composition";

	workshop_write("set.conf", MINE);
	fuse_as("set.conf", "set.fused.so");
	name_the_folder();
	delivers(runs("set.conf", other_mtu, says), false);
	delivers(runs("set.conf", delay, says), false);
	/* the value that it has */
	delivers(runs("set.conf", (const char *[]){ "resize.mtu=1400B", NULL }, "fused: "), true);
	unsetenv("NOPAL_FUSED");
	workshop_write("set2.conf", MINE);
	workshop_fuse("set2.conf", (const char *[]){ "flag", "-O0", "set", delay[0], NULL });
	delivers(runs("set2.conf", delay, "fused: "), true);
}

static void write_unit(const char *name, const char *text)
{
	workshop_write(name, text);
	assert_int_equal(chmod(workshop_path(name), 0755), 0);
}

TEST(test_broken_files)
{
	static const char says[] = "is no fused unit, or is cut off";
	struct stat is;

	name_the_folder();
	workshop_write("text.conf", MINE);
	write_unit("text.fused.so", "this is no object");
	delivers(runs("text.conf", NULL, says), false);
	workshop_write("empty.conf", MINE);
	write_unit("empty.fused.so", "");
	delivers(runs("empty.conf", NULL, says), false);
	workshop_write("folder.conf", MINE);
	assert_int_equal(mkdir(workshop_path("folder.fused.so"), 0777), 0);
	delivers(runs("folder.conf", NULL, says), false);
	workshop_write("pipe.conf", MINE);
	assert_int_equal(mkfifo(workshop_path("pipe.fused.so"), 0777), 0);
	delivers(runs("pipe.conf", NULL, says), false);
	workshop_write("plain.conf", MINE);
	compile("plain.fused.so", "int nothing;\n");
	delivers(runs("plain.conf", NULL, says), false);
	workshop_write("cut.conf", MINE);
	fuse_as("cut.conf", "cut.fused.so");
	assert_int_equal(stat(workshop_path("cut.fused.so"), &is), 0);
	assert_int_equal(truncate(workshop_path("cut.fused.so"), is.st_size - 1), 0);
	delivers(runs("cut.conf", NULL, says), false);
	unsetenv("NOPAL_FUSED");
}

/* Whatever byte of its head is another one, it is read without harm. */
TEST(test_damaged_heads)
{
	enum { DAMAGED_BYTES = 64, DAMAGES = 3 };
	static const uint8_t masks[DAMAGES] = { 0xff, 0x80, 0x01 };
	char mark[NOPAL_UNIT_MARK_ROOM];
	const char *path = workshop_path("damaged.fused.so");

	workshop_write("damaged.conf", MINE);
	fuse_as("damaged.conf", "damaged.fused.so");
	assert_true(nopal__unit_mark(path, mark));
	for (long at = 0; at < DAMAGED_BYTES * DAMAGES; at++) {
		FILE *file = fopen(path, "r+");
		int byte;

		assert_non_null(file);
		assert_int_equal(fseek(file, at / DAMAGES, SEEK_SET), 0);
		byte = fgetc(file);
		assert_int_equal(fseek(file, at / DAMAGES, SEEK_SET), 0);
		fputc(byte ^ masks[at % DAMAGES], file);
		fflush(file);
		if (nopal__unit_mark(path, mark))
			assert_true(strlen(mark) < sizeof(mark));
		assert_int_equal(fseek(file, at / DAMAGES, SEEK_SET), 0);
		fputc(byte, file);
		fclose(file);
	}
	assert_true(nopal__unit_mark(path, mark));
}

/* ------------------------------------------------------------------ the shape */

static uint64_t shape(const char *config, const char *const *sets)
{
	struct nopal_plan *plan = workshop_plan(config, sets);
	uint64_t hash;

	assert_non_null(plan);
	hash = nopal__plan_shape(plan, plan->arena);
	nopal_plan_unref(plan);
	return hash;
}

TEST(test_the_shape_is_the_compositions)
{
	workshop_write("shape.conf", MINE);
	assert_true(shape("shape.conf", NULL) == shape("shape.conf", NULL));
	assert_true(shape("shape.conf", NULL) != shape("shape.conf", other_mtu));
	/* the order of sections is that of states and parts */
	workshop_write("order.conf", "sequenced_messages {}\ntransport_driver {}\n"
				     "resize { mtu = 1400B }\nlossy_fifo {}\n");
	assert_true(shape("shape.conf", NULL) != shape("order.conf", NULL));
}

static int setup(void **state)
{
	(void)state;
	unsetenv("NOPAL_FUSED");
	workshop_open();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	workshop_close();
	return 0;
}

ALL_TESTS(tests, setup, teardown);
