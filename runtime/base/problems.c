/* SPDX-License-Identifier: MIT */
/*
 * problems.c -- what is wrong with a user's input, all at once.
 *
 * A problem says what is wrong, where, and the smallest fix.  The checks of a composition add them
 * in whatever order suits the check; people read them in the order of lines.
 *
 * A list always has room for one entry more, which says that memory is out: after it nothing is
 * added, for what is missing would be complained about as well.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "base/problems.h"
#include "base/text.h"
#include "base/vector.h"

/* Said where there is no memory to say it: of nobody's heap. */
static char problems_cause[] = "out of memory";
static char problems_fix[] = "free memory, or raise the limit of this process";
static struct nopal_problem_entry problems_only = { .cause = problems_cause, .fix = problems_fix };

static void problems_free_entry(struct nopal_problem_entry *entry)
{
	if (entry->cause == problems_cause)
		return;
	free(entry->file);
	free(entry->cause);
	free(entry->fix);
}

void nopal_problems_fini(struct nopal_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		problems_free_entry(&problems->entries[i]);
	if (problems->entries != &problems_only)
		free(problems->entries);
	*problems = (struct nopal_problems){ 0 };
}

void nopal__problems_no_memory(struct nopal_problems *problems)
{
	if (!problems || problems->no_memory)
		return;
	problems->no_memory = true;
	if (problems->entries)
		problems->entries[problems->count] = problems_only;
	else
		problems->entries = &problems_only;
	problems->count++;
	problems->errors++;
}

/* Takes the strings of `entry`.  Behind it there is room for the last one that can be: so nothing
 * is needed to say that there is no memory, once there is an array at all. */
static void problems_put(struct nopal_problems *problems, struct nopal_problem_entry entry)
{
	if (problems && !problems->no_memory &&
	    nopal__vector_room(&problems->entries, &problems->room, problems->count + 2,
			       sizeof(entry))) {
		problems->entries[problems->count++] = entry;
		problems->errors += !entry.warning;
		return;
	}
	problems_free_entry(&entry);
	nopal__problems_no_memory(problems);
}

__attribute__((format(printf, 5, 0))) static void problems_add(struct nopal_problems *problems,
							       struct nopal_place place,
							       const char *fix, bool warning,
							       const char *cause, va_list arguments)
{
	struct nopal_problem_entry entry = { .line = place.line, .warning = warning };

	if (!problems || problems->no_memory)
		return;
	if (vasprintf(&entry.cause, cause, arguments) < 0)
		entry.cause = NULL;
	entry.file = place.file ? strdup(place.file) : NULL;
	entry.fix = fix ? strdup(fix) : NULL;
	if (!entry.cause || !entry.file != !place.file || !entry.fix != !fix) {
		problems_free_entry(&entry);
		nopal__problems_no_memory(problems);
		return;
	}
	problems_put(problems, entry);
}

/* The same with the arguments of the caller. */
#define PROBLEMS_ADD(place, warning)                                                               \
	do {                                                                                       \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, cause);                                                        \
		problems_add(problems, place, fix, warning, cause, arguments);                     \
		va_end(arguments);                                                                 \
	} while (0)

void nopal_problems_add(struct nopal_problems *problems, const char *file, int line,
			const char *fix, const char *cause, ...)
{
	struct nopal_place place = { file, line };

	PROBLEMS_ADD(place, false);
}

void nopal_problems_warn(struct nopal_problems *problems, const char *file, int line,
			 const char *fix, const char *cause, ...)
{
	struct nopal_place place = { file, line };

	PROBLEMS_ADD(place, true);
}

void nopal__problem_at(struct nopal_problems *problems, struct nopal_place place, const char *fix,
		       const char *cause, ...)
{
	PROBLEMS_ADD(place, false);
}

void nopal__warn_at(struct nopal_problems *problems, struct nopal_place place, const char *fix,
		    const char *cause, ...)
{
	PROBLEMS_ADD(place, true);
}

void nopal__problems_fix(struct nopal_problems *problems, const char *fix, ...)
{
	struct nopal_problem_entry *last;
	char *written = NULL;
	va_list arguments;
	int length;

	if (!problems || problems->no_memory || !problems->count)
		return;
	va_start(arguments, fix);
	length = vasprintf(&written, fix, arguments);
	va_end(arguments);
	if (length < 0) {
		nopal__problems_no_memory(problems);
		return;
	}
	last = &problems->entries[problems->count - 1];
	free(last->fix);
	last->fix = written;
}

/* The microprotocol does not know its file and line: whoever called its validate() moves these
 * entries with the place. */
void nopal_problem(struct nopal_problems *problems, const char *parameter, const char *cause,
		   const char *fix)
{
	if (parameter)
		nopal_problems_add(problems, NULL, 0, fix, "%s: %s", parameter, cause);
	else
		nopal_problems_add(problems, NULL, 0, fix, "%s", cause);
}

void nopal__problems_move(struct nopal_problems *to, struct nopal_problems *from,
			  struct nopal_place place)
{
	bool no_memory = from->no_memory;

	for (size_t i = 0; i < from->count; i++) {
		struct nopal_problem_entry *entry = &from->entries[i];

		if (entry->cause == problems_cause)
			continue;
		if (!entry->file) {
			entry->file = place.file ? strdup(place.file) : NULL;
			no_memory |= !entry->file != !place.file;
			entry->line = place.line;
		}
		problems_put(to, *entry);
	}
	from->count = 0; /* they are the other list's */
	nopal_problems_fini(from);
	if (no_memory)
		nopal__problems_no_memory(to);
}

/* ------------------------------------------------------------------ printing */

static bool problems_later(const struct nopal_problem_entry *a, const struct nopal_problem_entry *b)
{
	int files;

	if (!a->file || !b->file)
		return a->file && !b->file;
	files = strcmp(a->file, b->file);
	return files > 0 || (files == 0 && a->line > b->line);
}

void nopal_problems_print(struct nopal_problems *problems, FILE *out)
{
	/* Insertion keeps equal lines in the order of adding. */
	for (size_t i = 1; i < problems->count; i++) {
		struct nopal_problem_entry moved = problems->entries[i];
		size_t at = i;

		for (; at > 0 && problems_later(&problems->entries[at - 1], &moved); at--)
			problems->entries[at] = problems->entries[at - 1];
		problems->entries[at] = moved;
	}
	for (size_t i = 0; i < problems->count; i++) {
		const struct nopal_problem_entry *entry = &problems->entries[i];

		if (entry->file && entry->line)
			fprintf(out, "%s:%d: ", entry->file, entry->line);
		else if (entry->file)
			fprintf(out, "%s: ", entry->file);
		fprintf(out, "%s: %s\n", entry->warning ? "warning" : "error", entry->cause);
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

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance with swaps of neighbours (optimal string alignment): what fingers do to a word.
 * Three rows suffice. */
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

			row[j] = min_of(min_of(above[j], row[j - 1]) + 1, above[j - 1] + change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_of(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[length_b];
}

/* Is `name` made of the first letters of the words of `full`: fec for forward_error_correction? */
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
		if (nearest_initials(name, *one) ||
		    (length >= NEAREST_PREFIX && strncmp(name, *one, length) == 0))
			nearest = *one;
	}
	return nearest;
}

void nopal__problems_suggest(struct nopal_problems *problems, const char *name,
			     const char *const *names, const char *before)
{
	struct nopal_arena arena = { .problems = problems };
	struct nopal_text all = { .arena = &arena };
	const char *nearest = nopal_nearest(name, names);

	if (nearest) {
		nopal__problems_fix(problems, "did you mean `%s`?", nearest);
	} else if (before) {
		nopal__append(&all, "%s", before);
		for (const char *const *one = names; *one; one++)
			nopal__append(&all, "%s%s", one == names ? "" : " ", *one);
		if (!arena.failed)
			nopal__problems_fix(problems, "%s", nopal__text(&all));
	}
	nopal__arena_release(&arena);
}
