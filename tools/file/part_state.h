/* SPDX-License-Identifier: MIT */
/*
 * part_state.h -- the note beside a part, and the disk below it.
 */
#ifndef NOPAL_PART_STATE_H
#define NOPAL_PART_STATE_H

#include "file/part.h"

enum {
	PART_STATE_ROOM = 128,
	/* bytes reserved on disk ahead: as many as came, between these bounds */
	PART_AHEAD_MIN = 1 << 20,
	PART_AHEAD_MAX = 256 << 20,
	PART_MODE = 0666, /* less the umask */
	PART_NS_PER_S = 1000000000,
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
