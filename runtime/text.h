/* SPDX-License-Identifier: MIT */
/*
 * text.h -- strings and arrays of the configuration side of the runtime.
 *
 * Configs, problems and compositions are made before a packet moves, by one
 * caller at a time, from input of bounded size.  Where the machine has no
 * memory for that, these end the program with a word about it: nothing later
 * could run.  Sessions never call them; they have budgets.
 */
#ifndef NOPAL_TEXT_H
#define NOPAL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

void *nopal__zeroed(size_t count, size_t size) __attribute__((returns_nonnull));
char *nopal__copy(const char *text) __attribute__((returns_nonnull));
char *nopal__copy_part(const char *start, size_t length)
	__attribute__((returns_nonnull));
char *nopal__printed(const char *format, ...)
	__attribute__((format(printf, 1, 2), returns_nonnull));
char *nopal__vprinted(const char *format, va_list arguments)
	__attribute__((format(printf, 1, 0), nonnull(1), returns_nonnull));

/* Room for one element more in an array of `count`; the new one is zeroed.
 * Capacity is the next power of two. */
void *nopal__one_more(void *array, size_t count, size_t size);

/* A text that grows at its end.  Zero it first; free `text`. */
struct nopal_text {
	char *text; /* NULL while empty */
	size_t length, room;
};
void nopal__append(struct nopal_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nopal__append_part(struct nopal_text *text, const char *start,
			size_t length);

/* Is `word` one of the words of `list`, which `separator` divides? */
bool nopal__word_in(const char *list, char separator, const char *word);
/* The same of `length` bytes at `word`. */
bool nopal__part_in(const char *list, char separator, const char *word,
		    size_t length);
/* Have two such lists a word in common?  Either may be NULL: then not. */
bool nopal__words_meet(const char *one, const char *other, char separator);
/* The next word of such a list: its length, and the list behind it in `*list`
 * (NULL at the end). */
size_t nopal__next_word(const char **list, char separator,
			const char **ret_word);
/* The first FOLDER/NAME.SUFFIX that `is_there`, of folders divided by ':'; NULL:
 * none is.  Caller frees. */
char *nopal__search(const char *folders, const char *name, const char *suffix,
		    bool (*is_there)(const char *path));
bool nopal__is_readable(const char *path);

#endif
