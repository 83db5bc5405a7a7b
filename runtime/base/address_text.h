/* SPDX-License-Identifier: MIT */
/*
 * address_text.h -- addresses of UDP, read in digits: address_text.c.  Each function returns a
 * cause in words for people, or NULL where nothing is wrong.
 */
#ifndef NOPAL_BASE_ADDRESS_H
#define NOPAL_BASE_ADDRESS_H

#include <nopal/address.h>

enum { NOPAL_HOST_ROOM = 256 }; /* RFC 1035: a name has at most 255 */

/* Splits into host, of NOPAL_HOST_ROOM bytes, and port; the host loses its brackets. */
const char *nopal__address_split(const char *text, char *host, const char **ret_port);
const char *nopal__address_port(const char *text, uint16_t *ret_port);
/* In digits alone, so that no name is resolved; an interface may be named. */
const char *nopal__address_read(const char *text, struct nopal_address *ret_address);

#endif
