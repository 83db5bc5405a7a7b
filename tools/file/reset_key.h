/* SPDX-License-Identifier: MIT */
/*
 * reset_key.h -- the reset key of a receiver, kept beside its parts: one that was started again
 * ends the sessions of the one before within a round trip.
 *
 *   .nopal-reset-key   NOPAL_RESET_KEY_BYTES random bytes, its owner's alone
 */
#ifndef NOPAL_RESET_KEY_H
#define NOPAL_RESET_KEY_H

#include <nopal/nopal.h>

#define RESET_KEY_NAME ".nopal-reset-key"

enum reset_key {
	RESET_KEY_REFUSED, /* others could have it, or it is none; it was said why */
	RESET_KEY_KEPT,
	RESET_KEY_NONE, /* the disk takes none, which was said: do without */
};
/* Reads it, or makes it where there is none; whole, or not at all. */
enum reset_key reset_key_keep(int folder, const char *path, uint8_t ret_key[NOPAL_RESET_KEY_BYTES]);

#endif
