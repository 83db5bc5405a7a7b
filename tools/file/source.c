/* SPDX-License-Identifier: MIT */
/*
 * source.c -- a file that is being sent.
 *
 * The file is read into the buffers that leave, and hashed there while it is in the cache.  A
 * mapping would save no time here (page faults cost as much as the copy), and resends would carry
 * bytes that another program writes meanwhile; a program that cuts the file short would end this
 * process by SIGBUS in the middle of a train.  A short read is a plain error.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "file/source.h"

#define SOURCE_NS_PER_S INT64_C(1000000000)

int64_t source_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * SOURCE_NS_PER_S + time->tv_nsec;
}

bool source_take(struct source *source, int fd, const char *path, char *why)
{
	const char *slash = strrchr(path, '/');
	struct stat now;

	snprintf(source->name, sizeof(source->name), "%.255s", slash ? slash + 1 : path);
	source->fd = fd;
	if (source->fd < 0 || fstat(source->fd, &now))
		return transfer_wrong(why, path, strerror(errno));
	if (!S_ISREG(now.st_mode))
		return transfer_wrong(why, path, "is no plain file");
	posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	source->size = (uint64_t)now.st_size;
	source->mtime_ns = source_ns(&now.st_mtim);
	source_rewind(source);
	return true;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

void source_rewind(struct source *source)
{
	source->offset = 0;
	file_hash_init(&source->hash);
}

bool source_read(struct source *source, uint8_t *bytes, size_t room, size_t *ret_length, char *why)
{
	ssize_t got;

	do {
		got = pread(source->fd, bytes, room, (off_t)source->offset);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return transfer_wrong(why, source->name, strerror(errno));
	if (got == 0)
		return transfer_wrong(why, source->name, "it got shorter while it was sent");
	file_hash_update(&source->hash, bytes, (size_t)got);
	source->offset += (uint64_t)got;
	*ret_length = (size_t)got;
	return true;
}

bool source_is_same(const struct source *source, char *why)
{
	struct stat now;

	if (fstat(source->fd, &now))
		return transfer_wrong(why, source->name, strerror(errno));
	if ((uint64_t)now.st_size != source->size || source_ns(&now.st_mtim) != source->mtime_ns)
		return transfer_wrong(why, source->name, "it changed while it was sent");
	return true;
}
