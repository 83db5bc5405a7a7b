/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "erasure.h"
#include "support/test.h"

/* Every way to lose symbols of a block of at most MOST symbols, twice: what the first time found is
 * there the second time, but for what came between. */
enum { MAX = 8, LENGTH = 67 };

struct bench {
	struct nopal__erasure erasure;
	void *memory;
	uint32_t sources; /* of the block: k, or fewer */
	uint8_t store[MAX + MAX][LENGTH];
	uint8_t rebuilt[MAX][LENGTH];
};

static void bench_open(struct bench *bench, int code, uint32_t k, uint32_t p)
{
	size_t bytes = nopal__erasure_memory(code, k, p);

	bench->memory = malloc(bytes + 1);
	assert_non_null(bench->memory);
	nopal__erasure_init(&bench->erasure, code, k, p, bench->memory);
}

/* Fills `sources` sources, and makes all parity over them. */
static void bench_encode(struct bench *bench, uint32_t sources)
{
	uint8_t *source[MAX], *parity[MAX];

	bench->sources = sources;
	for (uint32_t i = 0; i < sources; i++) {
		source[i] = bench->store[i];
		for (uint32_t at = 0; at < LENGTH; at++)
			source[i][at] = (uint8_t)(rand() >> 7);
	}
	for (uint32_t i = 0; i < bench->erasure.parities; i++)
		parity[i] = bench->store[bench->erasure.sources + i];
	nopal__erasure_encode(&bench->erasure, sources, bench->erasure.parities, LENGTH, source,
			      parity);
}

/* Symbols of the full code by bit, those of a short block alone; there are as many as the block has
 * sources. */
static void bench_rebuild(struct bench *bench, uint32_t there)
{
	uint8_t index[MAX], missing_index[MAX];
	uint8_t *symbol[MAX], *rebuilt[MAX];
	uint32_t k = bench->erasure.sources, count = 0, missing = 0;

	for (uint32_t i = 0; i < k + bench->erasure.parities; i++) {
		if (there >> i & 1) {
			index[count] = (uint8_t)i;
			symbol[count++] = bench->store[i];
		} else if (i < bench->sources) {
			rebuilt[missing] = bench->rebuilt[missing];
			missing_index[missing++] = (uint8_t)i;
		}
	}
	if (!missing)
		return;
	assert_true(nopal__erasure_rebuild(
		&bench->erasure, &(struct nopal__erasure_task){ .sources = bench->sources,
								.length = LENGTH,
								.index = index,
								.symbol = symbol,
								.missing = missing,
								.missing_index = missing_index,
								.rebuilt = rebuilt }));
	for (uint32_t i = 0; i < missing; i++)
		assert_memory_equal(rebuilt[i], bench->store[missing_index[i]], LENGTH);
}

/* Is this a set of `sources` symbols that the short block has? */
static bool is_pattern(uint32_t there, uint32_t k, uint32_t sources)
{
	uint32_t absent = ((1u << k) - 1) & ~((1u << sources) - 1);

	return !(there & absent) && (uint32_t)__builtin_popcount(there) == sources;
}

static void check_code(int code, uint32_t k, uint32_t p)
{
	struct bench bench;

	bench_open(&bench, code, k, p);
	for (uint32_t sources = 1; sources <= k; sources++) {
		bench_encode(&bench, sources);
		for (uint32_t there = 0; there < 1u << (k + p); there++) {
			if (!is_pattern(there, k, sources))
				continue;
			bench_rebuild(&bench, there);
			bench_rebuild(&bench, there);
			bench_encode(&bench, sources);
			bench_rebuild(&bench, there);
		}
	}
	free(bench.memory);
}

TEST(test_xor_gives_back_any_one)
{
	for (uint32_t k = 1; k < MAX; k++)
		check_code(NOPAL__XOR, k, 1);
}

TEST(test_cauchy_gives_back_any_pattern)
{
	if (!nopal__erasure_has_cauchy())
		skip();
	for (uint32_t n = 2; n <= MAX; n++)
		for (uint32_t k = 1; k < n; k++)
			check_code(NOPAL__CAUCHY, k, n - k);
}

/* The longest code there is: every coefficient stays within the field. */
TEST(test_cauchy_at_its_longest)
{
	enum { K = 200, P = NOPAL__ERASURE_MAX - K, BYTES = 32 };
	static uint8_t store[K + P][BYTES], rebuilt[P][BYTES];
	uint8_t *source[K], *parity[P], *symbol[K], *out[P];
	uint8_t index[K], missing_index[P];
	struct nopal__erasure erasure;
	void *memory;

	if (!nopal__erasure_has_cauchy())
		skip();
	memory = malloc(nopal__erasure_memory(NOPAL__CAUCHY, K, P));
	nopal__erasure_init(&erasure, NOPAL__CAUCHY, K, P, memory);
	for (int i = 0; i < K; i++) {
		source[i] = store[i];
		memset(store[i], i * 7 + 1, BYTES);
	}
	for (int i = 0; i < P; i++)
		parity[i] = store[K + i];
	nopal__erasure_encode(&erasure, K, P, BYTES, source, parity);
	for (int i = 0; i < K; i++) { /* the first P sources are lost */
		index[i] = (uint8_t)(i < P ? K + i : i);
		symbol[i] = store[index[i]];
	}
	for (int i = 0; i < P; i++) {
		missing_index[i] = (uint8_t)i;
		out[i] = rebuilt[i];
	}
	assert_true(nopal__erasure_rebuild(
		&erasure,
		&(struct nopal__erasure_task){ K, BYTES, index, symbol, P, missing_index, out }));
	for (int i = 0; i < P; i++)
		assert_memory_equal(rebuilt[i], store[i], BYTES);
	free(memory);
}

TEST(test_more_missing_than_parity_is_refused)
{
	uint8_t index[2] = { 0, 2 }, missing_index[2] = { 0, 1 };
	uint8_t bytes[4][8] = { { 0 } };
	uint8_t *symbol[2] = { bytes[0], bytes[1] };
	uint8_t *rebuilt[2] = { bytes[2], bytes[3] };
	struct nopal__erasure erasure;

	nopal__erasure_init(&erasure, NOPAL__XOR, 2, 1, NULL);
	assert_false(nopal__erasure_rebuild(
		&erasure,
		&(struct nopal__erasure_task){ 2, 8, index, symbol, 2, missing_index, rebuilt }));
}
