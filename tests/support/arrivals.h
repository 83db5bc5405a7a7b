/* SPDX-License-Identifier: MIT */
/*
 * arrivals.h -- messages that arrive at a session of a rig as if reassembly had just put them
 * together, for tests of what orders and checks them.
 */
#ifndef NOPAL_TEST_ARRIVALS_H
#define NOPAL_TEST_ARRIVALS_H

#include "support/rig.h"
#include "support/test.h"

/* A message with these values of the first attributes of `at`; the first of them is its text. */
void arrive_with(struct nopal_at at, const uint64_t *values, unsigned count);

/* A message that covers [first, next) and has `first` as its text.  Attributes 0 and 1 of `at`
 * are order_first and order_next. */
void arrive_at(struct nopal_at at, uint64_t first, uint64_t next);
void arrive(struct nopal_at at, uint64_t number);

/* The next permutation in lexical order; false after the last. */
bool next_order(unsigned *order, unsigned count);
void assert_delivered(const struct rig_side *side, uint32_t place, uint64_t number);

#endif
