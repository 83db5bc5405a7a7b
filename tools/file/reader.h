/* SPDX-License-Identifier: MIT */
/*
 * reader.h -- a file on its way into a session: read once, straight into the buffers that leave,
 * hashed on the way, and no faster than its pace.
 *
 *   reader_open --> reader_from --> reader_pump... --> reader_end --> reader_close
 *                                   |    ^
 *                                   +----+  reader_range: another part of it
 */
#ifndef NOPAL_READER_H
#define NOPAL_READER_H

#include "file/source.h"
#include "file/transfer.h"
#include "frame/properties.h"
#include "peer/pace.h"

struct reader {
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
	bool no_room;		       /* the session had no memory for it */
	const struct properties *with; /* of the messages; NULL: none */
	uint64_t taken;		       /* messages that sessions took */
};

enum reader_stop {
	READER_FULL,  /* the session takes no more now, or is gone */
	READER_PACED, /* not before *ret_wait_ns */
	READER_ALL,   /* to the end of the range */
	READER_FAILED /* `error` says why */
};

/* Of which nothing is open. */
void reader_init(struct reader *reader, struct nopal_world *world, uint32_t chunk_bytes);
/* False: `error` says why. */
bool reader_open(struct reader *reader, uint32_t file, const char *path);
void reader_close(struct reader *reader);
/* Says OFFER, or START at this offset. */
void reader_offer(const struct reader *reader, struct transfer_outbox *out);
void reader_start(const struct reader *reader, struct transfer_outbox *out, uint64_t offset);
/* Before any of it leaves: reads on and hashes, a step at a time, and not beyond `end`.  False:
 * `error` says why. */
bool reader_hash(struct reader *reader, uint64_t end);
/* From here to the end of the file.  `before` is the hash of all bytes before; NULL: these bytes
 * were read once, and none beyond. */
void reader_from(struct reader *reader, uint64_t offset, const struct file_hash *before);
/* This range alone, as bytes that were lost with a receiver.  The hash is not right any more. */
void reader_range(struct reader *reader, uint64_t offset, uint64_t end);
/* Gives *session, which is NULL after its life, what it takes: DATA notes. */
enum reader_stop reader_pump(struct reader *reader, struct nopal_session *const *session,
			     uint64_t cookie, int64_t *ret_wait_ns);
/* False: the file changed meanwhile; `error` says how. */
bool reader_end(struct reader *reader, struct transfer_note *ret_note);

#endif
