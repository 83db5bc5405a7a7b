/* SPDX-License-Identifier: MIT */
/*
 * buffer.c -- bytes that several may look at, on the heap.
 *
 * Head and bytes are one allocation.  Worlds and pools make buffers of their own with another
 * `release`.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

static void buffer_release(struct nopal_buffer *buffer)
{
	free(buffer);
}

struct nopal_buffer *nopal_buffer_new(uint32_t capacity)
{
	struct nopal_buffer *buffer = malloc(sizeof(*buffer) + capacity);

	if (!buffer)
		return NULL;
	*buffer = (struct nopal_buffer){
		.references = 1,
		.capacity = capacity,
		.bytes = (uint8_t *)(buffer + 1),
		.release = buffer_release,
	};
	return buffer;
}

uint8_t *nopal_buffer_bytes(struct nopal_buffer *buffer)
{
	return buffer->bytes;
}

void nopal_buffer_free(struct nopal_buffer *buffer)
{
	nopal_buffer_unref(buffer);
}
