/* SPDX-License-Identifier: MIT */
/*
 * source.c -- a file that is being sent.
 *
 * The file is read into the buffers that leave, and hashed there while it is in the cache.  Mapping
 * it would save no time here (what the copy costs, page faults cost, too), and it would send
 * whatever another program writes into it meanwhile, resends included; and one that cuts it short
 * would end us by SIGBUS in the middle of a train.  A read that comes short is an error in words.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "file/source.h"

#define SOURCE_NS_PER_S INT64_C(1000000000)

static bool source_wrong(char *why, const char *name, const char *cause)
{
	snprintf(why, TRANSFER_TEXT_ROOM, "%.160s: %s", name, cause);
	return false;
}

static int64_t source_mtime(const struct stat *file)
{
	return (int64_t)file->st_mtim.tv_sec * SOURCE_NS_PER_S + file->st_mtim.tv_nsec;
}

bool source_open(struct source *source, const char *path, char *why)
{
	return source_take(source, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, why);
}

bool source_take(struct source *source, int fd, const char *path, char *why)
{
	struct stat now;
	const char *name = path;

	for (const char *at = path; *at; at++) {
		if (*at == '/')
			name = at + 1;
	}
	snprintf(source->name, sizeof(source->name), "%.255s", name);
	source->fd = fd;
	if (source->fd < 0 || fstat(source->fd, &now))
		return source_wrong(why, path, strerror(errno));
	if (!S_ISREG(now.st_mode))
		return source_wrong(why, path, "is no plain file");
	posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	source->size = (uint64_t)now.st_size;
	source->mtime_ns = source_mtime(&now);
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
		return source_wrong(why, source->name, strerror(errno));
	if (got == 0)
		return source_wrong(why, source->name, "it got shorter while it was sent");
	file_hash_update(&source->hash, bytes, (size_t)got);
	source->offset += (uint64_t)got;
	*ret_length = (size_t)got;
	return true;
}

bool source_is_same(const struct source *source, char *why)
{
	struct stat now;

	if (fstat(source->fd, &now))
		return source_wrong(why, source->name, strerror(errno));
	if ((uint64_t)now.st_size != source->size || source_mtime(&now) != source->mtime_ns)
		return source_wrong(why, source->name, "it changed while it was sent");
	return true;
}

uint64_t source_hash(const struct source *source)
{
	return file_hash_value(&source->hash);
}
