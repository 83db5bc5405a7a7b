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

#include "base/address_text.h"
#include "base/problems.h"
#include "io/live/live.h"

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

int nopal_address_parse(const char *text, struct nopal_address *ret_address,
			struct nopal_problems *problems)
{
	struct nopal_address address;
	char host[NOPAL_HOST_ROOM];
	const char *port_text, *wrong;
	uint16_t port = 0;
	int error;

	wrong = nopal__address_split(text, host, &port_text);
	if (!wrong)
		wrong = nopal__address_port(port_text, &port);
	if (wrong) {
		nopal_problems_add(problems, NULL, 0,
				   "write HOST:PORT, 192.0.2.1:9000 or [2001:db8::1]:9000",
				   "\"%s\" is no address: %s", text, wrong);
		return -EINVAL;
	}
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
