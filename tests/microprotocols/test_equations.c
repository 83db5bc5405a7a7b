/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "equations.h"
#include "gf256.h"
#include "support/test.h"

/* The one that this build may not have: both must be the same field. */
uint8_t table_multiply(uint8_t a, uint8_t b);
uint8_t table_inverse(uint8_t a);
void table_add(uint8_t *sum, const uint8_t *string, uint8_t factor, uint32_t length);
#define nopal__gf256_multiply table_multiply
#define nopal__gf256_inverse  table_inverse
#define nopal__gf256_add      table_add
#include "gf256_table.c"
#undef nopal__gf256_multiply
#undef nopal__gf256_inverse
#undef nopal__gf256_add

enum { VALUES = 256, LONGEST = 200 };

TEST(test_field)
{
	assert_int_equal(nopal__gf256_multiply(2, 0x80), 0x1d);
	for (unsigned a = 0; a < VALUES; a++) {
		for (unsigned b = 0; b < VALUES; b++)
			assert_int_equal(nopal__gf256_multiply((uint8_t)a, (uint8_t)b),
					 table_multiply((uint8_t)a, (uint8_t)b));
		if (!a)
			continue;
		assert_int_equal(nopal__gf256_inverse((uint8_t)a), table_inverse((uint8_t)a));
		assert_int_equal(
			nopal__gf256_multiply((uint8_t)a, nopal__gf256_inverse((uint8_t)a)), 1);
	}
}

TEST(test_strings)
{
	uint8_t string[LONGEST + 1], sum[2][LONGEST + 1];

	for (uint32_t length = 0; length <= LONGEST; length++) {
		uint8_t factor = (uint8_t)(length * 5);

		for (uint32_t at = 0; at <= LONGEST; at++) {
			string[at] = (uint8_t)rand();
			sum[0][at] = sum[1][at] = (uint8_t)rand();
		}
		nopal__gf256_add(sum[0], string, factor, length);
		for (uint32_t at = 0; at < length; at++)
			sum[1][at] ^= table_multiply(string[at], factor);
		assert_memory_equal(sum[0], sum[1], LONGEST + 1);
		table_add(sum[1], string, factor, length);
		nopal__gf256_add(sum[0], string, factor, length);
		assert_memory_equal(sum[0], sum[1], LONGEST + 1);
	}
}

/* ------------------------------------------------------------- against all at once */

enum {
	WINDOW = 8,
	SYMBOLS = 64,
	ROOM = 40,
	EQUATIONS = 200, /* of one history */
	HISTORIES = 1500,
	STEPS = 60,
};

/* Every equation that there was, and what is true. */
static struct history {
	uint64_t floor;
	uint8_t symbol[SYMBOLS][ROOM];
	uint32_t length[SYMBOLS];
	bool known[SYMBOLS];
	uint32_t count;
	uint8_t factor[EQUATIONS][SYMBOLS];
	struct nopal__equations all;
	void *memory;
} history;

static void history_open(void)
{
	memset(&history, 0, sizeof(history));
	history.floor = 1;
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		history.length[i] = 1 + (uint32_t)rand() % ROOM;
		for (uint32_t at = 0; at < history.length[i]; at++)
			history.symbol[i][at] = (uint8_t)(rand() >> 5);
		history.symbol[i][history.length[i] - 1] |= 1;
	}
	history.memory = calloc(1, nopal__equations_memory(WINDOW, ROOM));
	nopal__equations_init(&history.all, WINDOW, ROOM, history.memory);
}

/* Would all equations together give this one?  Unknowns are brought to the end of the columns but
 * this, which comes last: it is determined when a row has nothing else. */
static bool is_determined(uint32_t wanted)
{
	static uint8_t row[EQUATIONS][SYMBOLS];
	uint32_t rank = 0;

	memcpy(row, history.factor, sizeof(row));
	for (uint32_t i = 0; i < history.count; i++)
		for (uint32_t at = 0; at < SYMBOLS; at++)
			if (history.known[at])
				row[i][at] = 0;
	for (uint32_t turn = 0; turn < SYMBOLS; turn++) {
		uint32_t column = (wanted + 1 + turn) % SYMBOLS, found = rank;

		while (found < history.count && !row[found][column])
			found++;
		if (found == history.count)
			continue;
		if (column == wanted)
			return true; /* all before it are gone from this row */
		for (uint32_t at = 0; at < SYMBOLS; at++) {
			uint8_t swap = row[rank][at];

			row[rank][at] = row[found][at];
			row[found][at] = swap;
		}
		for (uint32_t i = rank + 1; i < history.count; i++) {
			uint8_t factor =
				table_multiply(row[i][column], table_inverse(row[rank][column]));

			for (uint32_t at = 0; factor && at < SYMBOLS; at++)
				row[i][at] ^= table_multiply(row[rank][at], factor);
		}
		rank++;
	}
	return false;
}

static void know(uint32_t i)
{
	assert_false(history.known[i]);
	assert_in_range(history.all.count, 0, WINDOW);
	history.known[i] = true;
	nopal__equations_settle(&history.all, i, history.symbol[i], history.length[i]);
}

/* The solutions are right, and none is missing. */
static void check_solved(void)
{
	uint8_t symbol[ROOM];
	uint64_t number;
	uint32_t length;

	while ((length = nopal__equations_solve(&history.all, &number, symbol)) != 0) {
		assert_in_range(number, history.floor, history.floor + WINDOW - 1);
		assert_true(is_determined((uint32_t)number));
		assert_in_range(length, history.length[number], ROOM);
		assert_memory_equal(symbol, history.symbol[number], length);
		know((uint32_t)number);
	}
	for (uint64_t i = history.floor; i < history.floor + WINDOW; i++)
		assert_true(history.known[i] || !is_determined((uint32_t)i));
}

/* Few values of factors, so that many equations depend on others. */
static void add_one(void)
{
	struct nopal__equation *next = nopal__equations_next(&history.all);

	for (uint64_t i = history.floor; i < history.floor + WINDOW; i++) {
		uint8_t factor = (uint8_t)(rand() % 3);

		history.factor[history.count][i] = factor;
		nopal__equation_known(next, factor, history.symbol[i], history.length[i]);
		if (!history.known[i])
			nopal__equation_unknown(&history.all, next, i, factor);
	}
	/* known ones are in the sum on both sides: they go */
	for (uint64_t i = history.floor; i < history.floor + WINDOW; i++)
		if (history.known[i])
			nopal__equation_known(next, history.factor[history.count][i],
					      history.symbol[i], history.length[i]);
	history.count++;
	nopal__equations_add(&history.all, history.floor);
}

static void step(void)
{
	uint32_t what = (uint32_t)rand() % 8;
	uint32_t i = (uint32_t)history.floor + (uint32_t)rand() % WINDOW;

	if (what < 4)
		add_one();
	else if (what < 6 && !history.known[i])
		know(i);
	else if (what == 6 && history.floor + WINDOW < SYMBOLS)
		nopal__equations_forget(&history.all, ++history.floor);
	check_solved();
}

TEST(test_as_all_at_once)
{
	srand(3);
	for (int i = 0; i < HISTORIES; i++) {
		history_open();
		for (int at = 0; at < STEPS; at++)
			step();
		free(history.memory);
	}
}
