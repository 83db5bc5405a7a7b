/* SPDX-License-Identifier: MIT */
/*
 * frames.h -- what a host says to the grader, forged: the frames of tools/lab/talk.h, on every
 * descriptor that takes them.
 */
#include "hostile.h"

enum { FRAMES_DESCRIPTORS = 64 };

enum frames_word {
	FRAMES_READY = 32,
	FRAMES_DATAGRAM = 34,
	FRAMES_STARTED = 35,
	FRAMES_OPENED = 36,
	FRAMES_SENT = 37,
	FRAMES_DELIVERED = 38,
	FRAMES_OUTCOME = 39,
	FRAMES_ENDED = 40,
	FRAMES_DONE = 43,
};

struct frames_frame {
	uint32_t length, word;
	int64_t time_ns;
	uint64_t number, other;
};

__attribute__((unused)) static void frames_write(const void *bytes, size_t length)
{
	for (int to = STDERR_FILENO + 1; to < FRAMES_DESCRIPTORS; to++)
		if (write(to, bytes, length) < 0)
			continue;
}

/* A frame with its body. */
__attribute__((unused)) static void frames_say(struct nopal_at at, enum frames_word word,
					       uint64_t number, uint64_t other, const void *body,
					       uint32_t length)
{
	struct {
		struct frames_frame head;
		uint8_t body[1500];
	} frame = { .head = { length, word, at.session->now_ns, number, other } };

	memcpy(frame.body, body, length);
	frames_write(&frame, sizeof(frame.head) + length);
}
