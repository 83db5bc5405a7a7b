/* SPDX-License-Identifier: MIT */
/*
 * arrive.c -- a datagram that belongs to a session: counted, parsed, raised.
 */
#include "wire/arrive.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "wire/farewell.h"
#include "wire/handshake.h"
#include "wire/wire.h"

/* Before its session is open an opener cannot read numbers: only what belongs to the opening is for
 * it. */
static bool too_early(const struct nopal_composite *composite, uint8_t kind)
{
	const struct nopal_part *connection = nopal__layer(composite)->connection;

	return connection && composite->opener && composite->life == NOPAL_LIFE_OPENING &&
	       nopal__plan(composite)->kinds[kind].part != connection && kind != NOPAL_KIND_ABORT;
}

void nopal__session_receive(struct nopal_composite *composite, uint8_t kind,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length)
{
	struct nopal_segment *segment;

	nopal__touch(composite);
	if (composite->life == NOPAL_LIFE_ENDED)
		return;
	if (nopal__plan(composite)->demux == NOPAL_DEMUX_INTEROP)
		kind = nopal__interop_kind(nopal__plan(composite), bytes, length);
	composite->awake->counters.datagrams_in++;
	composite->awake->counters.datagram_bytes_in += length;
	if (kind == NOPAL_KIND_REPLY) {
		nopal__reply_receive(composite, buffer, bytes, length);
		return;
	}
	if (too_early(composite, kind))
		return;
	segment = nopal__unpack(composite, kind, buffer, bytes, length,
				nopal__plan(composite)->head_bytes);
	if (!segment)
		return;
	composite->awake->heard_ns = composite->session.now_ns;
	if (segment->path && nopal__path_is_elsewhere(composite, segment))
		nopal__segment_free(composite, segment);
	else if (kind == NOPAL_KIND_ABORT)
		nopal__farewell_receive(composite, segment);
	else
		nopal__segment_arrive(composite, segment);
}
