/* SPDX-License-Identifier: MIT */
/*
 * erasure_xor_only.c -- erasure codes of a build without ISA-L: xor.
 */
#include "erasure.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

bool nopal__erasure_has_cauchy(void)
{
	return false;
}

size_t nopal__erasure_memory(int code, uint32_t sources, uint32_t parities)
{
	return 0;
}

void nopal__erasure_init(struct nopal__erasure *erasure, int code, uint32_t sources,
			 uint32_t parities, void *memory)
{
	*erasure =
		(struct nopal__erasure){ .code = code, .sources = sources, .parities = parities };
}

void nopal__erasure_encode(struct nopal__erasure *erasure, uint32_t sources, uint32_t rows,
			   uint32_t length, uint8_t *const *source, uint8_t *const *parity)
{
	if (rows)
		nopal__xor_sum(parity[0], source, sources, length);
}

bool nopal__erasure_rebuild(struct nopal__erasure *erasure, const struct nopal__erasure_task *task)
{
	if (erasure->code != NOPAL__XOR || task->missing != 1)
		return false;
	nopal__xor_sum(task->rebuilt[0], task->symbol, task->sources, task->length);
	return true;
}
