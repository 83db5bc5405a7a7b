/* SPDX-License-Identifier: MIT */
/*
 * compose.c, parameters.c, canonical.c: a tree becomes a composition, or all that is wrong with it;
 * what test_relations.c and test_order.c leave.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "compose/compose.h"
#include "support/compose_rig.h"
#include "support/test.h"

/* ------------------------------------------------------------------ the members */

struct set {
	int64_t time_ns, size, number, word, wire;
};

static void validate_set(const void *parameters, struct nopal_problems *problems)
{
	const struct set *set = parameters;
	const int64_t unlucky = 13, long_bytes = 100000;

	if (set->number == unlucky)
		nopal_problem(problems, "number", "13 is refused", "write 12");
	if (set->size > long_bytes)
		nopal_problem(problems, "size", "longer than 100 kB", "less");
}

static const struct nopal_parameter set_table[] = {
	{ .name = "time",
	  .unit = NOPAL_TIME,
	  .offset = offsetof(struct set, time_ns),
	  .initial = "5ms",
	  .min = "1ms",
	  .max = "1s",
	  .doc = "a time" },
	{ .name = "size",
	  .unit = NOPAL_SIZE,
	  .offset = offsetof(struct set, size),
	  .initial = "10seg",
	  .min = "1seg",
	  .max = "64KiB",
	  .wire = true,
	  .doc = "a size" },
	{ .name = "number",
	  .unit = NOPAL_COUNT,
	  .offset = offsetof(struct set, number),
	  .initial = "3",
	  .doc = "a number" },
	{ .name = "word",
	  .unit = NOPAL_WORD,
	  .offset = offsetof(struct set, word),
	  .initial = "reno",
	  .choices = "tahoe|reno",
	  .wire = true,
	  .doc = "a word" },
	{ .name = "wire",
	  .unit = NOPAL_SWITCH,
	  .offset = offsetof(struct set, wire),
	  .initial = "off",
	  .wire = true,
	  .doc = "a switch" },
	{ 0 },
};

FAKE(f_set, .parameters_size = sizeof(struct set), .parameters = set_table,
     .validate = validate_set, .wire_version = 2);
static const struct nopal_parameter file_table[] = {
	{ .name = "number", .initial = "3", .doc = "a number" },
	{ .name = "secret",
	  .unit = NOPAL_FILE,
	  .offset = sizeof(int64_t),
	  .initial = "",
	  .doc = "a file" },
	{ 0 },
};
FAKE(f_file, .parameters_size = 2 * sizeof(int64_t), .parameters = file_table);
FAKE(f_needy, .needs = FAKE_RELATIONS({ "f_status|f_report", "no status" }));
FAKE(f_below, .provides = FAKE_ROLES({ "f_deep", false }));
FAKE(f_reader, .attributes = FAKE_ATTRIBUTES({ .name = "f_number", .access = NOPAL_READ }));
FAKE(f_stuck, .holds = FAKE_HOLDS({ "for ever", NOPAL_SEND }));

static const struct nopal_microprotocol *const fakes[] = {
	&f_set, &f_file, &f_needy, &f_below, &f_reader, &f_stuck, NULL,
};

static int add_fakes(void **state)
{
	(void)state;
	return compose_rig_add(fakes);
}

ALL_TESTS(tests, add_fakes, NULL);

/* --------------------------------------------------------------------- parameters */

TEST(test_defaults_and_keys)
{
	struct composing composing = good("f_set { time = 20ms word = tahoe wire = on }\n");
	const struct nopal_member *member = member_of(&composing, "f_set");
	const struct set *set = member->parameters;

	assert_int_equal(set->time_ns, 20 * NOPAL_MILLISECOND);
	assert_int_equal(set->size, 10);
	assert_true(member->in_segments[1]);
	assert_int_equal(set->number, 3);
	assert_int_equal(set->word, 0);
	assert_int_equal(set->wire, 1);
	assert_int_equal(member->place.line, 2);
	assert_int_equal(nopal__parameter_get(set, &set_table[2]), 3);
	done(&composing);
}

/* The file's bytes are in the composition, and nowhere in the text that peers compare. */
TEST(test_a_file_is_read_with_its_config)
{
	static const char token[] = "to\0ken of 19 bytes";
	char path[] = "/tmp/nopal-secret-XXXXXX", text[128];
	int file = mkstemp(path);
	struct composing without, with;
	const struct nopal_file_bytes *secret;

	assert_int_equal(write(file, token, sizeof(token)), sizeof(token));
	close(file);
	snprintf(text, sizeof(text), "f_file { secret = \"%s\" }\n", path);
	with = good(text);
	without = good("f_file {}\n");
	secret = member_of(&with, "f_file")->files;
	assert_int_equal(secret[1].length, sizeof(token));
	assert_memory_equal(secret[1].bytes, token, sizeof(token));
	assert_int_equal(
		nopal__parameter_get(member_of(&with, "f_file")->parameters, &file_table[1]), 1);
	assert_null(member_of(&without, "f_file")->files[1].bytes);
	assert_string_equal(with.composition->canonical, without.composition->canonical);
	done(&with);
	done(&without);
	assert_int_equal(truncate(path, 1 << 20), 0);
	bad(text, 2, "the file is too long", "name a file");
	assert_int_equal(truncate(path, 0), 0);
	bad(text, 2, "0 bytes are no secret", "/dev/urandom");
	assert_int_equal(truncate(path, 15), 0);
	bad(text, 2, "15 bytes are no secret; it takes 16", "/dev/urandom");
	unlink(path);
	bad(text, 2, "No such file", "name a file");
}

/* Its owner's, and perhaps its group's to read. */
TEST(test_a_secret_that_others_have_is_refused)
{
	static const struct {
		mode_t mode;
		const char *cause;
	} modes[] = {
		{ 0644, "others may read it: its mode is 0644" },
		{ 0604, "others may read it: its mode is 0604" },
		{ 0620, "others may write it: its mode is 0620" },
		{ 0602, "others may write it: its mode is 0602" },
		{ 0666, "others may write it: its mode is 0666" },
	};
	char path[] = "/tmp/nopal-secret-XXXXXX", text[128], fix[128];
	int file = mkstemp(path);
	struct composing with;

	assert_int_equal(write(file, "sixteen bytes...", 16), 16);
	snprintf(text, sizeof(text), "f_file { secret = \"%s\" }\n", path);
	snprintf(fix, sizeof(fix), "chmod 600 %s", path);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		fchmod(file, modes[i].mode);
		bad(text, 2, modes[i].cause, fix);
	}
	fchmod(file, 0640);
	with = good(text);
	done(&with);
	close(file);
	unlink(path);
}

TEST(test_bad_keys)
{
	bad("f_set {\n tim = 5ms }", 3, "f_set has no key `tim`", "`time`");
	bad("f_set {\n frob = 5ms }", 3, "no key `frob`", "time size number word wire");
	bad("f_belo {}", 2, "no microprotocol `f_belo`", "`f_below`");
	bad("f_drive {}", 2, "second section", "one section");
	bad("f_below { x = 1 }", 2, "no key `x`", "it has no keys");
	bad("f_set { time = 5 }", 2, "bare number", "ms");
	bad("f_set { time = 5s }", 2, "f_set.time = 5s is out of range", "from 1ms to 1s");
	bad("f_set { word = renoo }", 2, "not one of tahoe|reno", "`reno`");
	bad("f_set { wire = yes }", 2, "not one of", "off on");
	bad("f_set { size = 0seg }", 2, "out of range", "1seg");
}

TEST(test_validation)
{
	struct composing composing;

	bad("f_set {\n time = 5ms\n number = 13 }", 4, "f_set.number: 13 is refused", "12");
	/* nominal segments make 100 of them too long */
	bad("f_set {\n\n size = 100seg }", 4, "f_set.size: longer", "less");
	composing = good("f_set { number = 12 }");
	done(&composing);
}

TEST(test_resolution)
{
	struct composing composing = good("f_set { size = 20seg }");
	const struct nopal_member *member = member_of(&composing, "f_set");
	const struct set *set = member->parameters;
	const uint32_t short_bytes = 1000;

	assert_int_equal(
		nopal__compose_resolve(composing.composition, short_bytes, &composing.problems), 0);
	assert_int_equal(set->size, 20000);
	assert_false(member->in_segments[1]);
	done(&composing);
}

TEST(test_resolution_out_of_range)
{
	struct composing composing = good("f_set { size = 20seg }");
	const uint32_t jumbo_bytes = 9000;

	assert_true(nopal__compose_resolve(composing.composition, jumbo_bytes,
					   &composing.problems) < 0);
	complains(&composing, 2, "f_set.size = 180kB is out of range", "65536B");
	done(&composing);
	composing = good("f_set { size = 100B }");
	assert_true(nopal__compose_resolve(composing.composition, jumbo_bytes,
					   &composing.problems) < 0);
	complains(&composing, 2, "out of range", "9000B");
	done(&composing);
}

/* ---------------------------------------------------------------------- canonical */

TEST(test_canonical)
{
	struct composing one = good("f_set { time = 7ms size = 3000B }\nf_below {}");
	struct composing other = good("f_below {} f_set { size = 3kB number = 9 }");
	struct composing third = good("f_below {} f_set { size = 2seg }");

	assert_string_equal(one.composition->canonical, "f_below/0\nf_cut/0\nf_drive/0\n"
							"f_set/2 size=3000 word=reno wire=off\n");
	assert_string_equal(one.composition->canonical, other.composition->canonical);
	assert_true(one.composition->fingerprint == other.composition->fingerprint);
	assert_non_null(strstr(third.composition->canonical, "size=2seg"));
	assert_true(one.composition->fingerprint != third.composition->fingerprint);
	done(&one);
	done(&other);
	done(&third);
}

TEST(test_layers)
{
	struct nopal_problems problems = { 0 };
	struct nopal_composition *composition;
	struct composing composing = { 0 };

	composition = nopal__compose(nopal__config_parse("layer \"a\" { f_drive {} f_cut {} }\n"
							 "layer \"b\" { f_drive {} f_cut {} }\n",
							 "t.conf", NULL, &problems),
				     &problems);
	assert_non_null(composition);
	assert_int_equal(composition->layer_count, 2);
	assert_string_equal(composition->canonical, "layer a one\nf_cut/0\nf_drive/0\n"
						    "layer b one\nf_cut/0\nf_drive/0\n");
	nopal__composition_free(composition);
	assert_null(nopal__compose(nopal__config_parse("\nlayer \"a\" { multiplicity = shared "
						       "f_drive {} f_cut {} }\n",
						       "t.conf", NULL, &problems),
				   &problems));
	composing.problems = problems;
	complains(&composing, 2, "layer `a` is shared, and no layer stands there",
		  "put a layer above or below it");
	nopal_problems_fini(&problems);
}

static void differs(const char *here, const char *there, const char *expected)
{
	char *diff = nopal_canonical_diff(here, there);

	assert_string_equal(diff, expected);
	free(diff);
}

TEST(test_differences)
{
	differs("a/0\n", "a/0\n", "");
	differs("", "", "");
	differs("a/0\nb/1 x=1\n", "b/1 x=2\nc/0\n",
		"+ a/0: only here\n~ here b/1 x=1, there b/1 x=2\n"
		"- c/0: only there\n");
	differs("a/0", "a/1\n\n", "~ here a/0, there a/1\n");
	differs("ab/0\n", "a/0\n", "+ ab/0: only here\n- a/0: only there\n");
}

/* ------------------------------------------------------------------------ at once */

TEST(test_all_at_once)
{
	struct composing composing = compose("f_needy {}\n"
					     "f_set { time = 5\n"
					     "number = 13 }\n"
					     "f_reader {}\n"
					     "f_stuck {}\n"
					     "f_nobody_knows {}\n");

	assert_null(composing.composition);
	complains(&composing, 2, "needs", "plugin");
	complains(&composing, 3, "bare", "ms");
	complains(&composing, 4, "13", "12");
	complains(&composing, 5, "nobody writes", "plugin");
	complains(&composing, 6, "complete", "handler");
	complains(&composing, 7, "no microprotocol", "list");
	done(&composing);
}
