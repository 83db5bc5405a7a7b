/* SPDX-License-Identifier: MIT */
/*
 * talker.h -- peers that say of files whatever comes to their minds: notes of every kind, most
 * often sound ones, in any order, about a file that there is.
 *
 *     struct talker talker = { .seed = 1, .size = SIZE, .names = names };
 *     talker_says(&talker, session, 1);
 */
#ifndef NOPAL_TEST_TALKER_H
#define NOPAL_TEST_TALKER_H

#include "file/transfer.h"

struct talker {
	uint64_t seed;
	uint64_t size, hash;	  /* of the file that there is */
	int64_t mtime_ns;	  /* and its time */
	const char *const *names; /* NULL-ended; the first one half of the time */
	uint64_t max_bytes;	  /* behind a note, where it has such */
	uint64_t nonsense;	  /* one note of so many is none */
};

enum { TALKER_PLACES = 6, TALKER_MORE = 4096 };

uint64_t talker_draw(struct talker *talker, uint64_t below);

/* One note to this session, now and then cut short. */
void talker_says(struct talker *talker, struct nopal_session *session, uint32_t file);

#endif
