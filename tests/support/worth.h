/* SPDX-License-Identifier: MIT */
/*
 * worth.h -- what a microprotocol of a config is worth: what changes without its line.
 *
 * The checker refuses the rest; or the rest promises less, or has a property less that an
 * application may give a message, or has one stream to a host of a group in place of several; or,
 * on some network, it costs more.  The first of these that holds is the line's worth.  A part that
 * modifies a congestion policy is for paths that the networks here are not: each such part has a
 * test of its own, with it and without it.
 */
#ifndef NOPAL_TEST_WORTH_H
#define NOPAL_TEST_WORTH_H

#include "support/costs.h"

enum worth { WORTH_REFUSED, WORTH_PROMISE, WORTH_COST, WORTH_OWN_TEST, WORTH_NOTHING, WORTHS };
extern const char *const worth_words[WORTHS];

struct worth_line {
	const char *layer, *name; /* of the microprotocol */
	enum worth worth;
	char loss[320]; /* without the line, in words; empty where it is WORTH_NOTHING */
};

/* Of the microprotocol `ret_line->name`, which the good config `with` has and the config `without`,
 * a text, has not. */
void worth_judge(struct costs *with, const char *without, struct worth_line *ret_line);

/* Judges each line of a shipped config, in order. */
typedef void worth_told(const struct worth_line *line, void *user);
void worth_of_config(const char *name, worth_told *told, void *user);

#endif
