/* SPDX-License-Identifier: MIT */
/*
 * arena.c: what is taken is zeroed and aligned, arrays grow, and a failed arena gives no more.
 * text.c: its strings are never NULL.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "support/test.h"

/* More than any machine has. */
static const size_t too_much = SIZE_MAX / 4;

TEST(test_memory_is_zeroed_and_aligned)
{
	struct nopal_arena arena = { 0 };

	for (size_t size = 0; size < 100; size++) {
		char *memory = nopal__zeroed(&arena, 1, size);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xff, size);
	}
	nopal__arena_release(&arena);
	assert_null(arena.newest);
}

TEST(test_an_array_grows_and_keeps_its_elements)
{
	enum { ELEMENTS = 1000 };
	struct nopal_arena arena = { 0 };
	uint64_t *array = NULL;
	size_t count = 0;

	for (uint64_t i = 0; i < ELEMENTS; i++) {
		uint64_t *one = nopal__one_more(&arena, &array, &count, sizeof(*array));

		assert_ptr_equal(one, &array[i]);
		assert_int_equal(*one, 0);
		*one = i;
	}
	assert_int_equal(count, ELEMENTS);
	for (uint64_t i = 0; i < ELEMENTS; i++)
		assert_int_equal(array[i], i);
	count--; /* dropped: the next one there is zeroed again */
	assert_int_equal(*(uint64_t *)nopal__one_more(&arena, &array, &count, sizeof(*array)), 0);
	nopal__arena_release(&arena);
}

TEST(test_a_failed_arena_gives_no_more)
{
	struct nopal_arena arena = { 0 };
	int *array = NULL;
	size_t count = 0;

	assert_non_null(nopal__one_more(&arena, &array, &count, sizeof(int)));
	assert_null(nopal__zeroed(&arena, too_much, too_much));
	assert_true(arena.failed);
	assert_null(nopal__zeroed(&arena, 1, 1));
	assert_null(nopal__zeroed_secret(&arena, 1));
	assert_null(nopal__one_more(&arena, &array, &count, sizeof(int)));
	assert_int_equal(count, 1);
	assert_int_equal(array[0], 0);
	nopal__arena_release(&arena);
	assert_false(arena.failed);
	assert_non_null(nopal__zeroed(&arena, 1, 1));
	nopal__arena_release(&arena);
	assert_null(nopal__zeroed(&arena, 1, SIZE_MAX - 1));
}

TEST(test_what_came_after_a_mark_goes)
{
	struct nopal_arena arena = { 0 };
	const struct nopal_arena_block *mark;
	char *kept = nopal__zeroed(&arena, 1, 8);

	mark = arena.newest;
	nopal__zeroed(&arena, 1, 8);
	assert_non_null(nopal__zeroed_secret(&arena, 8));
	nopal__arena_back(&arena, mark);
	assert_ptr_equal(arena.newest, mark);
	strcpy(kept, "kept");
	nopal__arena_release(&arena);
}

TEST(test_texts)
{
	struct nopal_arena arena = { 0 };
	struct nopal_text text = { .arena = &arena };

	assert_string_equal(nopal__text(&text), "");
	for (int i = 0; i < 100; i++)
		nopal__append(&text, "%s%d", i ? " " : "", i);
	assert_int_equal(text.length, strlen(nopal__text(&text)));
	assert_memory_equal(nopal__text(&text), "0 1 2 3 4", 9);
	assert_string_equal(nopal__text(&text) + text.length - 5, "98 99");
	assert_string_equal(nopal__copy_part(&arena, "abc", 2), "ab");
	assert_string_equal(nopal__printed(&arena, "%d-%s", 5, "x"), "5-x");
	assert_string_equal(nopal__printed(&arena, "%s", ""), "");
	nopal__arena_release(&arena);
}

TEST(test_texts_of_a_failed_arena_are_empty)
{
	struct nopal_arena arena = { .failed = true };
	struct nopal_text text = { .arena = &arena };

	assert_string_equal(nopal__copy(&arena, "abc"), "");
	assert_string_equal(nopal__printed(&arena, "%d", 5), "");
	nopal__append(&text, "%d", 5);
	nopal__append_part(&text, "abc", 3);
	assert_string_equal(nopal__text(&text), "");
	assert_int_equal(text.length, 0);
	assert_null(nopal__search(&arena, "/:.", "etc", "", nopal__is_readable));
}
