/* SPDX-License-Identifier: MIT */
/*
 * equations.c -- Gauss and Jordan's elimination, an equation at a time.
 */
#include <string.h>

#include "equations.h"
#include "gf256.h"

size_t nopal__equations_memory(uint32_t window, uint32_t room)
{
	return (window + (size_t)1) * (sizeof(struct nopal__equation) + window + room);
}

void nopal__equations_init(struct nopal__equations *all, uint32_t window, uint32_t room,
			   void *memory)
{
	uint8_t *bytes;

	*all = (struct nopal__equations){ .window = window, .room = room, .row = memory };
	bytes = (uint8_t *)(all->row + window + 1);
	for (uint32_t i = 0; i <= window; i++) {
		all->row[i].factor = bytes;
		all->row[i].symbol = bytes + window;
		bytes += (size_t)window + room;
	}
}

static uint8_t *equation_factor(const struct nopal__equations *all,
				const struct nopal__equation *row, uint64_t number)
{
	return &row->factor[number % all->window];
}

/* Equations are as many as are lost at a time: they are moved, not linked. */
static void equations_drop(struct nopal__equations *all, uint32_t at)
{
	struct nopal__equation gone = all->row[at];

	all->count--;
	all->row[at] = all->row[all->count];
	all->row[all->count] = gone;
}

struct nopal__equation *nopal__equations_next(struct nopal__equations *all)
{
	struct nopal__equation *next = &all->row[all->count];

	next->length = 0;
	memset(next->factor, 0, all->window);
	memset(next->symbol, 0, all->room);
	return next;
}

void nopal__equation_unknown(const struct nopal__equations *all, struct nopal__equation *next,
			     uint64_t number, uint8_t factor)
{
	*equation_factor(all, next, number) = factor;
}

void nopal__equation_known(struct nopal__equation *next, uint8_t factor, const uint8_t *symbol,
			   uint32_t length)
{
	nopal__gf256_add(next->symbol, symbol, factor, length);
	if (length > next->length)
		next->length = length;
}

/* Takes from `row` so much of `other` that `number` is gone from it. */
static void equation_clear(const struct nopal__equations *all, struct nopal__equation *row,
			   const struct nopal__equation *other, uint64_t number)
{
	uint8_t factor = *equation_factor(all, row, number);

	if (!factor)
		return;
	factor = nopal__gf256_multiply(factor,
				       nopal__gf256_inverse(*equation_factor(all, other, number)));
	for (uint32_t i = 0; i < all->window; i++)
		row->factor[i] ^= nopal__gf256_multiply(other->factor[i], factor);
	nopal__equation_known(row, factor, other->symbol, other->length);
}

/* Its first unknown from `from` on; false: it has none. */
static bool equation_find_first(const struct nopal__equations *all, struct nopal__equation *row,
				uint64_t from)
{
	for (uint32_t i = 0; i < all->window; i++) {
		if (*equation_factor(all, row, from + i)) {
			row->first = from + i;
			return true;
		}
	}
	return false;
}

static void equations_clear_others(struct nopal__equations *all, const struct nopal__equation *row)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (&all->row[i] != row)
			equation_clear(all, &all->row[i], row, row->first);
}

void nopal__equations_add(struct nopal__equations *all, uint64_t from)
{
	struct nopal__equation *next = &all->row[all->count];

	for (uint32_t i = 0; i < all->count; i++)
		equation_clear(all, next, &all->row[i], all->row[i].first);
	if (!equation_find_first(all, next, from))
		return; /* it says nothing new */
	equations_clear_others(all, next);
	all->count++;
}

void nopal__equations_settle(struct nopal__equations *all, uint64_t number, const uint8_t *symbol,
			     uint32_t length)
{
	for (uint32_t i = all->count; i-- > 0;) {
		struct nopal__equation *row = &all->row[i];
		uint8_t *factor = equation_factor(all, row, number);

		if (!*factor)
			continue;
		nopal__equation_known(row, *factor, symbol, length);
		*factor = 0;
		if (row->first != number)
			continue;
		if (equation_find_first(all, row, number))
			equations_clear_others(all, row);
		else
			equations_drop(all, i);
	}
}

void nopal__equations_forget(struct nopal__equations *all, uint64_t floor)
{
	for (uint32_t i = all->count; i-- > 0;)
		if (all->row[i].first < floor)
			equations_drop(all, i);
}

uint32_t nopal__equations_solve(struct nopal__equations *all, uint64_t *ret_number, uint8_t *symbol)
{
	const struct nopal__equation *found = NULL;
	uint32_t length;

	for (uint32_t i = 0; i < all->count; i++) {
		uint32_t unknowns = 0;

		if (found && all->row[i].first >= found->first)
			continue;
		for (uint32_t j = 0; j < all->window && unknowns < 2; j++)
			unknowns += all->row[i].factor[j] != 0;
		if (unknowns == 1)
			found = &all->row[i];
	}
	if (!found)
		return 0;
	length = found->length;
	memset(symbol, 0, length);
	nopal__gf256_add(symbol, found->symbol,
			 nopal__gf256_inverse(*equation_factor(all, found, found->first)), length);
	*ret_number = found->first;
	equations_drop(all, (uint32_t)(found - all->row));
	return length;
}
