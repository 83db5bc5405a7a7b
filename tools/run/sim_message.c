/* SPDX-License-Identifier: MIT */
/*
 * sim_message.c -- the messages of `nopal sim`, known by their bytes.
 *
 * A message of at least 16 bytes begins with the time of its sending and its number, 8 bytes each,
 * big endian; the number's upper 16 bits are the stream.  All other bytes are a piece of one
 * pseudo-random pattern, from a place that depends on the flow and the number, so that bytes of
 * another message or of another place are wrong bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "run/sim.h"

enum {
	HEAD_NUMBER = 8, /* where the number is */
	WORD_BYTES = 8,
	BYTE_BITS = 8,
	BYTE_MASK = 0xff,
	PATTERN_SHIFTS = 1021, /* prime */
	FLOW_STEP = 97,	       /* shift from flow to flow */
	STREAM_SHIFT = 48,
};

static void put_word(uint8_t *bytes, uint64_t word)
{
	for (int i = WORD_BYTES; i-- > 0; word >>= BYTE_BITS)
		bytes[i] = word & BYTE_MASK;
}

uint64_t sim_message_length(const struct sim_load *load, uint64_t number)
{
	return number + 1 < load->messages ? load->size : load->bytes - number * load->size;
}

/* The bytes of a message behind its head.  Short ones do not tell their number, and are all
 * alike. */
static const uint8_t *pattern_of(const struct sim_flow *flow, uint64_t number, uint64_t length)
{
	uint64_t shift = length < SIM_HEAD_BYTES
				 ? 0
				 : (number + (uint64_t)flow->index * FLOW_STEP) % PATTERN_SHIFTS;

	return flow->run->pattern + shift;
}

uint8_t *sim_message_pattern(uint64_t size)
{
	uint64_t length = size + PATTERN_SHIFTS;
	uint8_t *pattern = malloc(length);
	const uint32_t multiplier = 1664525;
	const uint32_t increment = 1013904223;
	const unsigned high_byte = 24;
	uint32_t state = 1;

	/* Numerical Recipes' linear congruential generator: its high bytes are good enough to tell
	 * places apart. */
	for (uint64_t i = 0; pattern && i < length; i++) {
		state = state * multiplier + increment;
		pattern[i] = (uint8_t)(state >> high_byte);
	}
	return pattern;
}

void sim_message_write(const struct sim_flow *flow, uint64_t number, int64_t now_ns, uint8_t *bytes)
{
	uint64_t length = sim_message_length(flow->load, number);

	memcpy(bytes, pattern_of(flow, number, length), length);
	if (length >= SIM_HEAD_BYTES) {
		put_word(bytes, (uint64_t)now_ns);
		put_word(bytes + HEAD_NUMBER, (uint64_t)flow->stream << STREAM_SHIFT | number);
	}
}

static uint64_t number_of(const struct nopal_message *message)
{
	uint8_t head[SIM_HEAD_BYTES];
	uint64_t number = 0;

	nopal_message_copy(message, 0, head, sizeof(head));
	for (int i = HEAD_NUMBER; i < SIM_HEAD_BYTES; i++)
		number = number << BYTE_BITS | head[i];
	return number;
}

unsigned sim_message_stream(const struct nopal_message *message)
{
	return (unsigned)(number_of(message) >> STREAM_SHIFT);
}

bool sim_message_is_ours(const struct sim_flow *flow, const struct nopal_message *message,
			 uint64_t *ret_number)
{
	const struct sim_load *load = flow->load;
	uint64_t length = nopal_message_length(message);

	*ret_number = 0;
	if (length < SIM_HEAD_BYTES)
		return length == load->size ||
		       length == sim_message_length(load, load->messages - 1);
	*ret_number = number_of(message) - ((uint64_t)flow->stream << STREAM_SHIFT);
	return *ret_number < load->messages && length == sim_message_length(load, *ret_number);
}

static uint64_t wrong_in_piece(const uint8_t *bytes, const uint8_t *expected, uint64_t length)
{
	uint64_t wrong = 0;

	if (memcmp(bytes, expected, length) == 0)
		return 0;
	for (uint64_t i = 0; i < length; i++)
		wrong += bytes[i] != expected[i];
	return wrong;
}

uint64_t sim_message_wrong_bytes(const struct sim_flow *flow, const struct nopal_message *message,
				 uint64_t number)
{
	uint64_t size = nopal_message_length(message), wrong = 0, at = 0;
	uint64_t skip = size >= SIM_HEAD_BYTES ? SIM_HEAD_BYTES : 0;
	const uint8_t *expected = pattern_of(flow, number, size);
	uint8_t told[WORD_BYTES], sent[WORD_BYTES];

	if (skip) {
		nopal_message_copy(message, 0, told, sizeof(told));
		put_word(sent, (uint64_t)flow->sent_ns[number]);
		wrong = wrong_in_piece(told, sent, sizeof(sent));
	}
	for (size_t i = 0; i < nopal_message_pieces(message); i++) {
		uint32_t length;
		const uint8_t *bytes = nopal_message_piece(message, i, &length);
		uint64_t from = skip > at ? skip - at : 0;

		if (from < length)
			wrong += wrong_in_piece(bytes + from, expected + at + from, length - from);
		at += length;
	}
	return wrong;
}
