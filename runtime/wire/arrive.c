/* SPDX-License-Identifier: MIT */
/*
 * arrive.c -- a datagram that belongs to a session: counted, parsed, raised.
 */
#include "session/session.h"

NOPAL_HOT void nopal__segment_enter(struct nopal_core *core, struct nopal_segment *segment)
{
	uint8_t index = nopal__plan(core)->serial_of[nopal__layer(core)->packet_number_slot];

	nopal__record(core, NOPAL_TRACED_ARRIVE, UINT8_MAX, segment->kind, segment->number,
		      segment->packet_number);
	if (index && segment->packet_number > core->awake->serial[index - 1])
		core->awake->serial[index - 1] = segment->packet_number;
	nopal_raise_SEGMENT_FROM_NET(&core->session, segment);
}

NOPAL_HOT void nopal__segment_arrive(struct nopal_core *core, struct nopal_segment *segment)
{
	nopal__segment_enter(core, segment);
	nopal__segment_free(core, segment);
}

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
