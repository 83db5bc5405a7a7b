/* SPDX-License-Identifier: MIT */
/*
 * text.c -- strings of the configuration side: see text.h.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

const char *nopal__copy_part(struct nopal_arena *arena, const char *start, size_t length)
{
	char *copy = nopal__zeroed(arena, length + 1, 1);

	if (!copy)
		return "";
	memcpy(copy, start, length);
	return copy;
}

const char *nopal__copy(struct nopal_arena *arena, const char *text)
{
	return nopal__copy_part(arena, text, strlen(text));
}

const char *nopal__printed(struct nopal_arena *arena, const char *format, ...)
{
	va_list arguments, again;
	char *text;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = nopal__zeroed(arena, length < 0 ? 1 : (size_t)length + 1, 1);
	if (text && length > 0)
		vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text ? text : "";
}

void nopal__add_name(struct nopal_arena *arena, const char ***names, size_t *count,
		     const char *name)
{
	const char **place = nopal__one_more(arena, names, count, sizeof(*place));

	if (place)
		*place = name;
}

/* ---------------------------------------------------------------- growing texts */

/* Room for so many bytes more, and the zero. */
static bool text_room(struct nopal_text *text, size_t length)
{
	enum { TEXT_FIRST_ROOM = 64 };
	size_t needed = text->length + length + 1;
	size_t room = text->room ? 2 * text->room : TEXT_FIRST_ROOM;
	char *more;

	if (needed <= text->room)
		return true;
	room = room > needed ? room : needed;
	more = nopal__zeroed(text->arena, room, 1);
	if (!more)
		return false;
	if (text->length)
		memcpy(more, text->start, text->length);
	text->start = more;
	text->room = room;
	return true;
}

void nopal__append_part(struct nopal_text *text, const char *start, size_t length)
{
	if (!text_room(text, length))
		return;
	memcpy(text->start + text->length, start, length);
	text->length += length;
	text->start[text->length] = '\0';
}

void nopal__append(struct nopal_text *text, const char *format, ...)
{
	va_list arguments, again;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length > 0 && text_room(text, (size_t)length)) {
		vsnprintf(text->start + text->length, (size_t)length + 1, format, arguments);
		text->length += (size_t)length;
	}
	va_end(arguments);
}

const char *nopal__text(const struct nopal_text *text)
{
	return text->start ? text->start : "";
}

/* ------------------------------------------------------------------------ words */

size_t nopal__next_word(const char **list, char separator, const char **ret_word)
{
	const char *end = strchr(*list, separator);
	size_t length = end ? (size_t)(end - *list) : strlen(*list);

	*ret_word = *list;
	*list = end ? end + 1 : NULL;
	return length;
}

bool nopal__part_in(const char *list, char separator, const char *word, size_t wanted)
{
	while (list) {
		const char *one;
		size_t length = nopal__next_word(&list, separator, &one);

		if (length == wanted && strncmp(one, word, length) == 0)
			return true;
	}
	return false;
}

bool nopal__word_in(const char *list, char separator, const char *word)
{
	return nopal__part_in(list, separator, word, strlen(word));
}

bool nopal__words_overlap(const char *one, const char *other, char separator)
{
	const char *word;
	size_t length;

	while (one && (length = nopal__next_word(&one, separator, &word)) > 0)
		if (nopal__part_in(other, separator, word, length))
			return true;
	return false;
}

bool nopal__is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

const char *nopal__search(struct nopal_arena *arena, const char *folders, const char *name,
			  const char *suffix, bool (*is_there)(const char *path))
{
	while (folders && !arena->failed) {
		const char *folder;
		size_t length = nopal__next_word(&folders, ':', &folder);
		const char *path =
			nopal__printed(arena, "%.*s/%s%s", (int)length, folder, name, suffix);

		if (!arena->failed && is_there(path))
			return path;
	}
	return NULL;
}
