/* SPDX-License-Identifier: MIT */
/* test_numbers -- the bitmap ring against an array of flags. */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "support/test.h"

enum { SPACE = 1 << 16, STEPS = 20000 };

static uint64_t state;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 20;
}

/* Memory of a session that has no budget, or none left. */
static bool broke;

void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	void *memory = broke ? NULL : malloc(bytes);

	(void)session;
	if (memory)
		memset(memory, 0xa5, bytes);
	return memory;
}

void nopal_free(struct nopal_session *session, void *memory)
{
	(void)session;
	free(memory);
}

/* Numbers count from `first`; flags are by offset. */
struct model {
	struct nopal_numbers numbers;
	uint64_t first, floor, end;
	bool seen[SPACE];
};

static enum nopal_number_is expected(const struct model *m, uint64_t offset)
{
	if (offset < m->floor || (offset < SPACE && m->seen[offset]))
		return NOPAL_NUMBER_SEEN;
	return offset - m->floor >= m->numbers.window ? NOPAL_NUMBER_BEYOND : NOPAL_NUMBER_NEW;
}

static void settle(struct model *m, uint64_t end)
{
	if (m->end < end)
		m->end = end;
	while (m->seen[m->floor])
		m->floor++;
	assert_true(m->numbers.floor == m->first + m->floor);
	assert_true(m->numbers.end == m->first + m->end);
}

static void mark(struct model *m, uint64_t offset)
{
	enum nopal_number_is is = expected(m, offset);

	assert_int_equal(nopal_numbers_test(&m->numbers, m->first + offset), is);
	assert_int_equal(nopal_numbers_mark(NULL, &m->numbers, m->first + offset), is);
	if (is == NOPAL_NUMBER_NEW) {
		m->seen[offset] = true;
		settle(m, offset + 1);
	}
}

static void give_up(struct model *m, uint64_t offset)
{
	uint64_t unseen = 0;

	for (uint64_t at = m->floor; at < offset; at++)
		unseen += at >= SPACE || !m->seen[at];
	assert_int_equal(nopal_numbers_skip(&m->numbers, m->first + offset), unseen);
	if (offset <= m->floor)
		return;
	memset(m->seen + m->floor, 1, offset - m->floor);
	settle(m, offset);
}

static void step(struct model *m)
{
	uint64_t near = m->floor + draw() % (2 * m->numbers.window);

	if (draw() % 50 == 0)
		give_up(m, near - draw() % (near + 1) % 100);
	else if (draw() % 4)
		mark(m, m->floor + draw() % 70);
	else
		mark(m, draw() % 8 ? near : near / 2);
}

static void run(uint64_t seed, uint64_t first, uint32_t window)
{
	static struct model m;

	m = (struct model){ .first = first };
	state = seed;
	assert_int_equal(nopal_numbers_init(&m.numbers, first, window), 0);
	assert_true(m.numbers.window >= window);
	for (int i = 0; i < STEPS && m.floor < SPACE - 4 * m.numbers.window; i++)
		step(&m);
	assert_true(m.floor > 1000);
	nopal_free(NULL, m.numbers.bits);
}

TEST(agrees_with_an_array)
{
	run(1, 1, 64);
	run(2, 0, 256);
	run(3, UINT32_MAX - 500, 1000);
	run(4, 77, 1);
}

TEST(runs_over_word_ends)
{
	struct nopal_numbers numbers = { 0 };

	assert_int_equal(nopal_numbers_init(&numbers, 60, 128), 0);
	for (uint64_t n = 187; n > 60; n--)
		assert_int_equal(nopal_numbers_mark(NULL, &numbers, n), NOPAL_NUMBER_NEW);
	assert_int_equal(nopal_numbers_test(&numbers, 188), NOPAL_NUMBER_BEYOND);
	assert_int_equal(numbers.floor, 60);
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, 60), NOPAL_NUMBER_NEW);
	assert_int_equal(numbers.floor, 188);
	for (uint64_t n = 188; n < 188 + 128; n++)
		assert_int_equal(nopal_numbers_test(&numbers, n), NOPAL_NUMBER_NEW);
	nopal_free(NULL, numbers.bits);
}

TEST(budget_and_far_numbers)
{
	struct nopal_numbers numbers = { 0 };

	assert_true(nopal_numbers_init(&numbers, 0, UINT32_MAX) < 0);
	assert_int_equal(nopal_numbers_init(&numbers, 5, 65), 0);
	assert_int_equal(numbers.window, 128);
	broke = true;
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, 5), NOPAL_NUMBER_NEW);
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, 7), NOPAL_NUMBER_BEYOND);
	broke = false;
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, 7), NOPAL_NUMBER_NEW);
	assert_int_equal(nopal_numbers_test(&numbers, UINT64_MAX), NOPAL_NUMBER_BEYOND);
	nopal_numbers_skip(&numbers, UINT64_MAX - 10);
	assert_true(numbers.floor == UINT64_MAX - 10);
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, UINT64_MAX - 2), NOPAL_NUMBER_NEW);
	nopal_free(NULL, numbers.bits);
}

/* Numbers in order take no memory, few out of order take little, and what grew is given back when
 * no number is missing. */
TEST(memory_follows_the_holes)
{
	struct nopal_numbers numbers = { 0 };

	assert_int_equal(nopal_numbers_init(&numbers, 1000, 1 << 16), 0);
	for (uint64_t n = 1000; n < 5000; n++)
		nopal_numbers_mark(NULL, &numbers, n);
	assert_null(numbers.bits);
	nopal_numbers_mark(NULL, &numbers, 5001);
	assert_true(numbers.room < 1000);
	nopal_numbers_mark(NULL, &numbers, 5000 + 9999);
	assert_true(numbers.room >= 10000 && numbers.room < 20000);
	nopal_numbers_idle(NULL, &numbers);
	assert_non_null(numbers.bits);
	for (uint64_t n = 5000; n < 15000; n++)
		assert_int_equal(nopal_numbers_mark(NULL, &numbers, n),
				 n == 5001 || n == 14999 ? NOPAL_NUMBER_SEEN : NOPAL_NUMBER_NEW);
	nopal_numbers_idle(NULL, &numbers);
	assert_null(numbers.bits);
	assert_int_equal(nopal_numbers_test(&numbers, 14999), NOPAL_NUMBER_SEEN);
	assert_int_equal(nopal_numbers_mark(NULL, &numbers, 15002), NOPAL_NUMBER_NEW);
	nopal_free(NULL, numbers.bits);
}

/* The next number, at every place, wherever the window is and how full. */
TEST(finds_what_is_next)
{
	struct nopal_numbers numbers = { 0 };
	enum { WINDOW = 256, ROUNDS = 60, STEP = 37 };

	assert_int_equal(nopal_numbers_init(&numbers, 1, WINDOW), 0);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t low = numbers.floor > 3 ? numbers.floor - 3 : 0;
		uint64_t high = numbers.floor + WINDOW;

		for (uint64_t n = 0; n < round * 7 % WINDOW; n++)
			nopal_numbers_mark(NULL, &numbers,
					   numbers.floor + n * (round | 1) % WINDOW);
		for (uint64_t from = low; from < high; from++)
			for (int seen = 0; seen < 2; seen++) {
				uint64_t next = from;

				while (next < high && (nopal_numbers_test(&numbers, next) ==
						       NOPAL_NUMBER_SEEN) != seen)
					next++;
				assert_int_equal(nopal_numbers_next(&numbers, from, high, seen),
						 next);
			}
		nopal_numbers_skip(&numbers, numbers.floor + STEP);
	}
	assert_int_equal(nopal_numbers_next(&numbers, 1, 1, true), 1);
	nopal_free(NULL, numbers.bits);
}
