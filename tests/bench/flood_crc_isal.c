/* SPDX-License-Identifier: MIT */
/*
 * flood_crc_isal.c -- CRC32C by ISA-L, the quickest there is.
 */
#include <isa-l/crc.h>

#include "flood_crc.h"

bool flood_crc_is_here(void)
{
	return true;
}

uint32_t flood_crc(const uint8_t *bytes, size_t length)
{
	/* it takes what it does not write without const */
	return crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)length, 0);
}
