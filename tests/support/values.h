/* SPDX-License-Identifier: MIT */
/*
 * values.h -- values of parameters, drawn from their descriptors: the least, the most, and between
 * them at every magnitude; each word, each switch.
 */
#ifndef NOPAL_TEST_VALUES_H
#define NOPAL_TEST_VALUES_H

#include "support/draw.h"
#include <nopal/microprotocol.h>

/* A value as one would write it, by malloc; NULL: this one stays as it is. */
char *value_draw(struct draw *from, const struct nopal_parameter *parameter);

#endif
