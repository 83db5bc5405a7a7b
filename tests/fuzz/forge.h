/* SPDX-License-Identifier: MIT */
/*
 * forge.h -- makes good whatever in a datagram shows that it was changed, so that what is behind
 * gets to see it: the check of an opening or a reply, the checksum of a composition, the sum in the
 * header of one_to_many, the tag of aead.
 *
 * Of aead alone it takes more than a stranger has: the fuzz targets are linked with a cipher that
 * leaves bytes as they are and has one tag for all (aead_test_key.c), so that a changed datagram is
 * one that the peer itself could have sent.
 */
#ifndef NOPAL_FUZZ_FORGE_H
#define NOPAL_FUZZ_FORGE_H

#include "plan/plan.h"

enum { FORGE_TAG = 0xa5 }; /* each byte of the tag of all that is sealed */

/* Repairs a datagram of this plan in place; one too short for its check stays. */
void forge_repair(const struct nopal_plan *plan, uint8_t *bytes, size_t length);

#endif
