/* SPDX-License-Identifier: MIT */
/* test_buffer -- references, and that the bytes are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

enum { CAPACITY = 1000 };

static void has_its_bytes(void **unused)
{
	struct nopal_buffer *buffer = nopal_buffer_new(CAPACITY);

	(void)unused;
	assert_non_null(buffer);
	assert_int_equal(buffer->capacity, CAPACITY);
	assert_int_equal(buffer->references, 1);
	memset(nopal_buffer_bytes(buffer), 0xa5, CAPACITY);
	assert_ptr_equal(nopal_buffer_bytes(buffer), buffer->bytes);
	nopal_buffer_free(buffer);
}

static void lives_until_the_last_reference(void **unused)
{
	struct nopal_buffer *buffer = nopal_buffer_new(CAPACITY);

	(void)unused;
	nopal_buffer_ref(buffer);
	nopal_buffer_free(buffer);
	assert_int_equal(buffer->references, 1);
	buffer->bytes[CAPACITY - 1] = 1;
	nopal_buffer_unref(buffer);
}

static void empty_and_null(void **unused)
{
	struct nopal_buffer *buffer = nopal_buffer_new(0);

	(void)unused;
	assert_non_null(buffer);
	assert_non_null(nopal_buffer_bytes(buffer));
	nopal_buffer_free(buffer);
	nopal_buffer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_its_bytes),
		cmocka_unit_test(lives_until_the_last_reference),
		cmocka_unit_test(empty_and_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
