/* SPDX-License-Identifier: MIT */
/*
 * recv_claim.h -- bytes that one address may have unfinished in the folder of `nopal recv`.
 */
#ifndef NOPAL_RECV_CLAIM_H
#define NOPAL_RECV_CLAIM_H

#include "transfer/recv_session.h"

/* Removes empty parts, and counts the others for their owners.  `bytes_each` 0: an address may have
 * nine tenths of the free disk unfinished. */
void recv_claims_find(struct recv_group *group, uint64_t bytes_each);
/* Counts the part that is open for the session's address.  False: `error` says why that may not
 * be. */
bool recv_claim(struct incoming *incoming);
/* So many bytes of it stay on disk, unfinished. */
void recv_unclaim(struct incoming *incoming, uint64_t kept);

#endif
