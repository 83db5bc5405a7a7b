/* SPDX-License-Identifier: MIT */
/*
 * md5_none.c -- without libcrypto: there is no MD5, and checksum says so when a config names it.
 */
#include <string.h>

#include "md5.h"

bool nopal__md5_found(void)
{
	return false;
}

void nopal__md5(const uint8_t *bytes, size_t length, uint8_t *ret_digest)
{
	(void)bytes, (void)length;
	memset(ret_digest, 0, NOPAL__MD5_BYTES);
}
