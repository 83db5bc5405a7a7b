/* SPDX-License-Identifier: MIT */
/*
 * flood_crc_isal.c -- CRC32C by ISA-L.
 */
#include <isa-l/crc.h>

#include "../../microprotocols/isal.h"
#include "flood_crc.h"

bool flood_crc_is_here(void)
{
	return true;
}

uint32_t flood_crc(const uint8_t *bytes, size_t length, uint32_t before)
{
	/* it takes what it does not write without const */
	uint32_t sum = crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)length, before);

	nopal__isal_done();
	return sum;
}
