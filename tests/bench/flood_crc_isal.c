/* SPDX-License-Identifier: MIT */
/*
 * flood_crc_isal.c -- CRC32C by ISA-L, which leaves the upper halves of vector
 * registers dirty: without a word about it the instructions behind it crawl.
 */
#include <isa-l/crc.h>

#include "flood_crc.h"

bool flood_crc_is_here(void)
{
	return true;
}

#if defined(__x86_64__)
static void flood_crc_clear_uppers(void)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::: "memory");
}
#else
static void flood_crc_clear_uppers(void)
{
}
#endif

uint32_t flood_crc(const uint8_t *bytes, size_t length, uint32_t before)
{
	/* it takes what it does not write without const */
	uint32_t sum = crc32_iscsi((unsigned char *)(uintptr_t)bytes,
				   (int)length, before);

	flood_crc_clear_uppers();
	return sum;
}
