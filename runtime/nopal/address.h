/* SPDX-License-Identifier: MIT */
/*
 * address.h -- where somebody is: an address of IPv6, or of IPv4 mapped into it, and a port.  Part
 * of nopal.h and microprotocol.h, which include it.
 */
#ifndef NOPAL_ADDRESS_H
#define NOPAL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_address {
	uint8_t ip[16];	    /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;	    /* host order */
	uint16_t interface; /* that it means, by index; 0: none */
};

enum {
	NOPAL_ADDRESS_TEXT = 64,
	NOPAL_V4_AT = 12, /* in `ip`: the four bytes of IPv4 (RFC 4291, 2.5.5.2) */
	NOPAL_V4_BYTES = 4,
};
/* Writes at most NOPAL_ADDRESS_TEXT bytes; returns `text`. */
const char *nopal_address_format(const struct nopal_address *address, char *text);
bool nopal_address_equal(const struct nopal_address *a, const struct nopal_address *b);

static const uint8_t nopal_v4_mapped[NOPAL_V4_AT] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* Is it an address of IPv4, mapped into IPv6? */
static inline bool nopal_address_is_v4(const struct nopal_address *address)
{
	return memcmp(address->ip, nopal_v4_mapped, NOPAL_V4_AT) == 0;
}

/* In network order, as in a struct in_addr.  Nothing but `ip` changes. */
static inline void nopal_address_set_v4(struct nopal_address *address, const void *bytes)
{
	memcpy(address->ip, nopal_v4_mapped, NOPAL_V4_AT);
	memcpy(address->ip + NOPAL_V4_AT, bytes, NOPAL_V4_BYTES);
}

/* Every address of the family that another one is of.  Nothing but `ip` changes. */
static inline void nopal_address_set_any(struct nopal_address *address,
					 const struct nopal_address *like)
{
	memset(address->ip, 0, sizeof(address->ip));
	if (nopal_address_is_v4(like))
		memcpy(address->ip, nopal_v4_mapped, NOPAL_V4_AT);
}

/* Is it one of 224.0.0.0/4 or ff00::/8? */
static inline bool nopal_address_is_multicast(const struct nopal_address *address)
{
	enum { V4_BITS = 4, V4_CLASS = 14 };

	return nopal_address_is_v4(address) ? address->ip[NOPAL_V4_AT] >> V4_BITS == V4_CLASS
					    : address->ip[0] == UINT8_MAX;
}

#ifdef __cplusplus
}
#endif

#endif
