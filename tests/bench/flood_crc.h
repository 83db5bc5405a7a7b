/* SPDX-License-Identifier: MIT */
/*
 * flood_crc.h -- CRC32C of the ceiling with integrity: by ISA-L, or not at all.
 */
#ifndef FLOOD_CRC_H
#define FLOOD_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool flood_crc_is_here(void);
/* `before`: the sum of what lies before, or any number to begin with. */
uint32_t flood_crc(const uint8_t *bytes, size_t length, uint32_t before);

#endif
