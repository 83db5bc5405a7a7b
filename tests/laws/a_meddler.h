/* SPDX-License-Identifier: MIT */
/*
 * a_meddler.h -- a microprotocol whose handlers ask the test what to do.  It is compiled into the
 * test and, as any plugin, into units once more; what it calls is the test's alone, so both copies
 * do the same.
 */
#ifndef NOPAL_TEST_A_MEDDLER_H
#define NOPAL_TEST_A_MEDDLER_H

#include <nopal/microprotocol.h>

/* Places in its table of bindings. */
enum { MEDDLER_FROM_NET, MEDDLER_TO_NET };

extern const struct nopal_microprotocol nopal_a_meddler;

nopal_SEGMENT_FROM_NET_handler meddle_from_net;
nopal_SEGMENT_TO_NET_handler meddle_to_net;

#endif
