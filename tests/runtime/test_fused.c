/* SPDX-License-Identifier: MIT */
/*
 * Which unit is found, which is taken, and what is said of those that are not:
 * whatever lies there, the config runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pair.h"
#include "workshop.h"

static const char MINE[] = "transport_driver {}\nresize { mtu = 1400B }\n"
			   "sequenced_messages {}\nlossy_fifo {}\n";
static const char *const quick[] = { "flag", "-O0", NULL };
static const char *const other_mtu[] = { "resize.mtu=1300B", NULL };

/* The plan, which must say this of itself; `says` ends early where it may. */
static struct nopal_plan *runs(const char *config, const char *const *sets,
			       const char *says)
{
	struct nopal_plan *plan = workshop_plan(config, sets);

	assert_non_null(plan);
	if (!strstr(nopal_plan_runs(plan), says))
		fail_msg("runs %s, not %s", nopal_plan_runs(plan), says);
	return plan;
}

/* It runs, whichever way. */
static void delivers(struct nopal_plan *plan, bool fused)
{
	struct pair_run run = { .plan = plan, .link = "delay 1ms", .seed = 1 };
	struct pair_seen seen;

	assert_true((plan->fused != NULL) == fused);
	pair_run(&run, &seen);
	assert_true(seen.delivered > 0);
	nopal_plan_unref(plan);
}

static void compile(const char *output, const char *source)
{
	char command[8192];

	workshop_write("by_hand.c", source);
	snprintf(command, sizeof(command),
		 "cd '%s' && ${CC:-cc} -shared -fPIC -w -o %s by_hand.c "
		 "-I '%s/runtime'",
		 workshop_path(""), output, NOPAL_SOURCE_ROOT);
	assert_int_equal(system(command), 0);
}

/* ------------------------------------------------------------------- finding */

static void test_no_unit(void **state)
{
	(void)state;
	workshop_write("alone.conf", MINE);
	delivers(runs("alone.conf", NULL,
		      "interpreted: there is no alone.fused.so; `nopal fuse` "
		      "makes it"),
		 false);
}

static void test_beside_its_config(void **state)
{
	char says[4096];

	(void)state;
	workshop_write("beside.conf", MINE);
	workshop_fuse("beside.conf", quick);
	snprintf(says, sizeof(says), "fused: %s",
		 workshop_path("beside.fused.so"));
	delivers(runs("beside.conf", NULL, says), true);
}

static void test_off(void **state)
{
	(void)state;
	workshop_write("off.conf", MINE);
	workshop_fuse("off.conf", quick);
	setenv("NOPAL_FUSED", "off", true);
	delivers(runs("off.conf", NULL, "interpreted: NOPAL_FUSED=off"), false);
	unsetenv("NOPAL_FUSED");
	delivers(runs("off.conf", NULL, "fused: "), true);
}

/* The named folders come first, in their order. */
static void test_in_named_folders(void **state)
{
	char folders[8192], says[8192];

	(void)state;
	workshop_write("named.conf", MINE);
	workshop_write("named.fused.so", "this is none");
	assert_int_equal(mkdir(workshop_path("sub"), 0777), 0);
	workshop_fuse("named.conf",
		      (const char *[]){ "flag", "-O0", "output",
					workshop_path("sub/named.fused.so"),
					NULL });
	nopal_plan_unref(runs("named.conf", NULL, "interpreted: "));
	snprintf(folders, sizeof(folders), "/none:%s", workshop_path("sub"));
	snprintf(says, sizeof(says), "fused: %s",
		 workshop_path("sub/named.fused.so"));
	setenv("NOPAL_FUSED", folders, true);
	delivers(runs("named.conf", NULL, says), true);
	unsetenv("NOPAL_FUSED");
	unlink(workshop_path("sub/named.fused.so"));
	rmdir(workshop_path("sub"));
}

/* -------------------------------------------------------------------- taking */

static void test_another_version(void **state)
{
	(void)state;
	workshop_write("old.conf", MINE);
	compile("old.fused.so",
		"#include \"fused.h\"\n"
		"const struct nopal_fused nopal_fused_unit = {\n"
		"	.stamp = \"0.0.1 of long ago\" };\n");
	delivers(runs("old.conf", NULL,
		      "old.fused.so was made for another version"),
		 false);
}

static void test_another_composition(void **state)
{
	(void)state;
	workshop_write("changed.conf", MINE);
	workshop_fuse("changed.conf", quick);
	workshop_write("changed.conf", "transport_driver {}\nfixed_size {}\n");
	delivers(runs("changed.conf", NULL,
		      "changed.fused.so was made from another composition"),
		 false);
}

/* Every difference counts, also what peers need not agree on. */
static void test_a_parameter_that_is_set(void **state)
{
	(void)state;
	workshop_write("set.conf", MINE);
	workshop_fuse("set.conf", quick);
	delivers(runs("set.conf", other_mtu,
		      "set.fused.so was made from another composition"),
		 false);
	delivers(runs("set.conf",
		      (const char *[]){ "lossy_fifo.delay=90ms", NULL },
		      "set.fused.so was made from another composition"),
		 false);
	/* the value that it has */
	delivers(runs("set.conf", (const char *[]){ "resize.mtu=1400B", NULL },
		      "fused: "),
		 true);
	workshop_fuse("set.conf",
		      (const char *[]){ "flag", "-O0", "set",
					"lossy_fifo.delay=90ms", "output",
					workshop_path("other"), NULL });
	assert_int_equal(
		rename(workshop_path("set.conf"), workshop_path("set2.conf")),
		0);
	assert_int_equal(
		rename(workshop_path("other"), workshop_path("set2.fused.so")),
		0);
	delivers(runs("set2.conf",
		      (const char *[]){ "lossy_fifo.delay=90ms", NULL },
		      "fused: "),
		 true);
}

static void test_broken_files(void **state)
{
	static const char says[] = "is no fused unit, or does not load";
	struct stat is;

	(void)state;
	workshop_write("text.conf", MINE);
	workshop_write("text.fused.so", "this is no object");
	delivers(runs("text.conf", NULL, says), false);
	workshop_write("empty.conf", MINE);
	workshop_write("empty.fused.so", "");
	delivers(runs("empty.conf", NULL, says), false);
	workshop_write("folder.conf", MINE);
	assert_int_equal(mkdir(workshop_path("folder.fused.so"), 0777), 0);
	delivers(runs("folder.conf", NULL, says), false);
	rmdir(workshop_path("folder.fused.so"));
	workshop_write("plain.conf", MINE);
	compile("plain.fused.so", "int nothing;\n");
	delivers(runs("plain.conf", NULL, says), false);
	workshop_write("cut.conf", MINE);
	workshop_fuse("cut.conf", quick);
	assert_int_equal(stat(workshop_path("cut.fused.so"), &is), 0);
	assert_int_equal(
		truncate(workshop_path("cut.fused.so"), is.st_size - 1), 0);
	delivers(runs("cut.conf", NULL, says), false);
}

/* ------------------------------------------------------------------ the shape */

static uint64_t shape(const char *config, const char *const *sets)
{
	struct nopal_plan *plan = workshop_plan(config, sets);
	uint64_t hash;

	assert_non_null(plan);
	hash = nopal__plan_shape(plan);
	nopal_plan_unref(plan);
	return hash;
}

static void test_the_shape_is_the_compositions(void **state)
{
	(void)state;
	workshop_write("shape.conf", MINE);
	assert_true(shape("shape.conf", NULL) == shape("shape.conf", NULL));
	assert_true(shape("shape.conf", NULL) !=
		    shape("shape.conf", other_mtu));
	/* the order of sections is that of states and parts */
	workshop_write("order.conf",
		       "sequenced_messages {}\ntransport_driver {}\n"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_unit),
		cmocka_unit_test(test_beside_its_config),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_in_named_folders),
		cmocka_unit_test(test_another_version),
		cmocka_unit_test(test_another_composition),
		cmocka_unit_test(test_a_parameter_that_is_set),
		cmocka_unit_test(test_broken_files),
		cmocka_unit_test(test_the_shape_is_the_compositions),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
