/* SPDX-License-Identifier: MIT */
/*
 * composition.h -- compositions that nobody chose: one to three layers, each multiplicity, any
 * microprotocols that fit together, any values of their parameters; drawn from the descriptors
 * alone.
 *
 * A draw begins with two microprotocols, which the seed names in turn, so that every one and every
 * pair comes up; each brings what it needs, and then come others that fit.  What descriptors cannot
 * say the checker says: the line that it names first loses its settings, or goes, until the whole
 * is accepted.
 */
#ifndef NOPAL_TEST_COMPOSITION_H
#define NOPAL_TEST_COMPOSITION_H

#include "support/selection.h"

enum {
	COMPOSITION_ANY, /* as the seed draws */
	COMPOSITION_ONE,
	COMPOSITION_TWO
};

struct composition_tally {
	uint64_t drawn;	   /* texts that the checker was given first */
	uint64_t at_once;  /* of these, those that it took as they were */
	uint64_t mended;   /* taken without what it had named */
	uint64_t accepted; /* the sum of the two */
};

/* A config that the checker takes, a microprotocol a line.  By malloc. */
char *composition_draw(const struct kit *kit, uint64_t seed, int layers,
		       struct composition_tally *tally);
/* Does the checker take it?  If not, the line of its first complaint. */
bool composition_is_good(const char *text, int *ret_line);
/* Without what the checker names, line by line, but for the line `kept` (0: none); NULL: nothing
 * good is left.  By malloc. */
char *composition_mended(const char *text, int kept);

#endif
