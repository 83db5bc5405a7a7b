/* SPDX-License-Identifier: MIT */
/*
 * crc32c.h -- CRC-32C (Castagnoli), as iSCSI has it (RFC 3720, appendix B.4):
 * reflected, initial and final inversion; of "123456789" it is 0xE3069283.
 *
 * crc32c_isal.c asks ISA-L, crc32c_table.c needs nothing.
 */
#ifndef NOPAL_CRC32C_H
#define NOPAL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t nopal__crc32c(const uint8_t *bytes, size_t length);

#endif
