/* SPDX-License-Identifier: MIT */
/* test_buffer -- references, and that the bytes are there. */
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum { CAPACITY = 1000 };

TEST(has_its_bytes)
{
	struct nopal_buffer *buffer = nopal_buffer_new(CAPACITY);

	assert_non_null(buffer);
	assert_int_equal(buffer->capacity, CAPACITY);
	assert_int_equal(buffer->references, 1);
	memset(nopal_buffer_bytes(buffer), 0xa5, CAPACITY);
	assert_ptr_equal(nopal_buffer_bytes(buffer), buffer->bytes);
	nopal_buffer_free(buffer);
}

TEST(lives_until_the_last_reference)
{
	struct nopal_buffer *buffer = nopal_buffer_new(CAPACITY);

	nopal_buffer_ref(buffer);
	nopal_buffer_free(buffer);
	assert_int_equal(buffer->references, 1);
	buffer->bytes[CAPACITY - 1] = 1;
	nopal_buffer_unref(buffer);
}

TEST(empty_and_null)
{
	struct nopal_buffer *buffer = nopal_buffer_new(0);

	assert_non_null(buffer);
	assert_non_null(nopal_buffer_bytes(buffer));
	nopal_buffer_free(buffer);
	nopal_buffer_free(NULL);
}
