/* SPDX-License-Identifier: MIT */
/*
 * equations.h -- linear equations over GF(256) whose unknowns are the symbols of a sliding window,
 * solved as they come.
 *
 *   unknowns     7   8   9  10  11
 *   equation 1   a   .   b   .   c   = symbol      each begins with an unknown
 *   equation 2       d   e   .   .   = symbol      that no other has
 *   equation 3               f   .   = symbol      one unknown: it is known
 *
 * They stay reduced: an unknown is determined by them if and only if one of them has it alone, and
 * there are never more of them than unknowns.  What leaves the window is the first unknown of one
 * of them at most, and only that one goes with it.
 */
#ifndef NOPAL_EQUATIONS_H
#define NOPAL_EQUATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nopal__equation {
	uint64_t first;	 /* its lowest unknown */
	uint32_t length; /* bytes of the symbol; behind them are zeros */
	uint8_t *factor; /* of each unknown, by number modulo window */
	uint8_t *symbol;
};

struct nopal__equations {
	uint32_t window; /* unknowns that one may be about */
	uint32_t room;	 /* bytes of a symbol, at most */
	uint32_t count;
	struct nopal__equation *row; /* as many as unknowns, and the next */
};

size_t nopal__equations_memory(uint32_t window, uint32_t room);
void nopal__equations_init(struct nopal__equations *all, uint32_t window, uint32_t room,
			   void *memory);

/* A new equation, of which nothing is unknown and all is zero.  It counts from nopal__equations_add
 * on. */
struct nopal__equation *nopal__equations_next(struct nopal__equations *all);
/* One term of it: an unknown, or a symbol that is known. */
void nopal__equation_unknown(const struct nopal__equations *all, struct nopal__equation *next,
			     uint64_t number, uint8_t factor);
void nopal__equation_known(struct nopal__equation *next, uint8_t factor, const uint8_t *symbol,
			   uint32_t length);
/* The next equation, which has no unknown below `from`, counts now. */
void nopal__equations_add(struct nopal__equations *all, uint64_t from);

/* The symbol is known now. */
void nopal__equations_settle(struct nopal__equations *all, uint64_t number, const uint8_t *symbol,
			     uint32_t length);
/* Nothing below `floor` will be known. */
void nopal__equations_forget(struct nopal__equations *all, uint64_t floor);
/* An unknown that is determined; its symbol goes to `symbol` (`room` bytes), and its equation is
 * gone.  Returns its length; 0: there is none. */
uint32_t nopal__equations_solve(struct nopal__equations *all, uint64_t *ret_number,
				uint8_t *symbol);

#endif
