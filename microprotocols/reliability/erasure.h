/* SPDX-License-Identifier: MIT */
/*
 * erasure.h -- block erasure codes over equally long symbols.
 *
 * A code of k sources and p parity symbols gives back all sources from any k of the k + p.  `xor`
 * has one parity, the sum of all sources; `cauchy` has up to 256 - k, by Cauchy matrices over
 * GF(2^8): every square part of such a matrix has an inverse, so that no pattern of losses is
 * without a solution.  (Luigi Rizzo, Effective Erasure Codes for Reliable Computer Communication
 * Protocols, CCR 1997, which CTP used, has Vandermonde matrices.)
 *
 * A block of fewer than k sources is one whose other sources are zero: its parity is that of the
 * full block, and nothing is computed for them.
 *
 * erasure_isal.c has both codes, erasure_xor_only.c has xor alone.
 */
#ifndef NOPAL_ERASURE_H
#define NOPAL_ERASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum nopal__erasure_code { NOPAL__XOR, NOPAL__CAUCHY };

enum { NOPAL__ERASURE_MAX = 255 }; /* symbols of a block, of all kinds */

struct nopal__erasure {
	int code;		/* enum nopal__erasure_code */
	uint32_t sources;	/* k of a full block */
	uint32_t parities;	/* p */
	uint8_t *tables, *work; /* in the memory given at init */
	uint8_t *pattern;	/* symbols that `work` has tables for ... */
	uint32_t known;		/* ... so many; 0: it has none */
};

/* The symbols of a block that arrived, and the sources to rebuild of them. */
struct nopal__erasure_task {
	uint32_t sources;     /* k of this block */
	uint32_t length;      /* bytes of each symbol */
	const uint8_t *index; /* of `sources` symbols: parity from full k on */
	uint8_t *const *symbol;
	uint32_t missing; /* sources not among them: so many parities are */
	const uint8_t *missing_index;
	uint8_t *const *rebuilt; /* room for each missing source */
};

bool nopal__erasure_has_cauchy(void);
/* Bytes of memory that nopal__erasure_init wants; may be 0. */
size_t nopal__erasure_memory(int code, uint32_t sources, uint32_t parities);
/* Without memory the code knows its shape alone; it codes nothing but xor. */
void nopal__erasure_init(struct nopal__erasure *erasure, int code, uint32_t sources,
			 uint32_t parities, void *memory);
/* The first `rows` parity symbols over `sources` <= k sources. */
void nopal__erasure_encode(struct nopal__erasure *erasure, uint32_t sources, uint32_t rows,
			   uint32_t length, uint8_t *const *source, uint8_t *const *parity);
/* False where the symbols do not determine the missing ones.  The tables of a pattern of losses are
 * kept for the next block that has the same. */
bool nopal__erasure_rebuild(struct nopal__erasure *erasure, const struct nopal__erasure_task *task);

/* to ^= from, a word at a time. */
static inline void nopal__xor_into(uint8_t *restrict to, const uint8_t *restrict from,
				   uint32_t length)
{
	uint32_t at = 0;
	uint64_t a, b;

	for (; at + sizeof(a) <= length; at += (uint32_t)sizeof(a)) {
		memcpy(&a, to + at, sizeof(a));
		memcpy(&b, from + at, sizeof(b));
		a ^= b;
		memcpy(to + at, &a, sizeof(a));
	}
	for (; at < length; at++)
		to[at] ^= from[at];
}

/* The sum of `count` >= 1 symbols. */
static inline void nopal__xor_sum(uint8_t *sum, uint8_t *const *symbol, uint32_t count,
				  uint32_t length)
{
	uint32_t i;

	memcpy(sum, symbol[0], length);
	for (i = 1; i < count; i++)
		nopal__xor_into(sum, symbol[i], length);
}

#endif
