/* SPDX-License-Identifier: MIT */
/*
 * test_part -- files half received, and what became of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "file/ranges.c"
#include "file/part.c"

#include "support/part_scene.h"
#include "support/test.h"

EACH_TEST(part_scene_open, part_scene_close);

static void part_end_well(struct scene *scene, struct part *part)
{
	assert_true(part->whole == part->size);
	assert_true(file_hash_value(&part->hash) == part_scene_hash(scene));
	part_begin(part, PART_COMMITTING);
	assert_int_equal(part_finish(part), 0);
	part_close(part, true);
	scene_expect(scene, "f");
	assert_false(scene_has(scene, ".f.nopal-part"));
	assert_false(scene_has(scene, ".f.nopal-state"));
}

TEST(test_a_file_appears_only_whole)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, 1000));
	assert_true(scene_write(scene, part, 1000, FILE_BYTES));
	assert_false(scene_has(scene, "f"));
	part_end_well(scene, part);
}

TEST(test_order_does_not_matter)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	uint64_t step = FILE_BYTES / 10;

	assert_true(part_start(part, 0, scene->why));
	for (uint64_t i = 9; i > 0; i--)
		assert_true(scene_write(scene, part, i * step, (i + 1) * step));
	assert_int_equal(part->whole, 0);
	assert_true(scene_write(scene, part, 0, step));
	part_end_well(scene, part);
}

TEST(test_it_says_what_it_holds)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	struct range ranges[TRANSFER_RANGES_MAX];

	assert_true(part_start(part, 0, scene->why));
	assert_int_equal(part_ranges(part, ranges), 0);
	assert_true(scene_write(scene, part, 5000, 6000));
	assert_true(scene_write(scene, part, 2000, 3000));
	assert_int_equal(part_ranges(part, ranges), 2);
	assert_int_equal(ranges[0].from, 2000);
	assert_int_equal(ranges[1].end, 6000);
	assert_true(scene_write(scene, part, 0, 2000));
	assert_int_equal(part_ranges(part, ranges), 2);
	assert_int_equal(ranges[0].from, 0);
	assert_int_equal(ranges[0].end, 3000);
	assert_int_equal(ranges[1].from, 5000);
	part_close(part, true);
}

TEST(test_interop_bytes_are_refused)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	struct iovec huge = { scene->content, FILE_BYTES };

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, 1000));
	assert_true(scene_write(scene, part, 2000, 3000));
	assert_false(scene_write(scene, part, 500, 1500));
	assert_false(scene_write(scene, part, 2500, 3500));
	assert_false(scene_write(scene, part, 1500, 2500));
	assert_false(scene_write(scene, part, 1000, 1000));
	assert_false(part_write(part, 1, &huge, 1, scene->why));
	assert_false(part_write(part, UINT64_MAX, &huge, 1, scene->why));
	part_close(part, false);
	assert_false(scene_has(scene, ".f.nopal-part"));
}

TEST(test_ranges_are_bounded)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	unsigned taken = 0;

	assert_true(part_start(part, 0, scene->why));
	while (scene_write(scene, part, 10 + taken * 10, 11 + taken * 10))
		taken++;
	assert_int_equal(taken, RANGES_MAX);
	part_close(part, false);
}

TEST(test_what_was_saved_goes_on)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, HALF_BYTES));
	part_begin(part, PART_SAVING);
	assert_true(part->job == PART_SAVING);
	assert_int_equal(part_finish(part), 0);
	assert_true(scene_write(scene, part, HALF_BYTES, HALF_BYTES + 1000));
	/* as after SIGKILL: nothing is closed in order */
	close(part->fd);
	part->fd = -1;
	part->ours = false;
	part_close(part, true);
	part = scene_part(scene, HALF_BYTES);
	assert_true(part_start(part, HALF_BYTES, scene->why));
	assert_true(scene_write(scene, part, HALF_BYTES, FILE_BYTES));
	part_end_well(scene, part);
}

TEST(test_the_peer_lost_keeps_all)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, HALF_BYTES + 17));
	part_close(part, true);
	part = scene_part(scene, HALF_BYTES + 17);
	assert_true(part_start(part, 0, scene->why)); /* the sender may begin anew */
	assert_true(scene_write(scene, part, 0, FILE_BYTES));
	part_end_well(scene, part);
}

TEST(test_another_file_begins_anew)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	struct transfer_note other = offer_of(FILE_BYTES, 43);
	uint64_t offset, hash;

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, HALF_BYTES));
	part_close(part, true);
	assert_int_equal(part_open(&scene->folder, &other, &part, scene->why), TRANSFER_YES);
	assert_true(part_check(part, &offset, &hash));
	assert_int_equal(offset, 0);
	part_close(part, false);
}

TEST(test_hostile_state_is_nothing)
{
	static const char *const texts[] = {
		"",
		"nopal-part",
		"nopal-part 1 0 0 0",
		"nopal-part 1 zz 300000 5\n",
		"nopal-part 2 0000000000000000 300000 5\n",
	};
	struct scene *scene = *state;
	char text[128];

	scene_put(scene, ".f.nopal-part", scene->content, 100);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		scene_put(scene, ".f.nopal-state", texts[i], strlen(texts[i]));
		part_close(scene_part(scene, 0), true);
	}
	snprintf(text, sizeof(text), "nopal-part 1 %016llx %d %d\n",
		 (unsigned long long)offer_of(FILE_BYTES, 42).id, FILE_BYTES, 101);
	scene_put(scene, ".f.nopal-state", text, strlen(text));
	part_close(scene_part(scene, 0), true); /* more than the part has */
}

TEST(test_an_identical_file_is_here)
{
	struct scene *scene = *state;
	struct part *part;

	scene_put(scene, "f", scene->content, FILE_BYTES);
	part = scene_part(scene, FILE_BYTES);
	assert_true(part_start(part, FILE_BYTES, scene->why));
	assert_true(part->here);
	assert_true(file_hash_value(&part->hash) == part_scene_hash(scene));
	assert_false(scene_write(scene, part, 0, 10));
	part_close(part, false);
	scene_expect(scene, "f");
}

TEST(test_a_different_file_stays)
{
	struct scene *scene = *state;
	struct transfer_note offer = offer_of(FILE_BYTES + 1, 42);
	struct part *part = NULL;

	scene_put(scene, "f", scene->content, FILE_BYTES);
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
	part = scene_part(scene, FILE_BYTES);
	assert_false(part_start(part, 0, scene->why)); /* the sender says: differs */
	part_close(part, false);
	scene_expect(scene, "f");
}

TEST(test_overwrite_replaces)
{
	struct scene *scene = *state;
	struct part *part;
	uint64_t offset, hash;
	struct transfer_note offer = offer_of(FILE_BYTES, 42);

	scene->folder.overwrite = true;
	scene->content[5] ^= 1;
	scene_put(scene, "f", scene->content, FILE_BYTES);
	scene->content[5] ^= 1;
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_YES);
	while (!part_check(part, &offset, &hash))
		;
	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, FILE_BYTES));
	part_end_well(scene, part);
}

TEST(test_a_file_that_came_meanwhile_stays)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);

	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, FILE_BYTES));
	scene_put(scene, "f", "mine", 4);
	part_begin(part, PART_COMMITTING);
	assert_int_equal(part_finish(part), -EEXIST);
	part_close(part, false);
	assert_false(scene_has(scene, ".f.nopal-part"));
	assert_true(scene_has(scene, "f"));
}

TEST(test_links_lead_nowhere)
{
	struct scene *scene = *state;
	struct transfer_note offer = offer_of(FILE_BYTES, 42);
	struct part *part = NULL;

	scene_put(scene, "outside", "precious", 8);
	assert_int_equal(symlinkat("outside", scene->folder.fd, "f"), 0);
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
	unlinkat(scene->folder.fd, "f", 0);
	assert_int_equal(symlinkat("outside", scene->folder.fd, ".f.nopal-part"), 0);
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
	unlinkat(scene->folder.fd, ".f.nopal-part", 0);
	assert_int_equal(mkfifoat(scene->folder.fd, "f", 0600), 0);
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
}

TEST(test_one_transfer_a_name)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0), *second = NULL;
	struct transfer_note offer = offer_of(FILE_BYTES, 42);

	assert_int_equal(part_open(&scene->folder, &offer, &second, scene->why), TRANSFER_LATER);
	assert_true(part_start(part, 0, scene->why));
	assert_true(scene_write(scene, part, 0, FILE_BYTES));
	part_end_well(scene, part);
}

TEST(test_a_full_disk_is_an_error_that_leaves_nothing)
{
	struct scene *scene = *state;
	struct part *part = scene_part(scene, 0);
	struct rlimit limit, small;

	assert_true(part_start(part, 0, scene->why));
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = HALF_BYTES;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_false(scene_write(scene, part, 0, FILE_BYTES));
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_non_null(strstr(scene->why, strerror(EFBIG)));
	part_close(part, false);
	assert_false(scene_has(scene, ".f.nopal-part"));
	assert_false(scene_has(scene, "f"));
}

TEST(test_too_long_is_refused_at_once)
{
	struct scene *scene = *state;
	struct transfer_note offer = offer_of(FILE_BYTES, 42);
	struct part *part = NULL;

	scene->folder.limit = FILE_BYTES - 1;
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
	scene->folder.limit = INT64_MAX;
	offer = offer_of(INT64_MAX, 42);
	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_NO);
	assert_non_null(strstr(scene->why, "free on the disk"));
	assert_false(scene_has(scene, ".f.nopal-part"));
}

TEST(test_an_empty_file)
{
	struct scene *scene = *state;
	struct transfer_note offer = offer_of(0, 42);
	struct part *part = NULL;
	uint64_t offset, hash;

	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_YES);
	assert_true(part_check(part, &offset, &hash));
	assert_true(part_start(part, 0, scene->why));
	assert_true(part->whole == part->size);
	part_begin(part, PART_COMMITTING);
	assert_int_equal(part_finish(part), 0);
	part_close(part, true);
	assert_true(scene_has(scene, "f"));
}
