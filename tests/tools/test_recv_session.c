/* SPDX-License-Identifier: MIT */
/*
 * test_recv_session -- what a sender says, in an order that a composition without
 * one makes of it: DATA, END and SHARE may be there before START.
 */
#include "receiving.h"

static void test_nothing_was_there(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 100000, 200000 },     { TRANSFER_END, 0, 0 },
		{ TRANSFER_DATA, 0, 100000 },	       { TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 200000, FILE_BYTES }, { 0 },
	};

	scene_takes(*state, 0, steps);
}

static void test_start_is_the_last(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 0, 100000 },
		{ TRANSFER_DATA, 100000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, 0, 0 },
		{ 0 },
	};

	scene_takes(*state, 0, steps);
}

static void test_it_goes_on(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* What is there is another file's: the sender begins at 0, which nobody can tell
 * by what comes first. */
static void test_it_begins_anew(void **state)
{
	static const struct step late[] = {
		{ TRANSFER_DATA, 200000, 250000 },
		{ TRANSFER_DATA, 160000, 200000 },
		{ TRANSFER_DATA, 250000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 100000, 160000 },
		{ TRANSFER_DATA, 0, 100000 },
		{ 0 },
	};
	scene_half_other(*state);
	scene_takes(*state, HALF_BYTES, late);
}

/* It was taken for the rest, all of which is there, and was none. */
static void test_a_rest_that_was_none(void **state)
{
	static const struct step late[] = {
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_DATA, 0, 100000 },
		{ TRANSFER_DATA, 100000, HALF_BYTES },
		{ TRANSFER_START, 0, 0 },
		{ 0 },
	};
	scene_half_other(*state);
	scene_takes(*state, HALF_BYTES, late);
}

/* It holds nothing of what is not this sender's. */
static void test_a_share_before_its_start(void **state)
{
	static const struct step data = { TRANSFER_DATA, 200000, 250000 },
				 share = { TRANSFER_SHARE, 0, 0 },
				 start = { TRANSFER_START, 0, 0 };
	struct scene *scene = *state;

	scene_half_other(scene);
	scene_offers(scene, HALF_BYTES);
	scene_say(scene, &data);
	scene_say(scene, &share);
	scene_look(scene);
	assert_int_equal(scene->heard.type, TRANSFER_ANSWER);
	scene_say(scene, &start);
	scene_wait(scene, TRANSFER_HELD);
	assert_int_equal(scene->held_count, 1);
	assert_int_equal(scene->ranges[0].from, 200000);
	assert_int_equal(scene->ranges[0].end, 250000);
}

/* A start twice is none: what came since stays. */
static void test_a_second_start(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* To several it goes on from where the last one of them is. */
static void test_others_are_less_far(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 120000, 160000 },
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, 100000, 120000 },
		{ TRANSFER_DATA, 160000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

static void test_others_are_less_far_in_order(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, 50000, 100000 },
		{ TRANSFER_DATA, 100000, 200000 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* Another file of the same length has the name. */
static void other_file(const struct scene *scene)
{
	int fd = openat(scene->group.folder.fd, "f", O_WRONLY | O_CREAT, 0666);
	uint8_t *other = calloc(1, FILE_BYTES);

	assert_int_equal(write(fd, other, FILE_BYTES), FILE_BYTES);
	close(fd);
	free(other);
}

static void test_another_file_is_replaced(void **state)
{
	struct scene *scene = *state;

	other_file(scene);
	scene->group.folder.overwrite = true;
	scene_takes(scene, FILE_BYTES, all_and_start);
}

static void test_another_file_is_left_alone(void **state)
{
	struct scene *scene = *state;
	uint8_t first = 1;
	int fd;

	other_file(scene);
	scene_offers(scene, FILE_BYTES);
	scene_say(scene, all_and_start);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	fd = openat(scene->group.folder.fd, "f", O_RDONLY);
	assert_int_equal(pread(fd, &first, 1, 1), 1);
	assert_int_equal(first, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_was_there),
		CASE(test_start_is_the_last),
		CASE(test_it_goes_on),
		CASE(test_it_begins_anew),
		CASE(test_a_rest_that_was_none),
		CASE(test_a_share_before_its_start),
		CASE(test_a_second_start),
		CASE(test_others_are_less_far),
		CASE(test_another_file_is_replaced),
		CASE(test_another_file_is_left_alone),
		CASE(test_others_are_less_far_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
