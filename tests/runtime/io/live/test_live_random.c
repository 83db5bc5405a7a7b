/* SPDX-License-Identifier: MIT */
/*
 * test_live_random -- secrets of a live world, also where the kernel gives no more random bytes.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <event2/event.h>

#include "io/live/live.h"
#include "support/test.h"

enum { KEY = 33 }; /* no whole number of words */

static bool kernel_refuses;
static unsigned refused;

ssize_t __real_getrandom(void *bytes, size_t length, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);

ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags)
{
	if (!kernel_refuses)
		return __real_getrandom(bytes, length, flags);
	refused++;
	errno = ENOSYS;
	return -1;
}

static int set_up(void **state)
{
	(void)state;
	kernel_refuses = false;
	refused = 0;
	return 0;
}

EACH_TEST(set_up, NULL);

static void draw(struct nopal_world *world, uint8_t *key)
{
	memset(key, 0, KEY + 1);
	world->ops->random_bytes(world, key, KEY);
	assert_int_equal(key[KEY], 0);
}

/* Of two worlds, two keys each: no byte sequence of one is one of another. */
static void assert_keys_differ(bool refuses)
{
	struct nopal_world *worlds[2] = { nopal_live_new(NULL), nopal_live_new(NULL) };
	uint8_t key[4][KEY + 1];

	kernel_refuses = refuses;
	for (unsigned i = 0; i < 4; i++)
		draw(worlds[i / 2], key[i]);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < i; j++)
			for (unsigned part = 0; part + 8 <= KEY; part += 8)
				assert_memory_not_equal(key[i] + part, key[j] + part, 8);
	for (unsigned part = 8; part + 8 <= KEY; part += 8)
		assert_memory_not_equal(key[0], key[0] + part, 8);
	kernel_refuses = false;
	nopal_world_free(worlds[0]);
	nopal_world_free(worlds[1]);
}

TEST(test_keys_of_the_kernel_are_never_the_same)
{
	assert_keys_differ(false);
	assert_int_equal(refused, 0);
}

TEST(test_keys_without_the_kernel_are_never_the_same)
{
	assert_keys_differ(true);
	assert_true(refused >= 4);
}

/* A world without a secret of its own would be open to everybody. */
TEST(test_there_is_no_world_without_random_bytes_at_first)
{
	kernel_refuses = true;
	assert_null(nopal_live_new(NULL));
}
