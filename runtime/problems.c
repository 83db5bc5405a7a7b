/* SPDX-License-Identifier: MIT */
/*
 * problems.c -- what is wrong with a user's input, all at once.
 *
 * A problem says what is wrong, where, and the smallest fix.  The checks of a
 * composition add them in whatever order suits the check; people read them in
 * the order of lines.
 */
#include "problems.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void nopal_problems_init(struct nopal_problems *problems)
{
	*problems = (struct nopal_problems){ 0 };
}

static void problems_free_entry(struct nopal_problem_entry *entry)
{
	free(entry->file);
	free(entry->cause);
	free(entry->fix);
}

void nopal_problems_fini(struct nopal_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		problems_free_entry(&problems->entries[i]);
	free(problems->entries);
	nopal_problems_init(problems);
}

static struct nopal_problem_entry *problems_new(struct nopal_problems *problems)
{
	problems->entries = nopal__one_more(problems->entries, problems->count,
					    sizeof(*problems->entries));
	problems->room = problems->count + 1;
	return &problems->entries[problems->count++];
}

/* Takes `cause`. */
static void problems_put(struct nopal_problems *problems, const char *file,
			 int line, const char *fix, char *cause, bool warning)
{
	struct nopal_problem_entry *entry;

	if (!problems) {
		free(cause);
		return;
	}
	entry = problems_new(problems);
	entry->file = file ? nopal__copy(file) : NULL;
	entry->line = line;
	entry->fix = fix ? nopal__copy(fix) : NULL;
	entry->cause = cause;
	entry->warning = warning;
	if (!warning)
		problems->errors++;
}

void nopal_problems_add(struct nopal_problems *problems, const char *file,
			int line, const char *fix, const char *cause, ...)
{
	va_list arguments;

	va_start(arguments, cause);
	problems_put(problems, file, line, fix,
		     nopal__vprinted(cause, arguments), false);
	va_end(arguments);
}

void nopal_problems_warn(struct nopal_problems *problems, const char *file,
			 int line, const char *fix, const char *cause, ...)
{
	va_list arguments;

	va_start(arguments, cause);
	problems_put(problems, file, line, fix,
		     nopal__vprinted(cause, arguments), true);
	va_end(arguments);
}

/* The microprotocol does not know its file and line: whoever called its
 * validate() moves these entries with the place. */
void nopal_problem(struct nopal_problems *problems, const char *parameter,
		   const char *cause, const char *fix)
{
	if (parameter)
		nopal_problems_add(problems, NULL, 0, fix, "%s: %s", parameter,
				   cause);
	else
		nopal_problems_add(problems, NULL, 0, fix, "%s", cause);
}

void nopal__problems_move(struct nopal_problems *to,
			  struct nopal_problems *from, struct nopal_place place,
			  const char *prefix)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct nopal_problem_entry *entry = &from->entries[i];
		bool placed = entry->file != NULL;
		const char *before = placed || !prefix ? "" : prefix;

		problems_put(to, placed ? entry->file : place.file,
			     placed ? entry->line : place.line, entry->fix,
			     nopal__printed("%s%s", before, entry->cause),
			     entry->warning);
	}
	nopal_problems_fini(from);
}

/* ------------------------------------------------------------------ printing */

static bool problems_later(const struct nopal_problem_entry *a,
			   const struct nopal_problem_entry *b)
{
	int files;

	if (!a->file || !b->file)
		return a->file && !b->file;
	files = strcmp(a->file, b->file);
	return files > 0 || (files == 0 && a->line > b->line);
}

/* Insertion keeps equal lines in the order of adding. */
static void problems_sort(struct nopal_problems *problems)
{
	for (size_t i = 1; i < problems->count; i++) {
		struct nopal_problem_entry moved = problems->entries[i];
		size_t at = i;

		while (at > 0 &&
		       problems_later(&problems->entries[at - 1], &moved)) {
			problems->entries[at] = problems->entries[at - 1];
			at--;
		}
		problems->entries[at] = moved;
	}
}

void nopal_problems_print(struct nopal_problems *problems, FILE *out)
{
	problems_sort(problems);
	for (size_t i = 0; i < problems->count; i++) {
		const struct nopal_problem_entry *entry = &problems->entries[i];

		if (entry->file && entry->line)
			fprintf(out, "%s:%d: ", entry->file, entry->line);
		else if (entry->file)
			fprintf(out, "%s: ", entry->file);
		fprintf(out, "%s: %s\n", entry->warning ? "warning" : "error",
			entry->cause);
		if (entry->fix)
			fprintf(out, "  fix: %s\n", entry->fix);
	}
}

/* ------------------------------------------------------------- nearest names */

enum {
	NEAREST_LONGEST = 48, /* no name is longer */
	NEAREST_LETTERS = 3,  /* one mistake is forgiven in as many letters */
	NEAREST_PREFIX = 3,   /* a beginning of so many letters says enough */
};

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance with swaps of neighbours (optimal string alignment): what
 * fingers do to a word.  Three rows suffice. */
static size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_LONGEST + 1];
	size_t length_a = strlen(a), length_b = strlen(b);
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= length_b; j++)
		above[j] = j;
	for (size_t i = 1; i <= length_a; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= length_b; j++) {
			size_t change = a[i - 1] != b[j - 1];

			row[j] = least_of(least_of(above[j], row[j - 1]) + 1,
					  above[j - 1] + change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least_of(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[length_b];
}

/* Is `name` made of the first letters of the words of `full`: fec for
 * forward_error_correction? */
static bool nearest_initials(const char *name, const char *full)
{
	bool begins = true;

	for (; *full; full++) {
		if (begins && *name++ != *full)
			return false;
		begins = *full == '_';
	}
	return *name == '\0';
}

static bool nearest_begins(const char *name, const char *full)
{
	size_t length = strlen(name);

	return length >= NEAREST_PREFIX && strncmp(name, full, length) == 0;
}

const char *nopal_nearest(const char *name, const char *const *names)
{
	size_t length = strlen(name), forgiven = length / NEAREST_LETTERS;
	const char *nearest = NULL;

	if (length > NEAREST_LONGEST)
		return NULL;
	if (forgiven == 0)
		forgiven = 1;
	for (const char *const *one = names; *one; one++) {
		size_t distance, other = strlen(*one);

		if (other > NEAREST_LONGEST || other > length + forgiven ||
		    length > other + forgiven)
			continue; /* no nearer than their lengths are */
		distance = nearest_distance(name, *one);
		if (distance < forgiven || (distance == forgiven && !nearest)) {
			forgiven = distance;
			nearest = *one;
		}
	}
	for (const char *const *one = names; *one && !nearest; one++) {
		if (nearest_initials(name, *one) || nearest_begins(name, *one))
			nearest = *one;
	}
	return nearest;
}

char *nopal__suggestion(const char *name, const char *const *names,
			const char *otherwise)
{
	const char *nearest = nopal_nearest(name, names);

	if (nearest)
		return nopal__printed("did you mean `%s`?", nearest);
	return otherwise ? nopal__copy(otherwise) : NULL;
}
