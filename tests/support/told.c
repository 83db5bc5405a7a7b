/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "support/told.h"
#include "support/test.h"

enum { MAX_WORDS = 8 };

/* A stream that goes into a file of its own for a while. */
struct aside {
	FILE *stream, *file;
	int kept;
};

static struct aside aside_begin(FILE *stream)
{
	struct aside aside = { stream, tmpfile(), dup(fileno(stream)) };

	assert_non_null(aside.file);
	fflush(stream);
	dup2(fileno(aside.file), fileno(stream));
	return aside;
}

static void aside_end(struct aside *aside, char *text)
{
	size_t length;

	fflush(aside->stream);
	dup2(aside->kept, fileno(aside->stream));
	close(aside->kept);
	rewind(aside->file);
	length = fread(text, 1, TOLD_TEXT - 1, aside->file);
	text[length] = '\0';
	fclose(aside->file);
}

static void set_option(struct tool_call *call, const char *name, const char *value)
{
	const struct tool_option *options = call->tool->options;

	for (int i = 0; options[i].name; i++)
		if (strcmp(options[i].name, name) == 0) {
			call->values[i] = value;
			call->repeats[i][0] = value;
			return;
		}
	fail_msg("no option --%s", name);
}

void tell(struct told *told, const struct tool *tool, const char *const *words,
	  const char *const *options)
{
	static struct tool_call call;
	char *list[MAX_WORDS] = { 0 };
	struct aside out, err;

	call = (struct tool_call){ .tool = tool, .words = list };
	for (; words[call.word_count]; call.word_count++)
		list[call.word_count] = (char *)words[call.word_count];
	for (; options && *options; options += 2)
		set_option(&call, options[0], options[1]);
	out = aside_begin(stdout);
	err = aside_begin(stderr);
	told->code = tool->run(&call);
	aside_end(&err, told->err);
	aside_end(&out, told->out);
}
