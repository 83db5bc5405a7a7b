/* SPDX-License-Identifier: MIT */
/*
 * text.h -- strings of the configuration side of the runtime.
 *
 * They lie in an arena, and are read only.  Where it fails they are empty, never NULL: who prints
 * or compares one need not ask.
 */
#ifndef NOPAL_TEXT_H
#define NOPAL_TEXT_H

#include <stdarg.h>

#include "base/arena.h"

const char *nopal__copy(struct nopal_arena *arena, const char *text)
	__attribute__((returns_nonnull));
const char *nopal__copy_part(struct nopal_arena *arena, const char *start, size_t length)
	__attribute__((returns_nonnull));
const char *nopal__printed(struct nopal_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Adds a string, or the NULL that ends them, to an array of names. */
void nopal__add_name(struct nopal_arena *arena, const char ***names, size_t *count,
		     const char *name);

/* A text that grows at its end.  Set `arena` first, all else zero. */
struct nopal_text {
	struct nopal_arena *arena;
	char *start; /* NULL while empty */
	size_t length, room;
};
void nopal__append(struct nopal_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nopal__append_part(struct nopal_text *text, const char *start, size_t length);
/* All of it, as a string; good until it grows. */
const char *nopal__text(const struct nopal_text *text) __attribute__((returns_nonnull));

/* Is `word` one of the words of `list`, which `separator` divides? */
bool nopal__word_in(const char *list, char separator, const char *word);
/* The same of `length` bytes at `word`. */
bool nopal__part_in(const char *list, char separator, const char *word, size_t length);
/* Have two such lists a word in common?  Either may be NULL: then not. */
bool nopal__words_overlap(const char *one, const char *other, char separator);
/* The next word of such a list: its length, and the list behind it in `*list` (NULL at the end). */
size_t nopal__next_word(const char **list, char separator, const char **ret_word);
/* The first FOLDER/NAME.SUFFIX that `is_there`, of folders divided by ':'; NULL:
 * none is, or the arena failed. */
const char *nopal__search(struct nopal_arena *arena, const char *folders, const char *name,
			  const char *suffix, bool (*is_there)(const char *path));
bool nopal__is_readable(const char *path);

#endif
