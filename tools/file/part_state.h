/* SPDX-License-Identifier: MIT */
/*
 * part_state.h -- the state of a part, in memory and in the note beside it.
 */
#ifndef NOPAL_PART_STATE_H
#define NOPAL_PART_STATE_H

#include <pthread.h>

#include "file/file_hash.h"
#include "file/part.h"

enum {
	PART_READ_BYTES = 256 << 10,
	PART_STATE_ROOM = 128,
	/* bytes reserved on disk ahead: as many as came, between these bounds */
	PART_AHEAD_MIN = 1 << 20,
	PART_AHEAD_MAX = 256 << 20,
	PART_MODE = 0666, /* less the umask */
	PART_NS_PER_S = 1000000000,
};

enum part_job { PART_NO_JOB, PART_SAVING, PART_COMMITTING };

struct part {
	struct part_folder folder;
	char name[TRANSFER_TEXT_ROOM], file_name[TRANSFER_TEXT_ROOM],
		state_name[TRANSFER_TEXT_ROOM], new_name[TRANSFER_TEXT_ROOM];
	uint64_t id, size;
	int64_t mtime_ns;
	int fd;		   /* the part, or while `existing` the final file */
	bool existing;	   /* the final file is here, of the same size */
	bool here;	   /* ... and is the same */
	bool ours;	   /* the part is open, and locked here */
	bool started;	   /* part_start was well */
	bool by_blocks;	   /* ... that of blocks: nothing is hashed any more */
	bool committed;	   /* it has its own name now */
	uint64_t found;	   /* bytes that may be kept */
	uint64_t whole;	   /* bytes from the start, all hashed */
	uint64_t written;  /* by blocks */
	uint64_t saved;	   /* of either */
	uint64_t reserved; /* from the start, on disk */
	bool owned;
	uint8_t owner[PART_OWNER_BYTES];
	struct file_hash hash;
	struct ranges ranges; /* beyond `whole` */
	enum part_job job;
	pthread_t thread;
	int done_fd, job_error;
	uint64_t job_offset;
	uint8_t bytes[PART_READ_BYTES];
};

/* 0, or a negative errno value. */
int part_write_state(const struct part *part, uint64_t offset);
/* Bytes from the start that an earlier transfer of the same file has left, or 0. */
uint64_t part_read_state(const struct part *part);
/* Does the rest of the file fit the disk now? */
bool part_has_room(const struct part *part);
/* Called before bytes up to `end` are written: reserves room ahead, and no more than has come. */
void part_reserve_ahead(struct part *part, uint64_t end);
/* Releases reserved room; returns the bytes on disk, or 0. */
uint64_t part_keep_what_came(const struct part *part);

#endif
