/* SPDX-License-Identifier: MIT */
/*
 * numbers.c -- which numbers of a moving window were seen.
 *
 * A ring of bits, one a number in [floor, floor + window); the bit of number n
 * is n modulo the window.  Bits below the floor are zero, so a number that
 * enters the window finds its bit clear.  The floor moves 64 numbers at a time
 * where whole words are complete.
 */
#include <errno.h>
#include <string.h>

#include "microprotocol.h"

enum { WORD_BITS = 64 };

static uint32_t numbers_word(const struct nopal_numbers *numbers,
			     uint64_t number)
{
	return (uint32_t)((number & (numbers->window - 1)) / WORD_BITS);
}

static uint64_t numbers_bit(uint64_t number)
{
	return UINT64_C(1) << number % WORD_BITS;
}

int nopal_numbers_init(struct nopal_session *session,
		       struct nopal_numbers *numbers, uint64_t first,
		       uint32_t window)
{
	uint32_t room = WORD_BITS;
	uint64_t *bits;

	while (room < window && room <= UINT32_MAX / 2)
		room *= 2;
	bits = room < window ? NULL : nopal_alloc(session, room / 8);
	if (!bits)
		return -ENOMEM;
	memset(bits, 0, room / 8);
	*numbers = (struct nopal_numbers){
		.floor = first,
		.end = first,
		.bits = bits,
		.window = room,
	};
	return 0;
}

enum nopal_number_is nopal_numbers_test(const struct nopal_numbers *numbers,
					uint64_t number)
{
	if (number < numbers->floor)
		return NOPAL_NUMBER_SEEN;
	if (number - numbers->floor >= numbers->window)
		return NOPAL_NUMBER_BEYOND;
	if (numbers->bits[numbers_word(numbers, number)] & numbers_bit(number))
		return NOPAL_NUMBER_SEEN;
	return NOPAL_NUMBER_NEW;
}

/* Moves the floor over what is complete, and clears it behind. */
static void numbers_advance(struct nopal_numbers *numbers)
{
	while (numbers->floor < numbers->end) {
		unsigned from = numbers->floor % WORD_BITS;
		uint64_t *word =
			&numbers->bits[numbers_word(numbers, numbers->floor)];
		uint64_t missing = ~*word >> from;
		unsigned run = WORD_BITS - from;

		if (missing && (unsigned)__builtin_ctzll(missing) < run)
			run = (unsigned)__builtin_ctzll(missing);
		if (!run)
			return;
		*word &= ~(UINT64_MAX >> (WORD_BITS - run) << from);
		numbers->floor += run;
	}
}

enum nopal_number_is nopal_numbers_mark(struct nopal_numbers *numbers,
					uint64_t number)
{
	enum nopal_number_is is = nopal_numbers_test(numbers, number);

	if (is != NOPAL_NUMBER_NEW)
		return is;
	numbers->bits[numbers_word(numbers, number)] |= numbers_bit(number);
	if (number >= numbers->end)
		numbers->end = number + 1;
	numbers_advance(numbers);
	return is;
}

/* Clears [floor, number), which is shorter than the window. */
static void numbers_clear(struct nopal_numbers *numbers, uint64_t number)
{
	uint64_t at = numbers->floor;

	while (at < number) {
		unsigned from = at % WORD_BITS;
		uint64_t run = WORD_BITS - from;

		if (run > number - at)
			run = number - at;
		numbers->bits[numbers_word(numbers, at)] &=
			~(UINT64_MAX >> (WORD_BITS - run) << from);
		at += run;
	}
}

void nopal_numbers_skip(struct nopal_numbers *numbers, uint64_t number)
{
	if (number <= numbers->floor)
		return;
	if (number - numbers->floor >= numbers->window)
		memset(numbers->bits, 0, numbers->window / 8);
	else
		numbers_clear(numbers, number);
	numbers->floor = number;
	if (numbers->end < number)
		numbers->end = number;
	numbers_advance(numbers);
}
