/* SPDX-License-Identifier: MIT */
/*
 * wire.h -- datagrams: kinds, headers, packing and parsing: wire.c.
 */
#ifndef NOPAL_WIRE_H
#define NOPAL_WIRE_H

#include "engine/composite.h"
#include "wire/paths.h"

/* Is the id in the header that of the sender? */
static inline bool nopal__is_opening(uint8_t kind)
{
	const uint32_t kinds = UINT32_C(1) << NOPAL_KIND_DATA_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONTROL_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONNECT |
			       UINT32_C(1) << NOPAL_KIND_RENDEZVOUS | UINT32_C(1) << NOPAL_KIND_ASK;

	return kinds >> kind & 1;
}
uint8_t nopal__first_byte(uint8_t kind);
bool nopal__first_byte_parse(uint8_t byte, uint8_t *ret_kind);
/* By all open paths, and by one. */
void nopal__pack_out(struct nopal_composite *composite, const struct nopal_segment *segment);
void nopal__pack_by(struct nopal_composite *composite, const struct nopal_segment *segment,
		    unsigned path);
/* The kind of a datagram of an interop format. */
uint8_t nopal__interop_kind(const struct nopal_plan *plan, const uint8_t *bytes, uint32_t length);
/* A datagram of a session: counted, parsed, raised. */
void nopal__session_receive(struct nopal_composite *composite, uint8_t kind,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
/* Parses a datagram of an established kind; NULL: malformed, counted. */
struct nopal_segment *nopal__unpack(struct nopal_composite *composite, uint8_t kind,
				    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length,
				    uint32_t skip);

#endif
