/* SPDX-License-Identifier: MIT */
/*
 * feed.h -- a file on its way into a session: read once, straight into the buffers that leave,
 * hashed on the way, and no faster than its pace.
 *
 *   feed_open --> feed_from --> feed_pump... --> feed_end --> feed_close
 *                                   |    ^
 *                                   +----+  feed_range: another part of it
 */
#ifndef NOPAL_FEED_H
#define NOPAL_FEED_H

#include "file/source.h"
#include "file/transfer.h"
#include "peer/pace.h"

struct feed {
	struct nopal_world *world;
	struct source source;
	struct pace pace;
	uint32_t file; /* its number in the session */
	uint32_t chunk_bytes;
	uint64_t offset, end;	    /* the session took so much, of so much */
	uint64_t chunks;	    /* that it took of this file */
	struct nopal_buffer *chunk; /* read, and not taken yet */
	uint32_t chunk_length;
	char error[TRANSFER_TEXT_ROOM];
	bool no_room; /* the session had no memory for it */
};

enum feed_stop {
	FEED_FULL,  /* the session takes no more now, or is gone */
	FEED_PACED, /* not before *ret_wait_ns */
	FEED_ALL,   /* to the end of the range */
	FEED_FAILED /* `error` says why */
};

/* Of which nothing is open. */
void feed_init(struct feed *feed, struct nopal_world *world, uint32_t chunk_bytes);
/* False: `error` says why. */
bool feed_open(struct feed *feed, uint32_t file, const char *path);
void feed_close(struct feed *feed);
void feed_offer(const struct feed *feed, struct transfer_note *ret_note);
/* From here to the end of the file; the hash is right where all before was read once. */
void feed_from(struct feed *feed, uint64_t offset);
/* The same where it was read beyond that meanwhile: `hash` is of all before. */
void feed_back(struct feed *feed, uint64_t offset, const struct file_hash *hash);
/* Of this range alone: what was lost with who had it.  The hash is not right any more. */
void feed_range(struct feed *feed, uint64_t offset, uint64_t end);
/* Gives *session, which is NULL after its life, what it takes: DATA notes. */
enum feed_stop feed_pump(struct feed *feed, struct nopal_session *const *session, uint64_t cookie,
			 int64_t *ret_wait_ns);
/* False: the file changed meanwhile; `error` says how. */
bool feed_end(struct feed *feed, struct transfer_note *ret_note);

#endif
