/* SPDX-License-Identifier: MIT */
/*
 * md5_openssl.c -- MD5 by libcrypto.
 *
 * The functions of OpenSSL 3 for digests allocate memory in each call, or need a context for each
 * session, and refuse MD5 where the machine is set to approved algorithms.  The older ones do none
 * of that, and are called deprecated.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>

#include "md5.h"

bool nopal__md5_found(void)
{
	return true;
}

void nopal__md5(const uint8_t *bytes, size_t length, uint8_t *ret_digest)
{
	MD5_CTX context;

	MD5_Init(&context);
	MD5_Update(&context, bytes, length);
	MD5_Final(ret_digest, &context);
}
