/* SPDX-License-Identifier: MIT */
/*
 * reader.c -- a file becomes DATA notes of a session, one or to many.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file/reader.h"

enum { READER_BURST_CHUNKS = 2 };

void reader_init(struct reader *reader, struct nopal_world *world, uint32_t chunk_bytes)
{
	reader->world = world;
	reader->source.fd = -1;
	reader->chunk_bytes = chunk_bytes;
	reader->pace.burst_bytes = (uint64_t)chunk_bytes * READER_BURST_CHUNKS;
}

bool reader_open(struct reader *reader, uint32_t file, const char *path)
{
	reader->file = file;
	reader->offset = reader->end = reader->chunks = 0;
	return source_take(&reader->source, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path,
			   reader->error);
}

void reader_close(struct reader *reader)
{
	source_close(&reader->source);
	if (reader->chunk)
		nopal_buffer_free(reader->chunk);
	reader->chunk = NULL;
}

void reader_offer(const struct reader *reader, struct transfer_outbox *out)
{
	const struct source *source = &reader->source;
	const struct transfer_note note = {
		.type = TRANSFER_OFFER,
		.file = reader->file,
		.id = transfer_id(source->name, source->size, source->mtime_ns),
		.size = source->size,
		.mtime_ns = source->mtime_ns,
	};

	transfer_say_text(out, note, source->name);
}

void reader_start(const struct reader *reader, struct transfer_outbox *out, uint64_t offset)
{
	const struct transfer_note note = { .type = TRANSFER_START,
					    .file = reader->file,
					    .offset = offset };

	transfer_say(out, &note);
}

void reader_from(struct reader *reader, uint64_t offset, const struct file_hash *before)
{
	if (before)
		reader->source.hash = *before;
	else if (offset == 0)
		source_rewind(&reader->source);
	reader_range(reader, offset, reader->source.size);
}

bool reader_hash(struct reader *reader, uint64_t end)
{
	static uint8_t bytes[TRANSFER_STEP_BYTES];
	uint64_t left = end - reader->source.offset;
	size_t length;

	return source_read(&reader->source, bytes,
			   left < sizeof(bytes) ? (size_t)left : sizeof(bytes), &length,
			   reader->error);
}

void reader_range(struct reader *reader, uint64_t offset, uint64_t end)
{
	reader->source.offset = offset;
	reader->offset = offset;
	reader->end = end;
	pace_begin(&reader->pace, nopal_world_now(reader->world), offset);
}

static enum reader_stop reader_give(struct reader *reader, struct nopal_session *session,
				    uint64_t cookie)
{
	struct nopal_property properties[PROPERTIES_MAX];
	struct nopal_outgoing outgoing = { .buffer = reader->chunk,
					   .length = reader->chunk_length,
					   .cookie = cookie,
					   .properties = properties };
	unsigned class;
	int error;

	if (reader->with)
		outgoing.property_count =
			properties_of(reader->with, reader->taken, properties, &class);
	error = nopal_send_message(session, &outgoing);

	if (error == -EAGAIN || error == -EPIPE)
		return READER_FULL;
	nopal_buffer_free(reader->chunk);
	reader->chunk = NULL;
	if (error) {
		reader->no_room = error == -ENOBUFS;
		snprintf(reader->error, sizeof(reader->error), "%s", strerror(-error));
		return READER_FAILED;
	}
	reader->offset += reader->chunk_length - TRANSFER_DATA_HEADER;
	reader->chunks++;
	reader->taken++;
	return READER_ALL;
}

enum reader_stop reader_pump(struct reader *reader, struct nopal_session *const *session,
			     uint64_t cookie, int64_t *ret_wait_ns)
{
	enum reader_stop stop = READER_ALL;

	while (stop == READER_ALL && (reader->chunk || reader->offset < reader->end)) {
		int64_t wait_ns =
			pace_wait_ns(&reader->pace, nopal_world_now(reader->world), reader->offset);

		if (!*session)
			return READER_FULL;
		if (wait_ns > 0) {
			*ret_wait_ns = wait_ns;
			return READER_PACED;
		}
		if (!reader->chunk) {
			struct transfer_note note = { .type = TRANSFER_DATA,
						      .file = reader->file,
						      .offset = reader->offset };
			uint64_t left = reader->end - reader->offset;
			size_t room =
				left < reader->chunk_bytes ? (size_t)left : reader->chunk_bytes;
			size_t length;
			uint8_t *bytes;

			reader->chunk =
				nopal_buffer_new(TRANSFER_DATA_HEADER + reader->chunk_bytes);
			if (!reader->chunk) {
				snprintf(reader->error, sizeof(reader->error), "out of memory");
				return READER_FAILED;
			}
			bytes = nopal_buffer_bytes(reader->chunk);
			if (!source_read(&reader->source, bytes + transfer_encode(&note, bytes),
					 room, &length, reader->error))
				return READER_FAILED;
			reader->chunk_length = TRANSFER_DATA_HEADER + (uint32_t)length;
		}
		stop = reader_give(reader, *session, cookie);
	}
	return stop;
}

bool reader_end(struct reader *reader, struct transfer_note *ret_note)
{
	*ret_note = (struct transfer_note){ .type = TRANSFER_END,
					    .file = reader->file,
					    .size = reader->source.size,
					    .hash = file_hash_value(&reader->source.hash) };
	return source_is_same(&reader->source, reader->error);
}
