/* SPDX-License-Identifier: MIT */
#include "support/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/said.h"

const char *lines_at(const char *text, int line, size_t *ret_length)
{
	while (--line > 0) {
		const char *end = strchr(text, '\n');

		text = end ? end + 1 : text + strlen(text);
	}
	*ret_length = strcspn(text, "\n");
	return text;
}

int lines_count(const char *text)
{
	int count = 0;

	for (; *text; count++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return count;
}

void lines_name(const char *text, int line, char *name, size_t room)
{
	size_t length;
	const char *at = lines_at(text, line, &length);

	at += strspn(at, "\t ");
	snprintf(name, room, "%.*s", (int)strcspn(at, " \t\n{="), at);
}

enum line_is lines_kind(const char *text, int line)
{
	size_t length;
	const char *at = lines_at(text, line, &length);
	char name[64];

	lines_name(text, line, name, sizeof(name));
	if (!length || *at == '#')
		return LINE_OTHER;
	if (strcmp(name, "layer") == 0)
		return LINE_LAYER;
	if (strcspn(at, "}") == strspn(at, "\t "))
		return LINE_LAYER_END;
	return memchr(at, '{', length) && memchr(at, '}', length) ? LINE_PART : LINE_OTHER;
}

char *lines_without(const char *text, int first, int last)
{
	size_t length;
	const char *from = lines_at(text, first, &length);
	const char *to = lines_at(text, last, &length) + length;

	return said("%.*s%s", (int)(from - text), text, *to ? to + 1 : to);
}

char *lines_with(const char *text, int line, const char *more)
{
	size_t length;
	const char *from = lines_at(text, line, &length);

	return said("%.*s%s\n%s", (int)(from - text), text, more, from);
}

/* ------------------------------------------------------------------- settings */

/* The text between the braces of a part. */
static const char *inside(const char *text, int line, size_t *ret_length)
{
	size_t length;
	const char *at = lines_at(text, line, &length);
	const char *open = memchr(at, '{', length);
	const char *close = memchr(at, '}', length);

	*ret_length = open && close > open ? (size_t)(close - open - 1) : 0;
	return *ret_length ? open + 1 : at;
}

int lines_settings(const char *text, int line)
{
	size_t length;
	const char *at = inside(text, line, &length);
	int count = 0;

	for (size_t i = 0; i < length; i++)
		count += at[i] == '=';
	return count;
}

char *lines_plain(const char *text, int line)
{
	size_t length;
	const char *at = inside(text, line, &length);

	return said("%.*s%s", (int)(at - text), text, at + length);
}

/* A setting is a word, an equals sign and a word, with blanks between. */
static const char *behind_setting(const char *at)
{
	at += strcspn(at, "=") + 1;
	at += strspn(at, " \t");
	at += strcspn(at, " \t}\n");
	return at;
}

char *lines_without_setting(const char *text, int line, int setting)
{
	size_t length;
	const char *from = inside(text, line, &length), *to;

	while (setting--)
		from = behind_setting(from);
	to = behind_setting(from);
	return said("%.*s%s", (int)(from - text), text, to);
}
