/* SPDX-License-Identifier: MIT */
/*
 * main.c -- the program `nopal`: one table of subcommands.
 *
 *   nopal TOOL [options] words     nopal help [TOOL]     nopal --version
 *   nopal --complete bash|zsh|fish	nopal --man
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/complete.h"
#include "frame/crash.h"
#include "frame/tool.h"

extern const struct tool tool_check, tool_explain, tool_graph, tool_list, tool_doc, tool_send,
	tool_recv, tool_fetch, tool_serve, tool_stream, tool_sim, tool_trace, tool_why, tool_link,
	tool_fuse, tool_bench, tool_reproduce;

static const struct tool *const main_table[] = {
	&tool_check, &tool_explain, &tool_graph, &tool_list,   &tool_doc,	&tool_send,
	&tool_recv,  &tool_fetch,   &tool_serve, &tool_stream, &tool_sim,	&tool_trace,
	&tool_why,   &tool_link,    &tool_fuse,	 &tool_bench,  &tool_reproduce, NULL,
};

static void main_help(FILE *out)
{
	fprintf(out, "nopal -- transport protocols composed from microprotocols\n\n");
	for (const struct tool *const *tool = main_table; *tool; tool++)
		fprintf(out, "  nopal %-9s %s\n", (*tool)->name, (*tool)->summary);
	fprintf(out, "\n  nopal help TOOL         what a tool does, with examples\n"
		     "  nopal --complete SHELL  completions for bash, zsh or fish\n"
		     "  nopal --man             the manual page\n"
		     "  nopal --version\n");
}

static enum tool_exit main_unknown(const char *name)
{
	const char *near = tool_nearest(main_table, name);

	fprintf(stderr, "nopal: there is no tool `%s`\n  fix: ", name);
	if (near)
		fprintf(stderr, "did you mean `nopal %s`?\n", near);
	else
		fprintf(stderr, "`nopal help` lists them\n");
	return TOOL_BAD_INPUT;
}

static enum tool_exit main_help_on(const char *name)
{
	const struct tool *tool = name ? tool_find(main_table, name) : NULL;

	if (name && !tool)
		return main_unknown(name);
	if (tool)
		tool_help(tool, stdout);
	else
		main_help(stdout);
	return TOOL_GOOD;
}

/* Words that are not tools; `-1`: it is none of them. */
static int main_special(const char *word, const char *next)
{
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return (int)main_help_on(next);
	if (strcmp(word, "--version") == 0) {
		printf("nopal %s\n", NOPAL_VERSION);
		return TOOL_GOOD;
	}
	if (strcmp(word, "--man") == 0) {
		tool_man(main_table, stdout);
		return TOOL_GOOD;
	}
	if (strcmp(word, "--complete") == 0) {
		if (next && tool_complete(main_table, next, stdout))
			return TOOL_GOOD;
		fprintf(stderr,
			"nopal: there are no completions for `%s`\n"
			"  fix: say --complete bash, zsh or fish\n",
			next ? next : "");
		return TOOL_BAD_INPUT;
	}
	return -1;
}

static enum tool_exit main_run(const struct tool *tool, int argc, char **argv)
{
	static struct tool_call call; /* large */

	switch (tool_parse(tool, argc, argv, &call)) {
	case TOOL_PARSED_HELP:
		tool_help(tool, stdout);
		return TOOL_GOOD;
	case TOOL_PARSED_BADLY:
		return TOOL_BAD_INPUT;
	case TOOL_PARSED:
		break;
	}
	return tool->run(&call);
}

/* An object that lacks a member for want of memory looks whole. */
static void *main_json_memory(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		tool_lacks_memory();
	return memory;
}

/* A standard stream that is closed must not become a socket or a file, into which results would go:
 * its place is taken by one that fails. */
static void main_streams(void)
{
	int file;

	do
		file = open("/dev/null", O_RDONLY);
	while (file >= 0 && file < STDERR_FILENO);
	if (file > STDERR_FILENO)
		close(file);
}

/* Results that did not reach the disk or the pipe are no results. */
static int main_flush(int result)
{
	result = (int)tool_outcome((enum tool_exit)result);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return result;
	if (errno != EPIPE)
		fprintf(stderr, "nopal: standard output: %s\n", strerror(errno));
	return result == TOOL_GOOD ? TOOL_ENVIRONMENT : result;
}

int main(int argc, char **argv)
{
	const struct tool *tool;
	int special;

	main_streams();
	if (argc < 2) {
		main_help(stderr);
		return TOOL_BAD_INPUT;
	}
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error of a write */
	json_set_alloc_funcs(main_json_memory, free);
	crash_watch();
	special = main_special(argv[1], argc > 2 ? argv[2] : NULL);
	if (special >= 0)
		return main_flush(special);
	tool = tool_find(main_table, argv[1]);
	if (!tool)
		return (int)main_unknown(argv[1]);
	return main_flush((int)main_run(tool, argc - 1, argv + 1));
}
