/* SPDX-License-Identifier: MIT */
/*
 * part.h -- a file that is being received, on disk.
 *
 *   .NAME.nopal-part   its bytes so far, in place
 *   .NAME.nopal-state  id, size, how many bytes from the start are on disk, and whose
 *   NAME               only when whole, verified and synced: by one rename
 *
 *   part_open --> part_check... --> part_start --> part_write... --> part_commit
 *                 (hash of what        (go on, or      |                |
 *                  is there)            from 0)        +-- part_save ---+ threads
 *
 * Where the hashes of its blocks are known, there is no state file:
 *
 *   part_open --> part_block_hash... --> part_start_blocks --> part_write...
 *                 (each that is there)                           --> part_commit
 *
 * A beginning that is there already is trusted only as far as its hash agrees with the sender's
 * own.  A part is locked while it is open: one transfer a name.  Where the disk refuses, or the
 * bytes are wrong, the part goes away; where the peer is lost, it stays for the next time, unless
 * nothing came.
 *
 * Disk is reserved as data come: as much ahead as has come, and never the length that an offer
 * claims.
 */
#ifndef NOPAL_PART_H
#define NOPAL_PART_H

#include <sys/uio.h>

#include <nopal/nopal.h>
#include "file/transfer.h"

enum { PART_OWNER_BYTES = 16 }; /* whatever tells one from another */

struct part_folder {
	int fd;
	bool overwrite;	     /* an existing file of the name is replaced */
	uint64_t limit;	     /* longest file that is taken */
	const char *differs; /* said of another one, where it is not */
};

struct part;

/* TRANSFER_YES: *ret_part; else `why` (TRANSFER_TEXT_ROOM) says what is wrong. */
enum transfer_verdict part_open(const struct part_folder *folder, const struct transfer_note *offer,
				struct part **ret_part, char *why);
/* Hashes some more of what is there; true: *ret_offset and *ret_hash are known. */
bool part_check(struct part *part, uint64_t *ret_offset, uint64_t *ret_hash);
/* Begins at the offset that was found, or at 0.  False: `why`. */
bool part_start(struct part *part, uint64_t offset, char *why);
/* Writes pieces at an offset, also before the start: it is seen then what of them counts.  False:
 * `why`. */
bool part_write(struct part *part, uint64_t offset, const struct iovec *pieces, size_t count,
		char *why);
/* The same with what a message carries behind its first bytes. */
bool part_write_message(struct part *part, uint64_t offset, const struct nopal_message *message,
			uint64_t skip, char *why);
/* By blocks: the hash of what lies there now, in the file of its own name where there is one as
 * long, else in the part.  False: it is not there, or cannot be read. */
bool part_block_hash(struct part *part, const struct range *block, uint64_t *ret_hash);
/* Is the file of its own name looked at? */
bool part_is_existing(const struct part *part);
/* That one is the same: nothing is left to do; or it is not, and the part is looked at from now on.
 * False: it may not be replaced; `why`. */
void part_take_existing(struct part *part);
bool part_leave_existing(struct part *part, char *why);
/* Begins to write: whole blocks, in any order; what is there stays.  False: `why`. */
bool part_start_blocks(struct part *part, char *why);
uint64_t part_done_bytes(const struct part *part); /* from the start, whole */
bool part_is_whole(const struct part *part);
/* The file was here, identical: nothing is left to do. */
bool part_is_here(const struct part *part);
uint64_t part_hash(const struct part *part); /* of a whole part */
/* All that is here of it, in order and apart; returns how many ranges. */
size_t part_ranges(const struct part *part, struct range ret_ranges[TRANSFER_RANGES_MAX]);

/* Both work in a thread; part_fd gets readable when it is done, and then part_finish is called.
 * One at a time. */
bool part_wants_save(const struct part *part);
void part_save(struct part *part);   /* sync, and note how far, but of blocks */
void part_commit(struct part *part); /* sync, rename, sync the folder */
int part_fd(const struct part *part);
bool part_is_busy(const struct part *part);
/* Waits for the thread; 0, or a negative errno value. */
int part_finish(struct part *part);

/* Did nothing come, now or earlier? */
bool part_is_empty(const struct part *part);
/* Keep: for the next time, unless it is empty.  Else nothing of it is left.  Returns the bytes on
 * disk of an unfinished one that stays. */
uint64_t part_close(struct part *part, bool keep);

/* The owner of the unfinished part that part_open found, and its bytes on disk; 0: there was none,
 * or it is nobody's. */
uint64_t part_found_bytes(const struct part *part, uint8_t ret_owner[PART_OWNER_BYTES]);
/* The owner of the part from now on. */
void part_set_owner(struct part *part, const uint8_t owner[PART_OWNER_BYTES]);

/* Looks through a folder: parts that never grew are removed, `found` is told of those that have an
 * owner.  What somebody is at work on is passed over. */
typedef void part_sweep_found(void *user, const uint8_t owner[PART_OWNER_BYTES], uint64_t bytes);
void part_sweep(int folder, part_sweep_found *found, void *user);
/* Bytes that are free on its disk; as many as can be, where it does not say. */
uint64_t part_free_bytes(int folder);

#endif
