/* SPDX-License-Identifier: MIT */
/*
 * address_text.c -- addresses of UDP as text, in digits, and compared.  Asks nobody but the kernel,
 * which interface has a name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_text.h"

enum {
	ADDRESS_PORT_LAST = 65535,
	ADDRESS_DECIMAL = 10,
};

bool nopal_address_equal(const struct nopal_address *a, const struct nopal_address *b)
{
	return a->port == b->port && a->interface == b->interface &&
	       memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

const char *nopal_address_format(const struct nopal_address *address, char *text)
{
	const uint8_t *v4 = address->ip + NOPAL_V4_AT;
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, address->ip, ip, sizeof(ip));
	if (nopal_address_is_v4(address))
		snprintf(text, NOPAL_ADDRESS_TEXT, "%u.%u.%u.%u:%u", v4[0], v4[1], v4[2], v4[3],
			 (unsigned)address->port);
	else if (address->interface)
		snprintf(text, NOPAL_ADDRESS_TEXT, "[%s%%%u]:%u", ip, (unsigned)address->interface,
			 (unsigned)address->port);
	else
		snprintf(text, NOPAL_ADDRESS_TEXT, "[%s]:%u", ip, (unsigned)address->port);
	return text;
}

/* Splits into host and port; the host loses its brackets. */
const char *nopal__address_split(const char *text, char *host, const char **ret_port)
{
	const char *colon = strrchr(text, ':'), *first = text, *last = colon;

	if (!colon || colon[1] == '\0')
		return "the port is missing";
	if (text[0] == '[') {
		first = text + 1;
		last = colon - 1;
		if (last < first || *last != ']')
			return "\"]\" does not stand before the port";
	} else if (memchr(text, ':', (size_t)(colon - text))) {
		return "an IPv6 address stands in brackets";
	}
	if (last == first)
		return "the host is missing";
	if (last - first >= NOPAL_HOST_ROOM)
		return "the host is too long";
	memcpy(host, first, (size_t)(last - first));
	host[last - first] = '\0';
	*ret_port = colon + 1;
	return NULL;
}

const char *nopal__address_port(const char *text, uint16_t *ret_port)
{
	unsigned long port;
	char *end;

	if (strspn(text, "0123456789") != strlen(text))
		return "the port is not a number";
	errno = 0;
	port = strtoul(text, &end, ADDRESS_DECIMAL);
	if (errno || port > ADDRESS_PORT_LAST)
		return "the port is above 65535";
	*ret_port = (uint16_t)port;
	return NULL;
}

static const char *address_digits(char *host, bool brackets, struct nopal_address *address)
{
	char *interface = strchr(host, '%');
	struct in_addr v4;
	uint16_t number = 0;
	unsigned index;

	if (!brackets) {
		if (inet_pton(AF_INET, host, &v4) != 1)
			return "it is not four numbers below 256";
		nopal_address_set_v4(address, &v4);
		return NULL;
	}
	if (interface)
		*interface++ = '\0';
	if (inet_pton(AF_INET6, host, address->ip) != 1)
		return "what is in brackets is not of IPv6";
	if (!interface)
		return NULL;
	/* Behind the address of IPv6, as ff02::1%eth0. */
	index = if_nametoindex(interface);
	if (!index && *interface && !nopal__address_port(interface, &number))
		index = number; /* as it is written where it is shown */
	if (!index)
		return "this machine has no such interface";
	if (index > UINT16_MAX)
		return "the interface has too large an index";
	address->interface = (uint16_t)index;
	return NULL;
}

const char *nopal__address_read(const char *text, struct nopal_address *ret_address)
{
	struct nopal_address address = { .port = 0 };
	char host[NOPAL_HOST_ROOM];
	const char *port_text, *wrong;

	wrong = nopal__address_split(text, host, &port_text);
	if (!wrong)
		wrong = nopal__address_port(port_text, &address.port);
	if (!wrong && !address.port)
		wrong = "nobody is at port 0";
	if (!wrong)
		wrong = address_digits(host, *text == '[', &address);
	if (!wrong)
		*ret_address = address;
	return wrong;
}
