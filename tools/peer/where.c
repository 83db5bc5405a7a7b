/* SPDX-License-Identifier: MIT */
/*
 * where.c -- the line to run on the other side: with an address that the other side can reach,
 * where we listen on all of ours.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "peer/where.h"

/* The first address of ours that is not the machine's own loop. */
static void where_find(struct nopal_address *address)
{
	struct ifaddrs *all;

	nopal_address_set_v4(address, &(uint32_t){ htonl(INADDR_LOOPBACK) });
	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct sockaddr_in v4;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    (at->ifa_flags & IFF_LOOPBACK) || !(at->ifa_flags & IFF_UP))
			continue;
		memcpy(&v4, at->ifa_addr, sizeof(v4));
		nopal_address_set_v4(address, &v4.sin_addr);
		break;
	}
	freeifaddrs(all);
}

/* In quotes where a shell would not leave it whole. */
static void where_word(const char *word, FILE *out)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=./:,+@%";

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

void where_print(const char *command, const struct nopal_address *local,
		 const struct tool_call *call)
{
	const char *config = tool_value(call, "config");
	const char *const *sets = tool_values(call, "set");
	FILE *out = stderr;
	struct nopal_address reachable = *local;
	char text[NOPAL_ADDRESS_TEXT];
	struct nopal_address any;

	fprintf(out, "listening on %s; on the other side run:\n",
		nopal_address_format(local, text));
	nopal_address_set_any(&any, local);
	if (memcmp(local->ip, any.ip, sizeof(any.ip)) == 0)
		where_find(&reachable);
	fprintf(out, "  %s %s", command, nopal_address_format(&reachable, text));
	if (config) {
		fputs(" -c ", out);
		where_word(config, out);
	}
	for (; *sets; sets++) {
		fputs(" --set ", out);
		where_word(*sets, out);
	}
	fputc('\n', out);
	fflush(out);
}
