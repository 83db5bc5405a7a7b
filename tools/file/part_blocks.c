/* SPDX-License-Identifier: MIT */
/*
 * part_blocks.c -- a file that is being received, on disk, in blocks whose hashes are known.
 *
 * Whatever an earlier run left, and whatever became of it since: a block is here when its hash is
 * the file's, and no note of an earlier run is believed.  So a beginning of another version lends
 * what is the same in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>

#include "file/part_inside.h"

bool part_block_hash(struct part *part, const struct island *block, uint64_t *ret_hash)
{
	uint64_t at = block->from;
	struct file_hash hash;

	file_hash_init(&hash);
	while (at < block->end) {
		uint64_t left = block->end - at;
		size_t room = left < sizeof(part->bytes) ? (size_t)left : sizeof(part->bytes);
		ssize_t got = pread(part->fd, part->bytes, room, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		file_hash_update(&hash, part->bytes, (size_t)got);
		at += (uint64_t)got;
	}
	*ret_hash = file_hash_value(&hash);
	return true;
}

bool part_is_existing(const struct part *part)
{
	return part->existing;
}

void part_take_existing(struct part *part)
{
	part->here = true;
}

bool part_leave_existing(struct part *part, char *why)
{
	return part_start_anew(part, why);
}

bool part_start_blocks(struct part *part, char *why)
{
	int error;
	struct stat now;

	/* What is longer than the file is cut; its blocks are none of the file's. */
	if (fstat(part->fd, &now)) {
		error = -errno;
	} else if ((uint64_t)now.st_size > part->size && ftruncate(part->fd, (off_t)part->size)) {
		error = -errno;
	} else {
		/* Room for all of it now, rather than none in the middle: it was asked for. */
		if (part->size > 0 &&
		    fallocate(part->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)part->size) &&
		    errno != EOPNOTSUPP && errno != ENOSYS)
			error = -errno;
		else
			error = 0;
	}
	if (error)
		return part_failed(why, part->name, -error);
	unlinkat(part->folder.fd, part->state_name, 0);
	part->started = part->by_blocks = true;
	return true;
}
