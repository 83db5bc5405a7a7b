/* SPDX-License-Identifier: MIT */
/*
 * compressed.h -- messages of many kinds go through a composition, and what the application is
 * given is noted: for tests of compression.
 */
#ifndef NOPAL_TEST_COMPRESSED_H
#define NOPAL_TEST_COMPRESSED_H

#include "../microprotocols/compression/codec.h"
#include "support/segments.h"
#include "support/own_rig.h"

extern const char FIXED[];
extern const char RESIZED[];
extern const char RELIABLE[];
extern const char COALESCED[];
extern const char COALESCED_RELIABLE[];
enum { ALGORITHMS = 2, ZSTD = 0, LZ4 = 1 };

const struct nopal__codec *codec_of(unsigned algorithm);

enum { SEEN = 1024 };
struct compressed_seen {
	uint64_t hash[SEEN], length[SEEN];
	uint32_t count;
};
extern struct compressed_seen compressed_seen;

extern const struct nopal_microprotocol b_digest;

void compressed_begin(const char *config, const char *section, const char *link);
uint64_t bytes_out(void);
const char *section_of(unsigned algorithm, const char *more);
uint8_t random_byte(void);
void fill_random(uint8_t *bytes, size_t length);
void fill_text(uint8_t *bytes, size_t length);
void fill_zeros(uint8_t *bytes, size_t length);
typedef void fill(uint8_t *bytes, size_t length);
enum { FILLS = 3, LONGEST = 20000 };

void send_filled(fill *with, size_t length);

/* Messages of all kinds and lengths, the same ones every time. */
void send_all(size_t longest);

#endif
