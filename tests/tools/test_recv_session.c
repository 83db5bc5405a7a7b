/* SPDX-License-Identifier: MIT */
/*
 * test_recv_session -- what a sender says, in an order that a composition without one makes of it:
 * DATA, END and SHARE may be there before START; and what none of ours would say, which is refused,
 * leaves nothing, and keeps nobody else out.
 */
#include <fcntl.h>
#include <unistd.h>

#include "support/receiving.h"
#include "support/test.h"

EACH_TEST(scene_open, scene_close);

TEST(test_nothing_was_there)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 100000, 200000 },     { TRANSFER_END, 0, 0 },
		{ TRANSFER_DATA, 0, 100000 },	       { TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 200000, FILE_BYTES }, { 0 },
	};

	scene_takes(*state, 0, steps);
}

TEST(test_start_is_the_last)
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

TEST(test_it_goes_on)
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

/* The part that is there is another file's: the sender begins at 0, which nobody can tell by what
 * comes first. */
TEST(test_it_begins_anew)
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

/* The transfer was taken for the rest of the file, all of which is there, and was none. */
TEST(test_a_rest_that_was_none)
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

/* The receiver reports as held only bytes that came from this sender. */
TEST(test_a_share_before_its_start)
{
	static const struct step data = { TRANSFER_DATA, 200000, 250000 },
				 share = { TRANSFER_SHARE, 0, 0 }, start = { TRANSFER_START, 0, 0 };
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
TEST(test_a_second_start)
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
TEST(test_others_are_less_far)
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

TEST(test_others_are_less_far_in_order)
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

TEST(test_another_file_is_replaced)
{
	struct scene *scene = *state;

	other_file(scene);
	scene->group.folder.overwrite = true;
	scene_takes(scene, FILE_BYTES, all_and_start);
}

TEST(test_another_file_is_left_alone)
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

/* How much a DATA carries is the sender's choice, whose MTU may be another: no promise is broken by
 * that, from the beginning or from the middle. */
static void scene_is_judged_well(struct scene *scene, uint64_t from, uint64_t chunk)
{
	if (from)
		scene_half_ours(scene);
	scene_offers(scene, from);
	scene_say(scene, &(struct step){ TRANSFER_START, from, from });
	for (uint64_t at = from, end; at < FILE_BYTES; at = end) {
		end = at + chunk < FILE_BYTES ? at + chunk : FILE_BYTES;
		scene_say(scene, &(struct step){ TRANSFER_DATA, at, end });
	}
	scene_say(scene, &(struct step){ TRANSFER_END, 0, 0 });
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
	nopal_session_close(scene->session);
	scene_look(scene);
	assert_null(scene->group.receivers->incomings);
	assert_false(scene->group.broken);
	unlinkat(scene->group.folder.fd, "f", 0);
}

TEST(test_chunks_of_any_length_break_no_promise)
{
	static const uint64_t chunks[] = { 40000, 100000, FILE_BYTES - 1, FILE_BYTES };

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		scene_is_judged_well(*state, 0, chunks[i]);
		scene_is_judged_well(*state, HALF_BYTES, chunks[i]);
	}
}

/* ----------------------------------------------------------------- evil senders */

static void scene_is_empty(const struct scene *scene)
{
	static const char *const names[] = { "f", ".f.nopal-part", ".f.nopal-state" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(faccessat(scene->group.folder.fd, names[i], F_OK, 0), -1);
}

/* Behind an offer, its start and all its bytes comes a note that cannot be. */
static void scene_refuses(struct scene *scene, const struct transfer_note *note, size_t more,
			  const char *why)
{
	static const struct step before[] = {
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 0, FILE_BYTES - 1 },
	};

	scene_offers(scene, 0);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		scene_say(scene, &before[i]);
	scene_say_note(scene, note, scene->content, more);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, why));
	scene_is_empty(scene);
}

TEST(test_data_beyond_the_end_are_refused)
{
	static const uint64_t offsets[] = { FILE_BYTES - 1, FILE_BYTES, INT64_MAX, UINT64_MAX - 1,
					    UINT64_MAX };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct transfer_note data = { .type = TRANSFER_DATA, .offset = offsets[i] };

		scene_refuses(*state, &data, 2, "not its own");
	}
	scene_takes(*state, 0, all_and_start);
}

TEST(test_an_end_of_another_length_is_refused)
{
	static const uint64_t sizes[] = { 0, FILE_BYTES - 1, FILE_BYTES + 1, INT64_MAX,
					  UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct transfer_note end = { .type = TRANSFER_END,
					     .size = sizes[i],
					     .hash = scene_hash(*state) };

		scene_refuses(*state, &end, 0, "changed its size");
	}
	scene_takes(*state, 0, all_and_start);
}

TEST(test_a_wrong_hash_leaves_nothing)
{
	struct scene *scene = *state;
	struct transfer_note end = { .type = TRANSFER_END,
				     .size = FILE_BYTES,
				     .hash = scene_hash(scene) ^ 1 };

	scene_offers(scene, 0);
	scene_say(scene, &all_and_start[0]);
	scene_say(scene, &(struct step){ TRANSFER_START, 0, 0 });
	scene_say_note(scene, &end, NULL, 0);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_string_equal(scene->heard.text, TRANSFER_HASH_DIFFERS);
	scene_is_empty(scene);
	scene_takes(scene, 0, all_and_start);
}

/* Each is answered, the session lives, and its next file comes. */
TEST(test_names_that_lead_elsewhere_are_refused)
{
	static char longest[TRANSFER_TEXT_LONGEST + 1];
	static const char *const names[] = { "",	".",	     "..",	  "../f",
					     "/f",	"a/f",	     "a/../../f", ".f",
					     "\033[2J", "new\nline", longest };
	struct scene *scene = *state;

	memset(longest, 'x', TRANSFER_TEXT_LONGEST);
	scene_comes(scene);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		scene_offer_with(scene, scene_offer_of(names[i]));
		assert_int_equal(scene->heard.verdict, TRANSFER_NO);
		assert_true(scene->heard.text[0] != '\0');
	}
	scene_offer_with(scene, scene_offer());
	for (const struct step *step = all_and_start; step->type; step++)
		scene_say(scene, step);
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
}

static struct transfer_note offer_so_long(uint64_t size)
{
	struct transfer_note offer = scene_offer();

	offer.size = size;
	offer.id = transfer_id(offer.text, size, offer.mtime_ns);
	return offer;
}

/* A size that no disk has is answered; one that no file can have ends the session. */
TEST(test_sizes_beyond_all_disks_are_refused)
{
	static const uint64_t beyond[] = { (uint64_t)INT64_MAX + 1, UINT64_MAX };
	struct scene *scene = *state;

	scene_comes(scene);
	scene_offer_with(scene, offer_so_long(INT64_MAX));
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, "free on the disk"));
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		struct transfer_note offer = offer_so_long(beyond[i]);

		scene_comes(scene);
		scene_say_note(scene, &offer, NULL, 0);
	}
	scene_look(scene);
	assert_int_equal(scene->heard.type, TRANSFER_ANSWER);
	assert_int_equal(scene->group.house.seats, 1); /* of the first */
	scene_is_empty(scene);
	scene_takes(scene, 0, all_and_start);
}

/* Of a file that nobody offered nothing is taken. */
TEST(test_notes_before_an_offer_are_passed_over)
{
	static const enum transfer_type early[] = { TRANSFER_START,  TRANSFER_DATA, TRANSFER_END,
						    TRANSFER_SHARE,  TRANSFER_HELD, TRANSFER_ASK,
						    TRANSFER_HASHES, TRANSFER_ABORT };
	struct scene *scene = *state;

	scene_comes(scene);
	for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++)
		scene_say(scene, &(struct step){ early[i], 0, 0 });
	scene_look(scene);
	assert_int_equal(scene->heard.type, 0);
	scene_is_empty(scene);
	scene_offer_with(scene, scene_offer());
	for (const struct step *step = all_and_start; step->type; step++)
		scene_say(scene, step);
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
}
