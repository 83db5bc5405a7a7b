/* SPDX-License-Identifier: MIT */
/*
 * md5.h -- MD5 (RFC 1321): of nothing it is d41d8cd98f00b204e9800998ecf8427e.
 *
 * A checksum here, and no more: two texts of one digest can be made by anybody since 2004.
 * md5_openssl.c asks libcrypto; where that was not there, md5_none.c says so, and no config that
 * names md5 loads.
 */
#ifndef NOPAL_MD5_H
#define NOPAL_MD5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOPAL__MD5_BYTES = 16 };

bool nopal__md5_found(void);
void nopal__md5(const uint8_t *bytes, size_t length, uint8_t *ret_digest);

#endif
