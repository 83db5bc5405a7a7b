/* SPDX-License-Identifier: MIT */
/*
 * where.h -- the line to run on the other side.
 */
#ifndef NOPAL_RECV_WHERE_H
#define NOPAL_RECV_WHERE_H

#include <nopal/nopal.h>

/* "listening on ...; on the other side run: COMMAND HOST:PORT -c CONF ...". */
void recv_where_print(const char *command, const struct nopal_address *local, const char *config,
		      const char *const *sets, FILE *out);

#endif
