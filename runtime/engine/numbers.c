/* SPDX-License-Identifier: MIT */
/*
 * numbers.c -- which numbers of a moving window were seen.
 *
 * A ring of bits, one a number in [floor, end); the bit of number n is n modulo the ring's room.
 * The ring is made with the first number that leaves a hole and grows, up to the window, with the
 * distance of the last one from the floor:
 * numbers that come in their order need no memory.  Bits outside of [floor, end) are zero, so a
 * number that enters finds its bit clear.  The floor moves 64 numbers at a time where whole words
 * are complete.
 */
#include <errno.h>
#include <string.h>

#include <nopal/microprotocol.h>

enum { WORD_BITS = 64, ROOM_AT_FIRST = 256 };

static uint32_t numbers_word(const struct nopal_numbers *numbers, uint64_t number)
{
	return (uint32_t)((number & (numbers->room - 1)) / WORD_BITS);
}

static uint64_t numbers_bit(uint64_t number)
{
	return UINT64_C(1) << number % WORD_BITS;
}

int nopal_numbers_init(struct nopal_numbers *numbers, uint64_t first, uint32_t window)
{
	uint32_t room = WORD_BITS;

	while (room < window && room <= UINT32_MAX / 2)
		room *= 2;
	if (room < window)
		return -EINVAL;
	*numbers = (struct nopal_numbers){
		.floor = first,
		.end = first,
		.window = room,
	};
	return 0;
}

enum nopal_number_is nopal_numbers_test(const struct nopal_numbers *numbers, uint64_t number)
{
	if (number < numbers->floor)
		return NOPAL_NUMBER_SEEN;
	if (number - numbers->floor >= numbers->window)
		return NOPAL_NUMBER_BEYOND;
	if (number >= numbers->end)
		return NOPAL_NUMBER_NEW;
	if (numbers->bits[numbers_word(numbers, number)] & numbers_bit(number))
		return NOPAL_NUMBER_SEEN;
	return NOPAL_NUMBER_NEW;
}

/* The same among [floor, end), from one of these on; the end: there is none. */
static uint64_t numbers_find(const struct nopal_numbers *numbers, uint64_t from, bool seen)
{
	while (from < numbers->end) {
		uint64_t word = numbers->bits[numbers_word(numbers, from)];
		unsigned shift = from % WORD_BITS;

		word = (seen ? word : ~word) >> shift;
		if (word) {
			from += (unsigned)__builtin_ctzll(word);
			break;
		}
		from += WORD_BITS - shift;
	}
	return from < numbers->end ? from : numbers->end;
}

/* Below the floor all was seen, and from the end on nothing. */
uint64_t nopal_numbers_next(const struct nopal_numbers *numbers, uint64_t from, uint64_t end,
			    bool seen)
{
	if (from < numbers->floor && !seen)
		from = numbers->floor;
	if (from >= numbers->floor && from < numbers->end)
		from = numbers_find(numbers, from, seen);
	if (from >= numbers->end && seen)
		from = end;
	return from < end ? from : end;
}

/* The bits of [floor, end), which may share a word where it wraps around. */
static void numbers_copy(const struct nopal_numbers *from, struct nopal_numbers *to)
{
	uint64_t at = from->floor;

	while (at < from->end) {
		unsigned shift = at % WORD_BITS;
		uint64_t run = WORD_BITS - shift;

		if (run > from->end - at)
			run = from->end - at;
		to->bits[numbers_word(to, at)] |= from->bits[numbers_word(from, at)] &
						  UINT64_MAX >> (WORD_BITS - run) << shift;
		at += run;
	}
}

static bool numbers_grow(struct nopal_session *session, struct nopal_numbers *numbers,
			 uint64_t number)
{
	struct nopal_numbers grown = *numbers;

	if (grown.room == 0)
		grown.room = grown.window < ROOM_AT_FIRST ? grown.window : ROOM_AT_FIRST;
	while (number - grown.floor >= grown.room)
		grown.room *= 2;
	grown.bits = nopal_alloc(session, grown.room / 8);
	if (!grown.bits)
		return false;
	memset(grown.bits, 0, grown.room / 8);
	numbers_copy(numbers, &grown);
	nopal_free(session, numbers->bits);
	*numbers = grown;
	return true;
}

/* Moves the floor over what is complete, and clears it behind. */
static void numbers_advance(struct nopal_numbers *numbers)
{
	while (numbers->floor < numbers->end) {
		unsigned from = numbers->floor % WORD_BITS;
		uint64_t *word = &numbers->bits[numbers_word(numbers, numbers->floor)];
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

enum nopal_number_is nopal_numbers_mark(struct nopal_session *session,
					struct nopal_numbers *numbers, uint64_t number)
{
	enum nopal_number_is is = nopal_numbers_test(numbers, number);

	if (is != NOPAL_NUMBER_NEW)
		return is;
	if (number == numbers->floor && number == numbers->end) {
		numbers->floor = numbers->end = number + 1;
		return is;
	}
	if (number - numbers->floor >= numbers->room && !numbers_grow(session, numbers, number))
		return NOPAL_NUMBER_BEYOND;
	numbers->bits[numbers_word(numbers, number)] |= numbers_bit(number);
	if (number >= numbers->end)
		numbers->end = number + 1;
	numbers_advance(numbers);
	return is;
}

/* Clears [floor, number), which is not beyond the end; returns how many were set. */
static uint64_t numbers_clear(struct nopal_numbers *numbers, uint64_t number)
{
	uint64_t at = numbers->floor, seen = 0;

	while (at < number) {
		unsigned from = at % WORD_BITS;
		uint64_t run = WORD_BITS - from, mask;
		uint64_t *word = &numbers->bits[numbers_word(numbers, at)];

		if (run > number - at)
			run = number - at;
		mask = UINT64_MAX >> (WORD_BITS - run) << from;
		seen += (unsigned)__builtin_popcountll(*word & mask);
		*word &= ~mask;
		at += run;
	}
	return seen;
}

uint64_t nopal_numbers_skip(struct nopal_numbers *numbers, uint64_t number)
{
	uint64_t unseen = number - numbers->floor;

	if (number <= numbers->floor)
		return 0;
	unseen -= numbers_clear(numbers, number < numbers->end ? number : numbers->end);
	numbers->floor = number;
	if (numbers->end < number)
		numbers->end = number;
	numbers_advance(numbers);
	return unseen;
}

void nopal_numbers_idle(struct nopal_session *session, struct nopal_numbers *numbers)
{
	if (numbers->floor != numbers->end)
		return;
	nopal_free(session, numbers->bits);
	numbers->bits = NULL;
	numbers->room = 0;
}
