/* SPDX-License-Identifier: MIT */
/*
 * codec.h -- the algorithms of compression.
 *
 * Each has two files, of which one is built: codec_ALGORITHM.c calls its library,
 * codec_ALGORITHM_none.c says that there is none.
 */
#ifndef NOPAL_CODEC_H
#define NOPAL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nopal_session;

/* Working memory: allocated when it is first needed, used for every message. */
struct nopal__codec_memory {
	void *squeezer, *expander;
};

struct nopal__codec {
	bool built;
	int max_level;
	/* A byte of the compressed form stands for at most so many: a larger claim gets no
	 * memory. */
	uint32_t max_expansion;
	/* The compressed form into to[0..room); its length, or 0 where it is not to be had, or not
	 * in this room. */
	size_t (*squeeze)(struct nopal_session *session, struct nopal__codec_memory *memory,
			  int level, const uint8_t *from, size_t length, uint8_t *to, size_t room);
	/* The bytes that from[0..length) is the compressed form of, if they are `exactly` so many.
	 * -EINVAL: they are not; -ENOMEM. */
	int (*expand)(struct nopal_session *session, struct nopal__codec_memory *memory,
		      const uint8_t *from, size_t length, uint8_t *to, size_t exactly);
	void (*idle)(struct nopal_session *session, struct nopal__codec_memory *memory);
};

extern const struct nopal__codec nopal__codec_zstd, nopal__codec_lz4;

#endif
