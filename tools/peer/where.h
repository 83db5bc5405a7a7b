/* SPDX-License-Identifier: MIT */
/*
 * where.h -- the command line for the other side of a listener.
 */
#ifndef NOPAL_WHERE_H
#define NOPAL_WHERE_H

#include "frame/tool.h"

/* Prints "listening on ...; on the other side run: COMMAND HOST:PORT -c CONF --set ..." to stderr,
 * with options "config" and "set" of the listener's own call. */
void where_print(const char *command, const struct nopal_address *local,
		 const struct tool_call *call);

#endif
