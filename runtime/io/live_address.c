/* SPDX-License-Identifier: MIT */
/*
 * live_address.c -- addresses: text, our own form, the kernel's form.
 *
 * Our form is IPv6 with IPv4 mapped into it.  A link-local address keeps the index of its interface
 * in `reserved`, since it means nothing without it.  Names are asked of getaddrinfo, which blocks:
 * parse before the loop runs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "io/live.h"
#include "base/problems.h"

enum {
	ADDRESS_HOST_ROOM = 256, /* RFC 1035: a name has at most 255 */
	ADDRESS_PORT_LAST = 65535,
	ADDRESS_DECIMAL = 10,
};

socklen_t nopal__live_address_to(const struct nopal_address *address, int family,
				 union live_sockaddr *ret_to)
{
	memset(ret_to, 0, sizeof(*ret_to));
	if (family == AF_INET) {
		ret_to->v4.sin_family = AF_INET;
		ret_to->v4.sin_port = htons(address->port);
		memcpy(&ret_to->v4.sin_addr, address->ip + NOPAL_V4_AT, NOPAL_V4_BYTES);
		return sizeof(ret_to->v4);
	}
	ret_to->v6.sin6_family = AF_INET6;
	ret_to->v6.sin6_port = htons(address->port);
	ret_to->v6.sin6_scope_id = address->interface;
	memcpy(&ret_to->v6.sin6_addr, address->ip, sizeof(address->ip));
	return sizeof(ret_to->v6);
}

void nopal__live_address_from(const union live_sockaddr *from, struct nopal_address *ret_address)
{
	memset(ret_address, 0, sizeof(*ret_address));
	if (from->any.sa_family == AF_INET) {
		nopal_address_set_v4(ret_address, &from->v4.sin_addr);
		ret_address->port = ntohs(from->v4.sin_port);
		return;
	}
	memcpy(ret_address->ip, &from->v6.sin6_addr, sizeof(ret_address->ip));
	ret_address->port = ntohs(from->v6.sin6_port);
	if (IN6_IS_ADDR_LINKLOCAL(&from->v6.sin6_addr))
		ret_address->interface = (uint16_t)from->v6.sin6_scope_id;
}

bool nopal_address_equal(const struct nopal_address *a, const struct nopal_address *b)
{
	return a->port == b->port && a->interface == b->interface &&
	       memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static void address_format_v6(const struct nopal_address *address, char *text)
{
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, address->ip, ip, sizeof(ip));
	if (address->interface)
		snprintf(text, NOPAL_ADDRESS_TEXT, "[%s%%%u]:%u", ip, (unsigned)address->interface,
			 (unsigned)address->port);
	else
		snprintf(text, NOPAL_ADDRESS_TEXT, "[%s]:%u", ip, (unsigned)address->port);
}

const char *nopal_address_format(const struct nopal_address *address, char *text)
{
	const uint8_t *v4 = address->ip + NOPAL_V4_AT;

	if (nopal_address_is_v4(address))
		snprintf(text, NOPAL_ADDRESS_TEXT, "%u.%u.%u.%u:%u", v4[0], v4[1], v4[2], v4[3],
			 (unsigned)address->port);
	else
		address_format_v6(address, text);
	return text;
}

static int address_wrong(struct nopal_problems *problems, const char *text, const char *cause)
{
	nopal_problems_add(problems, NULL, 0,
			   "write HOST:PORT, 192.0.2.1:9000 or [2001:db8::1]:9000",
			   "\"%s\" is no address: %s", text, cause);
	return -EINVAL;
}

/* Splits into host and port; the host loses its brackets. */
static const char *address_split(const char *text, char *host, const char **ret_port)
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
	if (last - first >= ADDRESS_HOST_ROOM)
		return "the host is too long";
	memcpy(host, first, (size_t)(last - first));
	host[last - first] = '\0';
	*ret_port = colon + 1;
	return NULL;
}

static const char *address_port(const char *text, uint16_t *ret_port)
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

static int address_resolve(const char *text, const char *host, struct nopal_address *ret_address,
			   struct nopal_problems *problems)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found = NULL;
	union live_sockaddr first;
	int error = getaddrinfo(host, NULL, &hints, &found);

	if (error == EAI_MEMORY) {
		nopal__problems_no_memory(problems);
		return -ENOMEM;
	}
	if (error) {
		nopal_problems_add(
			problems, NULL, 0, "check the name, or write the address in digits",
			"\"%s\": host \"%s\" is not known: %s", text, host, gai_strerror(error));
		return -ENOENT;
	}
	memset(&first, 0, sizeof(first));
	memcpy(&first, found->ai_addr,
	       found->ai_addrlen < sizeof(first) ? found->ai_addrlen : sizeof(first));
	freeaddrinfo(found);
	nopal__live_address_from(&first, ret_address);
	return 0;
}

/* Behind the address of IPv6, as ff02::1%eth0. */
static const char *address_interface(const char *name, struct nopal_address *address)
{
	unsigned index = if_nametoindex(name);
	uint16_t number = 0;

	if (!index && *name && !address_port(name, &number))
		index = number; /* as it is written where it is shown */
	if (!index)
		return "this machine has no such interface";
	if (index > UINT16_MAX)
		return "the interface has too large an index";
	address->interface = (uint16_t)index;
	return NULL;
}

static const char *address_digits(char *host, bool brackets, struct nopal_address *address)
{
	char *interface = strchr(host, '%');
	struct in_addr v4;

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
	return interface ? address_interface(interface, address) : NULL;
}

const char *nopal__address_read(const char *text, struct nopal_address *ret_address)
{
	struct nopal_address address = { .port = 0 };
	char host[ADDRESS_HOST_ROOM];
	const char *port_text, *wrong;

	wrong = address_split(text, host, &port_text);
	if (!wrong)
		wrong = address_port(port_text, &address.port);
	if (!wrong && !address.port)
		wrong = "nobody is at port 0";
	if (!wrong)
		wrong = address_digits(host, *text == '[', &address);
	if (!wrong)
		*ret_address = address;
	return wrong;
}

int nopal_address_parse(const char *text, struct nopal_address *ret_address,
			struct nopal_problems *problems)
{
	struct nopal_address address;
	char host[ADDRESS_HOST_ROOM];
	const char *port_text, *wrong;
	uint16_t port = 0;
	int error;

	wrong = address_split(text, host, &port_text);
	if (!wrong)
		wrong = address_port(port_text, &port);
	if (wrong)
		return address_wrong(problems, text, wrong);
	error = address_resolve(text, host, &address, problems);
	if (error)
		return error;
	address.port = port;
	*ret_address = address;
	return 0;
}

int nopal__live_port_refused(int error, const struct nopal_address *local,
			     struct nopal_problems *problems)
{
	char text[NOPAL_ADDRESS_TEXT];
	const char *fix = "give an address of this machine, or a wildcard one";

	if (error == -EADDRINUSE)
		fix = "another program has this port: take another, or port 0";
	else if (error == -ENOPROTOOPT)
		fix = "this kernel shares no port by a filter: take one loop";
	else if (error == -EACCES)
		fix = "ports below 1024 need root: take a higher one";
	nopal_problems_add(problems, NULL, 0, fix, "cannot open UDP port %s: %s",
			   nopal_address_format(local, text), strerror(-error));
	return error;
}
