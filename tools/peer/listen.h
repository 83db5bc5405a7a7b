/* SPDX-License-Identifier: MIT */
/*
 * listen.h -- where a tool listens: option "listen", or port 9000 on all addresses.
 */
#ifndef NOPAL_LISTEN_H
#define NOPAL_LISTEN_H

#include "frame/tool.h"

#define LISTEN_OPTION                                                                              \
	{                                                                                          \
		"listen", 0, "[ADDR]:PORT",                                                        \
			"UDP port, of all addresses where none is given "                          \
			"(default :9000)"                                                          \
	}

/* How many sessions one address may have that ask for something. */
#define LISTEN_SESSIONS_OPTION                                                                     \
	{                                                                                          \
		"peer-sessions", 0, "N", "sessions of one address at a time (default 64)"          \
	}
/* False: it was said why not. */
bool listen_sessions(const struct tool_call *call, unsigned *ret_each);

/* Looked at before anything is opened: a wrong word is the user's.  False: it was said why. */
bool listen_fits(const struct tool_call *call);

/* False: a problem was added. */
typedef bool listen_call(const struct nopal_address *local, void *user,
			 struct nopal_problems *problems);
/* Opens there, and by IPv4 alone where nothing was said and there is no IPv6. */
bool listen_open(const struct tool_call *call, listen_call *open, void *user);

#endif
