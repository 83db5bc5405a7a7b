/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/turn.h"
#include "support/segments.h"

static void arriving_buffer_free(struct nopal_buffer *buffer)
{
	free(buffer->bytes);
	free(buffer);
}

static struct nopal_buffer *arriving_buffer(const void *bytes, size_t length)
{
	struct nopal_buffer *buffer = calloc(1, sizeof(*buffer));

	buffer->references = 1;
	buffer->bytes = malloc(length ? length : 1);
	buffer->release = arriving_buffer_free;
	if (length)
		memcpy(buffer->bytes, bytes, length);
	return buffer;
}

struct arriving arriving_begin(struct nopal_session *session, uint8_t kind, const void *bytes,
			       size_t length)
{
	struct arriving one = { .composite = nopal__composite(session) };
	struct nopal_buffer *buffer = arriving_buffer(bytes, length);

	one.outermost = nopal__turn_begin(one.composite->world);
	nopal__touch(one.composite);
	one.segment = nopal__segment_make(one.composite, kind);
	one.segment->incoming = true;
	one.segment->transmitted_ns = session->now_ns;
	one.segment->body = (struct nopal_body){ buffer, buffer->bytes, (uint32_t)length };
	return one;
}

void arriving_end(struct arriving *one)
{
	struct nopal_world *world = one->composite->world;

	nopal__segment_arrive(one->composite, one->segment);
	nopal__turn_end(world, one->outermost);
}

void arrive_control(struct nopal_session *session, const char *name, unsigned kind,
		    const void *bytes, size_t length)
{
	struct arriving one =
		arriving_begin(session, rig_part(session, name)->kind[kind], bytes, length);

	arriving_end(&one);
}

void tapped_note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct tapped *tapped = user;

	(void)from;
	if (tapped->count == TAPPED_ROOM)
		return;
	tapped->kind[tapped->count] = bytes[0] & (NOPAL_KIND_ROOM - 1);
	tapped->to_acceptor[tapped->count] = to->port == 2000;
	tapped->length[tapped->count] = (uint32_t)length;
	tapped->time_ns[tapped->count++] = now_ns;
}

uint32_t tapped_count(const struct tapped *tapped, uint8_t kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < tapped->count; i++)
		count += tapped->kind[i] == kind;
	return count;
}
