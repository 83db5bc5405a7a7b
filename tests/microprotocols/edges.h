/* SPDX-License-Identifier: MIT */
/*
 * edges.h -- windowed_flow on the bench, as a receiver: segments that arrive, messages that they
 * make, and the edges that it tells.
 */
#ifndef NOPAL_TEST_EDGES_H
#define NOPAL_TEST_EDGES_H

#include "support/bench.h"

extern const struct nopal_microprotocol nopal_windowed_flow;

enum { SEG = BENCH_BODY, INITIAL = 16, FIRST = 1 };
enum { KIND_WINDOW, KIND_PROBE };
enum { NUMBER, CHARGE, RIDES };

/* Other parameters between this and bench_begin(). */
static inline void edges_place(int64_t buffer)
{
	bench_place(&nopal_windowed_flow);
	*bench_parameter("buffer") = buffer;
	*bench_parameter("initial") = INITIAL;
	*bench_parameter("probe") = 100 * NOPAL_MILLISECOND;
}

static inline uint32_t said_number(uint32_t index)
{
	const uint8_t *bytes = bench.said[index].bytes;

	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static inline struct nopal_message *message_of(uint64_t bytes)
{
	struct nopal_message *message =
		calloc(1, sizeof(*message) + BENCH_SLOTS * sizeof(uint64_t));

	message->length = bytes;
	bench_raise(NOPAL_MSG_FROM_NET, message);
	bench_raise(NOPAL_MSG_TO_USER, message);
	return message;
}

static inline void consume(struct nopal_message *message)
{
	bench_raise(NOPAL_MSG_CONSUMED, message);
	free(message);
}

static inline void arrive(uint64_t number)
{
	struct nopal_segment *segment =
		calloc(1, sizeof(*segment) + BENCH_SLOTS * sizeof(uint64_t));

	*bench_attribute(segment, NUMBER) = number;
	segment->body.length = SEG;
	bench_raise(NOPAL_SEGMENT_VERIFIED, segment);
	free(segment);
}

#endif
