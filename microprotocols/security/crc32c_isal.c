/* SPDX-License-Identifier: MIT */
/*
 * crc32c_isal.c -- CRC-32C by ISA-L, which leaves both inversions to its caller.
 */
#include <isa-l/crc.h>

#include "../isal.h"
#include "crc32c.h"

uint32_t nopal__crc32c(const uint8_t *bytes, size_t length)
{
	/* ISA-L reads only; its prototype is older than const. */
	uint32_t crc = ~crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)length, UINT32_MAX);

	nopal__isal_done();
	return crc;
}
