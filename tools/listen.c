/* SPDX-License-Identifier: MIT */
/*
 * listen.c -- where a tool listens.
 */
#include "listen.h"

#define LISTEN_DEFAULT	  "[::]:9000"
#define LISTEN_DEFAULT_V4 "0.0.0.0:9000"

bool listen_fits(const struct tool_call *call)
{
	const char *listen = tool_value(call, "listen");
	struct nopal_problems problems;
	struct nopal_address local;

	nopal_problems_init(&problems);
	if (listen)
		nopal_address_parse(listen, &local, &problems);
	return !tool_problems(&problems);
}

static bool listen_open_at(const char *where, listen_call *open, void *user,
			   struct nopal_problems *problems)
{
	struct nopal_address local;

	return nopal_address_parse(where, &local, problems) == 0 &&
	       open(&local, user, problems);
}

bool listen_open(const struct tool_call *call, listen_call *open, void *user)
{
	const char *listen = tool_value(call, "listen");
	struct nopal_problems problems;
	bool is_open;

	nopal_problems_init(&problems);
	is_open = listen_open_at(listen ? listen : LISTEN_DEFAULT, open, user,
				 &problems);
	if (!is_open && !listen && problems.errors) { /* without IPv6 */
		nopal_problems_fini(&problems);
		nopal_problems_init(&problems);
		is_open = listen_open_at(LISTEN_DEFAULT_V4, open, user,
					 &problems);
	}
	tool_problems(&problems);
	return is_open;
}
