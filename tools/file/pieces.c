/* SPDX-License-Identifier: MIT */
/*
 * pieces.c -- bytes as they lie in a message, in pieces, on their way into a file.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "file/pieces.h"

size_t pieces_next(struct pieces *pieces, struct iovec *ret_some, size_t room, uint64_t *ret_bytes)
{
	size_t total = nopal_message_pieces(pieces->message), count = 0;

	*ret_bytes = 0;
	for (; pieces->at < total && count < room; pieces->at++) {
		uint64_t skip = pieces->skip;
		uint32_t length;
		const uint8_t *piece = nopal_message_piece(pieces->message, pieces->at, &length);

		pieces->skip = length < skip ? skip - length : 0;
		if (length <= skip)
			continue;
		ret_some[count].iov_base = (void *)(uintptr_t)(piece + skip);
		ret_some[count++].iov_len = (size_t)(length - skip);
		*ret_bytes += length - skip;
	}
	return count;
}

/* pwritev until all is written: a disk that fills up writes short. */
bool pieces_write(int fd, const struct iovec *pieces, size_t count, uint64_t offset)
{
	size_t skip = 0; /* bytes of the first piece that are written */

	while (count > 0) {
		struct iovec some[IOV_MAX];
		size_t few = count < IOV_MAX ? count : IOV_MAX;
		ssize_t wrote;

		memcpy(some, pieces, few * sizeof(*some));
		some[0].iov_base = (char *)some[0].iov_base + skip;
		some[0].iov_len -= skip;
		wrote = pwritev(fd, some, (int)few, (off_t)offset);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return false;
		offset += (uint64_t)wrote;
		skip += (size_t)wrote;
		while (count > 0 && skip >= pieces->iov_len) {
			skip -= pieces->iov_len;
			pieces++;
			count--;
		}
	}
	return true;
}
