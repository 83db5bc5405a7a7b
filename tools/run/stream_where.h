/* SPDX-License-Identifier: MIT */
/*
 * stream_where.h -- inputs and outputs of `nopal stream`, opened: standard input or output
 * ("pipe:"), a file ("file:PATH"), or a plain UDP socket ("udp://ADDR:PORT").
 */
#ifndef NOPAL_STREAM_WHERE_H
#define NOPAL_STREAM_WHERE_H

#include <stdbool.h>

enum stream_kind { STREAM_PIPE, STREAM_FILE, STREAM_UDP };

/* A socket of an input is bound, of an output connected.  Negative: it was said why. */
int stream_where_open(const char *where, bool output, enum stream_kind *ret_kind);

#endif
