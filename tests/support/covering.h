/* SPDX-License-Identifier: MIT */
/*
 * covering.h -- configs that hold, between them, every pair of microprotocols that a valid config
 * can hold; made from the registry alone.
 *
 * An *item* is a microprotocol with one value of one of its enumerated parameters, a microprotocol
 * without any such, or the absence of one.  Each pair of items of which no two contradict each
 * other is held by a config, or it is said why none can: so every microprotocol is seen with and
 * without every other, and with every word and switch of it.
 *
 * Each config begins with a pair that none holds yet, gets what it needs, and then whatever adds
 * the most pairs.  Same registry, same configs.
 */
#ifndef NOPAL_TEST_COVERING_H
#define NOPAL_TEST_COVERING_H

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "support/selection.h"

/* Why no config holds a pair. */
enum covering_why {
	COVERING_EXCLUSION,  /* one excludes the other */
	COVERING_ONE_ROLE,   /* both provide what a layer has one of */
	COVERING_ONE_WRITER, /* both write one variable */
	COVERING_NEED,	     /* nobody who meets a need fits */
	COVERING_WITHOUT,    /* one cannot be without the other */
	COVERING_REFUSED,    /* each that was tried is refused by the checker */
	COVERING_WHYS,
};
const char *covering_why_text(enum covering_why why);

/* Reasons of the checker, or of a need, for some impossible pairs. */
struct covering_reason {
	char text[160];
	size_t pairs;
};

struct covering {
	struct kit kit;
	char **texts; /* the configs */
	size_t count;
	size_t items;
	/* pairs of two microprotocols (a value of a parameter is one); of one with the absence of
	 * another */
	size_t together, apart;
	size_t impossible[COVERING_WHYS];
	struct covering_reason *reasons;
	size_t reason_count;
	size_t unexplained; /* neither held nor shown to be impossible */
	/* internal */
	unsigned long round;
	struct nopal_arena arena; /* of the arrays */
	struct covering_item *item;
	/* items x items: state; 1 + the place of the reason in `reasons`, or 0 */
	uint8_t *pair;
	uint16_t *reason_of;
};

/* `about`: only what pairs this microprotocol has; NULL: all.  Each `round` makes other configs. */
void covering_make(struct covering *covering, const char *about, unsigned long round);
/* Does a config hold these two, by their places in the kit, with some values? */
bool covering_rendezvous(const struct covering *covering, unsigned a, unsigned b);
/* Why none does; NULL: one does, or nobody asked for the pair. */
const char *covering_apart(const struct covering *covering, unsigned a, unsigned b);
void covering_free(struct covering *covering);
/* A line for each pair that is impossible, with its reason. */
void covering_print(const struct covering *covering, FILE *out);

#endif
