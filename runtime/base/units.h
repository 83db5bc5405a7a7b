/* SPDX-License-Identifier: MIT */
/*
 * units.h -- quantities as people write them, beyond nopal_quantity_parse().
 */
#ifndef NOPAL_UNITS_H
#define NOPAL_UNITS_H

#include <nopal/microprotocol.h>
#include "base/arena.h"
#include "base/problems.h"

struct nopal_quantity {
	int64_t value;		      /* base units, or segments */
	bool in_segments;	      /* NOPAL_SIZE given as `seg` */
	struct nopal_address address; /* NOPAL_ADDRESS: in place of the value */
};

/* As nopal_quantity_parse(), but takes `seg`, and `choices` ("a|b|c") where the unit is
 * NOPAL_WORD. */
bool nopal__quantity_read(const char *text, enum nopal_unit unit, const char *choices,
			  const char *what, struct nopal_quantity *ret_quantity,
			  struct nopal_problems *problems);

/* The way one would write it: 25ms, 4MiB, 10seg, on, newreno. */
const char *nopal__quantity_text(struct nopal_arena *arena, struct nopal_quantity quantity,
				 enum nopal_unit unit, const char *choices);

/* Is it outside [least, most] (either may be NULL), as far as can be told: a bound in segments
 * compares with segments alone.  Adds the problem. */
bool nopal__quantity_outside(struct nopal_quantity quantity, enum nopal_unit unit, const char *min,
			     const char *max, const char *what, struct nopal_problems *problems);

#endif
