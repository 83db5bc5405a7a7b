/* SPDX-License-Identifier: MIT */
/*
 * head_comments -- a microprotocol's head comment says what its descriptor cannot.
 *
 * usage: head_comments SOURCE
 *
 * Reads microprotocols/FAMILY/NAME.c of each microprotocol that is built in.  The first line of the
 * head is name and summary of the descriptor; it names a paper and differences from it; and it has
 * no heading of what `nopal doc` prints from the tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

enum { TEXT_ROOM = 16384, LINE_ROOM = 512 };

static const char *const of_tables[] = { "Needs", "Provides", "Excludes",   "Handles", "Raises",
					 "Holds", "Shares",   "Parameters", NULL };

static int fault(const char *name, const char *cause, const char *heading)
{
	printf("%s: %s%s\n", name, cause, heading);
	return 1;
}

/* The lines of the first comment of several lines, without their " * ". */
static bool head_read(FILE *file, char text[static TEXT_ROOM])
{
	char line[LINE_ROOM];
	bool inside = false;
	size_t used = 0;

	while (fgets(line, sizeof(line), file)) {
		if (inside && strstr(line, "*/"))
			return true;
		if (inside)
			used += (size_t)snprintf(text + used, TEXT_ROOM - used, "%s",
						 line + strspn(line, " *"));
		if (used >= TEXT_ROOM)
			return false;
		inside = inside || strcmp(line, "/*\n") == 0;
	}
	return false;
}

/* NULL: no line begins with it. */
static const char *heading_in(const char *text, const char *heading)
{
	size_t length = strlen(heading);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, heading, length) == 0 && line[length] == ':')
			return line;
	}
	return NULL;
}

/* The summary may go on in a second line. */
static bool begins_with_summary(const char *text, const struct nopal_microprotocol *one)
{
	char first[LINE_ROOM];

	snprintf(first, sizeof(first), "%s -- %s", one->name, one->summary);
	for (const char *expected = first; *expected; expected++, text++)
		if (*text != *expected && !(*text == '\n' && *expected == ' '))
			return false;
	return true;
}

static int check(const char *source, const struct nopal_microprotocol *one)
{
	char text[TEXT_ROOM] = "", path[LINE_ROOM];
	const char *paper, *differs;
	int faults = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/microprotocols/%s/%s.c", source, one->family, one->name);
	file = fopen(path, "r");
	if (!file || !head_read(file, text))
		faults += fault(one->name, "no head comment in ", path);
	if (file)
		fclose(file);
	if (!begins_with_summary(text, one))
		faults += fault(one->name,
				"the head does not begin with the summary: ", one->summary);
	paper = heading_in(text, "Paper");
	differs = heading_in(text, "Differs");
	if (!paper || !differs || differs < paper)
		faults +=
			fault(one->name, "the head lacks, in this order, Paper: and ", "Differs:");
	for (size_t i = 0; of_tables[i]; i++)
		if (heading_in(text, of_tables[i]))
			faults += fault(one->name,
					"the descriptor says it, and `nopal doc`: ", of_tables[i]);
	return faults;
}

int main(int count, char **words)
{
	int faults = 0;

	if (count != 2) {
		fprintf(stderr, "usage: %s SOURCE\n", words[0]);
		return 2;
	}
	for (size_t i = 0; nopal__builtin[i].microprotocol; i++)
		faults += check(words[1], nopal__builtin[i].microprotocol);
	return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
