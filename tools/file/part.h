/* SPDX-License-Identifier: MIT */
/*
 * part.h -- a file that is being received, on disk.
 *
 *   .NAME.nopal-part   its bytes so far, in place
 *   .NAME.nopal-state  id, size, count of bytes from the start that are on disk, owner
 *   NAME               only when whole, verified and synced: by one rename
 *
 *   part_open --> part_check... --> part_start --> part_write... --> part_commit
 *                 (hash of the         (go on, or      |                |
 *                  beginning)           from 0)        +-- part_save ---+ threads
 *
 * Where the hashes of its blocks are known, there is no state file:
 *
 *   part_open --> part_block_hash... --> part_start_blocks --> part_write...
 *                 (each on disk)                                 --> part_commit
 *
 * A beginning on disk is trusted only as far as its hash agrees with the sender's own.  A part is
 * locked while it is open: one transfer a name.  Where the disk refuses, or the bytes are wrong,
 * the part is removed; where the peer is lost, the part stays for the next time, unless it is
 * empty.
 *
 * Disk is reserved as data come: as much ahead as has come, and never the length that an offer
 * claims.
 */
#ifndef NOPAL_PART_H
#define NOPAL_PART_H

#include <pthread.h>
#include <sys/uio.h>

#include <nopal/nopal.h>
#include "file/file_hash.h"
#include "file/transfer.h"

enum {
	PART_OWNER_BYTES = 16, /* a key that tells owners apart */
	PART_READ_BYTES = 256 << 10,
};

struct part_folder {
	int fd;
	bool overwrite;	     /* an existing file of the name is replaced */
	uint64_t limit;	     /* longest file that is taken */
	const char *differs; /* the reason for a refusal, without overwrite */
};

enum part_job { PART_NO_JOB, PART_SAVING, PART_COMMITTING };

/* Written by part.c and part_state.c alone. */
struct part {
	struct part_folder folder;
	char name[TRANSFER_TEXT_ROOM], file_name[TRANSFER_TEXT_ROOM],
		state_name[TRANSFER_TEXT_ROOM], new_name[TRANSFER_TEXT_ROOM];
	uint64_t id, size;
	int64_t mtime_ns;
	int fd;		   /* the part, or while `existing` the final file */
	bool existing;	   /* the final file is here, of the same size, and is looked at */
	bool here;	   /* ... and is the same: nothing is left to do */
	bool ours;	   /* the part is open, and locked here */
	bool started;	   /* part_start was well */
	bool by_blocks;	   /* ... that of blocks: nothing is hashed any more */
	bool committed;	   /* it has its own name now */
	uint64_t found;	   /* bytes that may be kept */
	uint64_t whole;	   /* bytes from the start, all hashed */
	uint64_t written;  /* by blocks */
	uint64_t saved;	   /* of either */
	int64_t saved_ns;  /* part_save_sometimes */
	uint64_t reserved; /* from the start, on disk */
	bool owned;
	uint8_t owner[PART_OWNER_BYTES];
	struct file_hash hash;
	struct ranges ranges; /* beyond `whole` */
	enum part_job job;
	pthread_t thread;
	int done_fd; /* readable when the job is done, for part_finish */
	int job_error;
	uint64_t job_offset;
	uint8_t bytes[PART_READ_BYTES];
};

/* TRANSFER_YES: *ret_part; else `why` (TRANSFER_TEXT_ROOM) has the reason. */
enum transfer_verdict part_open(const struct part_folder *folder, const struct transfer_note *offer,
				struct part **ret_part, char *why);
/* Hashes some more of the beginning on disk; true: *ret_offset and *ret_hash are known. */
bool part_check(struct part *part, uint64_t *ret_offset, uint64_t *ret_hash);
/* Begins at the offset that was found, or at 0.  False: `why`. */
bool part_start(struct part *part, uint64_t offset, char *why);
/* Writes pieces at an offset, also before part_start, which then knows which of them count.  False:
 * `why`. */
bool part_write(struct part *part, uint64_t offset, const struct iovec *pieces, size_t count,
		char *why);
/* The same with the bytes of a message behind its first `skip` bytes. */
bool part_write_message(struct part *part, uint64_t offset, const struct nopal_message *message,
			uint64_t skip, char *why);
/* By blocks: the hash of the bytes on disk, in the existing file of this name where it has the same
 * length, else in the part.  False: they are not there, or cannot be read. */
bool part_block_hash(struct part *part, const struct range *block, uint64_t *ret_hash);
/* The existing file is another one: the part is looked at from now on, and begins at 0.  False: the
 * existing file may not be replaced; `why`. */
bool part_leave_existing(struct part *part, char *why);
/* Begins to write whole blocks, in any order; bytes on disk stay.  False: `why`. */
bool part_start_blocks(struct part *part, char *why);
/* All ranges that are here, in order and apart; returns their count. */
size_t part_ranges(const struct part *part, struct range ret_ranges[TRANSFER_RANGES_MAX]);

/* A job works in a thread; `done_fd` gets readable when it is done, and then part_finish is called.
 * One at a time.  Saving is a sync, and a note how far, but of blocks; committing is a sync, a
 * rename, and a sync of the folder. */
void part_begin(struct part *part, enum part_job job);
/* Saves where that is worth its while. */
void part_save_sometimes(struct part *part, int64_t now_ns);
/* Waits for the thread; 0, or a negative errno value. */
int part_finish(struct part *part);

/* Has no byte come, now or earlier? */
bool part_is_empty(const struct part *part);
/* Keeps the part for the next time, unless it is empty; else removes it.  Returns the bytes on disk
 * of an unfinished part that stays. */
uint64_t part_close(struct part *part, bool keep);

/* The owner of the unfinished part that part_open found, and its bytes on disk; 0: there was none,
 * or it had no owner. */
uint64_t part_found_bytes(const struct part *part, uint8_t ret_owner[PART_OWNER_BYTES]);
/* The owner of the part from now on. */
void part_set_owner(struct part *part, const uint8_t owner[PART_OWNER_BYTES]);

/* Looks through a folder: removes empty parts, and calls `found` for parts with an owner.  Parts
 * that are open in another transfer are passed over. */
typedef void part_sweep_found(void *user, const uint8_t owner[PART_OWNER_BYTES], uint64_t bytes);
void part_sweep(int folder, part_sweep_found *found, void *user);
/* Bytes that are free on the disk; INT64_MAX where the file system does not tell. */
uint64_t part_free_bytes(int folder);

#endif
