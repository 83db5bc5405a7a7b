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

#include "frame/tool.h"

extern const struct tool tool_check, tool_explain, tool_graph, tool_list, tool_doc, tool_send,
	tool_recv, tool_fetch, tool_serve, tool_stream, tool_sim, tool_trace, tool_why, tool_link,
	tool_new, tool_fuse, tool_bench, tool_reproduce, tool_lab;

static const struct tool *const main_table[] = {
	&tool_check, &tool_explain, &tool_graph,     &tool_list,  &tool_doc,
	&tool_send,  &tool_recv,    &tool_fetch,     &tool_serve, &tool_stream,
	&tool_sim,   &tool_trace,   &tool_why,	     &tool_link,  &tool_new,
	&tool_fuse,  &tool_bench,   &tool_reproduce, &tool_lab,	  NULL,
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

/* Words that are not tools; `-1`: it is none of them. */
static int main_special(const char *word, const char *next)
{
	const struct tool *tool = next ? tool_find(main_table, next) : NULL;

	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		if (next && !tool)
			return (int)main_unknown(next);
		if (tool)
			tool_help(tool, stdout);
		else
			main_help(stdout);
		return TOOL_GOOD;
	}
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

/* An object that lacks a member for want of memory looks whole. */
static void *main_json_memory(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		tool_lacks_memory();
	return memory;
}

int main(int argc, char **argv)
{
	static struct tool_call call; /* large */
	const struct tool *tool = argc < 2 ? NULL : tool_find(main_table, argv[1]);
	int file, result;

	/* A standard stream that is closed must not become a socket or a file, into which results
	 * would go: its place is taken by one that fails. */
	do
		file = open("/dev/null", O_RDONLY);
	while (file >= 0 && file < STDERR_FILENO);
	if (file > STDERR_FILENO)
		close(file);
	if (argc < 2) {
		main_help(stderr);
		return TOOL_BAD_INPUT;
	}
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error of a write */
	json_set_alloc_funcs(main_json_memory, free);
	tool_watch_crashes();
	result = main_special(argv[1], argc > 2 ? argv[2] : NULL);
	if (result < 0 && !tool)
		return (int)main_unknown(argv[1]);
	if (result < 0) {
		enum tool_parsed parsed = tool_parse(tool, argc - 1, argv + 1, &call);

		result = TOOL_GOOD;
		if (parsed == TOOL_PARSED_HELP)
			tool_help(tool, stdout);
		else
			result = (int)(parsed == TOOL_PARSED ? tool->run(&call) : TOOL_BAD_INPUT);
	}
	result = (int)tool_outcome((enum tool_exit)result);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return result;
	/* Results that did not reach the disk or the pipe are no results. */
	if (errno != EPIPE)
		fprintf(stderr, "nopal: standard output: %s\n", strerror(errno));
	return result == TOOL_GOOD ? TOOL_ENVIRONMENT : result;
}
