/* SPDX-License-Identifier: MIT */
/*
 * pieces.h -- bytes as they lie in a message, in pieces, on their way into a file.
 */
#ifndef NOPAL_PIECES_H
#define NOPAL_PIECES_H

#include <sys/uio.h>

#include <nopal/nopal.h>

/* Begins with `message`, and the bytes to `skip` at its beginning. */
struct pieces {
	const struct nopal_message *message;
	uint64_t skip;
	size_t at;
};

/* The next pieces, and the count of their bytes; 0: no more. */
size_t pieces_next(struct pieces *pieces, struct iovec *ret_some, size_t room, uint64_t *ret_bytes);
/* Writes all pieces at an offset, also where the disk takes few at a time.  False: errno. */
bool pieces_write(int fd, const struct iovec *pieces, size_t count, uint64_t offset);

#endif
