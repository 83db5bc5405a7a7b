/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/vector.h"
#include "support/test.h"

TEST(test_an_array_doubles_and_keeps_its_elements)
{
	uint32_t *array = NULL;
	size_t room = 0;

	for (uint32_t i = 0; i < 100; i++) {
		assert_true(nopal__vector_room(&array, &room, i + 1, sizeof(*array)));
		assert_int_equal(array[i], 0);
		array[i] = i + 1;
	}
	assert_int_equal(room, 128);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(array[i], i + 1);
	free(array);
}

TEST(test_an_array_has_the_room_that_is_wanted)
{
	uint8_t *array = NULL;
	size_t room = 0;

	assert_true(nopal__vector_room(&array, &room, 0, 1));
	assert_null(array);
	assert_true(nopal__vector_room(&array, &room, 1000, 1));
	assert_int_equal(room, 1000);
	assert_true(nopal__vector_room(&array, &room, 1000, 1));
	assert_int_equal(room, 1000);
	free(array);
}

TEST(test_an_array_without_memory_is_as_it_was)
{
	uint64_t *array = NULL, *before;
	size_t room = 0;

	assert_true(nopal__vector_room(&array, &room, 8, sizeof(*array)));
	before = array;
	assert_false(nopal__vector_room(&array, &room, SIZE_MAX / 4, sizeof(*array)));
	assert_ptr_equal(array, before);
	assert_int_equal(room, 8);
	free(array);
}
