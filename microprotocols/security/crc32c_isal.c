/* SPDX-License-Identifier: MIT */
/*
 * crc32c_isal.c -- CRC-32C by ISA-L, which leaves both inversions to its caller,
 * and the upper halves of vector registers dirty: the next instruction that uses
 * a lower half waits long for them.
 */
#include <isa-l/crc.h>

#include "crc32c.h"

#if defined(__x86_64__)
/* Harmless where the machine has no such registers in use; only on those that
 * have them does ISA-L leave any. */
static void crc32c_clear_uppers(void)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::: "memory");
}
#else
static void crc32c_clear_uppers(void)
{
}
#endif

uint32_t nopal__crc32c(const uint8_t *bytes, size_t length)
{
	/* ISA-L reads only; its prototype is older than const. */
	uint32_t crc = ~crc32_iscsi((unsigned char *)(uintptr_t)bytes,
				    (int)length, UINT32_MAX);

	crc32c_clear_uppers();
	return crc;
}
