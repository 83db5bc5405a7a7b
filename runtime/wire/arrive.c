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
static bool too_early(const struct nopal_core *core, uint8_t kind)
{
	const struct nopal_part *connection = nopal__layer(core)->connection;

	return connection && core->opener && core->life == NOPAL_LIFE_OPENING &&
	       nopal__plan(core)->kinds[kind].part != connection && kind != NOPAL_KIND_ABORT;
}

void nopal__session_receive(struct nopal_core *core, uint8_t kind, struct nopal_buffer *buffer,
			    uint8_t *bytes, uint32_t length)
{
	struct nopal_segment *segment;

	nopal__touch(core);
	if (core->life == NOPAL_LIFE_ENDED)
		return;
	if (nopal__plan(core)->demux == NOPAL_DEMUX_FOREIGN)
		kind = nopal__foreign_kind(nopal__plan(core), bytes, length);
	core->awake->counters.datagrams_in++;
	core->awake->counters.datagram_bytes_in += length;
	if (kind == NOPAL_KIND_REPLY) {
		nopal__reply_receive(core, buffer, bytes, length);
		return;
	}
	if (too_early(core, kind))
		return;
	segment = nopal__unpack(core, kind, buffer, bytes, length, nopal__plan(core)->head_bytes);
	if (!segment)
		return;
	core->awake->heard_ns = core->session.now_ns;
	if (segment->path && nopal__path_is_elsewhere(core, segment))
		nopal__segment_free(core, segment);
	else if (kind == NOPAL_KIND_ABORT)
		nopal__farewell_receive(core, segment);
	else
		nopal__segment_arrive(core, segment);
}
