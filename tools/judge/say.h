/* SPDX-License-Identifier: MIT */
/*
 * say.h -- verdicts and holders as text and as JSON.
 */
#ifndef NOPAL_SAY_H
#define NOPAL_SAY_H

#include <stdio.h>

#include "judge/judge.h"

/* A line for each broken promise, and one for the blamed microprotocol.  False: all promises were
 * held, and nothing was printed. */
bool judge_say(const struct judgement *judgement, FILE *out);
/* A line with the promises that this run could not judge; or none. */
void judge_say_not(const struct judgement *judgement, FILE *out);
/* Holders and their holds, a line a holder. */
void judge_say_held(const struct judge_suspects *suspects, FILE *out);
json_t *judge_json(const struct judgement *judgement);

#endif
