/* SPDX-License-Identifier: MIT */
/*
 * test_part_state -- what a part takes of the disk, whose it is, and when it goes.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/part_scene.h"
#include "support/test.h"

EACH_TEST(part_scene_open, part_scene_close);

static uint64_t on_disk(const struct part *part)
{
	struct stat now;

	assert_int_equal(fstat(part->fd, &now), 0);
	return (uint64_t)now.st_blocks * 512;
}

/* However long it says to be: as much is reserved as has come, or a little. */
TEST(test_an_offer_reserves_no_disk)
{
	enum { CAME = 3 << 20, ROUNDED = 64 << 10 };
	static uint8_t bytes[CAME];
	struct iovec one = { bytes, 1 }, all = { bytes, CAME - 1 };
	struct scene *scene = *state;
	struct transfer_note offer = offer_of(UINT64_C(4) << 30, 42);
	struct part *part = NULL;

	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_YES);
	assert_true(on_disk(part) <= ROUNDED);
	assert_true(part_start(part, 0, scene->why));
	assert_true(on_disk(part) <= ROUNDED);
	assert_true(part_write(part, 0, &one, 1, scene->why));
	assert_true(on_disk(part) <= PART_AHEAD_MIN + ROUNDED);
	/* beyond a gap, and far */
	assert_true(part_write(part, UINT64_C(2) << 30, &one, 1, scene->why));
	assert_true(on_disk(part) <= PART_AHEAD_MIN + 2 * ROUNDED);
	assert_true(part_write(part, 1, &all, 1, scene->why));
	assert_true(on_disk(part) <= 2 * CAME + 3 * ROUNDED);
	/* and goes back with the session */
	assert_true(part_close(part, true) <= CAME + 3 * ROUNDED);
	assert_true(scene_has(scene, ".f.nopal-part"));
}

TEST(test_a_part_to_which_nothing_came_goes)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);

	assert_true(part_is_empty(part));
	assert_true(part_start(part, 0, scene->why));
	assert_true(part_is_empty(part));
	assert_int_equal(part_close(part, true), 0);
	assert_false(scene_has(scene, ".f.nopal-part"));
	assert_false(scene_has(scene, ".f.nopal-state"));
}

static const uint8_t somebody[PART_OWNER_BYTES] = { 1, 2, 0xfe };

struct swept {
	unsigned parts;
	uint64_t bytes;
};

static void on_swept(void *user, const uint8_t owner[PART_OWNER_BYTES], uint64_t bytes)
{
	struct swept *swept = user;

	assert_memory_equal(owner, somebody, PART_OWNER_BYTES);
	swept->parts++;
	swept->bytes += bytes;
}

/* By the next one that looks there. */
TEST(test_whose_a_part_is_is_known)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	uint8_t owner[PART_OWNER_BYTES];
	struct swept swept = { 0 };
	uint64_t kept;

	part_set_owner(part, somebody);
	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, HALF_BYTES));
	part_sweep(scene->folder.fd, on_swept, &swept);
	assert_int_equal(swept.parts, 0); /* it is at work */
	kept = part_close(part, true);
	assert_true(kept >= HALF_BYTES && kept < 2 * HALF_BYTES);
	part_sweep(scene->folder.fd, on_swept, &swept);
	assert_int_equal(swept.parts, 1);
	assert_int_equal(swept.bytes, kept);
	part = scene_part(scene, HALF_BYTES);
	assert_int_equal(part_found_bytes(part, owner), kept);
	assert_memory_equal(owner, somebody, PART_OWNER_BYTES);
	part_close(part, true);
	/* as an earlier version wrote it: nobody's, and it goes on */
	scene_put(scene, ".f.nopal-state", "nopal-part 1 0 300000 7\n", 24);
	part_sweep(scene->folder.fd, on_swept, &swept);
	assert_int_equal(swept.parts, 1);
	assert_true(scene_has(scene, ".f.nopal-part"));
}

/* The rest of a recv that was killed. */
TEST(test_a_sweep_removes_what_never_grew)
{
	struct scene *scene = *state;
	struct swept swept = { 0 };
	static const char text[] = "nopal-part 1 0 300000 0 0102fe00000000000000000000000000\n";

	scene_put(scene, ".f.nopal-part", "", 0);
	scene_put(scene, ".f.nopal-state", text, sizeof(text) - 1);
	scene_put(scene, "outside", "", 0);
	part_sweep(scene->folder.fd, on_swept, &swept);
	assert_int_equal(swept.parts, 0);
	assert_false(scene_has(scene, ".f.nopal-part"));
	assert_false(scene_has(scene, ".f.nopal-state"));
	assert_true(scene_has(scene, "outside"));
}
