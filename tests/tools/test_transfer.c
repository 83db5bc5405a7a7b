/* SPDX-License-Identifier: MIT */
/*
 * test_transfer -- notes between sender and receiver, hostile ones too.
 */
#include <stdlib.h>

#include "file/transfer.c"
#include "support/test.h"

/* -------------------------------------------------------------------- codec */

static struct transfer_note note_of(enum transfer_type type)
{
	struct transfer_note note = { .type = type, .file = 7 };

	note.verdict = TRANSFER_YES;
	note.size = 1000;
	note.mtime_ns = -5;
	note.offset = 123456789012;
	note.hash = UINT64_C(0xfedcba9876543210);
	snprintf(note.text, sizeof(note.text), "name of it");
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	return note;
}

TEST(test_notes_go_round)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST], again[TRANSFER_NOTE_LONGEST];

	for (unsigned type = TRANSFER_OFFER; type <= TRANSFER_HASHES; type++) {
		struct transfer_note note = note_of((enum transfer_type)type), decoded;
		size_t length = transfer_encode(&note, bytes);

		assert_true(length <= sizeof(bytes));
		assert_true(transfer_decode(bytes, length, &decoded));
		assert_int_equal(decoded.type, type);
		assert_int_equal(decoded.file, 7);
		assert_int_equal(transfer_encode(&decoded, again), length);
		assert_memory_equal(again, bytes, length);
	}
}

TEST(test_every_prefix_is_refused)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + 1];

	for (unsigned type = TRANSFER_OFFER; type <= TRANSFER_HASHES; type++) {
		struct transfer_note note = note_of((enum transfer_type)type), decoded;
		size_t length = transfer_encode(&note, bytes);

		for (size_t shorter = 0; shorter < length; shorter++) {
			uint8_t *exact = malloc(shorter + 1);

			memcpy(exact, bytes, shorter);
			assert_false(transfer_decode(exact, shorter, &decoded));
			free(exact);
		}
		bytes[length] = 0;
		assert_int_equal(transfer_decode(bytes, length + 1, &decoded),
				 transfer_is_long((enum transfer_type)type));
	}
}

TEST(test_hostile_offers_are_refused)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + 600];
	struct transfer_note note = note_of(TRANSFER_OFFER), decoded;
	size_t length = transfer_encode(&note, bytes);

	bytes[0] = 0;
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[0] = TRANSFER_PING + 1;
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[0] = TRANSFER_OFFER;
	bytes[5] = TRANSFER_VERSION + 1;
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[5] = TRANSFER_VERSION;
	bytes[6] ^= 1; /* the id */
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[6] ^= 1;
	assert_true(transfer_decode(bytes, length, &decoded));
	bytes[length - 1] = 0; /* the name ends early */
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[length - 11] = 1; /* and is long: 256 + 10 */
	memset(bytes + length - 10, 'x', 266);
	assert_false(transfer_decode(bytes, length + 256, &decoded));
	note.size = UINT64_MAX;
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	length = transfer_encode(&note, bytes);
	assert_false(transfer_decode(bytes, length, &decoded));
}

/* A peer's text for people steers no terminal, and makes no line of its own. */
TEST(test_reasons_are_for_people)
{
	static const enum transfer_type with[] = { TRANSFER_ANSWER, TRANSFER_RESULT,
						   TRANSFER_ABORT };
	uint8_t bytes[TRANSFER_NOTE_LONGEST];

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct transfer_note note = note_of(with[i]), decoded;

		snprintf(note.text, sizeof(note.text), "no\nerror: yes\033[2J \177 \303\251");
		assert_true(transfer_decode(bytes, transfer_encode(&note, bytes), &decoded));
		assert_string_equal(decoded.text, "no?error: yes?[2J ? \303\251");
	}
}

/* A note may be about 1 to so much, and is read as it was said. */
static struct transfer_note with_max(struct transfer_note note, uint64_t max)
{
	const uint64_t refused[] = { 0, max + 1, UINT64_MAX };
	uint8_t bytes[TRANSFER_NOTE_LONGEST];
	struct transfer_note decoded;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		note.size = refused[i];
		assert_false(transfer_decode(bytes, transfer_encode(&note, bytes), &decoded));
	}
	note.size = max;
	assert_true(transfer_decode(bytes, transfer_encode(&note, bytes), &decoded));
	assert_int_equal(decoded.size, max);
	return decoded;
}

TEST(test_wants_are_of_one_part)
{
	with_max(note_of(TRANSFER_WANT), TRANSFER_CHUNK_BYTES);
}

TEST(test_lists_are_bounded)
{
	struct transfer_note note = note_of(TRANSFER_LIST);

	/* who has the file knows how many there are */
	note.offset = UINT64_MAX;
	note = with_max(note, TRANSFER_HASHES_MAX);
	assert_true(note.offset == UINT64_MAX);
}

/* Of another version nothing is known but which one it is. */
TEST(test_other_versions_are_told)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST];
	struct transfer_note note = note_of(TRANSFER_ASK), decoded;
	size_t length = transfer_encode(&note, bytes);

	assert_true(transfer_decode(bytes, length, &decoded));
	assert_int_equal(decoded.version, TRANSFER_ASK_VERSION);
	assert_string_equal(decoded.text, note.text);
	for (unsigned version = 0; version < 256; version++) {
		if (version == TRANSFER_ASK_VERSION)
			continue;
		bytes[5] = (uint8_t)version;
		for (size_t size = 6; size < sizeof(bytes); size++) {
			assert_true(transfer_decode(bytes, size, &decoded));
			assert_int_equal(decoded.version, version);
			assert_string_equal(decoded.text, "");
		}
		assert_false(transfer_decode(bytes, 5, &decoded));
	}
}

TEST(test_verdicts_are_known_ones)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST];
	struct transfer_note note = note_of(TRANSFER_RESULT), decoded;
	size_t length = transfer_encode(&note, bytes);

	bytes[5] = 0;
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[5] = TRANSFER_LATER + 1;
	assert_false(transfer_decode(bytes, length, &decoded));
	bytes[5] = TRANSFER_NO;
	assert_true(transfer_decode(bytes, length, &decoded));
}

TEST(test_ranges_go_round_or_are_refused)
{
	static const struct range held[] = { { 0, 5 }, { 5, 9 }, { 20, 100 } };
	static const struct range bad[][2] = {
		{ { 0, 5 }, { 4, 9 } },	   /* twice */
		{ { 10, 20 }, { 0, 5 } },  /* out of order */
		{ { 0, 5 }, { 7, 7 } },	   /* nothing */
		{ { 0, 5 }, { 9, 8 } },	   /* backwards */
		{ { 0, 5 }, { 50, 101 } }, /* beyond its end */
	};
	uint8_t bytes[TRANSFER_HELD_LONGEST];
	struct range ranges[TRANSFER_RANGES_MAX];
	size_t length = transfer_encode_held(7, held, 3, bytes), count = 0;

	assert_true(transfer_decode_held(bytes, length, 100, ranges, &count));
	assert_int_equal(count, 3);
	assert_memory_equal(ranges, held, sizeof(held));
	assert_false(transfer_decode_held(bytes, length, 99, ranges, &count));
	assert_false(transfer_decode_held(bytes, length - 1, 100, ranges, &count));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		length = transfer_encode_held(7, bad[i], 2, bytes);
		assert_false(transfer_decode_held(bytes, length, 100, ranges, &count));
	}
	assert_true(transfer_decode_held(bytes, TRANSFER_HELD_HEADER, 100, ranges, &count));
	assert_int_equal(count, 0);
}

TEST(test_names_are_names)
{
	char longest[TRANSFER_TEXT_ROOM];

	assert_null(transfer_name_refused("big.iso"));
	assert_null(transfer_name_refused("gr\xc3\xbc\xc3\x9f e.txt"));
	assert_non_null(transfer_name_refused(""));
	assert_non_null(transfer_name_refused("."));
	assert_non_null(transfer_name_refused(".."));
	assert_non_null(transfer_name_refused(".x.nopal-part"));
	assert_non_null(transfer_name_refused("../x"));
	assert_non_null(transfer_name_refused("/etc/passwd"));
	assert_non_null(transfer_name_refused("a/b"));
	assert_non_null(transfer_name_refused("a\x1b[2J"));
	assert_non_null(transfer_name_refused("a\nb"));
	memset(longest, 'x', sizeof(longest));
	longest[TRANSFER_NAME_LONGEST + 1] = '\0';
	assert_non_null(transfer_name_refused(longest));
	longest[TRANSFER_NAME_LONGEST] = '\0';
	assert_null(transfer_name_refused(longest));
}

TEST(test_paths_are_names_between_slashes)
{
	static const char *const refused[] = { "",     "/",  "/etc/passwd", "..", "a/..",   "../a",
					       "a//b", "a/", "a/../../b",   ".a", "a/.b/c", "./a" };
	char longest[2 * TRANSFER_TEXT_ROOM], name[TRANSFER_TEXT_ROOM];
	const char *path = "a/b c/d.iso";

	assert_null(transfer_path_refused(path));
	assert_string_equal(transfer_path_next(&path, name), "a");
	assert_string_equal(transfer_path_next(&path, name), "b c");
	assert_string_equal(transfer_path_next(&path, name), "d.iso");
	assert_null(path);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_non_null(transfer_path_refused(refused[i]));
	memset(longest, 'x', sizeof(longest));
	longest[100] = longest[200] = '/';
	longest[TRANSFER_TEXT_LONGEST] = '\0';
	assert_null(transfer_path_refused(longest));
	longest[TRANSFER_TEXT_LONGEST] = 'x';
	longest[TRANSFER_TEXT_LONGEST + 1] = '\0';
	assert_non_null(transfer_path_refused(longest));
}
