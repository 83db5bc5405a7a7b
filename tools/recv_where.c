/* SPDX-License-Identifier: MIT */
/*
 * recv_where.c -- the line to run on the other side: with an address that the
 * other side can reach, where we listen on all of ours.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "recv_where.h"

enum {
	WHERE_MAPPED_BYTES = 12, /* ::ffff: before an IPv4 address */
	WHERE_V4_BYTES = 4,
	WHERE_BYTES = 16,
};

static const uint8_t where_mapped[WHERE_MAPPED_BYTES] = {
	[10] = 0xff, [11] = 0xff
};

static bool where_is_wildcard(const struct nopal_address *address)
{
	static const uint8_t zero[WHERE_BYTES];
	bool v4 = memcmp(address->ip, where_mapped, sizeof(where_mapped)) == 0;
	size_t from = v4 ? WHERE_MAPPED_BYTES : 0;

	return memcmp(address->ip + from, zero, WHERE_BYTES - from) == 0;
}

/* The first address of ours that is not the machine's own loop. */
static void where_find(struct nopal_address *address)
{
	struct ifaddrs *all;

	memcpy(address->ip, where_mapped, sizeof(where_mapped));
	memcpy(address->ip + WHERE_MAPPED_BYTES,
	       &(uint32_t){ htonl(INADDR_LOOPBACK) }, WHERE_V4_BYTES);
	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct sockaddr_in v4;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    (at->ifa_flags & IFF_LOOPBACK) || !(at->ifa_flags & IFF_UP))
			continue;
		memcpy(&v4, at->ifa_addr, sizeof(v4));
		memcpy(address->ip + WHERE_MAPPED_BYTES, &v4.sin_addr,
		       WHERE_V4_BYTES);
		break;
	}
	freeifaddrs(all);
}

/* In quotes where a shell would not leave it whole. */
static void where_word(const char *word, FILE *out)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-_=./:,+@%";

	if (word[0] && strspn(word, plain) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

void recv_where_print(const char *command, const struct nopal_address *local,
		      const char *config, const char *const *sets, FILE *out)
{
	struct nopal_address reachable = *local;
	char text[NOPAL_ADDRESS_TEXT];

	fprintf(out, "listening on %s; on the other side run:\n",
		nopal_address_format(local, text));
	if (where_is_wildcard(local))
		where_find(&reachable);
	fprintf(out, "  %s %s", command,
		nopal_address_format(&reachable, text));
	if (config) {
		fputs(" -c ", out);
		where_word(config, out);
	}
	for (; sets && *sets; sets++) {
		fputs(" --set ", out);
		where_word(*sets, out);
	}
	fputc('\n', out);
	fflush(out);
}
