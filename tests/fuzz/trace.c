/* SPDX-License-Identifier: MIT */
/*
 * trace -- fuzz target: a trace file, as `nopal trace` and `nopal why` read it.
 *
 * Byte 0 of the input is no part of the file: it chooses the form and the segment.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input.h"
#include "frame/tool.h"

extern const struct tool tool_trace, tool_why;

enum { WORD = 32 };

static void run(const struct tool *tool, char **words, int count)
{
	struct tool_call call;

	if (tool_parse(tool, count, words, &call) != TOOL_PARSED)
		abort();
	tool->run(&call);
}

static void show(char *path, uint8_t how)
{
	static const char *const forms[] = { "text", "seq", "json" };
	char form[WORD], number[WORD];

	snprintf(form, sizeof(form), "--to=%s", forms[how % 3]);
	snprintf(number, sizeof(number), "%u", how / 4u);
	run(&tool_trace, (char *[]){ (char[]){ "trace" }, path, form, NULL }, 3);
	run(&tool_why, (char *[]){ (char[]){ "why" }, path, number, NULL }, 3);
}

/* A file in memory that has a path. */
static int file_of(const struct input *input, char path[WORD])
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0 || write(fd, input->at, input_left(input)) != (ssize_t)input_left(input))
		abort();
	snprintf(path, WORD, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = input_over(bytes, length);
	uint8_t how = input_byte(&input);
	char path[WORD];
	int fd;

	if (!freopen("/dev/null", "we", stdout))
		abort();
	fd = file_of(&input, path);
	show(path, how);
	close(fd);
	return 0;
}
