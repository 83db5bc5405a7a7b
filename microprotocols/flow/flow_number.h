/* SPDX-License-Identifier: MIT */
/*
 * flow_number.h -- control segments whose body is one number, in its low four bytes.
 */
#ifndef NOPAL_FLOW_NUMBER_H
#define NOPAL_FLOW_NUMBER_H

#include <nopal/microprotocol.h>

enum { FLOW_NUMBER_BYTES = 4 };

/* The number nearest to `near` whose low 32 bits are `wire`. */
static inline uint64_t flow_number_expand(uint64_t wire, uint64_t near)
{
	uint32_t ahead = (uint32_t)wire - (uint32_t)near;

	if (ahead <= INT32_MAX)
		return near + ahead;
	ahead = (uint32_t)near - (uint32_t)wire;
	return near > ahead ? near - ahead : 0;
}

/* One number, four bytes, and nothing behind it: as it was sent. */
static inline bool flow_number_low(const struct nopal_segment *segment, uint32_t *ret_number)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t wire = nopal_read(&reader, FLOW_NUMBER_BYTES);

	if (!nopal_read_complete(&reader))
		return false;
	*ret_number = (uint32_t)wire;
	return true;
}

/* The same, as the number nearest to `near`. */
static inline bool flow_number_read(const struct nopal_segment *segment, uint64_t near,
				    uint64_t *ret_number)
{
	uint32_t wire;

	if (!flow_number_low(segment, &wire))
		return false;
	*ret_number = flow_number_expand(wire, near);
	return true;
}

/* Of numbers that count up and wrap around. */
static inline bool flow_number_is_newer(uint32_t number, uint32_t than)
{
	return number != than && number - than <= INT32_MAX;
}

/* False: over budget. */
static inline bool flow_number_say(struct nopal_at at, unsigned kind, uint64_t number)
{
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, FLOW_NUMBER_BYTES, &writer);

	if (!segment)
		return false;
	nopal_write(&writer, (uint32_t)number, FLOW_NUMBER_BYTES);
	nopal_control_send(at.session, segment, FLOW_NUMBER_BYTES);
	return true;
}

#endif
