/* SPDX-License-Identifier: MIT */
/* test_veth -- what is made of a line of veth.sh. */
#include <stdlib.h>

#include "frame/tool.h"
#include "reproduce/veth.h"
#include "support/test.h"

static json_t *line_of(const char *text)
{
	json_t *line = json_loads(text, 0, NULL);

	assert_non_null(line);
	return line;
}

/* Both sides' and the kernel's time, for the bytes that were delivered. */
TEST(test_figures_are_of_what_was_delivered)
{
	json_t *line = line_of(
		"{\"row\":\"tcp\",\"connections\":10,\"packets_back\":77,\"softirq_s\":0.25,\"send\":{\"cpu_s\":1.5},\"recv\":{\"cpu_s\":0.75,\"delivered_bytes\":2000000000,\"wrong_bytes\":0,\"seconds\":4.0}}");

	assert_true(veth_is_sound(line));
	assert_float_equal(veth_goodput(line), 4, 1e-9);
	assert_float_equal(veth_cpu(line), 1.25, 1e-9);
	assert_float_equal(veth_number(line, "packets_back"), 77, 0);
	assert_float_equal(veth_side(line, "send", "cpu_s"), 1.5, 0);
	assert_string_equal(veth_text(line, "row"), "tcp");
	json_decref(line);
}

TEST(test_a_run_without_a_report_is_not_sound)
{
	static const char *const lines[] = {
		"{\"row\":\"udt\",\"send\":null,\"recv\":null}",
		"{\"recv\":{\"delivered_bytes\":0,\"wrong_bytes\":0}}",
		"{\"recv\":{\"delivered_bytes\":10,\"wrong_bytes\":1}}",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *line = line_of(lines[i]);

		assert_false(veth_is_sound(line));
		assert_null(veth_text(line, "path"));
		json_decref(line);
	}
}

static void count(void *user, const json_t *line)
{
	(void)line;
	++*(int *)user;
}

TEST(test_where_there_is_no_script_nothing_runs)
{
	int lines = 0;
	const struct veth veth = { .paths = "W",
				   .rows = "tcp",
				   .rounds = 1,
				   .seconds = 0.1,
				   .line = count,
				   .user = &lines };

	setenv("NOPAL_BENCH_DIR", "/nonexistent", 1);
	assert_int_equal(veth_run(&veth), TOOL_ENVIRONMENT);
	assert_int_equal(lines, 0);
	unsetenv("NOPAL_BENCH_DIR");
}
