/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails while a config is read, composed and sealed, there is no plan but a
 * problem that says so, nothing is lost, and nothing aborts: with configs that are good, and with
 * every one of tests/configs/bad, whose complaints take memory of their own.
 *
 * All points of each are tried; the test prints how many.
 */
#include <dlfcn.h>
#include <glob.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan.h"
#include "support/failing.h"
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

/* A text that is read, and its result without a failure. */
struct reading {
	const char *file, *text; /* text NULL: the file, or name, is loaded */
	const char *const *sets;
	bool good;
};

/* Questions of `nopal explain` to a plan: none of it may take memory. */
static void look(const struct nopal_plan *plan)
{
	const struct nopal_part *parts[64];
	const struct nopal_plan_field *fields;

	assert_true(strlen(nopal_plan_info(plan)->name) > 0);
	assert_non_null(nopal_plan_info(plan)->description);
	assert_true(strlen(nopal_plan_info(plan)->canonical) > 0);
	assert_non_null(nopal_plan_runs(plan));
	assert_non_null(nopal_plan_part(plan, 0));
	assert_true(nopal_plan_info(plan)->body_bytes > 0);
	assert_true(nopal_plan_info(plan)->message_limit > 0);
	assert_true(nopal_plan_budget(plan)->bytes > 0);
	nopal_plan_provides(plan, "order");
	nopal_plan_fields(plan, &fields);
	for (unsigned event = 0; nopal_event_name(event); event++)
		nopal_plan_handlers(plan, event, parts, 64);
}

static bool says_no_memory(const struct nopal_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		if (strcmp(problems->entries[i].cause, "out of memory") == 0)
			return problems->no_memory;
	return false;
}

static void read_one(void *context)
{
	const struct reading *reading = context;
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	uint64_t failed;

	plan = reading->text
		       ? nopal_plan_parse(reading->text, reading->file, reading->sets, &problems)
		       : nopal_plan_load(reading->file, reading->sets, &problems);
	if (plan)
		look(plan);
	failed = failing_stop();
	if (failed) {
		assert_null(plan);
		assert_true(says_no_memory(&problems));
		if (reading->good) /* and nothing of what is missing for it */
			assert_int_equal(problems.errors, 1);
	} else if (!plan == reading->good) {
		nopal_problems_print(&problems, stderr);
		fail_msg("%s should be %s", reading->file, reading->good ? "good" : "refused");
	}
	assert_true(plan || problems.errors > 0);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
}

static void sweep(const struct reading *reading, const char *name)
{
	uint64_t points = failing_sweep(read_one, (void *)reading, 1);

	print_message("%s: %llu points\n", name, (unsigned long long)points);
	assert_true(points > 0);
}

/* ------------------------------------------------------------------------ good */

static void good(const char *name)
{
	sweep(&(struct reading){ .file = name, .good = true }, name);
}

TEST(test_shipped_configs)
{
	good("bulk");
	good("streams");
	good("one_to_many_quorum");
	good("multicast");
	good("udt4_shared");
	good("rtp_audio");
}

static const char *const overrides[] = { "resize.mtu=1400B", "requires=auto",
					 "description=over there", NULL };

TEST(test_every_word_of_a_config)
{
	static const char text[] = "# all that a config may say\n"
				   "extends = \"bulk\"\n"
				   "description = \"a \\x41 ${HOME} ${NOPAL_NONE:-there}\"\n"
				   "plugin = {transport_driver, \"resize\"}\n"
				   "without = {checksum}\n"
				   "requires = strict\n"
				   "budget_bytes = 64MiB\nbudget_objects = 5000\n"
				   "send_buffer = 1MiB\nmessage_limit = 2MiB\n"
				   "keep_alive { }\n"
				   "resize { mtu = '1500B' }\n";

	sweep(
		&(struct reading){
			.file = "all.conf", .text = text, .sets = overrides, .good = true },
		"every word of a config, and overrides");
}

TEST(test_what_is_needed_is_added)
{
	static const char text[] =
		"requires = auto\ntransport_driver {}\nsequenced_segments {}\n"
		"positive_ack {} retransmission_timer {}\nretransmit {}\nwindowed_cc {}\n"
		"reliable_fifo {}\n";

	sweep(&(struct reading){ .file = "auto.conf", .text = text, .good = true },
	      "requires = auto");
}

TEST(test_a_key_file)
{
	char path[] = "/tmp/nopal-no-memory-XXXXXX", text[256];
	int file = mkstemp(path);

	assert_true(file >= 0);
	assert_int_equal(write(file, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(file);
	snprintf(text, sizeof(text), "extends = \"bulk_aead\"\naead { psk_file = \"%s\" }\n", path);
	if (nopal_registry_find("aead"))
		sweep(&(struct reading){ .file = "key.conf", .text = text, .good = true },
		      "a key file");
	unlink(path);
}

/* ------------------------------------------------------------------------- bad */

TEST(test_bad_configs)
{
	uint64_t points = 0;
	glob_t found;

	assert_int_equal(glob(NOPAL_SOURCE_ROOT "/tests/configs/bad/*.conf", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		points +=
			failing_sweep(read_one, &(struct reading){ .file = found.gl_pathv[i] }, 1);
	print_message("%zu bad configs: %llu points\n", found.gl_pathc, (unsigned long long)points);
	globfree(&found);
}

TEST(test_bad_text_and_overrides)
{
	static const char text[] = "resise {}\nrequires = maybe\nresize { mtu }\n}\nx(y)\n"
				   "extends = \"no such\"\nlayer { resize {} }\na = \"\\999\"\n"
				   "plugin = {no_such}\nresize \"t\" { mtu = 5ms; q = {1, 2} }\n"
				   "resize { mtu = 5ms }\nlayer \"a\" {\nfec { k = 5seg n = x }\n";
	static const char *const bad[] = { "resize",	"resise.mtu=1B", "checksum.x=5",
					   "nothing=1", "extends=bulk",	 "a/resize.mtu=5",
					   NULL };

	sweep(&(struct reading){ .file = "bad.conf", .text = text }, "a text full of mistakes");
	sweep(&(struct reading){ .file = "sets.conf", .text = "resize {}\n", .sets = bad },
	      "bad overrides");
	sweep(&(struct reading){ .file = "bulkk" }, "a name of no config");
}

TEST(test_plugins_that_are_none)
{
	char text[512];
	Dl_info library;

	assert_true(dladdr((void *)(uintptr_t)print_message, &library));
	snprintf(text, sizeof(text), "plugin = {\"%s\", no_such}\n", library.dli_fname);
	sweep(&(struct reading){ .file = "dir/plugin.conf", .text = text },
	      "plugins that are none");
}

/* ---------------------------------------------------------- beside the plans */

static void compare(void *context)
{
	const char *const *texts = context;
	char *diff = nopal_canonical_diff(texts[0], texts[1]);

	assert_int_equal(diff == NULL, failing_stop() > 0);
	free(diff);
}

static void say_links(void *context)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	assert_true(nopal_link_parse(context, &forward, &reverse, &problems) < 0);
	assert_int_equal(problems.no_memory, failing_stop() > 0);
	nopal_problems_fini(&problems);
}

TEST(test_small_tools)
{
	const char *texts[] = { "a/1 x=5\nb/1\n", "a/1 x=6\nc/1\n" };

	assert_true(failing_sweep(compare, texts, 1) > 0);
	assert_true(failing_sweep(say_links, (void *)"delai 5ms loss 5 rate", 1) > 0);
}
