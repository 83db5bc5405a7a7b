/* SPDX-License-Identifier: MIT */
/*
 * input.h -- the bytes of one execution, read from the front: numbers that steer a script, and runs
 * of bytes.  Behind the end all is 0, so that every input is a whole script.
 */
#ifndef NOPAL_FUZZ_INPUT_H
#define NOPAL_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *at, *end;
};

static inline struct input input_over(const uint8_t *bytes, size_t length)
{
	return (struct input){ bytes, bytes + length };
}

static inline size_t input_left(const struct input *input)
{
	return (size_t)(input->end - input->at);
}

static inline uint8_t input_byte(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* Big endian, of 1 to 8 bytes. */
static inline uint64_t input_number(struct input *input, unsigned bytes)
{
	uint64_t number = 0;

	while (bytes--)
		number = number << 8 | input_byte(input);
	return number;
}

/* At most so many bytes, and as many as there are. */
static inline const uint8_t *input_take(struct input *input, size_t max, size_t *ret_length)
{
	const uint8_t *at = input->at;

	*ret_length = input_left(input) < max ? input_left(input) : max;
	input->at += *ret_length;
	return at;
}

/* The function that libFuzzer and replay.c call: always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
