/* SPDX-License-Identifier: MIT */
/*
 * blame.h -- names the microprotocol that broke a promise.
 */
#ifndef NOPAL_BLAME_H
#define NOPAL_BLAME_H

#include "judge/judge.h"

/* Names who broke what is broken, or ended what ended badly: whom the holds or the deeds convict,
 * or else who gave the promise. */
void judge_blame(struct judgement *judgement, const struct judge_suspects *suspects);

#endif
