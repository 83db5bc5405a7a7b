/* SPDX-License-Identifier: MIT */
/*
 * blame.h -- names the microprotocol that broke a promise.
 */
#ifndef NOPAL_BLAME_H
#define NOPAL_BLAME_H

#include "judge/judge.h"

/* Names the microprotocol that broke a promise, or ended the session badly: the one that its holds
 * or deeds convict, or else the giver of the promise. */
void judge_blame(struct judgement *judgement, const struct judge_suspects *suspects);

#endif
