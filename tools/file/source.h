/* SPDX-License-Identifier: MIT */
/*
 * source.h -- a file that is being sent: read once, hashed on the way, and watched, since the file
 * may not change meanwhile.  A source is never mapped: a file that gets shorter is an error here,
 * not a signal.
 */
#ifndef NOPAL_SOURCE_H
#define NOPAL_SOURCE_H

#include <time.h>

#include <nopal/nopal.h>
#include "file/file_hash.h"
#include "file/transfer.h"

struct source {
	int fd; /* -1: not open */
	char name[TRANSFER_TEXT_ROOM];
	uint64_t size, offset; /* bytes before `offset` are in `hash` */
	int64_t mtime_ns;
	struct file_hash hash;
};

/* The file's open descriptor belongs to the source from now on; a negative one is the error in
 * errno.  False: `why` (TRANSFER_TEXT_ROOM) has the reason. */
bool source_take(struct source *source, int fd, const char *path, char *why);
void source_close(struct source *source);
/* Reads on; false: `why`. */
bool source_read(struct source *source, uint8_t *bytes, size_t room, size_t *ret_length, char *why);
void source_rewind(struct source *source);
/* Nanoseconds since 1970. */
int64_t source_ns(const struct timespec *time);
/* Has the file still the size and time with which it was opened?  False: `why`. */
bool source_is_same(const struct source *source, char *why);

#endif
