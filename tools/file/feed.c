/* SPDX-License-Identifier: MIT */
/*
 * feed.c -- a file becomes DATA notes of a session, one or to many.
 */
#include <errno.h>
#include <string.h>

#include "file/feed.h"

enum { FEED_BURST_CHUNKS = 2 };

void feed_init(struct feed *feed, struct nopal_world *world, uint32_t chunk_bytes)
{
	feed->world = world;
	feed->source.fd = -1;
	feed->chunk_bytes = chunk_bytes;
	feed->pace.burst_bytes = (uint64_t)chunk_bytes * FEED_BURST_CHUNKS;
}

bool feed_open(struct feed *feed, uint32_t file, const char *path)
{
	feed->file = file;
	feed->offset = feed->end = feed->chunks = 0;
	return source_open(&feed->source, path, feed->error);
}

void feed_close(struct feed *feed)
{
	source_close(&feed->source);
	if (feed->chunk)
		nopal_buffer_free(feed->chunk);
	feed->chunk = NULL;
}

void feed_offer(const struct feed *feed, struct transfer_note *ret_note)
{
	*ret_note = (struct transfer_note){
		.type = TRANSFER_OFFER,
		.file = feed->file,
		.size = feed->source.size,
		.mtime_ns = feed->source.mtime_ns,
	};
	snprintf(ret_note->text, sizeof(ret_note->text), "%s", feed->source.name);
	ret_note->id = transfer_id(ret_note->text, ret_note->size, ret_note->mtime_ns);
}

void feed_from(struct feed *feed, uint64_t offset)
{
	if (offset == 0)
		source_rewind(&feed->source);
	feed_range(feed, offset, feed->source.size);
}

void feed_back(struct feed *feed, uint64_t offset, const struct file_hash *hash)
{
	feed->source.hash = *hash;
	feed_range(feed, offset, feed->source.size);
}

void feed_range(struct feed *feed, uint64_t offset, uint64_t end)
{
	feed->source.offset = offset;
	feed->offset = offset;
	feed->end = end;
	pace_begin(&feed->pace, nopal_world_now(feed->world), offset);
}

static enum feed_stop feed_give(struct feed *feed, struct nopal_session *session, uint64_t cookie)
{
	int error = nopal_send_buffer(session, feed->chunk, 0, feed->chunk_length, cookie);

	if (error == -EAGAIN || error == -EPIPE)
		return FEED_FULL;
	nopal_buffer_free(feed->chunk);
	feed->chunk = NULL;
	if (error) {
		feed->no_room = error == -ENOBUFS;
		snprintf(feed->error, sizeof(feed->error), "%s", strerror(-error));
		return FEED_FAILED;
	}
	feed->offset += feed->chunk_length - TRANSFER_DATA_HEADER;
	feed->chunks++;
	return FEED_ALL;
}

enum feed_stop feed_pump(struct feed *feed, struct nopal_session *const *session, uint64_t cookie,
			 int64_t *ret_wait_ns)
{
	enum feed_stop stop = FEED_ALL;

	while (stop == FEED_ALL && (feed->chunk || feed->offset < feed->end)) {
		int64_t wait_ns =
			pace_wait_ns(&feed->pace, nopal_world_now(feed->world), feed->offset);

		if (!*session)
			return FEED_FULL;
		if (wait_ns > 0) {
			*ret_wait_ns = wait_ns;
			return FEED_PACED;
		}
		if (!feed->chunk) {
			struct transfer_note note = { .type = TRANSFER_DATA,
						      .file = feed->file,
						      .offset = feed->offset };
			uint64_t left = feed->end - feed->offset;
			size_t room = left < feed->chunk_bytes ? (size_t)left : feed->chunk_bytes;
			size_t length;
			uint8_t *bytes;

			feed->chunk = nopal_buffer_new(TRANSFER_DATA_HEADER + feed->chunk_bytes);
			if (!feed->chunk) {
				snprintf(feed->error, sizeof(feed->error), "out of memory");
				return FEED_FAILED;
			}
			bytes = nopal_buffer_bytes(feed->chunk);
			if (!source_read(&feed->source, bytes + transfer_encode(&note, bytes), room,
					 &length, feed->error))
				return FEED_FAILED;
			feed->chunk_length = TRANSFER_DATA_HEADER + (uint32_t)length;
		}
		stop = feed_give(feed, *session, cookie);
	}
	return stop;
}

bool feed_end(struct feed *feed, struct transfer_note *ret_note)
{
	*ret_note = (struct transfer_note){ .type = TRANSFER_END,
					    .file = feed->file,
					    .size = feed->source.size,
					    .hash = source_hash(&feed->source) };
	return source_is_same(&feed->source, feed->error);
}
