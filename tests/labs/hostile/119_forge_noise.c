/* SPDX-License-Identifier: MIT */
/* forge_noise -- says what it likes, in frames that look well. */
#include "frames.h"

#ifndef NOISE_SEED
#define NOISE_SEED 1
#endif
enum { NOISE_FRAMES = 200, NOISE_BODY = 64 };

/* All that a host may say within its turn, but that a session begins. */
static const enum frames_word noise_words[] = { FRAMES_DATAGRAM,  FRAMES_OPENED,  FRAMES_SENT,
						FRAMES_DELIVERED, FRAMES_OUTCOME, FRAMES_ENDED };
enum { NOISE_WORDS = sizeof(noise_words) / sizeof(*noise_words) };

static uint64_t noise_state = NOISE_SEED;

static uint32_t noise(uint32_t below)
{
	noise_state = noise_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(noise_state >> 33) % below;
}

/* Small, or as large as can be. */
static uint64_t noise_number(void)
{
	return noise(4) ? noise(4) : UINT64_MAX - noise(4);
}

static void deed(struct nopal_at at)
{
	for (int i = 0; i < NOISE_FRAMES; i++) {
		const enum frames_word word = noise_words[noise(NOISE_WORDS)];
		const uint32_t length = noise(NOISE_BODY);
		uint8_t body[NOISE_BODY];

		for (uint32_t byte = 0; byte < length; byte++)
			body[byte] = (uint8_t)noise(256);
		frames_say(at, word, word == FRAMES_DATAGRAM ? noise(2) : noise_number(),
			   noise_number(), body, length);
	}
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
