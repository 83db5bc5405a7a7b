/* SPDX-License-Identifier: MIT */
/*
 * text.c -- strings and arrays of the configuration side: see text.h.
 */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *text_need(void *memory)
{
	if (!memory) {
		fputs("nopal: out of memory while reading a config\n", stderr);
		abort();
	}
	return memory;
}

void *nopal__zeroed(size_t count, size_t size)
{
	/* calloc(0) may give NULL */
	return text_need(calloc(count ? count : 1, size ? size : 1));
}

char *nopal__copy_part(const char *start, size_t length)
{
	char *copy = nopal__zeroed(length + 1, 1);

	memcpy(copy, start, length);
	return copy;
}

char *nopal__copy(const char *text)
{
	return nopal__copy_part(text, strlen(text));
}

char *nopal__vprinted(const char *format, va_list arguments)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return nopal__copy(format);
	text = nopal__zeroed((size_t)length + 1, 1);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	return text;
}

char *nopal__printed(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = nopal__vprinted(format, arguments);
	va_end(arguments);
	return text;
}

void *nopal__one_more(void *array, size_t count, size_t size)
{
	bool power_of_two = (count & (count - 1)) == 0;

	if (power_of_two) {
		size_t room = count ? 2 * count : 1;

		array = text_need(reallocarray(array, room, size));
	}
	memset((char *)array + count * size, 0, size);
	return array;
}

void nopal__append_part(struct nopal_text *text, const char *start,
			size_t length)
{
	enum { TEXT_FIRST_ROOM = 64 };
	size_t needed = text->length + length + 1;

	if (needed > text->room) {
		size_t room = text->room ? 2 * text->room : TEXT_FIRST_ROOM;

		text->room = room > needed ? room : needed;
		text->text = text_need(realloc(text->text, text->room));
	}
	memcpy(text->text + text->length, start, length);
	text->length += length;
	text->text[text->length] = '\0';
}

void nopal__append(struct nopal_text *text, const char *format, ...)
{
	va_list arguments;
	char *more;

	va_start(arguments, format);
	more = nopal__vprinted(format, arguments);
	va_end(arguments);
	nopal__append_part(text, more, strlen(more));
	free(more);
}

size_t nopal__next_word(const char **list, char separator,
			const char **ret_word)
{
	const char *end = strchr(*list, separator);
	size_t length = end ? (size_t)(end - *list) : strlen(*list);

	*ret_word = *list;
	*list = end ? end + 1 : NULL;
	return length;
}

bool nopal__part_in(const char *list, char separator, const char *word,
		    size_t wanted)
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

bool nopal__words_meet(const char *one, const char *other, char separator)
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

char *nopal__search(const char *folders, const char *name, const char *suffix,
		    bool (*is_there)(const char *path))
{
	while (folders) {
		const char *folder;
		size_t length = nopal__next_word(&folders, ':', &folder);
		char *path = nopal__printed("%.*s/%s%s", (int)length, folder,
					    name, suffix);

		if (is_there(path))
			return path;
		free(path);
	}
	return NULL;
}
