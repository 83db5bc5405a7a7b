/* SPDX-License-Identifier: MIT */
/*
 * stream_udp.h -- a plain UDP socket for `nopal stream`: bound, or connected.
 */
#ifndef NOPAL_STREAM_UDP_H
#define NOPAL_STREAM_UDP_H

#include <stdbool.h>

/* Negative: it was said why. */
int stream_udp_open(const char *address, bool connected);

#endif
