/* SPDX-License-Identifier: MIT */
/*
 * listen.h -- the port on which a tool listens: option "listen", or port 9000 on all addresses.
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

/* The number of sessions with a request that one address may have. */
#define LISTEN_SESSIONS_OPTION                                                                     \
	{                                                                                          \
		"peer-sessions", 0, "N", "sessions of one address at a time (default 64)"          \
	}
/* False: a problem was printed. */
bool listen_sessions(const struct tool_call *call, unsigned *ret_each);

/* Is option "listen" an address?  Called before anything is opened.  False: a problem was
 * printed. */
bool listen_fits(const struct tool_call *call);

/* False: a problem was added. */
typedef bool listen_call(const struct nopal_address *local, void *user,
			 struct nopal_problems *problems);
/* Opens on that port, and by IPv4 alone where no address was given and there is no IPv6. */
bool listen_open(const struct tool_call *call, listen_call *open, void *user);

/* Prints "listening on ...; on the other side run: COMMAND HOST:PORT -c CONF --set ..." to stderr,
 * with options "config" and "set" of the listener's own call. */
void listen_print(const char *command, const struct nopal_address *local,
		  const struct tool_call *call);

#endif
