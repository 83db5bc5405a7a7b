/* SPDX-License-Identifier: MIT */
/*
 * notes.h -- lines below the tables of a report.
 */
#ifndef NOPAL_NOTES_H
#define NOPAL_NOTES_H

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

struct notes {
	char **lines;
	int count;
};

/* Adds a line, unless it is there. */
void notes_add(struct notes *notes, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
void notes_fini(struct notes *notes);
void notes_print(const struct notes *notes, FILE *out);
json_t *notes_json(const struct notes *notes);

/* The text that a format makes; the caller frees it. */
char *notes_text(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
