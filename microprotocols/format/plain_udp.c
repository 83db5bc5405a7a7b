/* SPDX-License-Identifier: MIT */
/*
 * plain_udp -- speak with programs that know UDP alone: a message is a datagram.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, sections II.B (pack and unpack
 *            routines) and V.E: interoperation by a packing routine for the
 *            format of an existing protocol, such as UDP.
 * Differs:   nothing is added, so nothing can be promised: a microprotocol that needs a
 *            field of its own cannot be in the composition, and `check` names it.  An
 *            empty message is refused: it would be a datagram of no bytes.
 * Wire:      nothing: no first byte, no session id, no field.
 */
#include <nopal/microprotocol.h>

static void plain_udp_pack(struct nopal_at at, const struct nopal_segment *segment,
			   struct nopal_writer *writer)
{
	(void)at;
	(void)segment, (void)writer;
}

static bool plain_udp_unpack(struct nopal_at at, struct nopal_segment *segment,
			     struct nopal_reader *reader)
{
	(void)at;
	(void)segment, (void)reader;
	return true;
}

const struct nopal_microprotocol nopal_plain_udp = {
	NOPAL_DESCRIBE(plain_udp, format, "speak with programs that know UDP alone"),
	.provides = NOPAL_ROLES({ "data_format", true }),
	.needs = NOPAL_RELATIONS({ "network", "it writes headers of datagrams" }),
	.excludes =
		NOPAL_RELATIONS({ "integrity", "its trailer would be part of the message there" }),
	.promises = NOPAL_PROMISES(NOPAL_NAMELESS_FORMAT),
	.format = &(const struct nopal_format){ .interop = true,
						.pack = plain_udp_pack,
						.unpack = plain_udp_unpack },
};
