/* SPDX-License-Identifier: MIT */
/*
 * scan.c, config*.c: a text becomes a tree, and every mistake has its line.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "support/test.h"

/* The config that a test reads, and its problems. */
struct reading {
	struct nopal_config *config;
	struct nopal_problems problems;
};

static struct reading read_with(const char *text, const char *const *sets)
{
	struct reading reading = { 0 };

	reading.problems = (struct nopal_problems){ 0 };
	reading.config = nopal__config_parse(text, "test.conf", sets, &reading.problems);
	return reading;
}

static void done(struct reading *reading)
{
	nopal__config_free(reading->config);
	nopal_problems_fini(&reading->problems);
}

static struct reading good(const char *text)
{
	struct reading reading = read_with(text, NULL);

	nopal_problems_print(&reading.problems, stderr);
	assert_int_equal(reading.problems.count, 0);
	return reading;
}

static const struct nopal_problem_entry *problem_in(const struct reading *reading, int line)
{
	for (size_t i = 0; i < reading->problems.count; i++) {
		if (reading->problems.entries[i].line == line)
			return &reading->problems.entries[i];
	}
	return NULL;
}

/* One problem in this line, with these words in its cause and fix. */
static void complains(const struct reading *reading, int line, const char *cause, const char *fix)
{
	const struct nopal_problem_entry *entry = problem_in(reading, line);

	assert_non_null(entry);
	if (!strstr(entry->cause, cause) || !strstr(entry->fix, fix))
		fail_msg("line %d: %s (%s)", line, entry->cause, entry->fix);
}

static void bad(const char *text, int line, const char *cause, const char *fix)
{
	struct reading reading = read_with(text, NULL);

	complains(&reading, line, cause, fix);
	if (reading.problems.count != 1)
		nopal_problems_print(&reading.problems, stderr);
	assert_int_equal(reading.problems.count, 1);
	done(&reading);
}

static const struct nopal_config_section *section_at(const struct reading *reading, size_t index)
{
	assert_true(reading->config->layer_count > 0);
	assert_true(reading->config->layers[0].section_count > index);
	return &reading->config->layers[0].sections[index];
}

static const char *value_of(const struct nopal_config_section *section, const char *key)
{
	for (size_t i = 0; i < section->key_count; i++) {
		if (strcmp(section->keys[i].name, key) == 0)
			return section->keys[i].value;
	}
	return NULL;
}

/* ----------------------------------------------------------------------- reading */

TEST(test_a_config)
{
	struct reading reading = good("# a comment\n"
				      "description = \"some # text\"\n"
				      "\n"
				      "resize { mtu = 1500B }\n"
				      "transport_driver {}\n"
				      "positive_ack { every = 2  # two\n"
				      "  delay = 25ms }\n");
	const struct nopal_config_section *section;

	assert_string_equal(reading.config->description, "some # text");
	assert_string_equal(reading.config->name, "test");
	assert_string_equal(reading.config->layers[0].name, "session");
	assert_int_equal(reading.config->layers[0].section_count, 3);
	section = section_at(&reading, 0);
	assert_string_equal(section->name, "resize");
	assert_int_equal(section->place.line, 4);
	assert_string_equal(value_of(section, "mtu"), "1500B");
	section = section_at(&reading, 2);
	assert_string_equal(value_of(section, "delay"), "25ms");
	assert_int_equal(section->keys[1].place.line, 7);
	assert_string_equal(section->keys[1].place.file, "test.conf");
	done(&reading);
}

TEST(test_forms_of_values)
{
	struct reading reading = good("resize { a = 'one two' b = \"three\\\"four\" c = 5% "
				      "d = {six} /* { */ e = x//y f=-1 }");
	const struct nopal_config_section *section = section_at(&reading, 0);

	assert_string_equal(value_of(section, "a"), "one two");
	assert_string_equal(value_of(section, "b"), "three\"four");
	assert_string_equal(value_of(section, "c"), "5%");
	assert_string_equal(value_of(section, "d"), "six");
	assert_string_equal(value_of(section, "e"), "x//y");
	assert_string_equal(value_of(section, "f"), "-1");
	done(&reading);
}

/* The value of this text as one writes it. */
static void says(const char *written, const char *value)
{
	char text[256];
	struct reading reading;

	snprintf(text, sizeof(text), "resize { a = %s }", written);
	reading = good(text);
	assert_string_equal(value_of(section_at(&reading, 0), "a"), value);
	done(&reading);
}

TEST(test_quotes)
{
	says("\"\"", "");
	says("''", "");
	says("\"a\\n\\t\\r\\a\\b\\e\\f\\v\\\\b\"", "a\n\t\r\a\b\033\f\v\\b");
	says("\"\\101\\7\\x42\\x4a1\\xy\\y\"", "A\007BJ1xyy");
	says("\"a\\\nb\nc\"", "ab\nc");
	says("'it\\'s \\\\ \\n \"x\" a\\\nb'", "it's \\ \\n \"x\" ab");
	bad("\ndescription = \"a\n\\999b\"", 3, "`\\999b` is no byte", "backslash");
	bad("description = \"\\0\"", 1, "`\\0` is no byte", "\\\\");
	bad("description = \"\\x00\"", 1, "no byte", "\\\\");
	bad("description = \"\\777\"", 1, "no byte", "\\\\");
	bad("description = \"\\1011\"", 1, "no byte", "\\\\");
}

TEST(test_environment)
{
	setenv("NOPAL_TEST_MTU", "1400B", 1);
	unsetenv("NOPAL_TEST_NONE");
	says("${NOPAL_TEST_MTU}", "1400B");
	says("a${NOPAL_TEST_MTU}b", "a1400Bb");
	says("\"a ${NOPAL_TEST_MTU} $b {\"", "a 1400B $b {");
	says("'${NOPAL_TEST_MTU}'", "${NOPAL_TEST_MTU}");
	says("${NOPAL_TEST_NONE}", "");
	says("${NOPAL_TEST_NONE:-9 x}", "9 x");
	says("\"${NOPAL_TEST_MTU:-9}${NOPAL_TEST_NONE:-}\"", "1400B");
	bad("description = ${NOPAL\n\nresize {}", 1, "cannot begin", "begin");
}

TEST(test_keys_beside_sections)
{
	struct reading reading = good("requires = auto\nbudget_bytes = 1MiB\n"
				      "budget_objects = 500\nsend_buffer = 64KiB\n"
				      "message_limit = 2MiB\n");

	assert_true(reading.config->requires_auto);
	assert_int_equal(reading.config->budget.bytes, 1 << 20);
	assert_int_equal(reading.config->budget.objects, 500);
	assert_int_equal(reading.config->budget.send_bytes, 65536);
	assert_int_equal(reading.config->message_limit_bytes, 2 << 20);
	done(&reading);
}

TEST(test_layers)
{
	struct reading reading = good("layer \"top\" { resize {} }\n"
				      "layer \"member\" {\n"
				      "  multiplicity = per_destination\n"
				      "  resize { mtu = 1B }\n"
				      "  transport_driver {}\n"
				      "}\n");
	const struct nopal_config_layer *layer;

	assert_int_equal(reading.config->layer_count, 2);
	layer = &reading.config->layers[1];
	assert_string_equal(layer->name, "member");
	assert_int_equal(layer->multiplicity, NOPAL_PER_DESTINATION);
	assert_int_equal(layer->section_count, 2);
	assert_int_equal(layer->sections[0].place.line, 4);
	assert_int_equal(reading.config->layers[0].multiplicity, NOPAL_ONE);
	done(&reading);
}

TEST(test_nothing)
{
	struct reading reading = good("");

	assert_int_equal(reading.config->layer_count, 0);
	assert_string_equal(reading.config->description, "");
	done(&reading);
}

/* ---------------------------------------------------------------------- mistakes */

TEST(test_structure)
{
	bad("\nresize {\n\n", 2, "`resize` is not closed", "}");
	bad("layer \"a\" {\nresize {\n}\n", 1, "`layer` is not closed", "}");
	bad("resize {\ntransport_driver {}", 1, "not closed before `transport_driver`", "}");
	bad("resize { transport_driver {} }", 1, "not closed before", "}");
	bad("resize {}\n}\n", 2, "closes nothing", "remove");
	bad("resize {}\n/* open", 2, "does not end", "*/");
	bad("\ndescription = \"open\nresize {}", 2, "not closed", "quote");
	bad("resize\n", 1, "neither = nor {", "resize {}");
	bad("description =\nrequires = auto", 1, "has no value", "one line");
	bad("= 5", 1, "cannot begin a statement", "begin with");
	bad("resize { mtu = 5ms; }", 1, "ends in ;", "remove");
	bad("include(\"x\")", 1, "not a statement", "extends");
	bad("plugin = {transport_driver, resize\nresize {}", 1, "list of `plugin` is not closed",
	    "}");
	bad("plugin = {transport_driver resize}", 1, "a comma is missing", "{ A, B }");
}

TEST(test_names)
{
	bad("\nresise {}", 2, "no microprotocol `resise`", "`resize`");
	bad("frobnicate {}", 1, "no microprotocol", "nopal list");
	bad("descripton = \"x\"", 1, "no key `descripton`", "`description`");
	bad("resize = on", 1, "no key `resize`", "write resize {}");
	bad("layer \"a\" { multiplicty = one }", 1, "multiplicty", "`multiplicity`");
	bad("layer \"a\" { multiplicity = many }", 1, "not one of", "one");
	bad("layer { resize {} }", 1, "has no name", "layer \"NAME\"");
	bad("resize \"big\" {}", 1, "takes no title", "remove");
}

TEST(test_repeats)
{
	bad("resize {}\nresize {}", 2, "second section `resize`", "one section");
	bad("resize { mtu = 1B\nmtu = 2B }", 2, "`mtu` is set already in line 1", "keep one");
	bad("requires = auto\nrequires = auto", 2, "set already", "keep one");
	bad("layer \"a\" {}\nlayer \"a\" {}", 2, "second layer `a`", "own");
	bad("layer \"a\" {}\nresize {}", 2, "beside the layers", "layer");
}

TEST(test_values)
{
	bad("requires = maybe", 1, "not one of", "strict");
	bad("budget_bytes = 5", 1, "bare number", "unit");
	bad("budget_bytes = 5B", 1, "out of range", "from 64KiB");
	bad("send_buffer = 5seg", 1, "not about segments", "bytes");
	bad("budget_objects = 5MB", 1, "where a number is due", "without");
	bad("resize { mtu = {1B, 2B} }", 1, "not a list of 2", "one word");
	bad("without = {fec}", 1, "no base config", "extends");
}

TEST(test_all_at_once)
{
	struct reading reading = read_with("resise {}\n"
					   "requires = maybe\n"
					   "resize { mtu }\n"
					   "}\n"
					   "extends = \"no such\"\n",
					   NULL);

	complains(&reading, 1, "resise", "resize");
	complains(&reading, 2, "maybe", "strict");
	complains(&reading, 3, "mtu", "VALUE");
	complains(&reading, 4, "closes nothing", "remove");
	complains(&reading, 5, "no config `no such`", "nopal list configs");
	done(&reading);
}

/* Whatever the bytes are, it ends, and it never reads beyond. */
TEST(test_any_prefix_and_any_byte)
{
	static const char text[] = "description = \"x\" # y\n"
				   "layer 'a' { multiplicity = one\n"
				   "resize { mtu = 1500B /* z */ } }\n"
				   "without = {a, b} plugin += {c}\n";
	char changed[sizeof(text)];

	for (size_t i = 0; i < sizeof(text); i++) {
		struct reading reading;

		memcpy(changed, text, sizeof(text));
		changed[i] = '\0';
		reading = read_with(changed, NULL);
		done(&reading);
		for (const char *byte = "{}()=,+\"'#;\\$\n\x80"; *byte; byte++) {
			memcpy(changed, text, sizeof(text));
			changed[i] = *byte;
			changed[sizeof(text) - 1] = '\0';
			reading = read_with(changed, NULL);
			done(&reading);
		}
	}
}

/* --------------------------------------------------------------------- overrides */

TEST(test_overrides)
{
	static const char *const sets[] = { "resize.mtu=9000B", "resize.partial=7", "requires=auto",
					    "description=a = b", NULL };
	struct reading reading = read_with("resize { mtu = 1500B }\n", sets);

	assert_int_equal(reading.problems.count, 0);
	assert_string_equal(value_of(section_at(&reading, 0), "mtu"), "9000B");
	assert_string_equal(value_of(section_at(&reading, 0), "partial"), "7");
	assert_string_equal(reading.config->description, "a = b");
	assert_true(reading.config->requires_auto);
	done(&reading);
}

static void bad_set(const char *set, const char *cause, const char *fix)
{
	const char *sets[] = { set, NULL };
	struct reading reading = read_with("resize {}\n", sets);

	assert_int_equal(reading.problems.count, 1);
	complains(&reading, 0, cause, fix);
	assert_string_equal(reading.problems.entries[0].file, "--set");
	done(&reading);
}

TEST(test_bad_overrides)
{
	bad_set("resize.mtu", "not SECTION.KEY=VALUE", "like");
	bad_set("=5", "not SECTION.KEY=VALUE", "like");
	bad_set("resize.mtu=", "not SECTION.KEY=VALUE", "like");
	bad_set("resise.mtu=1B", "no section `resise`", "`resize`");
	bad_set("checksum.algorithm=x", "no section `checksum`", "add `checksum {}`");
	bad_set("below/resize.mtu=1B", "no section `resize` in layer below", "add `resize {}`");
	bad_set("requirs=auto", "no key `requirs`", "`requires`");
	bad_set("extends=bulk", "before any override", "in the config");
	bad_set("requires=5", "not one of", "strict");
}

/* ------------------------------------------------------------------------- files */

static char folder[] = "/tmp/nopal-config-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static struct reading load(const char *name)
{
	struct reading reading = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	reading.problems = (struct nopal_problems){ 0 };
	reading.config = nopal__config_load(path, NULL, &reading.problems);
	return reading;
}

TEST(test_extends)
{
	struct reading reading;

	put("base.conf", "description = \"base\"\nrequires = auto\n"
			 "resize { mtu = 1500B partial = 3 }\n"
			 "transport_driver {}\nchecksum {}\n");
	put("child.conf", "extends = \"base\"\nwithout = {checksum}\n"
			  "description = \"child\"\n"
			  "keep_alive {}\nresize { mtu = 576B }\n");
	reading = load("child.conf");
	nopal_problems_print(&reading.problems, stderr);
	assert_int_equal(reading.problems.count, 0);
	assert_string_equal(reading.config->name, "child");
	assert_string_equal(reading.config->description, "child");
	assert_true(reading.config->requires_auto);
	assert_int_equal(reading.config->layers[0].section_count, 3);
	assert_string_equal(value_of(section_at(&reading, 0), "mtu"), "576B");
	assert_string_equal(value_of(section_at(&reading, 0), "partial"), "3");
	assert_non_null(strstr(section_at(&reading, 1)->place.file, "base.conf"));
	assert_string_equal(section_at(&reading, 2)->name, "keep_alive");
	assert_non_null(strstr(reading.config->place.file, "child.conf"));
	done(&reading);
}

TEST(test_removed_and_added_again)
{
	struct reading reading;

	put("base.conf", "resize { mtu = 1500B }\n");
	put("again.conf", "resize {}\nwithout = {resize}\nextends = \"base\"\n");
	reading = load("again.conf");
	assert_int_equal(reading.problems.count, 0);
	assert_string_equal(reading.config->description, "derived from `base`");
	assert_int_equal(section_at(&reading, 0)->key_count, 0);
	done(&reading);
}

TEST(test_without_what_is_not_there)
{
	struct reading reading;

	put("base.conf", "resize {}\n");
	put("child.conf", "extends = \"base\"\n\nwithout = {resise}\n");
	reading = load("child.conf");
	complains(&reading, 3, "`resise`", "`resize`");
	done(&reading);
}

TEST(test_circles)
{
	struct reading reading;

	put("a.conf", "extends = \"b\"\n");
	put("b.conf", "\nextends = \"./a.conf\"\n");
	reading = load("a.conf");
	complains(&reading, 2, "extends itself", "remove");
	done(&reading);
	put("self.conf", "extends = \"self\"\nresize {}\n");
	reading = load("self.conf");
	complains(&reading, 1, "extends itself", "remove");
	done(&reading);
}

TEST(test_too_deep)
{
	enum { DEEP = 12 };
	struct reading reading;

	for (int i = 0; i < DEEP; i++) {
		char name[32], text[64];

		snprintf(name, sizeof(name), "deep%d.conf", i);
		snprintf(text, sizeof(text), "extends = \"deep%d\"\n", i + 1);
		put(name, i + 1 < DEEP ? text : "resize {}\n");
	}
	reading = load("deep0.conf");
	complains(&reading, 1, "configs extend each other", "earlier");
	done(&reading);
}

TEST(test_files_that_are_none)
{
	struct reading reading = load("missing.conf");
	enum { LARGE = 300 * 1024 };
	char *large = malloc(LARGE + 1);

	assert_null(reading.config);
	complains(&reading, 0, "no config", "path");
	done(&reading);
	assert_non_null(large);
	memset(large, '\n', LARGE);
	large[LARGE] = '\0';
	put("large.conf", large);
	free(large);
	reading = load("large.conf");
	assert_null(reading.config);
	complains(&reading, 0, "larger than 256 KiB", "right file");
	done(&reading);
}

TEST(test_names_are_searched)
{
	struct reading reading = { 0 };

	put("found.conf", "resize {}\n");
	setenv("NOPAL_CONFIGS", folder, 1);
	reading.problems = (struct nopal_problems){ 0 };
	reading.config = nopal__config_load("found", NULL, &reading.problems);
	assert_non_null(reading.config);
	done(&reading);
	reading.config = nopal__config_load("foundd", NULL, &reading.problems);
	assert_null(reading.config);
	complains(&reading, 0, folder, "`found`");
	done(&reading);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

ALL_TESTS(tests, make_folder, remove_folder);
