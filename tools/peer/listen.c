/* SPDX-License-Identifier: MIT */
/*
 * listen.c -- where a tool listens.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/guests.h"
#include "peer/listen.h"

#define LISTEN_ANY    "[::]"
#define LISTEN_ANY_V4 "0.0.0.0"
#define LISTEN_PORT   ":9000"

/* `host`: where nothing stands before the port. */
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
	struct nopal_problems problems;
	struct nopal_address local;

	nopal_problems_init(&problems);
	if (listen)
		listen_parse(LISTEN_ANY, listen, &local, &problems);
	return !tool_problems(&problems);
}

bool listen_sessions(const struct tool_call *call, unsigned *ret_each)
{
	int64_t each;

	if (!tool_quantity(call, "peer-sessions", NOPAL_COUNT, GUESTS_SEATS_EACH, &each))
		return false;
	if (each < 1 || each > GUESTS_SEATS_MAX) {
		fprintf(stderr,
			"error: --peer-sessions %s\n"
			"  fix: give a number from 1 to %d\n",
			tool_value(call, "peer-sessions"), GUESTS_SEATS_MAX);
		return false;
	}
	*ret_each = (unsigned)each;
	return true;
}

static bool listen_open_at(const char *host, const char *where, listen_call *open, void *user,
			   struct nopal_problems *problems)
{
	struct nopal_address local;

	return listen_parse(host, where, &local, problems) && open(&local, user, problems);
}

bool listen_open(const struct tool_call *call, listen_call *open, void *user)
{
	const char *listen = tool_value(call, "listen");
	const char *where = listen ? listen : LISTEN_PORT;
	struct nopal_problems problems;
	bool is_open;

	nopal_problems_init(&problems);
	is_open = listen_open_at(LISTEN_ANY, where, open, user, &problems);
	if (!is_open && *where == ':' && problems.errors) { /* without IPv6 */
		nopal_problems_fini(&problems);
		nopal_problems_init(&problems);
		is_open = listen_open_at(LISTEN_ANY_V4, where, open, user, &problems);
	}
	tool_problems(&problems);
	return is_open;
}
