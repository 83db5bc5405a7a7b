/* SPDX-License-Identifier: MIT */
/*
 * lawcase.h -- a case of the law over all compositions: a config, a network and what is said over
 * it; as one text, which is a config with a comment before it:
 *
 *     # law: seed 17, pairs 2, messages 20, answers 12, spread 1500ms
 *     # weather: delay 20ms loss 50%; 2s: delay 20ms
 *     layer "layer0" {
 *     ...
 *
 * A case that fails is made smaller while it fails in the same way: layers, parts with those that
 * need them, settings, phases and words of the network, messages.
 */
#ifndef NOPAL_TEST_LAWCASE_H
#define NOPAL_TEST_LAWCASE_H

#include "support/oracle.h"

struct lawcase {
	char *config; /* by malloc */
	char weather[WEATHER_TEXT];
	uint64_t seed;
	unsigned pairs;
	uint32_t messages, answers;
	int64_t spread_ns, cut_ns;
	bool plain;
};

/* False: the text says no case. */
bool lawcase_read(const char *text, struct lawcase *ret_case);
/* By malloc. */
char *lawcase_text(const struct lawcase *one);
void lawcase_free(struct lawcase *one);
/* Fills `oracle`; false: a promise was broken. */
bool lawcase_run(const struct lawcase *one, struct oracle *oracle, bool traced);
/* The smallest case that fails as this one does, with its violation in `oracle`. */
void lawcase_shrink(struct lawcase *one, struct oracle *oracle);

#endif
