/* SPDX-License-Identifier: MIT */
/*
 * problems.h -- what the runtime itself needs of problems beyond nopal.h.
 */
#ifndef NOPAL_PROBLEMS_H
#define NOPAL_PROBLEMS_H

#include <nopal/nopal.h>

/* Where something was written; `file` belongs to the config. */
struct nopal_place {
	const char *file;
	int line; /* 0: not about a line */
};

/* As nopal_problems_add and nopal_problems_warn, at a place. */
void nopal__problem_at(struct nopal_problems *problems, struct nopal_place place, const char *fix,
		       const char *cause, ...) __attribute__((format(printf, 4, 5)));
void nopal__warn_at(struct nopal_problems *problems, struct nopal_place place, const char *fix,
		    const char *cause, ...) __attribute__((format(printf, 4, 5)));

/* Moves all of `from` behind `to`, and empties `from`.  What names no file gets this place. */
void nopal__problems_move(struct nopal_problems *to, struct nopal_problems *from,
			  struct nopal_place place);

/* Ends the list with the error that memory is out.  Needs none. */
void nopal__problems_no_memory(struct nopal_problems *problems);

/* printf-like: the fix of the problem that was just added. */
void nopal__problems_fix(struct nopal_problems *problems, const char *fix, ...)
	__attribute__((format(printf, 2, 3)));
/* The fix of the problem that was just added becomes "did you mean `X`?" where a name of the
 * NULL-ended list is near; else `before` and all the names, or, where `before` is NULL, it stays as
 * it is. */
void nopal__problems_suggest(struct nopal_problems *problems, const char *name,
			     const char *const *names, const char *before);

#endif
