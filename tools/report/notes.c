/* SPDX-License-Identifier: MIT */
/*
 * notes.c -- lines below the tables of a report.
 */
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "report/notes.h"

char *notes_text(const char *format, va_list arguments)
{
	char *text = NULL;

	return tool_need(vasprintf(&text, format, arguments) < 0 ? NULL : text);
}

void notes_add(struct notes *notes, const char *format, va_list arguments)
{
	char *line = notes_text(format, arguments);

	for (int i = 0; i < notes->count; i++)
		if (strcmp(notes->lines[i], line) == 0) {
			free(line);
			return;
		}
	notes->lines = tool_need(
		reallocarray(notes->lines, (size_t)notes->count + 1, sizeof(*notes->lines)));
	notes->lines[notes->count++] = line;
}

void notes_fini(struct notes *notes)
{
	for (int i = 0; i < notes->count; i++)
		free(notes->lines[i]);
	free(notes->lines);
}

void notes_print(const struct notes *notes, FILE *out)
{
	for (int i = 0; i < notes->count; i++)
		fprintf(out, "note: %s\n", notes->lines[i]);
}

json_t *notes_json(const struct notes *notes)
{
	json_t *list = json_array();

	for (int i = 0; i < notes->count; i++)
		json_array_append_new(list, json_string(notes->lines[i]));
	return list;
}
