/* SPDX-License-Identifier: MIT */
/*
 * transfer.c -- notes between senders and receivers of files: their bytes, and the names that are
 * refused.  Arriving bytes are hostile until they are decoded: one reader, canonical form only,
 * nothing read twice.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "file/transfer.h"
#include "frame/tool.h"

/* As long as a handshake repeats its request. */
#define TRANSFER_ALONE_NS (10 * NOPAL_SECOND)

enum {
	TRANSFER_TYPE_BYTES = 1,
	TRANSFER_FILE_BYTES = 4,
	TRANSFER_NUMBER_BYTES = 8,
	TRANSFER_LENGTH_BYTES = 2,
	TRANSFER_FIRST_PRINTED = 0x20, /* ASCII: below are control characters */
	TRANSFER_DELETE = 0x7f,
	/* NAME_MAX less our longest decoration */
	TRANSFER_NAME_LONGEST =
		TRANSFER_TEXT_LONGEST - (int)sizeof(TRANSFER_PREFIX TRANSFER_NEW_SUFFIX),
};

/* ------------------------------------------------------------------- notes */

/* The fields of a note behind its type and file number. */
enum note_field {
	NOTE_END,
	NOTE_VERSION,
	NOTE_ASK_VERSION,
	NOTE_VERDICT,
	NOTE_ID,
	NOTE_SIZE,
	NOTE_MTIME,
	NOTE_OFFSET,
	NOTE_HASH,
	NOTE_NAME,
	NOTE_REASON,
	NOTE_MORE, /* to the end of the message; no part of struct transfer_note */
};
enum { NOTE_FIELDS = 6 };

static const enum note_field note_layouts[][NOTE_FIELDS] = {
	[TRANSFER_OFFER] = { NOTE_VERSION, NOTE_ID, NOTE_SIZE, NOTE_MTIME, NOTE_NAME },
	[TRANSFER_ANSWER] = { NOTE_VERDICT, NOTE_OFFSET, NOTE_HASH, NOTE_REASON },
	[TRANSFER_START] = { NOTE_OFFSET },
	[TRANSFER_DATA] = { NOTE_OFFSET, NOTE_MORE },
	[TRANSFER_END] = { NOTE_SIZE, NOTE_HASH },
	[TRANSFER_RESULT] = { NOTE_VERDICT, NOTE_REASON },
	[TRANSFER_ABORT] = { NOTE_REASON },
	[TRANSFER_PING] = { NOTE_END },
	[TRANSFER_SHARE] = { NOTE_END },
	[TRANSFER_HELD] = { NOTE_MORE },
	[TRANSFER_ASK] = { NOTE_ASK_VERSION, NOTE_NAME },
	[TRANSFER_WANT] = { NOTE_OFFSET, NOTE_SIZE },
	[TRANSFER_LIST] = { NOTE_OFFSET, NOTE_SIZE },
	[TRANSFER_HASHES] = { NOTE_OFFSET, NOTE_MORE },
};

static void note_get_text(struct nopal_reader *reader, enum note_field field, char *ret_text)
{
	size_t length = (size_t)nopal_read(reader, TRANSFER_LENGTH_BYTES);
	const uint8_t *text = nopal_read_bytes(reader, length);

	if (!text || length > TRANSFER_TEXT_LONGEST || memchr(text, 0, length)) {
		reader->bad = true;
		return;
	}
	memcpy(ret_text, text, length);
	ret_text[length] = '\0';
	/* A reason is printed.  Bytes that could steer a terminal, or feign a line, are replaced;
	 * names with such bytes are refused. */
	for (size_t i = 0; field == NOTE_REASON && i < length; i++)
		if (text[i] < TRANSFER_FIRST_PRINTED || text[i] == TRANSFER_DELETE)
			ret_text[i] = '?';
}

static void note_get(struct nopal_reader *reader, enum note_field field, struct transfer_note *note)
{
	uint64_t *const numbers[] = {
		[NOTE_ID] = &note->id,
		[NOTE_SIZE] = &note->size,
		[NOTE_OFFSET] = &note->offset,
		[NOTE_HASH] = &note->hash,
	};

	if (field == NOTE_VERSION) {
		reader->bad |= nopal_read(reader, 1) != TRANSFER_VERSION;
	} else if (field == NOTE_ASK_VERSION) {
		note->version = (uint8_t)nopal_read(reader, 1);
	} else if (field == NOTE_VERDICT) {
		note->verdict = (enum transfer_verdict)nopal_read(reader, 1);
		reader->bad |= note->verdict < TRANSFER_YES || note->verdict > TRANSFER_LATER;
	} else if (field == NOTE_MTIME) {
		note->mtime_ns = (int64_t)nopal_read(reader, TRANSFER_NUMBER_BYTES);
	} else if (field == NOTE_NAME || field == NOTE_REASON) {
		note_get_text(reader, field, note->text);
	} else if (field != NOTE_MORE) {
		*numbers[field] = nopal_read(reader, TRANSFER_NUMBER_BYTES);
	}
}

/* Do more bytes follow the note in its message? */
static bool transfer_is_long(enum transfer_type type)
{
	return type == TRANSFER_DATA || type == TRANSFER_HELD || type == TRANSFER_HASHES;
}

bool transfer_decode(const uint8_t *bytes, size_t length, struct transfer_note *ret_note)
{
	struct nopal_reader reader = nopal_reader_over(bytes, length);
	struct transfer_note note = { .file = 0 };

	note.type = (enum transfer_type)nopal_read(&reader, TRANSFER_TYPE_BYTES);
	note.file = (uint32_t)nopal_read(&reader, TRANSFER_FILE_BYTES);
	if (note.type < TRANSFER_OFFER || note.type > TRANSFER_HASHES)
		return false;
	for (const enum note_field *field = note_layouts[note.type]; *field; field++) {
		note_get(&reader, *field, &note);
		if (*field == NOTE_ASK_VERSION && note.version != TRANSFER_ASK_VERSION) {
			reader.at = reader.end; /* unknown fields */
			break;
		}
	}
	/* Are the numbers within their ranges? */
	if (note.type == TRANSFER_OFFER)
		reader.bad |= note.size > INT64_MAX ||
			      note.id != transfer_id(note.text, note.size, note.mtime_ns);
	else if (note.type == TRANSFER_WANT)
		reader.bad |= note.size < 1 || note.size > TRANSFER_CHUNK_BYTES;
	else if (note.type == TRANSFER_LIST)
		reader.bad |= note.size < 1 || note.size > TRANSFER_HASHES_MAX;
	if (reader.bad || (nopal_read_left(&reader) && !transfer_is_long(note.type)))
		return false;
	*ret_note = note;
	return true;
}

/* A note with room behind it for more bytes of its message. */
static void transfer_write(struct nopal_writer *writer, const struct transfer_note *note)
{
	const uint64_t numbers[] = {
		[NOTE_VERSION] = TRANSFER_VERSION, [NOTE_ASK_VERSION] = TRANSFER_ASK_VERSION,
		[NOTE_VERDICT] = note->verdict,	   [NOTE_ID] = note->id,
		[NOTE_SIZE] = note->size,	   [NOTE_MTIME] = (uint64_t)note->mtime_ns,
		[NOTE_OFFSET] = note->offset,	   [NOTE_HASH] = note->hash,
	};

	nopal_write(writer, note->type, TRANSFER_TYPE_BYTES);
	nopal_write(writer, note->file, TRANSFER_FILE_BYTES);
	for (const enum note_field *field = note_layouts[note->type]; *field; field++) {
		if (*field == NOTE_NAME || *field == NOTE_REASON) {
			size_t length = strnlen(note->text, TRANSFER_TEXT_LONGEST);

			nopal_write(writer, length, TRANSFER_LENGTH_BYTES);
			nopal_write_bytes(writer, note->text, length);
		} else if (*field != NOTE_MORE) {
			nopal_write(writer, numbers[*field],
				    *field <= NOTE_VERDICT ? 1 : TRANSFER_NUMBER_BYTES);
		}
	}
}

size_t transfer_encode(const struct transfer_note *note, uint8_t *bytes)
{
	struct nopal_writer writer = nopal_writer_over(bytes, TRANSFER_NOTE_LONGEST);

	transfer_write(&writer, note);
	return nopal_written(&writer);
}

static int transfer_send(const struct transfer_outbox *outbox, const struct transfer_note *note)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST];

	return nopal_send_message(outbox->session,
				  &(struct nopal_outgoing){ .bytes = bytes,
							    .length = transfer_encode(note, bytes),
							    .properties = &outbox->to,
							    .property_count = 1 });
}

bool transfer_flush(struct transfer_outbox *outbox)
{
	size_t sent = 0;

	while (sent < outbox->count && outbox->session &&
	       transfer_send(outbox, &outbox->waiting[sent]) == 0)
		sent++;
	outbox->count -= sent;
	memmove(outbox->waiting, outbox->waiting + sent,
		outbox->count * sizeof(outbox->waiting[0]));
	return outbox->count == 0;
}

void transfer_say(struct transfer_outbox *outbox, const struct transfer_note *note)
{
	if (!outbox->session)
		return;
	if (transfer_flush(outbox) && transfer_send(outbox, note) == 0)
		return;
	if (outbox->count < TRANSFER_OUTBOX_NOTES)
		outbox->waiting[outbox->count++] = *note;
	else
		nopal_session_abort(outbox->session, "the peer takes no notes");
}

void transfer_say_text(struct transfer_outbox *outbox, struct transfer_note note, const char *text)
{
	snprintf(note.text, sizeof(note.text), "%s", text);
	transfer_say(outbox, &note);
}

bool transfer_wrong(char *why, const char *name, const char *cause)
{
	snprintf(why, TRANSFER_TEXT_ROOM, "%.160s: %s", name, cause);
	return false;
}

bool transfer_received(const struct nopal_message *message, struct transfer_note *ret_note)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST +
		      1]; /* one byte more shows a message that is too long */
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	/* an ASK of another version may have any length */
	if (length == sizeof(bytes) && bytes[0] != TRANSFER_ASK &&
	    !transfer_is_long((enum transfer_type)bytes[0]))
		return false;
	return transfer_decode(bytes, length, ret_note);
}

/* ------------------------------------------------------------------ ranges */

enum {
	TRANSFER_HELD_HEADER = TRANSFER_TYPE_BYTES + TRANSFER_FILE_BYTES,
	TRANSFER_RANGE_BYTES = 2 * TRANSFER_NUMBER_BYTES,
	TRANSFER_HELD_LONGEST = TRANSFER_HELD_HEADER + TRANSFER_RANGES_MAX * TRANSFER_RANGE_BYTES,
};

static size_t transfer_encode_held(uint32_t file, const struct range *ranges, size_t count,
				   uint8_t *bytes)
{
	const struct transfer_note note = { .type = TRANSFER_HELD, .file = file };
	struct nopal_writer writer = nopal_writer_over(bytes, TRANSFER_HELD_LONGEST);

	transfer_write(&writer, &note);
	for (size_t i = 0; i < count && i < TRANSFER_RANGES_MAX; i++) {
		nopal_write(&writer, ranges[i].from, TRANSFER_NUMBER_BYTES);
		nopal_write(&writer, ranges[i].end, TRANSFER_NUMBER_BYTES);
	}
	return nopal_written(&writer);
}

/* Ranges in order, apart, and within `size`.  False: they are not. */
static bool transfer_decode_held(const uint8_t *bytes, size_t length, uint64_t size,
				 struct range ret_ranges[TRANSFER_RANGES_MAX], size_t *ret_count)
{
	struct nopal_reader reader = nopal_reader_over(bytes, length);
	uint64_t last = 0;
	size_t count = 0;

	nopal_read_bytes(&reader, TRANSFER_HELD_HEADER);
	while (nopal_read_left(&reader) && count < TRANSFER_RANGES_MAX) {
		struct range range;

		range.from = nopal_read(&reader, TRANSFER_NUMBER_BYTES);
		range.end = nopal_read(&reader, TRANSFER_NUMBER_BYTES);
		if (reader.bad || range.from < last || range.end <= range.from || range.end > size)
			return false;
		last = range.end;
		ret_ranges[count++] = range;
	}
	*ret_count = count;
	return nopal_read_complete(&reader);
}

bool transfer_send_held(struct nopal_session *session, uint32_t file, const struct range *ranges,
			size_t count)
{
	uint8_t bytes[TRANSFER_HELD_LONGEST];

	return nopal_send(session, bytes, transfer_encode_held(file, ranges, count, bytes), 0) == 0;
}

bool transfer_held(const struct nopal_message *message, uint64_t size,
		   struct range ret_ranges[TRANSFER_RANGES_MAX], size_t *ret_count)
{
	uint8_t bytes[TRANSFER_HELD_LONGEST + 1];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	return transfer_decode_held(bytes, length, size, ret_ranges, ret_count);
}

/* ------------------------------------------------------------------ hashes */

int transfer_send_hashes(struct nopal_session *session, const struct transfer_note *list,
			 const uint64_t *hashes)
{
	const struct transfer_note note = { .type = TRANSFER_HASHES,
					    .file = list->file,
					    .offset = list->offset };
	uint32_t length = TRANSFER_DATA_HEADER + (uint32_t)list->size * TRANSFER_NUMBER_BYTES;
	struct nopal_buffer *buffer = nopal_buffer_new(length);
	struct nopal_writer writer;
	int error;

	if (!buffer)
		return -ENOMEM;
	writer = nopal_writer_over(nopal_buffer_bytes(buffer), length);
	transfer_write(&writer, &note);
	for (uint64_t i = 0; i < list->size; i++)
		nopal_write(&writer, hashes[i], TRANSFER_NUMBER_BYTES);
	error = nopal_send_message(session,
				   &(struct nopal_outgoing){ .buffer = buffer, .length = length });
	nopal_buffer_free(buffer);
	return error;
}

size_t transfer_hashes(const struct nopal_message *message, size_t first, uint64_t *ret_hashes,
		       size_t room)
{
	size_t length =
		nopal_message_copy(message, TRANSFER_DATA_HEADER + first * TRANSFER_NUMBER_BYTES,
				   ret_hashes, room * TRANSFER_NUMBER_BYTES);

	for (size_t i = 0; i < length / TRANSFER_NUMBER_BYTES; i++)
		ret_hashes[i] = be64toh(ret_hashes[i]);
	return length / TRANSFER_NUMBER_BYTES;
}

/* ------------------------------------------------------------------- names */

const char *transfer_name_refused(const char *name)
{
	size_t length = strlen(name);

	if (length == 0)
		return "the name is empty";
	if (length > TRANSFER_NAME_LONGEST)
		return "the name is too long";
	if (strncmp(name, TRANSFER_PREFIX, sizeof(TRANSFER_PREFIX) - 1) == 0)
		return "names that begin with a dot are not taken";
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '/')
			return "the name has a slash";
		if (c < TRANSFER_FIRST_PRINTED || c == TRANSFER_DELETE)
			return "the name has control characters";
	}
	return NULL;
}

const char *transfer_path_next(const char **path, char ret_name[TRANSFER_TEXT_ROOM])
{
	size_t length = strcspn(*path, "/");

	snprintf(ret_name, TRANSFER_TEXT_ROOM, "%.*s", (int)length, *path);
	*path += length;
	if (**path == '/')
		(*path)++;
	else
		*path = NULL;
	return ret_name;
}

const char *transfer_path_refused(const char *path)
{
	char name[TRANSFER_TEXT_ROOM];

	if (strlen(path) > TRANSFER_TEXT_LONGEST)
		return "the name is too long";
	while (path) {
		const char *refused = transfer_name_refused(transfer_path_next(&path, name));

		if (refused)
			return refused;
	}
	return NULL;
}

uint64_t transfer_id(const char *name, uint64_t size, int64_t mtime_ns)
{
	uint64_t numbers[] = { htobe64(size), htobe64((uint64_t)mtime_ns) };
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, numbers, sizeof(numbers));
	nopal_hash_update(&hash, name, strlen(name));
	return nopal_hash_final(&hash);
}

/* ------------------------------------------------------------------- plans */

uint32_t transfer_chunk_bytes(const struct nopal_plan *plan)
{
	uint64_t limit = nopal_plan_info(plan)->message_limit;
	uint32_t body = nopal_plan_info(plan)->body_bytes;
	uint64_t longest = TRANSFER_CHUNK_BYTES;

	if (limit < longest)
		longest = limit;
	if (body > 0 && longest > body)
		longest -= longest % body;
	return (uint32_t)(longest - TRANSFER_DATA_HEADER);
}

bool transfer_plan_tells(const struct nopal_plan *plan)
{
	return nopal_plan_provides(plan, "connection");
}

bool transfer_is_alone(const struct nopal_session *session, const struct nopal_plan *plan,
		       int64_t offered_for_ns)
{
	return offered_for_ns >= TRANSFER_ALONE_NS && !transfer_plan_tells(plan) &&
	       nopal_session_counters(session)->datagrams_in == 0;
}

bool transfer_plan_fits(const struct nopal_plan *plan, bool many)
{
	const char *fix = "take -c fetch, or one with a layer per_destination, fan_out and "
			  "messages of 257 KiB";
	uint64_t limit = nopal_plan_info(plan)->message_limit;
	const char *refused = NULL;

	if (many && !nopal_plan_provides(plan, "fan_out")) {
		refused = "has one destination, and a file is fetched from several";
	} else if (many && limit < TRANSFER_CHUNK_BYTES + TRANSFER_DATA_HEADER) {
		refused = "takes only messages that are shorter than a part of a long file";
	} else {
		fix = "take a reliable one, as `bulk`; or `nopal stream` for data that may get "
		      "lost";
		if (!nopal_plan_provides(plan, "reliability"))
			refused = "does not resend lost data, and a file arrives whole";
		else if (limit < TRANSFER_NOTE_LONGEST)
			refused = "takes only messages that are too short for an offer";
	}
	return !refused ||
	       tool_error("config %s %s\n  fix: %s", nopal_plan_info(plan)->name, refused, fix);
}
