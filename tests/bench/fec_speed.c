/* SPDX-License-Identifier: MIT */
/*
 * fec_speed -- one round of erasure codes: ours against ISA-L's own encoding.
 *
 *     fec_speed MILLISECONDS
 *
 * Prints a line "WHAT SHAPE MEASURE GBYTES_A_SECOND" each.  Bytes are those of the sources.  `isal`
 * is ec_encode_data with its tables made before; `cauchy` and `xor` are the codes of
 * forward_error_correction on the same buffers.  Rebuilding gives back as many sources as there is
 * parity; `isal` has its inverse before.  `rebuild` is of blocks that lost the same symbols, of
 * which the inverse is kept; `anew` is of blocks that lost others than the one before, so that it
 * is found for each.  `nopal bench fec` runs this, as it uses private names.
 */
#include <isa-l/erasure_code.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "erasure.h"

enum {
	SYMBOL = 1400,	    /* bytes */
	SYMBOL_ROOM = 1408, /* whole cache lines */
	MAX = 32,	    /* symbols of a block */
	BLOCKS = 16,	    /* their symbols stay in the second cache */
	TABLE_BYTES = 32,   /* of one coefficient, see ec_init_tables */
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	LOOK_AFTER = 64, /* blocks between looks at the clock */
};

static const struct shape {
	const char *name;
	uint32_t sources, parities;
} shapes[] = { { "4+1", 4, 1 }, { "8+2", 8, 2 }, { "16+4", 16, 4 } };

struct bench {
	const struct shape *shape;
	struct nopal__erasure erasure;
	void *memory;		     /* the code's */
	uint8_t *tables;	     /* ISA-L's */
	uint8_t *block[BLOCKS][MAX]; /* sources, then parities */
	uint8_t *rebuilt[MAX];
	uint8_t index[MAX], missing[MAX];
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static uint8_t *symbol_new(void)
{
	uint8_t *bytes = aligned_alloc(64, SYMBOL_ROOM);

	if (!bytes)
		exit(1);
	for (int i = 0; i < SYMBOL_ROOM; i++)
		bytes[i] = (uint8_t)rand();
	return bytes;
}

static void bench_open(struct bench *bench, const struct shape *shape, int code)
{
	uint32_t k = shape->sources, p = shape->parities;
	uint8_t matrix[MAX * MAX];

	bench->shape = shape;
	bench->memory = malloc(nopal__erasure_memory(code, k, p) + 1);
	nopal__erasure_init(&bench->erasure, code, k, p, bench->memory);
	bench->tables = malloc((size_t)TABLE_BYTES * k * p);
	gf_gen_cauchy1_matrix(matrix, (int)(k + p), (int)k);
	ec_init_tables((int)k, (int)p, matrix + k * k, bench->tables);
	for (uint32_t i = 0; i < k + p; i++)
		for (int b = 0; b < BLOCKS; b++)
			bench->block[b][i] = symbol_new();
	/* the first sources are lost: parity is in their place */
	for (uint32_t i = 0; i < p; i++) {
		bench->rebuilt[i] = symbol_new();
		bench->missing[i] = (uint8_t)i;
	}
	for (uint32_t i = 0; i < k; i++)
		bench->index[i] = (uint8_t)(i + p);
}

static void bench_close(struct bench *bench)
{
	for (uint32_t i = 0; i < bench->shape->sources + bench->shape->parities; i++)
		for (int b = 0; b < BLOCKS; b++)
			free(bench->block[b][i]);
	for (uint32_t i = 0; i < bench->shape->parities; i++)
		free(bench->rebuilt[i]);
	free(bench->tables);
	free(bench->memory);
}

/* ---------------------------------------------------------------- what is timed */

static void isal_encode(struct bench *bench, uint8_t **symbol)
{
	uint32_t k = bench->shape->sources;

	ec_encode_data(SYMBOL, (int)k, (int)bench->shape->parities, bench->tables, symbol,
		       symbol + k);
}

static void isal_rebuild(struct bench *bench, uint8_t **symbol)
{
	uint32_t k = bench->shape->sources, p = bench->shape->parities;

	ec_encode_data(SYMBOL, (int)k, (int)p, bench->tables, symbol + p, bench->rebuilt);
}

static void our_encode(struct bench *bench, uint8_t **symbol)
{
	uint32_t k = bench->shape->sources;

	nopal__erasure_encode(&bench->erasure, k, bench->shape->parities, SYMBOL, symbol,
			      symbol + k);
}

static void our_rebuild(struct bench *bench, uint8_t **symbol)
{
	nopal__erasure_rebuild(&bench->erasure, &(struct nopal__erasure_task){
							.sources = bench->shape->sources,
							.length = SYMBOL,
							.index = bench->index,
							.symbol = symbol + bench->shape->parities,
							.missing = bench->shape->parities,
							.missing_index = bench->missing,
							.rebuilt = bench->rebuilt });
}

/* As after a block that lost others. */
static void our_anew(struct bench *bench, uint8_t **symbol)
{
	bench->erasure.known = 0;
	our_rebuild(bench, symbol);
}

/* Gigabytes of sources a second. */
static double speed(struct bench *bench, void (*work)(struct bench *, uint8_t **), int64_t for_ns)
{
	int64_t begun_ns, took_ns;
	uint64_t blocks = 0;

	for (int i = 0; i < BLOCKS; i++)
		work(bench, bench->block[i]);
	begun_ns = now_ns();
	do {
		for (int i = 0; i < LOOK_AFTER; i++)
			work(bench, bench->block[i % BLOCKS]);
		blocks += LOOK_AFTER;
		took_ns = now_ns() - begun_ns;
	} while (took_ns < for_ns);
	return (double)(blocks * bench->shape->sources * SYMBOL) / (double)took_ns;
}

static void measure(const struct shape *shape, int code, const char *what, bool ours,
		    int64_t for_ns)
{
	struct bench bench = { 0 };

	bench_open(&bench, shape, code);
	printf("%s %s encode %.3f\n", what, shape->name,
	       speed(&bench, ours ? our_encode : isal_encode, for_ns));
	printf("%s %s rebuild %.3f\n", what, shape->name,
	       speed(&bench, ours ? our_rebuild : isal_rebuild, for_ns));
	printf("%s %s anew %.3f\n", what, shape->name,
	       speed(&bench, ours ? our_anew : isal_rebuild, for_ns));
	bench_close(&bench);
}

/* The order turns from round to round, so that no row is always first. */
int main(int argc, char **argv)
{
	int64_t for_ns = (argc > 1 ? atoi(argv[1]) : 50) * (int64_t)NS_PER_MS;
	unsigned first = (unsigned)now_ns() % 3;

	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (unsigned turn = 0; turn < 3; turn++) {
			unsigned which = (first + turn) % 3;

			if (which == 0)
				measure(&shapes[i], NOPAL__CAUCHY, "isal", false, for_ns);
			else if (which == 1)
				measure(&shapes[i], NOPAL__CAUCHY, "cauchy", true, for_ns);
			else if (shapes[i].parities == 1)
				measure(&shapes[i], NOPAL__XOR, "xor", true, for_ns);
		}
	}
	return 0;
}
