/* SPDX-License-Identifier: MIT */
/*
 * problems.h -- what the runtime itself needs of problems beyond nopal.h.
 */
#ifndef NOPAL_PROBLEMS_H
#define NOPAL_PROBLEMS_H

#include "config.h"
#include "nopal.h"

/* Moves all of `from` behind `to`, and empties `from`.  What names no file
 * gets this place; `prefix` (may be NULL) goes before its cause. */
void nopal__problems_move(struct nopal_problems *to,
			  struct nopal_problems *from, struct nopal_place place,
			  const char *prefix);
/* "did you mean `X`?" for the nearest name, else `otherwise` copied, or NULL.
 * Caller frees. */
char *nopal__suggestion(const char *name, const char *const *names,
			const char *otherwise);

#endif
