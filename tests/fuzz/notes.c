/* SPDX-License-Identifier: MIT */
/*
 * notes -- fuzz target: what peers say of files, and what an earlier run left on disk.
 *
 * Byte 0 of the input chooses: a note, ranges and hashes behind it, the list of a file's blocks, or
 * a part with its state file.  The id of an offer, a hash of the rest, is made good, so that what
 * is behind gets to see it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "file/file_blocks.h"
#include "file/file_hash.h"
#include "input.h"
#include <nopal/microprotocol.h>
#include "file/part.h"

enum {
	HASHES = 64,
	BLOCKS_ADDED = 32,
	PART_BYTES = 1 << 14, /* of a file, at most */
	STATE_BYTES = 160,
	WRITES = 16,
};

/* ----------------------------------------------------------------------- notes */

/* A name that is taken stays within its folder, and can be shown. */
static void judge_name(const char *name)
{
	if (transfer_name_refused(name))
		return;
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > TRANSFER_TEXT_LONGEST)
		abort();
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			abort();
}

static void judge_reason(const char *reason)
{
	for (; *reason; reason++)
		if ((unsigned char)*reason < ' ' || *reason == 0x7f)
			abort();
}

static void judge_path(const char *path)
{
	char name[TRANSFER_TEXT_ROOM];

	if (transfer_path_refused(path))
		return;
	while (path)
		if (transfer_name_refused(transfer_path_next(&path, name)))
			abort();
}

static bool has_reason(const struct transfer_note *note)
{
	return note->type == TRANSFER_ANSWER || note->type == TRANSFER_RESULT ||
	       note->type == TRANSFER_ABORT;
}

/* There is one way to say a note, and `bytes` is it; but what reasons hold that people had better
 * not see. */
static void judge_canon(const struct transfer_note *note, const uint8_t *bytes, size_t length)
{
	uint8_t again[TRANSFER_NOTE_LONGEST];
	size_t said = transfer_encode(note, again);

	if (note->type == TRANSFER_ASK && note->version != TRANSFER_ASK_VERSION)
		return;
	if (has_reason(note)) {
		if (said != length)
			abort();
		said -= strlen(note->text);
	}
	if (said > length || memcmp(again, bytes, said) != 0)
		abort();
}

static void repair_offer(uint8_t *bytes, size_t length)
{
	enum { ID_AT = 6, SIZE_AT = 14, TIME_AT = 22, NAME_AT = 32, NUMBER = 8 };
	char name[TRANSFER_TEXT_ROOM];

	if (length < NAME_AT || bytes[0] != TRANSFER_OFFER)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(length - NAME_AT),
		 (const char *)bytes + NAME_AT);
	nopal__put(bytes + ID_AT,
		   transfer_id(name, nopal__get(bytes + SIZE_AT, NUMBER),
			       (int64_t)nopal__get(bytes + TIME_AT, NUMBER)),
		   NUMBER);
}

static void judge_note(const uint8_t *bytes, size_t length)
{
	struct transfer_note note = { .file = 0 };

	if (!transfer_decode(bytes, length, &note))
		return;
	judge_canon(&note, bytes, length);
	if (has_reason(&note))
		judge_reason(note.text);
	judge_name(note.text);
	judge_path(note.text);
}

/* In a copy that is exactly as long, so that a read beyond it is seen. */
static void read_note(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length + !length);

	if (!copy)
		abort();
	if (length)
		memcpy(copy, bytes, length);
	repair_offer(copy, length);
	judge_note(copy, length);
	free(copy);
}

/* A message in two pieces, as it comes off the network. */
static void read_message(struct input *input)
{
	struct nopal_body pieces[2] = { { .bytes = NULL } };
	struct nopal_message message = { .fragment = pieces, .fragments = 2 };
	uint64_t size = input_number(input, 2), hashes[HASHES];
	size_t first = input_byte(input), length;
	struct range ranges[TRANSFER_RANGES_MAX];
	struct transfer_note note;
	size_t count = 0;

	pieces[0].bytes = (uint8_t *)(uintptr_t)input_take(input, first, &length);
	pieces[0].length = (uint32_t)length;
	pieces[1].bytes = (uint8_t *)(uintptr_t)input_take(input, input_left(input), &length);
	pieces[1].length = (uint32_t)length;
	message.length = pieces[0].length + length;
	transfer_received(&message, &note);
	if (transfer_held(&message, size, ranges, &count))
		for (size_t i = 0; i < count; i++)
			if (ranges[i].end > size || ranges[i].from >= ranges[i].end)
				abort();
	if (transfer_hashes(&message, first, hashes, HASHES) > HASHES)
		abort();
}

/* ---------------------------------------------------------------------- blocks */

static void read_blocks(struct input *input)
{
	uint64_t size = input_number(input, 8) >> input_byte(input) % 64;
	uint64_t offset = input_number(input, 8), index = 0;
	struct file_blocks blocks;

	if (!file_blocks_fit(size))
		return;
	file_blocks_init(&blocks, size);
	for (unsigned i = 0; i < BLOCKS_ADDED && !file_blocks_are_known(&blocks); i++) {
		struct range range = file_blocks_range(&blocks, i);

		if (!file_blocks_find(&blocks, range.from, range.end - range.from, &index) ||
		    index != i || range.end > size)
			abort();
		file_blocks_add(&blocks, input_byte(input));
	}
	if (file_blocks_find(&blocks, offset, input_number(input, 4), &index) &&
	    index >= blocks.count)
		abort();
	file_blocks_root(&blocks);
	file_blocks_fini(&blocks);
}

/* ----------------------------------------------------------------------- parts */

#define NAME  "f"
#define PART  TRANSFER_PREFIX NAME TRANSFER_PART_SUFFIX
#define STATE TRANSFER_PREFIX NAME TRANSFER_STATE_SUFFIX

static char folder_path[] = "/tmp/nopal-fuzz-XXXXXX";

static void remove_folder(void)
{
	rmdir(folder_path);
}

/* Empty, and of this process alone. */
static int make_folder(void)
{
	int fd;

	if (!mkdtemp(folder_path))
		abort();
	atexit(remove_folder);
	fd = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static void put_file(int folder, const char *name, const uint8_t *bytes, size_t length, size_t size)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || ftruncate(fd, (off_t)size))
		abort();
	close(fd);
}

static struct transfer_note offer_of(uint64_t size)
{
	struct transfer_note offer = { .type = TRANSFER_OFFER, .size = size, .text = NAME };

	offer.id = transfer_id(offer.text, size, 0);
	return offer;
}

/* How a part is taken; the lower four bits are of what was left. */
enum {
	TAKE_OVERWRITES = 0x10,
	TAKE_KEEPS = 0x20,
	TAKE_OWNED = 0x40,
	TAKE_BLOCKS = 0x80,
};

/* State of an earlier run, or of somebody else. */
static void leave_files(int folder, const struct transfer_note *offer, uint8_t which,
			struct input *input)
{
	char text[STATE_BYTES];
	const uint8_t *bytes;
	size_t length;

	if (which & 1)
		put_file(folder, NAME, NULL, 0, input_number(input, 2));
	if (which & 2)
		put_file(folder, PART, NULL, 0, input_number(input, 2));
	if (which & 4) {
		bytes = input_take(input, input_byte(input) % STATE_BYTES, &length);
		put_file(folder, STATE, bytes, length, length);
	}
	if (which & 8) {
		length = (size_t)snprintf(text, sizeof(text), "nopal-part 1 %016llx %llu %llu\n",
					  (unsigned long long)offer->id,
					  (unsigned long long)offer->size,
					  (unsigned long long)input_number(input, 2));
		put_file(folder, STATE, (uint8_t *)text, length, length);
	}
}

/* Of a file whose blocks are known: what is there is looked at, and begun. */
static bool start_blocks(struct part *part, struct input *input)
{
	struct range block = { .from = input_number(input, 2) };
	char why[TRANSFER_TEXT_ROOM];
	uint64_t hash;

	block.end = block.from + input_number(input, 2);
	part_block_hash(part, &block, &hash);
	if (part->existing && !part_leave_existing(part, why))
		return false;
	return part_start_blocks(part, why);
}

/* Has it started, and is all of it well? */
static bool write_some(struct part *part, bool by_blocks, struct input *input)
{
	static uint8_t bytes[PART_BYTES];
	struct range ranges[TRANSFER_RANGES_MAX];
	char why[TRANSFER_TEXT_ROOM];
	struct iovec piece = { .iov_base = bytes };
	bool good = !by_blocks || start_blocks(part, input), started = false;

	for (int i = 0; good && i < WRITES && input_left(input); i++) {
		uint64_t offset = input_number(input, 2);

		if (offset & 0x8000 && !by_blocks) {
			good = part_start(part, offset & 0x7fff, why);
			started = true;
			continue;
		}
		piece.iov_len = input_number(input, 2) % (PART_BYTES + 1);
		memset(bytes, input_byte(input), piece.iov_len);
		good = part_write(part, offset, &piece, 1, why);
	}
	if (part_ranges(part, ranges) > TRANSFER_RANGES_MAX)
		abort();
	return good && started;
}

/* The hash of a whole part is that of its file. */
static void judge_part(const struct part *part, int folder, uint64_t size)
{
	static uint8_t bytes[PART_BYTES];
	struct file_hash hash;
	ssize_t length;
	int fd;

	if (part->whole < part->size || part->existing)
		return;
	fd = openat(folder, PART, O_RDONLY | O_CLOEXEC);
	length = read(fd, bytes, sizeof(bytes));
	close(fd);
	file_hash_init(&hash);
	file_hash_update(&hash, bytes, (size_t)length);
	if ((uint64_t)length != size || file_hash_value(&hash) != file_hash_value(&part->hash))
		abort();
}

/* A part's state names its sender. */
static void on_owned(void *user, const uint8_t owner[PART_OWNER_BYTES], uint64_t bytes)
{
	const struct part_folder *folder = user;

	(void)owner;
	(void)bytes;
	if (faccessat(folder->fd, STATE, F_OK, 0))
		abort();
}

static void take_part(struct part_folder *folder, const struct transfer_note *offer, uint8_t how,
		      struct input *input)
{
	bool keeps = how & TAKE_KEEPS, by_blocks = how & TAKE_BLOCKS;
	uint8_t owner[PART_OWNER_BYTES] = { how };
	char why[TRANSFER_TEXT_ROOM];
	struct part *part = NULL;
	uint64_t offset = 0, hash;

	if (part_open(folder, offer, &part, why) != TRANSFER_YES)
		return;
	while (!by_blocks && !part_check(part, &offset, &hash))
		;
	if (offset > offer->size)
		abort();
	part_found_bytes(part, owner);
	if (how & TAKE_OWNED)
		part_set_owner(part, owner);
	if (write_some(part, by_blocks, input))
		judge_part(part, folder->fd, offer->size);
	part_close(part, keeps);
	if (!keeps && faccessat(folder->fd, PART, F_OK, 0) == 0 &&
	    faccessat(folder->fd, NAME, F_OK, 0) != 0)
		abort(); /* nothing of it is left */
	part_sweep(folder->fd, on_owned, folder);
}

static void read_part(struct input *input)
{
	static struct part_folder folder = { .fd = -1, .limit = PART_BYTES, .differs = "differs" };
	uint8_t how = input_byte(input);
	struct transfer_note offer = offer_of(input_number(input, 2) % (PART_BYTES + 1));

	if (folder.fd < 0)
		folder.fd = make_folder();
	folder.overwrite = how & TAKE_OVERWRITES;
	leave_files(folder.fd, &offer, how, input);
	take_part(&folder, &offer, how, input);
	unlinkat(folder.fd, NAME, 0);
	unlinkat(folder.fd, PART, 0);
	unlinkat(folder.fd, STATE, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = input_over(bytes, length);

	switch (input_byte(&input) & 3) {
	case 0:
		read_note(input.at, input_left(&input));
		break;
	case 1:
		read_message(&input);
		break;
	case 2:
		read_blocks(&input);
		break;
	default:
		read_part(&input);
	}
	return 0;
}
