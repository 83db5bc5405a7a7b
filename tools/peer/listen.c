/* SPDX-License-Identifier: MIT */
/*
 * listen.c -- the port on which a tool listens, and the command line for the other side: with an
 * address that the other side can reach, where the tool listens on all addresses.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/guests.h"
#include "peer/listen.h"

#define LISTEN_ANY    "[::]"
#define LISTEN_ANY_V4 "0.0.0.0"
#define LISTEN_PORT   ":9000"

/* `host` stands before a port alone. */
static bool listen_parse(const char *host, const char *where, struct nopal_address *ret_local,
			 struct nopal_problems *problems)
{
	char text[NOPAL_ADDRESS_TEXT];
	int size = snprintf(text, sizeof(text), "%s%s", host, where);
	bool is_port = *where == ':' && (size_t)size < sizeof(text);

	return nopal_address_parse(is_port ? text : where, ret_local, problems) == 0;
}

bool listen_fits(const struct tool_call *call)
{
	const char *listen = tool_value(call, "listen");
	struct nopal_problems problems = { 0 };
	struct nopal_address local;

	if (listen)
		listen_parse(LISTEN_ANY, listen, &local, &problems);
	return !tool_problems(&problems);
}

bool listen_sessions(const struct tool_call *call, unsigned *ret_each)
{
	int64_t each;

	if (!tool_quantity(call, "peer-sessions", NOPAL_COUNT, GUESTS_SEATS_EACH, &each))
		return false;
	if (each < 1 || each > GUESTS_SEATS_MAX)
		return tool_error("--peer-sessions %s\n  fix: give a number from 1 to %d",
				  tool_value(call, "peer-sessions"), GUESTS_SEATS_MAX);
	*ret_each = (unsigned)each;
	return true;
}

bool listen_open(const struct tool_call *call, listen_call *open, void *user)
{
	const char *listen = tool_value(call, "listen");
	const char *where = listen ? listen : LISTEN_PORT;
	/* The second host is for machines without IPv6. */
	static const char *const hosts[] = { LISTEN_ANY, LISTEN_ANY_V4 };
	struct nopal_problems problems;
	struct nopal_address local;
	bool is_open = false;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts) && !is_open; i++) {
		if (i > 0 && (*where != ':' || !problems.errors))
			break;
		if (i > 0)
			nopal_problems_fini(&problems);
		problems = (struct nopal_problems){ 0 };
		is_open = listen_parse(hosts[i], where, &local, &problems) &&
			  open(&local, user, &problems);
	}
	tool_problems(&problems);
	return is_open;
}

/* --------------------------------------------------------------- the other side */

/* The first address of this host that is not a loopback address. */
static void listen_find(struct nopal_address *address)
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
static void listen_word(const char *word, FILE *out)
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

void listen_print(const char *command, const struct nopal_address *local,
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
		listen_find(&reachable);
	fprintf(out, "  %s %s", command, nopal_address_format(&reachable, text));
	if (config) {
		fputs(" -c ", out);
		listen_word(config, out);
	}
	for (; *sets; sets++) {
		fputs(" --set ", out);
		listen_word(*sets, out);
	}
	fputc('\n', out);
	fflush(out);
}
