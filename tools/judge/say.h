/* SPDX-License-Identifier: MIT */
/*
 * say.h -- verdicts and holders as text and as JSON.
 */
#ifndef NOPAL_SAY_H
#define NOPAL_SAY_H

#include <stdio.h>

#include "judge/judge.h"

/* A line for each promise that is broken, and one for who is blamed.  False: all was held, and
 * nothing was said. */
bool judge_say(const struct judgement *judgement, FILE *out);
/* A line of what this run could not judge of all that is promised; or none. */
void judge_say_not(const struct judgement *judgement, FILE *out);
/* Holders and their holds, a line a holder; nothing where nobody does. */
void judge_say_held(const struct judge_suspects *suspects, FILE *out);
json_t *judge_json(const struct judgement *judgement);

#endif
