/* SPDX-License-Identifier: MIT */
/* test_map -- numbers to pointers, against an array. */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "support/test.h"

enum { KEYS = 3000, STEPS = 200000 };

static uint64_t state = 3;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 20;
}

/* Memory of a session that has no budget, or none left. */
static bool broke;
static int allocated;

void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	(void)session;
	if (broke)
		return NULL;
	allocated++;
	return malloc(bytes);
}

void nopal_free(struct nopal_session *session, void *memory)
{
	(void)session;
	allocated--;
	free(memory);
}

/* Spread out, dense, and equal in the low bits. */
static uint64_t key_of(uint32_t which)
{
	switch (which % 3) {
	case 0:
		return which;
	case 1:
		return (uint64_t)which << 40;
	default:
		return UINT64_MAX - which;
	}
}

TEST(agrees_with_an_array)
{
	static char *value[KEYS];
	struct nopal_map map = { 0 };
	uint32_t used = 0;
	char bytes[256];

	for (int i = 0; i < STEPS; i++) {
		/* First it fills, then it empties. */
		uint32_t which = (uint32_t)(draw() % KEYS);
		uint64_t key = key_of(which);

		if (draw() % 100 < (i < STEPS / 2 ? 60u : 30u)) {
			char *now = &bytes[draw() % sizeof(bytes)];

			used += !value[which];
			value[which] = now;
			assert_int_equal(nopal_map_put(NULL, &map, key, now), 0);
		} else {
			assert_ptr_equal(nopal_map_take(&map, key), value[which]);
			used -= value[which] != NULL;
			value[which] = NULL;
		}
		assert_int_equal(map.used, used);
		which = (uint32_t)(draw() % KEYS);
		assert_ptr_equal(nopal_map_get(&map, key_of(which)), value[which]);
	}
	for (uint32_t which = 0; which < KEYS; which++)
		assert_ptr_equal(nopal_map_get(&map, key_of(which)), value[which]);
	assert_true((uint64_t)map.used * 4 <= (uint64_t)map.room * 3);
	nopal_free(NULL, map.slots);
	assert_int_equal(allocated, 0);
}

TEST(an_empty_map_has_nothing)
{
	struct nopal_map map = { 0 };

	assert_null(nopal_map_get(&map, 0));
	assert_null(nopal_map_take(&map, 0));
	assert_true(nopal_map_put(NULL, &map, 1, NULL) < 0);
	assert_null(map.slots);
}

TEST(over_budget_changes_nothing)
{
	struct nopal_map map = { 0 };
	uint64_t key = 0;

	broke = true;
	assert_true(nopal_map_put(NULL, &map, 1, &map) < 0);
	broke = false;
	assert_int_equal(nopal_map_put(NULL, &map, key, &map), 0);
	broke = true;
	while (nopal_map_put(NULL, &map, key + 1, &map) == 0)
		key++;
	broke = false;
	assert_int_equal(map.used, key + 1);
	for (uint64_t k = 0; k <= key; k++)
		assert_ptr_equal(nopal_map_get(&map, k), &map);
	assert_null(nopal_map_get(&map, key + 1));
	nopal_free(NULL, map.slots);
}
