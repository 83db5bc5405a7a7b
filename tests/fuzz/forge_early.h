/* SPDX-License-Identifier: MIT */
/*
 * forge_early.h -- makes good the proof in a request with early data, for who has the ticket that
 * the request names: any of those that the listener gave to its sender's host, as it is by now.
 */
#ifndef NOPAL_FUZZ_FORGE_EARLY_H
#define NOPAL_FUZZ_FORGE_EARLY_H

#include "arena.h"

/* Before the check of the request (forge_repair()) is made good.  Other datagrams stay, and those
 * that have no early data, or a time that no ticket has. */
void forge_early(const struct arena *arena, struct arena_datagram *datagram);
/* The nonce of a request with early data; false: it is no such request. */
bool forge_early_nonce(const struct arena *arena, const struct arena_datagram *datagram,
		       uint64_t *ret_nonce);

#endif
