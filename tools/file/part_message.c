/* SPDX-License-Identifier: MIT */
/*
 * part_message.c -- what a message carries of a file goes to disk as it lies.
 */
#include "file/part.h"
#include "file/pieces.h"

enum { PART_PIECES = 1024 }; /* written at once */

bool part_write_message(struct part *part, uint64_t offset, const struct nopal_message *message,
			uint64_t skip, char *why)
{
	struct pieces pieces = { .message = message, .skip = skip };
	struct iovec some[PART_PIECES];
	uint64_t bytes;
	size_t count;

	while ((count = pieces_next(&pieces, some, PART_PIECES, &bytes)) > 0) {
		if (!part_write(part, offset, some, count, why))
			return false;
		offset += bytes;
	}
	return true;
}
