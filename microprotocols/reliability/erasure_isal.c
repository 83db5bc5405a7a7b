/* SPDX-License-Identifier: MIT */
/*
 * erasure_isal.c -- erasure codes with ISA-L: xor and cauchy.
 */
#include <isa-l/erasure_code.h>

#include "../isal.h"
#include "erasure.h"

/* ec_init_tables() writes so many bytes for each coefficient. */
enum { ERASURE_TABLE_BYTES = 32 };

bool nopal__erasure_has_cauchy(void)
{
	return true;
}

/* Tables of a full block; then, for a short block or a rebuild: its tables, its coefficients, and
 * two square matrices no larger than these; and the symbols that these are for. */
size_t nopal__erasure_memory(int code, uint32_t sources, uint32_t parities)
{
	enum { TABLES = 2, MATRICES = 3 };
	size_t coefficients = (size_t)sources * parities;

	if (code == NOPAL__XOR)
		return 0;
	return coefficients * (TABLES * ERASURE_TABLE_BYTES + MATRICES) + sources;
}

/* Row of a parity symbol, column of a source: as gf_gen_cauchy1_matrix() has it for the full
 * block. */
static uint8_t erasure_coefficient(const struct nopal__erasure *erasure, uint32_t row,
				   uint32_t source)
{
	return gf_inv((uint8_t)((erasure->sources + row) ^ source));
}

/* Tables for `rows` parity symbols over `sources` sources. */
static void erasure_fill(const struct nopal__erasure *erasure, uint32_t sources, uint32_t rows,
			 uint8_t *tables)
{
	size_t max = (size_t)erasure->sources * erasure->parities;
	uint8_t *matrix = erasure->work + max * ERASURE_TABLE_BYTES;

	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t source = 0; source < sources; source++)
			matrix[row * sources + source] = erasure_coefficient(erasure, row, source);
	ec_init_tables((int)sources, (int)rows, matrix, tables);
}

void nopal__erasure_init(struct nopal__erasure *erasure, int code, uint32_t sources,
			 uint32_t parities, void *memory)
{
	size_t max = (size_t)sources * parities;

	*erasure =
		(struct nopal__erasure){ .code = code, .sources = sources, .parities = parities };
	if (code == NOPAL__XOR || !memory)
		return;
	erasure->pattern = memory;
	erasure->tables = erasure->pattern + sources;
	erasure->work = erasure->tables + max * ERASURE_TABLE_BYTES;
	erasure_fill(erasure, sources, parities, erasure->tables);
}

void nopal__erasure_encode(struct nopal__erasure *erasure, uint32_t sources, uint32_t rows,
			   uint32_t length, uint8_t *const *source, uint8_t *const *parity)
{
	uint8_t *tables = erasure->tables;

	if (!rows)
		return;
	if (erasure->code == NOPAL__XOR) {
		nopal__xor_sum(parity[0], source, sources, length);
		return;
	}
	if (sources != erasure->sources) {
		tables = erasure->work;
		erasure->known = 0;
		erasure_fill(erasure, sources, rows, tables);
	}
	ec_encode_data((int)length, (int)sources, (int)rows, tables, (uint8_t **)(uintptr_t)source,
		       (uint8_t **)(uintptr_t)parity);
	nopal__isal_done();
}

/* The weight of a source that is there, which enters the equation of every parity, after the
 * inverse. */
static uint8_t erasure_source_weight(const struct nopal__erasure *erasure,
				     const struct nopal__erasure_task *task,
				     const uint8_t *inverse_row, uint8_t source)
{
	uint8_t weight = 0;

	for (uint32_t symbol = 0; symbol < task->sources; symbol++) {
		uint32_t index = task->index[symbol];

		if (index >= erasure->sources)
			weight ^= gf_mul(
				*inverse_row++,
				erasure_coefficient(erasure, index - erasure->sources, source));
	}
	return weight;
}

/* Makes the tables in `work` for these symbols: `square` has the coefficients of the missing
 * sources in the parity that is there, and `matrix` a row for each missing source, of its
 * coefficients over all symbols that are there. */
static bool erasure_solve(struct nopal__erasure *erasure, const struct nopal__erasure_task *task)
{
	size_t max = (size_t)erasure->sources * erasure->parities;
	uint8_t *matrix = erasure->work + max * ERASURE_TABLE_BYTES;
	uint8_t *square = matrix + max;
	uint8_t *inverse = square + max, *next = square, *weight = matrix;

	erasure->known = 0;
	for (uint32_t symbol = 0; symbol < task->sources; symbol++) {
		uint32_t index = task->index[symbol];

		for (uint32_t i = 0; index >= erasure->sources && i < task->missing; i++)
			*next++ = erasure_coefficient(erasure, index - erasure->sources,
						      task->missing_index[i]);
	}
	if (gf_invert_matrix(square, inverse, (int)task->missing) != 0)
		return false;
	for (uint32_t row = 0; row < task->missing; row++) {
		const uint8_t *inverse_row = inverse + row * task->missing;
		const uint8_t *parity_weight = inverse_row;

		for (uint32_t symbol = 0; symbol < task->sources; symbol++)
			if (task->index[symbol] >= erasure->sources)
				*weight++ = *parity_weight++;
			else
				*weight++ = erasure_source_weight(erasure, task, inverse_row,
								  task->index[symbol]);
	}
	ec_init_tables((int)task->sources, (int)task->missing, matrix, erasure->work);
	memcpy(erasure->pattern, task->index, task->sources);
	erasure->known = task->sources;
	return true;
}

bool nopal__erasure_rebuild(struct nopal__erasure *erasure, const struct nopal__erasure_task *task)
{
	if (!task->missing || task->missing > erasure->parities || task->missing > task->sources)
		return false;
	if (erasure->code == NOPAL__XOR) {
		nopal__xor_sum(task->rebuilt[0], task->symbol, task->sources, task->length);
		return true;
	}
	if ((erasure->known != task->sources ||
	     memcmp(erasure->pattern, task->index, task->sources) != 0) &&
	    !erasure_solve(erasure, task))
		return false;
	ec_encode_data((int)task->length, (int)task->sources, (int)task->missing, erasure->work,
		       (uint8_t **)(uintptr_t)task->symbol, (uint8_t **)(uintptr_t)task->rebuilt);
	nopal__isal_done();
	return true;
}
