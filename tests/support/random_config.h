/* SPDX-License-Identifier: MIT */
/*
 * random_config.h -- a config drawn from what the registry has: which
 * microprotocols of those that do not exclude each other, which values of their
 * parameters, one layer or two.  The same seed draws the same text; much of what
 * is drawn must be refused: needs that stay open, values that do not go together.
 */
#ifndef NOPAL_TEST_RANDOM_CONFIG_H
#define NOPAL_TEST_RANDOM_CONFIG_H

#include <stdint.h>

/* Caller frees. */
char *random_config(uint64_t seed, int layers);

#endif
