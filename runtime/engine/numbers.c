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

/* Below the floor all was seen, and from the end on nothing; the bits say it between. */
uint64_t nopal_numbers_next(const struct nopal_numbers *numbers, uint64_t from, uint64_t end,
			    bool seen)
{
	if (from < numbers->floor && !seen)
		from = numbers->floor;
	while (from >= numbers->floor && from < numbers->end) {
		uint64_t word = numbers->bits[numbers_word(numbers, from)];
		unsigned shift = from % WORD_BITS;

		word = (seen ? word : ~word) >> shift;
		from += word ? (unsigned)__builtin_ctzll(word) : WORD_BITS - shift;
		if (from > numbers->end)
			from = numbers->end;
		if (word)
			break;
	}
	if (from >= numbers->end && seen)
		from = end;
	return from < end ? from : end;
}

static bool numbers_grow(struct nopal_session *session, struct nopal_numbers *numbers,
			 uint64_t number)
{
	struct nopal_numbers grown = *numbers;
	uint64_t run;

	if (grown.room == 0)
		grown.room = grown.window < ROOM_AT_FIRST ? grown.window : ROOM_AT_FIRST;
	while (number - grown.floor >= grown.room)
		grown.room *= 2;
	grown.bits = nopal_alloc(session, grown.room / 8);
	if (!grown.bits)
		return false;
	memset(grown.bits, 0, grown.room / 8);
	/* The bits of [floor, end), which may share a word where it wraps around. */
	for (uint64_t at = numbers->floor; at < numbers->end; at += run) {
		unsigned shift = at % WORD_BITS;

		run = WORD_BITS - shift;
		if (run > numbers->end - at)
			run = numbers->end - at;
		grown.bits[numbers_word(&grown, at)] |= numbers->bits[numbers_word(numbers, at)] &
							UINT64_MAX >> (WORD_BITS - run) << shift;
	}
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

uint64_t nopal_numbers_skip(struct nopal_numbers *numbers, uint64_t number)
{
	uint64_t end = number < numbers->end ? number : numbers->end;
	uint64_t unseen = number - numbers->floor, run;

	if (number <= numbers->floor)
		return 0;
	for (uint64_t at = numbers->floor; at < end; at += run) {
		unsigned from = at % WORD_BITS;
		uint64_t *word = &numbers->bits[numbers_word(numbers, at)], mask;

		run = WORD_BITS - from;
		if (run > end - at)
			run = end - at;
		mask = UINT64_MAX >> (WORD_BITS - run) << from;
		unseen -= (unsigned)__builtin_popcountll(*word & mask);
		*word &= ~mask;
	}
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
